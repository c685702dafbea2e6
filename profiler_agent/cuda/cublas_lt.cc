#include "profiler_agent/cuda/cublas_lt.h"

#include <cublasLt.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/cuda/cuda_memory.h"
#include "profiler_agent/cuda/shared_library.h"
#include "profiler_agent/measure/buffer_values.h"

namespace wavetune {
namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;

#define WAVETUNE_CUBLASLT_FUNCTIONS(X)    \
  X(cublasLtCreate)                       \
  X(cublasLtDestroy)                      \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutDestroy)          \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatmulAlgoGetHeuristic)       \
  X(cublasLtMatmul)                       \
  X(cublasLtGetStatusString)

struct Functions {
#define WAVETUNE_CUBLASLT_MEMBER(name) decltype(&::name) name = nullptr;
  WAVETUNE_CUBLASLT_FUNCTIONS(WAVETUNE_CUBLASLT_MEMBER)
#undef WAVETUNE_CUBLASLT_MEMBER
};

absl::StatusOr<Functions> LoadFunctions() {
  // One name per major version: its functions are those of the header.
  const std::string name = absl::StrCat("libcublasLt.so.", CUBLAS_VER_MAJOR);
  std::vector<std::string> names = {name};
#ifdef WAVETUNE_CUDA_LIBRARY_DIR
  names.push_back(absl::StrCat(WAVETUNE_CUDA_LIBRARY_DIR, "/", name));
#endif
  names.push_back(absl::StrCat("/usr/local/cuda/lib64/", name));
  const absl::StatusOr<SharedLibrary> library = SharedLibrary::Open(names);
  if (!library.ok()) {
    return absl::UnimplementedError(absl::StrCat(
        "cuBLASLt is missing: ", library.status().message(),
        ". Install the libcublas package of CUDA ", CUBLAS_VER_MAJOR));
  }
  Functions functions;
#define WAVETUNE_CUBLASLT_BIND(name) \
  RETURN_IF_ERROR(library->Bind(#name, &functions.name));
  WAVETUNE_CUBLASLT_FUNCTIONS(WAVETUNE_CUBLASLT_BIND)
#undef WAVETUNE_CUBLASLT_BIND
  return functions;
}

absl::Status ToStatus(const Functions& functions, cublasStatus_t code,
                      absl::string_view what) {
  if (code == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  const std::string message =
      absl::StrCat(what, ": ", functions.cublasLtGetStatusString(code));
  switch (code) {
    case CUBLAS_STATUS_NOT_SUPPORTED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_INVALID_VALUE:
      return absl::UnimplementedError(message);
    case CUBLAS_STATUS_ALLOC_FAILED:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::AbortedError(message);
  }
}

// Owns a handle or descriptor of the library.
template <typename T>
class Owned {
 public:
  using Destroy = cublasStatus_t (*)(T);

  Owned() = default;
  Owned(T object, Destroy destroy) : object_(object), destroy_(destroy) {}
  Owned(Owned&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)),
        destroy_(other.destroy_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~Owned() {
    if (object_ != nullptr) destroy_(object_);
  }
  T get() const { return object_; }

 private:
  T object_ = nullptr;
  Destroy destroy_ = nullptr;
};

absl::StatusOr<cudaDataType_t> DataType(ElementType type) {
  switch (type) {
    case ElementType::kBfloat16:
      return CUDA_R_16BF;
    case ElementType::kFloat32:
      return CUDA_R_32F;
    default:
      return absl::UnimplementedError(
          "cuBLASLt is asked for products of bfloat16 and float32 only");
  }
}

// The library would read and write what it is told, not what was allocated.
absl::Status CheckSize(const KernelSpec& spec, const Problem& problem,
                       int32_t index, int64_t rows, int64_t columns) {
  const Argument& argument = spec.arguments.at(static_cast<size_t>(index));
  ASSIGN_OR_RETURN(const size_t bytes,
                   BufferBytes(argument, problem, spec.default_configuration));
  if (static_cast<double>(bytes) ==
      static_cast<double>(rows) * static_cast<double>(columns) *
          static_cast<double>(ElementBytes(argument.type))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the manifest's vendor baseline takes argument '", argument.name,
      "' for a ", rows, " x ", columns, " matrix, but it has ", bytes,
      " bytes: name the dimensions of its product"));
}

}  // namespace

struct CublasLt::State {
  CudaSession session;
  Functions functions;
  Owned<cublasLtHandle_t> handle;
  CudaMemory workspace;

  absl::StatusOr<Owned<cublasLtMatrixLayout_t>> Layout(const Argument& argument,
                                                       int64_t rows,
                                                       int64_t columns) const;
};

struct CublasLtProduct::State {
  const CublasLt::State* library = nullptr;
  MatrixProduct product;
  Owned<cublasLtMatmulDesc_t> operation;
  Owned<cublasLtMatrixLayout_t> a;
  Owned<cublasLtMatrixLayout_t> b;
  Owned<cublasLtMatrixLayout_t> out;
  cublasLtMatmulAlgo_t algorithm = {};

  absl::Status SetOperation();
  absl::Status ChooseAlgorithm();
};

// Column major, dense: the leading dimension is the number of rows.
absl::StatusOr<Owned<cublasLtMatrixLayout_t>> CublasLt::State::Layout(
    const Argument& argument, int64_t rows, int64_t columns) const {
  ASSIGN_OR_RETURN(const cudaDataType_t type, DataType(argument.type));
  cublasLtMatrixLayout_t layout = nullptr;
  RETURN_IF_ERROR(ToStatus(functions,
                           functions.cublasLtMatrixLayoutCreate(
                               &layout, type, static_cast<uint64_t>(rows),
                               static_cast<uint64_t>(columns), rows),
                           "describing a matrix"));
  return Owned<cublasLtMatrixLayout_t>(layout,
                                       functions.cublasLtMatrixLayoutDestroy);
}

absl::Status CublasLtProduct::State::SetOperation() {
  const Functions& functions = library->functions;
  cublasLtMatmulDesc_t description = nullptr;
  RETURN_IF_ERROR(ToStatus(functions,
                           functions.cublasLtMatmulDescCreate(
                               &description, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                           "describing a product"));
  operation = Owned<cublasLtMatmulDesc_t>(description,
                                          functions.cublasLtMatmulDescDestroy);
  const cublasOperation_t first =
      product.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  return ToStatus(
      functions,
      functions.cublasLtMatmulDescSetAttribute(
          description, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof(first)),
      "describing a product");
}

absl::Status CublasLtProduct::State::ChooseAlgorithm() {
  const Functions& functions = library->functions;
  cublasLtMatmulPreference_t created = nullptr;
  RETURN_IF_ERROR(ToStatus(functions,
                           functions.cublasLtMatmulPreferenceCreate(&created),
                           "asking for an algorithm"));
  const Owned<cublasLtMatmulPreference_t> preference(
      created, functions.cublasLtMatmulPreferenceDestroy);
  const size_t workspace = kWorkspaceBytes;
  RETURN_IF_ERROR(
      ToStatus(functions,
               functions.cublasLtMatmulPreferenceSetAttribute(
                   created, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                   &workspace, sizeof(workspace)),
               "asking for an algorithm"));
  cublasLtMatmulHeuristicResult_t result = {};
  int found = 0;
  RETURN_IF_ERROR(
      ToStatus(functions,
               functions.cublasLtMatmulAlgoGetHeuristic(
                   library->handle.get(), operation.get(), b.get(), a.get(),
                   out.get(), out.get(), created, 1, &result, &found),
               "asking for an algorithm"));
  if (found < 1) {
    return absl::UnimplementedError(
        "cuBLASLt has no algorithm for this problem");
  }
  algorithm = result.algo;
  return absl::OkStatus();
}

CublasLtProduct::CublasLtProduct(std::unique_ptr<State> state)
    : state_(std::move(state)) {}
CublasLtProduct::CublasLtProduct(CublasLtProduct&& other) noexcept = default;
CublasLtProduct::~CublasLtProduct() = default;

absl::Status CublasLtProduct::Launch(const CudaBuffers& buffers) {
  const auto pointer = [&](int32_t argument) {
    return reinterpret_cast<void*>(buffers.at(static_cast<size_t>(argument)));
  };
  const CublasLt::State& library = *state_->library;
  const float one = 1;
  const float zero = 0;
  void* const out = pointer(state_->product.out);
  return ToStatus(
      library.functions,
      library.functions.cublasLtMatmul(
          library.handle.get(), state_->operation.get(), &one,
          pointer(state_->product.b), state_->b.get(),
          pointer(state_->product.a), state_->a.get(), &zero, out,
          state_->out.get(), out, state_->out.get(), &state_->algorithm,
          reinterpret_cast<void*>(library.workspace.get()), kWorkspaceBytes,
          library.session.stream),
      "launching cuBLASLt's product");
}

CublasLt::CublasLt(std::unique_ptr<State> state) : state_(std::move(state)) {}
CublasLt::CublasLt(CublasLt&& other) noexcept = default;
CublasLt& CublasLt::operator=(CublasLt&& other) noexcept = default;
CublasLt::~CublasLt() = default;

absl::StatusOr<CublasLt> CublasLt::Create(const CudaSession& session) {
  auto state = std::make_unique<State>();
  state->session = session;
  ASSIGN_OR_RETURN(state->functions, LoadFunctions());
  cublasLtHandle_t handle = nullptr;
  RETURN_IF_ERROR(ToStatus(state->functions,
                           state->functions.cublasLtCreate(&handle),
                           "starting cuBLASLt"));
  state->handle =
      Owned<cublasLtHandle_t>(handle, state->functions.cublasLtDestroy);
  ASSIGN_OR_RETURN(state->workspace, AllocateMemory(session, kWorkspaceBytes));
  return CublasLt(std::move(state));
}

absl::StatusOr<CublasLtProduct> CublasLt::Prepare(
    const KernelSpec& spec, const VendorBaseline& baseline,
    const Problem& problem) const {
  if (baseline.library != kCublasLtName) {
    return absl::UnimplementedError(
        absl::StrCat("the backend 'cuda' has no library '", baseline.library,
                     "'; it has '", kCublasLtName, "'"));
  }
  const MatrixProduct& product = baseline.product;
  const auto extent = [&](int32_t dimension) {
    return problem.extents.at(static_cast<size_t>(dimension));
  };
  const auto argument = [&](int32_t index) -> const Argument& {
    return spec.arguments.at(static_cast<size_t>(index));
  };
  const int64_t m = extent(product.m);
  const int64_t n = extent(product.n);
  const int64_t k = extent(product.k);
  RETURN_IF_ERROR(CheckSize(spec, problem, product.a, m, k));
  RETURN_IF_ERROR(CheckSize(spec, problem, product.b, k, n));
  RETURN_IF_ERROR(CheckSize(spec, problem, product.out, m, n));
  auto state = std::make_unique<CublasLtProduct::State>();
  state->library = state_.get();
  state->product = product;
  RETURN_IF_ERROR(state->SetOperation());
  // The library counts columns first: a row-major [m, k] is its k x m matrix,
  // and out^T = b^T a^T.
  ASSIGN_OR_RETURN(state->a, state_->Layout(argument(product.a), k, m));
  ASSIGN_OR_RETURN(state->b, product.b_transposed
                                 ? state_->Layout(argument(product.b), k, n)
                                 : state_->Layout(argument(product.b), n, k));
  ASSIGN_OR_RETURN(state->out, state_->Layout(argument(product.out), n, m));
  RETURN_IF_ERROR(state->ChooseAlgorithm());
  return CublasLtProduct(std::move(state));
}

}  // namespace wavetune
