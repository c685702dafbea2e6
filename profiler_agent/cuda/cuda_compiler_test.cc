// Compiling with NVRTC. Needs the toolkit, no GPU; skipped where NVRTC is
// missing.
#include "profiler_agent/cuda/cuda_compiler.h"

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/cuda/cuda_backend.h"
#include "profiler_agent/worker/test_kernels.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const char kFaults[] = WAVETUNE_SOURCE_DIR "/tests/data/kernels/cuda_faults";

class CudaCompilerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    nvrtc_ = Nvrtc::Load();
    if (!nvrtc_.ok()) GTEST_SKIP() << nvrtc_.status().message();
    directory_ = ::testing::TempDir() + "cuda_compiler_XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
  }
  void TearDown() override {
    if (!directory_.empty()) fs::remove_all(directory_);
  }

  absl::StatusOr<Cubin> Compile(const std::string& option,
                                const std::string& entry = "f",
                                int capability = 90) {
    const CudaCompiler compiler(**nvrtc_, CudaArchitectureOf(capability),
                                directory_);
    return compiler.Compile(source_, {option}, entry);
  }

  size_t Programs() const {
    std::error_code ignored;
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         fs::directory_iterator(directory_ + "/programs", ignored)) {
      ++count;
    }
    return count;
  }

  absl::StatusOr<const Nvrtc*> nvrtc_ = nullptr;
  std::string directory_;
  CudaSource source_ = {
      .name = "a.cu",
      .files = {{"a.cu",
                 "#include \"value.cuh\"\n"
                 "extern \"C\" __global__ void f(int* x) { *x = value(); }\n"},
                {"value.cuh", "constexpr int value() { return VALUE; }\n"}}};
};

TEST_F(CudaCompilerTest, TakesMachineCodeFromDiskTheSecondTime) {
  const absl::StatusOr<Cubin> first = Compile("-DVALUE=1");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(first->from_disk);
  EXPECT_EQ(first->code.substr(1, 3), "ELF");
  const absl::StatusOr<Cubin> again = Compile("-DVALUE=1");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->from_disk);
  EXPECT_EQ(again->code, first->code);
  EXPECT_EQ(Programs(), 1u);
}

TEST_F(CudaCompilerTest, OptionsArchitectureAndEveryFileMakeAnotherEntry) {
  ASSERT_TRUE(Compile("-DVALUE=1").ok());
  EXPECT_FALSE(Compile("-DVALUE=2")->from_disk);
  EXPECT_FALSE(Compile("-DVALUE=1", "f", 80)->from_disk);
  source_.files["value.cuh"] += "// edited\n";
  EXPECT_FALSE(Compile("-DVALUE=1")->from_disk);
  EXPECT_EQ(Programs(), 4u);
}

TEST_F(CudaCompilerTest, AnEntryThatIsForgottenIsCompiledAgain) {
  const absl::StatusOr<Cubin> first = Compile("-DVALUE=1");
  ASSERT_TRUE(first.ok());
  CudaCompiler(**nvrtc_, CudaArchitectureOf(90), directory_).Forget(*first);
  EXPECT_FALSE(Compile("-DVALUE=1")->from_disk);
}

TEST_F(CudaCompilerTest, ReportsTheErrorsAndNotTheWarnings) {
  source_.files["a.cu"] =
      "extern \"C\" __global__ void f() { int unused; undeclared(); }\n";
  const absl::Status status = Compile("-DVALUE=1").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("a.cu(1): error"), HasSubstr("undeclared"),
                    HasSubstr("-DVALUE=1"), Not(HasSubstr("warning"))));
}

// What numeric kernels are written with, with the toolkit's headers and
// without.
TEST_F(CudaCompilerTest, HalfAndBfloat16AndInfinityAreThere) {
  const CudaSource source = {.name = "a.cu",
                             .files = {{"a.cu", R"(#include <cuda_bf16.h>
#include <cuda_fp16.h>
constexpr float kLeast = -INFINITY;
extern "C" __global__ void f(__nv_bfloat16* b, __half* h, float* x) {
  b[0] = __float2bfloat16(__bfloat162float(b[1]) + kLeast);
  h[0] = __float2half(__half2float(h[1]));
  x[0] = NAN;
}
)"}}};
  const Nvrtc without = (*nvrtc_)->WithoutHeaders();
  for (const Nvrtc* nvrtc : {*nvrtc_, &without}) {
    const CudaCompiler compiler(*nvrtc, CudaArchitectureOf(90), "");
    const absl::StatusOr<Cubin> cubin = compiler.Compile(source, {}, "f");
    EXPECT_TRUE(cubin.ok()) << nvrtc->headers() << ": " << cubin.status();
  }
  EXPECT_EQ(without.headers(), "");
}

TEST_F(CudaCompilerTest, ASourceMayMakeTheUsualNamesItself) {
  source_.files["value.cuh"] = R"(
constexpr float INFINITY = 4.0f;
#define NAN 1
constexpr int value() { return int(INFINITY) + NAN; }
)";
  EXPECT_TRUE(Compile("-DVALUE=1").ok()) << Compile("-DVALUE=1").status();
}

TEST_F(CudaCompilerTest, OtherHeadersMakeAnotherEntry) {
  if ((*nvrtc_)->headers().empty()) GTEST_SKIP() << "no toolkit's headers";
  const absl::StatusOr<Cubin> first = Compile("-DVALUE=1");
  const Nvrtc without = (*nvrtc_)->WithoutHeaders();
  const CudaCompiler other(without, CudaArchitectureOf(90), directory_);
  const absl::StatusOr<Cubin> second =
      other.Compile(source_, {"-DVALUE=1"}, "f");
  ASSERT_TRUE(first.ok() && second.ok()) << second.status();
  EXPECT_NE(first->key, second->key);
}

TEST_F(CudaCompilerTest, AMissingHeaderSaysWhereHeadersAreLookedFor) {
  source_.files["a.cu"] = "#include <no_such_header.h>\n";
  EXPECT_THAT(Compile("-DVALUE=1").status().message(),
              HasSubstr("finds the headers of its own toolkit"));
}

TEST_F(CudaCompilerTest, NamesAnEntryThatIsNotThere) {
  const absl::Status status = Compile("-DVALUE=1", "g").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'g'"));
}

TEST_F(CudaCompilerTest, RefusesAnOptionThatIsNone) {
  EXPECT_EQ(Compile("--no-such-option").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(CudaCompilerTest, NamesASourceThatIsMissing) {
  source_.name = "gone.cu";
  const absl::Status status = Compile("-DVALUE=1").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("gone.cu"));
}

TEST_F(CudaCompilerTest, HopperCodeNeedsTheArchitectureSpecificForm) {
  source_.files["a.cu"] =
      "extern \"C\" __global__ void f() {\n"
      "  asm volatile(\"wgmma.fence.sync.aligned;\");\n"
      "}\n";
  EXPECT_TRUE(Compile("-DVALUE=1", "f", 90).ok());
  const CudaCompiler plain(**nvrtc_, {.capability = 90, .target = "sm_90"}, "");
  EXPECT_FALSE(plain.Compile(source_, {}, "f").ok());
}

// The device that compiles only.
class CudaCompileBackendTest : public CudaCompilerTest {
 protected:
  void SetUp() override {
    CudaCompilerTest::SetUp();
    if (IsSkipped()) return;
    CudaCompileBackend backend("sm_90a", "python3");
    const Backend::Enumeration found = backend.Enumerate();
    ASSERT_EQ(found.devices.size(), 1u) << found.note;
    absl::StatusOr<std::unique_ptr<Device>> device =
        backend.Open(found.devices[0].uuid, directory_);
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
    EXPECT_EQ(device_->facts(), found.devices[0]);
  }

  // BLOCK_N = 64, then as named.
  absl::Status Prepare(int64_t hopper, int64_t fault) {
    return device_->Prepare({64, 0, hopper, 0, fault}, {}).status();
  }

  std::unique_ptr<Device> device_;
};

TEST_F(CudaCompileBackendTest, FactsNameArchitectureAndCompiler) {
  EXPECT_EQ(device_->facts().architecture, "sm_90");
  EXPECT_EQ(device_->facts().backend, "cuda");
  EXPECT_THAT(device_->facts().compiler, HasSubstr("NVRTC "));
}

TEST_F(CudaCompileBackendTest, CompilesCandidatesAndMeasuresNone) {
  EXPECT_EQ(Prepare(0, 0).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(device_->Load(TestKernel(kFaults)).ok());
  EXPECT_TRUE(Prepare(0, 0).ok()) << Prepare(0, 0);
  EXPECT_TRUE(Prepare(1, 0).ok()) << Prepare(1, 0);
  const absl::Status broken = Prepare(0, 1);
  EXPECT_EQ(broken.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(broken.message()), HasSubstr("broken on purpose"));
  EXPECT_EQ(device_->Measure({64, 0, 0, 0, 0}, {.extents = {64, 64}}, 1, 1)
                .status()
                .code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(CudaCompileBackendTest, RefusesWhatIsNotMeantForTheArchitecture) {
  CudaCompileBackend backend("sm_80", "python3");
  device_ = *backend.Open(backend.Enumerate().devices[0].uuid, directory_);
  ASSERT_TRUE(device_->Load(TestKernel(kFaults)).ok());
  EXPECT_TRUE(Prepare(0, 0).ok());
  const absl::Status status = Prepare(1, 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("sm_80"));
}

TEST_F(CudaCompileBackendTest, AReferenceThatDoesNotCompileEndsTheBatch) {
  LoadedKernel kernel = TestKernel(kFaults);
  kernel.files["reference.cu"] = "#error \"no reference\"\n";
  ASSERT_TRUE(device_->Load(kernel).ok());
  const absl::Status status = Prepare(0, 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no reference"));
}

TEST_F(CudaCompileBackendTest, RefusesAKernelItCannotCompileAndKeepsItsOwn) {
  ASSERT_TRUE(device_->Load(TestKernel(kFaults)).ok());
  LoadedKernel other = TestKernel(kFaults);
  other.files.erase("columns.cuh");
  EXPECT_EQ(device_->Load(other).code(), absl::StatusCode::kInvalidArgument);
  other = TestKernel(kFaults);
  other.spec.implementations[0].backend = "opencl";
  EXPECT_EQ(device_->Load(other).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Prepare(0, 0).ok());
}

TEST_F(CudaCompileBackendTest, AnArchitectureThatIsNoneHasNoDevice) {
  const Backend::Enumeration found =
      CudaCompileBackend("sm_12", "python3").Enumerate();
  EXPECT_TRUE(found.devices.empty());
  EXPECT_THAT(found.note, HasSubstr("does not compile for sm_12"));
  EXPECT_THAT(CudaCompileBackend("hopper", "python3").Enumerate().note,
              HasSubstr("'hopper' is no GPU architecture"));
}

// Where there is a GPU the same code finds it; cuda_device_test takes it from
// there.
TEST(CudaBackendTest, SaysWhyThereAreNoDevices) {
  CudaBackend backend(0.5, "python3");
  const Backend::Enumeration found = backend.Enumerate();
  if (!found.devices.empty()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_FALSE(found.note.empty());
  EXPECT_EQ(found.note.find('\n'), std::string::npos) << found.note;
  EXPECT_FALSE(backend.Open("GPU-1", "").ok());
}

}  // namespace
}  // namespace wavetune
