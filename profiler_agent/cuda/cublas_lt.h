// cuBLASLt, the vendor's matrix products, from libcublasLt.so at run time: what
// `wavetune bench --vendor-baselines` compares with.
//
//   absl::StatusOr<CublasLt> library = CublasLt::Create(session);
//   absl::StatusOr<CublasLtProduct> product =
//       library->Prepare(spec, vendor_baseline, problem);
//   absl::Status enqueued = product->Launch(buffers);
//
// As a serving engine calls it: the first heuristic, 32 MiB of workspace, sums
// in fp32.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUBLAS_LT_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUBLAS_LT_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_agent/cuda/cuda_handle.h"
#include "profiler_agent/cuda/cuda_memory.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;
struct VendorBaseline;

// What a manifest calls it.
inline constexpr char kCublasLtName[] = "cublaslt";

// One product, its algorithm chosen. Outlived by the library.
class CublasLtProduct {
 public:
  CublasLtProduct(CublasLtProduct&& other) noexcept;
  ~CublasLtProduct();

  // Enqueues the product on the session's stream. Errors: ABORTED as the
  // library reports it.
  absl::Status Launch(const CudaBuffers& buffers);

 private:
  friend class CublasLt;
  struct State;
  explicit CublasLtProduct(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

class CublasLt {
 public:
  // Loads the library and allocates the workspace. Errors: UNIMPLEMENTED where
  // it is missing, saying what to install; as AllocateMemory.
  static absl::StatusOr<CublasLt> Create(const CudaSession& session);
  CublasLt(CublasLt&& other) noexcept;
  CublasLt& operator=(CublasLt&& other) noexcept;
  ~CublasLt();

  // Asks for the algorithm of a problem. Errors: INVALID_ARGUMENT where an
  // argument is not as large as its matrix. UNIMPLEMENTED for another library,
  // an element type that it does not multiply, or a problem that it has no
  // algorithm for.
  absl::StatusOr<CublasLtProduct> Prepare(const KernelSpec& spec,
                                          const VendorBaseline& baseline,
                                          const Problem& problem) const;

 private:
  friend class CublasLtProduct;
  struct State;
  explicit CublasLt(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUBLAS_LT_H_
