// CudaDevice on a faked driver: everything but the GPU. Candidates are really
// compiled, so NVRTC is needed; skipped where it is missing.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/cuda/cuda_device.h"
#include "profiler_agent/cuda/cuda_facts.h"
#include "profiler_agent/cuda/fake_cuda_driver.h"
#include "profiler_agent/cuda/nvml.h"
#include "profiler_agent/cuda/nvrtc.h"
#include "profiler_agent/measure/backend_contract_test.h"
#include "profiler_agent/worker/test_kernels.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

const char kFaultsKernel[] =
    WAVETUNE_SOURCE_DIR "/tests/data/kernels/cuda_faults";

// BLOCK_N, PERSISTENT, HOPPER, HUGE, FAULT.
const Configuration kSound = {64, 0, 0, 0, 0};
const Configuration kPersistent = {32, 1, 0, 0, 0};
const Configuration kHopper = {64, 0, 1, 0, 0};
const Configuration kHuge = {64, 0, 0, 1, 0};

// What tests/data/kernels/cuda_faults does, on the host.
enum class Fault {
  kNone,
  kWrong,
  kPastTheEnd,
  kBeforeTheBeginning,
  kIntoAnInput,
  kReadsOutside,
  kOneElement,
  kFirstLaunchOnly,
  kIllegalAddress,
  kEcc
};

constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();

float ColumnSum(const float* a, int n, int k, int j) {
  float sum = 0;
  for (int p = 0; p < k; ++p) sum += a[static_cast<size_t>(p) * n + j];
  return sum;
}

// The fake and its kernels.
struct FakeGpu {
  FakeGpu() {
    driver.AddKernel("cuda_faults", [this](const FakeLaunch& launch) {
      return RunCandidate(launch);
    });
    driver.AddKernel("cuda_faults_reference", [this](const FakeLaunch& launch) {
      ++reference_launches;
      const auto* a = launch.Get<const float*>(0);
      auto* c = launch.Get<float*>(1);
      const int64_t items = launch.blocks * launch.block_size;
      if (computes_least_integers) {
        std::fill_n(launch.Get<int32_t*>(1), items, kLeast);
        return CUDA_SUCCESS;
      }
      for (int j = 0; j < items; ++j) {
        c[j] = ColumnSum(a, launch.Get<int>(2), launch.Get<int>(3), j);
      }
      return CUDA_SUCCESS;
    });
  }

  CUresult RunCandidate(const FakeLaunch& launch) {
    const auto* a = launch.Get<const float*>(0);
    auto* c = launch.Get<float*>(1);
    const int n = launch.Get<int>(2);
    const int k = launch.Get<int>(3) - (fault == Fault::kWrong ? 1 : 0);
    inputs.insert(a);
    if (computes_least_integers) {
      const int first = fault == Fault::kWrong ? 1 : 0;
      std::fill_n(launch.Get<int32_t*>(1) + first, n - first, kLeast);
      return CUDA_SUCCESS;
    }
    if (fault == Fault::kFirstLaunchOnly && ran_with_fault++ > 0) {
      return CUDA_SUCCESS;
    }
    if (fault == Fault::kIllegalAddress) return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (fault == Fault::kEcc) return CUDA_ERROR_ECC_UNCORRECTABLE;
    const int64_t step = launch.blocks * launch.block_size;
    for (int64_t begin = 0; begin < n; begin += step) {
      for (int64_t j = begin; j < std::min<int64_t>(begin + step, n); ++j) {
        c[j] = ColumnSum(a, n, k, static_cast<int>(j));
      }
    }
    if (fault == Fault::kPastTheEnd) c[n + 2999] = 0;
    if (fault == Fault::kBeforeTheBeginning) c[-1] = 0;
    if (fault == Fault::kIntoAnInput) const_cast<float*>(a)[n] = 0;
    if (fault == Fault::kReadsOutside) c[0] += 0 * a[int64_t{n} * k];
    if (fault == Fault::kOneElement && n == 1000) c[999] += 1;
    return CUDA_SUCCESS;
  }

  FakeCudaDriver driver;
  Fault fault = Fault::kNone;
  // All, but the first where the fault is kWrong: that is left alone.
  bool computes_least_integers = false;
  int ran_with_fault = 0;
  int reference_launches = 0;
  std::set<const float*> inputs;  // Of candidates.
};

// CudaBackend on a fake.
class FakeGpuBackend : public Backend {
 public:
  std::string name() const override { return "cuda"; }
  Enumeration Enumerate() override {
    const absl::StatusOr<const Nvrtc*> nvrtc = Nvrtc::Load();
    if (!nvrtc.ok()) return {.note = std::string(nvrtc.status().message())};
    return {.devices = {List(**nvrtc).facts}};
  }
  absl::StatusOr<std::unique_ptr<Device>> Open(
      const std::string& uuid, const std::string& cache_dir) override {
    const absl::StatusOr<const Nvrtc*> nvrtc = Nvrtc::Load();
    if (!nvrtc.ok()) return nvrtc.status();
    CudaDeviceEntry entry = List(**nvrtc);
    if (nvml.power_limit != nullptr) {
      entry.nvml.emplace(nvml, nullptr, nullptr);
    }
    if (uuid != entry.facts.uuid) return absl::NotFoundError(uuid);
    return CudaDevice::Open(gpu().driver.driver(), **nvrtc, entry, cache_dir);
  }

  FakeGpu& gpu() { return gpu_; }

  // Without a power limit devices have no NVML.
  NvmlFunctions nvml = {
      .memory = [](NvmlHandle, NvmlMemory*) { return 15; },
      .throttle_reasons = [](NvmlHandle, unsigned long long*) { return 15; },
      .clock = [](NvmlHandle, int, unsigned*) { return 15; }};

 private:
  CudaDeviceEntry List(const Nvrtc& nvrtc) {
    return ListCudaDevices(gpu_.driver.driver(), nullptr, nvrtc.version())
        ->entries.front();
  }

  FakeGpu gpu_;
};

class CudaDeviceLogicTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Backend::Enumeration found = backend_.Enumerate();
    if (found.devices.empty()) GTEST_SKIP() << found.note;
    absl::StatusOr<std::unique_ptr<Device>> device =
        backend_.Open(found.devices[0].uuid, "");
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
    ASSERT_TRUE(device_->Load(TestKernel(kFaultsKernel)).ok());
  }

  absl::StatusOr<Candidate> Prepare(const Configuration& configuration) {
    return device_->Prepare(configuration,
                            {{.extents = {1, 37}}, {.extents = {1000, 37}}});
  }
  absl::StatusOr<LaunchTimes> Measure(const Configuration& configuration,
                                      int64_t n, int64_t k, int launches) {
    return device_->Measure(configuration, {.extents = {n, k}}, 1, launches);
  }

  FakeGpuBackend backend_;
  std::unique_ptr<Device> device_;
};

TEST_F(CudaDeviceLogicTest, FactsComeFromTheDriver) {
  const DeviceFacts& facts = device_->facts();
  EXPECT_EQ(facts.architecture, "sm_86");
  EXPECT_EQ(facts.multiprocessors, FakeCudaDriver::kMultiprocessors);
  EXPECT_EQ(facts.last_level_cache_bytes, 1 << 20);
  EXPECT_EQ(facts.max_group_size, 1024);
  EXPECT_EQ(facts.max_shared_memory_bytes, 100 << 10);
  EXPECT_EQ(facts.partition, "1g.1gb");
  EXPECT_EQ(facts.uuid, "MIG-abababab-abab-abab-abab-abababababab");
  EXPECT_THAT(facts.runtime, HasSubstr("CUDA "));
}

TEST_F(CudaDeviceLogicTest, PreparesWithTheFactsOfTheKernel) {
  const absl::StatusOr<Candidate> candidate = Prepare(kSound);
  ASSERT_TRUE(candidate.ok()) << candidate.status();
  EXPECT_EQ(candidate->tiles_per_wave, 8);
  EXPECT_EQ(candidate->blocks_per_multiprocessor, 2);
  EXPECT_EQ(candidate->registers, 32);
  EXPECT_EQ(candidate->shared_memory_bytes, 256 + 16);
}

TEST_F(CudaDeviceLogicTest, RefusesWrongResultsAndWritesPastTheEnd) {
  backend_.gpu().fault = Fault::kWrong;
  absl::Status status = Prepare(kSound).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("output 'c'"));
  backend_.gpu().fault = Fault::kPastTheEnd;
  status = Prepare(kSound).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("past the end"));
  backend_.gpu().fault = Fault::kNone;
  EXPECT_TRUE(Prepare(kSound).ok());
}

TEST_F(CudaDeviceLogicTest, FindsStraysSingleElementsAndLaterLaunches) {
  const struct {
    Fault fault;
    const char* says;
  } kCases[] = {
      {Fault::kPastTheEnd,
       "writes past the end of output 'c' at n=1 k=37: 1 element, the first "
       "3000 elements past"},
      {Fault::kBeforeTheBeginning, "writes before the beginning of output 'c'"},
      {Fault::kIntoAnInput, "writes into input 'a'"},
      {Fault::kReadsOutside, "(nan where"},
      {Fault::kOneElement, "first wrong at element 999; 1 of 1,000"},
      {Fault::kFirstLaunchOnly, "in launch 2 of the same"},
  };
  for (const auto& [fault, says] : kCases) {
    backend_.gpu().fault = fault;
    const absl::Status status = Prepare(kSound).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(says));
    backend_.gpu().fault = Fault::kNone;
    EXPECT_TRUE(Prepare(kSound).ok());
  }
}

// Outputs are poisoned from a copy on the device: the other poison must come
// past it, and go again.
TEST_F(CudaDeviceLogicTest, FindsUnwrittenIntegersWhoseRightValueIsPoison) {
  LoadedKernel kernel = TestKernel(kFaultsKernel);
  kernel.spec.arguments[1].type = ElementType::kInt32;
  ASSERT_TRUE(device_->Load(std::move(kernel)).ok());
  backend_.gpu().computes_least_integers = true;
  EXPECT_TRUE(Prepare(kSound).ok());
  backend_.gpu().fault = Fault::kWrong;
  const absl::Status status = Prepare(kSound).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("in launch 2"));
  backend_.gpu().fault = Fault::kNone;
  EXPECT_TRUE(Prepare(kSound).ok());
}

TEST_F(CudaDeviceLogicTest, TheReferenceRunsOnceForAllCandidates) {
  ASSERT_TRUE(Prepare(kSound).ok());
  const int launches = backend_.gpu().reference_launches;
  EXPECT_EQ(launches, 2 * 6);  // Two problems.
  ASSERT_TRUE(Prepare(kPersistent).ok());
  EXPECT_EQ(backend_.gpu().reference_launches, launches);
}

TEST_F(CudaDeviceLogicTest, RefusesWhatIsTooLargeOrNotMeantForTheDevice) {
  EXPECT_EQ(Prepare(kHuge).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Prepare(kHopper).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(CudaDeviceLogicTest, APersistentKernelGetsNoMoreGroupsThanAreResident) {
  ASSERT_TRUE(Measure(kPersistent, 32 * 100, 3, 1).ok());
  EXPECT_EQ(backend_.gpu().driver.last_blocks(), 8);
  ASSERT_TRUE(Measure(kSound, 64 * 100, 3, 1).ok());
  EXPECT_EQ(backend_.gpu().driver.last_blocks(), 100);
}

TEST_F(CudaDeviceLogicTest, TimesEveryLaunchAndTheWarmUp) {
  const int before = backend_.gpu().driver.launches();
  const absl::StatusOr<LaunchTimes> times = Measure(kSound, 100, 37, 200);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(times->launch_us.size(), 200u);
  for (const double us : times->launch_us) EXPECT_NEAR(us, 10, 1e-2);
  EXPECT_EQ(times->launches_per_timing, 16);
  EXPECT_NEAR(times->warmup_us, 50, 1e-2);  // One, and four to see how long.
  EXPECT_FALSE(times->throttled);
  EXPECT_EQ(backend_.gpu().driver.launches() - before, 5 + 200 * 16);
}

// A fifth argument of the kernel: four tickets, of which it finds one drawn
// where nobody has zeroed them.
class CudaWorkspaceTest : public CudaDeviceLogicTest {
 protected:
  void LoadWithWorkspace(Zeroed zeroed, bool leaves_zero) {
    LoadedKernel kernel = TestKernel(kFaultsKernel);
    kernel.spec.arguments.push_back({.name = "tickets",
                                     .role = ArgumentRole::kWorkspace,
                                     .type = ElementType::kInt32,
                                     .size = Expression::Constant(4),
                                     .zeroed = zeroed});
    ASSERT_TRUE(device_->Load(std::move(kernel)).ok());
    found_drawn_ = 0;
    backend_.gpu().driver.AddKernel(
        "cuda_faults", [this, leaves_zero](const FakeLaunch& launch) {
          auto* const tickets = launch.Get<int32_t*>(4);
          found_drawn_ += tickets[0] == 0 ? 0 : 1;
          tickets[0] = leaves_zero ? 0 : 1;
          return backend_.gpu().RunCandidate(launch);
        });
  }

  double LaunchUs() {
    const absl::StatusOr<LaunchTimes> times = Measure(kSound, 100, 37, 20);
    EXPECT_TRUE(times.ok()) << times.status();
    return times.ok() ? times->launch_us[0] : 0;
  }

  int found_drawn_ = 0;
};

TEST_F(CudaWorkspaceTest, IsZeroedBeforeEachLaunchAsAPartOfIt) {
  LoadWithWorkspace(Zeroed::kEveryLaunch, /*leaves_zero=*/false);
  EXPECT_TRUE(Prepare(kSound).ok());
  EXPECT_NEAR(LaunchUs(), 12, 1e-2);
  EXPECT_EQ(found_drawn_, 0);
}

TEST_F(CudaWorkspaceTest, ThatIsZeroedOnceIsZeroAtTheFirstLaunch) {
  LoadWithWorkspace(Zeroed::kOnce, /*leaves_zero=*/true);
  EXPECT_TRUE(Prepare(kSound).ok());
  EXPECT_NEAR(LaunchUs(), 10, 1e-2);
  EXPECT_EQ(found_drawn_, 0);
  LoadWithWorkspace(Zeroed::kOnce, /*leaves_zero=*/false);
  const absl::Status status = Prepare(kSound).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("leaves workspace 'tickets' at n=1 k=37 not zero"));
}

TEST_F(CudaWorkspaceTest, ThatIsNeverZeroedCostsNothing) {
  LoadWithWorkspace(Zeroed::kNever, /*leaves_zero=*/false);
  EXPECT_TRUE(Prepare(kSound).ok());
  EXPECT_NEAR(LaunchUs(), 10, 1e-2);
  EXPECT_GT(found_drawn_, 0);
}

// What a burst leaves behind is not what the next one begins with.
TEST_F(CudaDeviceLogicTest, AnInOutBufferIsFilledAgainForEachMeasurement) {
  LoadedKernel kernel = TestKernel(kFaultsKernel);
  kernel.spec.arguments[1].role = ArgumentRole::kInOut;
  ASSERT_TRUE(device_->Load(std::move(kernel)).ok());
  std::vector<float> found;
  backend_.gpu().driver.AddKernel("cuda_faults", [&](const FakeLaunch& launch) {
    auto* const c = launch.Get<float*>(1);
    found.push_back(c[99]);
    c[99] += 1;
    return CUDA_SUCCESS;
  });
  ASSERT_TRUE(Measure(kSound, 100, 37, 1).ok());
  const float first = found.front();
  EXPECT_NE(found.back(), first);
  found.clear();
  ASSERT_TRUE(Measure(kSound, 100, 37, 1).ok());
  EXPECT_EQ(found.front(), first);
}

TEST_F(CudaDeviceLogicTest, AnIndexBufferFollowsTheProblem) {
  LoadedKernel kernel = TestKernel(kFaultsKernel);
  kernel.spec.arguments[0].type = ElementType::kInt32;
  kernel.spec.arguments[0].cold = false;
  kernel.spec.arguments[0].below = Expression::OfDimension(0);
  ASSERT_TRUE(device_->Load(std::move(kernel)).ok());
  int32_t largest = 0;
  backend_.gpu().driver.AddKernel("cuda_faults", [&](const FakeLaunch& launch) {
    const auto* const a = launch.Get<const int32_t*>(0);
    const int64_t elements = int64_t{launch.Get<int>(2)} * launch.Get<int>(3);
    largest = *std::max_element(a, a + elements);
    return CUDA_SUCCESS;
  });
  for (const int64_t n : {100, 20, 300, 100}) {
    ASSERT_TRUE(Measure(kSound, n, 37, 1).ok());
    EXPECT_EQ(largest, n - 1);
  }
}

// What is measured on the same memory one problem after the other.
TEST_F(CudaDeviceLogicTest, BlocksOfElementsAreWrittenForEachProblem) {
  LoadedKernel kernel = TestKernel(kFaultsKernel);
  kernel.spec.dimensions.push_back(
      {.name = "rows", .repeated = true, .min = 0});
  kernel.spec.arguments[0].type = ElementType::kInt32;
  kernel.spec.arguments[0].cold = false;
  kernel.spec.arguments[0].blocks = ElementBlocks{
      .kind = ElementBlocks::Kind::kPaddedTotal,
      .dimension = static_cast<int32_t>(kernel.spec.dimensions.size()) - 1,
      .block = Expression::Constant(16)};
  ASSERT_TRUE(device_->Load(std::move(kernel)).ok());
  std::vector<int32_t> found;
  backend_.gpu().driver.AddKernel("cuda_faults", [&](const FakeLaunch& launch) {
    found.push_back(*launch.Get<const int32_t*>(0));
    return CUDA_SUCCESS;
  });
  for (const int64_t rows : {3, 17, 0}) {
    Problem problem{.extents = {100, 37, 0}, .repeated = {rows, 16}};
    const auto times = device_->Measure(kSound, problem, 1, 1);
    ASSERT_TRUE(times.ok()) << times.status();
    EXPECT_EQ(found.back(), (rows + 15) / 16 * 16 + 16);
  }
}

TEST_F(CudaDeviceLogicTest, TheClockIsWhatTheMultiprocessorsCount) {
  uint64_t now_ns = 1000;
  backend_.gpu().driver.AddKernel(
      "look_at_clock", [&](const FakeLaunch& launch) {
        auto* const looks = launch.Get<uint64_t*>(0);
        for (int64_t i = 0; i < launch.blocks; ++i) {
          looks[3 * i] = now_ns;
          looks[3 * i + 1] = now_ns * 7 / 5;
        }
        now_ns += 100'000;
        return CUDA_SUCCESS;
      });
  absl::StatusOr<LaunchTimes> times = Measure(kSound, 100, 1, 50);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(times->sm_clock_mhz, 1400);
}

TEST_F(CudaDeviceLogicTest, RotatesTheColdInputOverMoreThanTheCache) {
  backend_.gpu().inputs.clear();
  // 64 KiB a slice; 4 MiB to rotate over, and the slice itself.
  ASSERT_TRUE(Measure(kSound, 1024, 16, 50).ok());
  EXPECT_EQ(backend_.gpu().inputs.size(), 65u);
  const float* const first = *backend_.gpu().inputs.begin();
  const float* const last = *backend_.gpu().inputs.rbegin();
  EXPECT_EQ(last - first, 64 * 16384);
}

TEST_F(CudaDeviceLogicTest, AKernelWithoutPeersHasNone) {
  EXPECT_EQ(
      device_->MeasureVendorBaseline("cublaslt", {.extents = {64, 64}}, 1, 1)
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);
}

TEST_F(CudaDeviceLogicTest, TakesNoMoreThanHalfOfTheMemory) {
  EXPECT_EQ(Measure(kSound, 65536, 4096, 1).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Measure(kSound, 64, 64, 1).ok());
}

TEST_F(CudaDeviceLogicTest, GivesBackWhatItTook) {
  ASSERT_TRUE(Prepare(kSound).ok());
  ASSERT_TRUE(Measure(kSound, 1024, 16, 1).ok());
  EXPECT_LT(backend_.gpu().driver.free_bytes(), FakeCudaDriver::kTotalBytes);
  device_.reset();
  EXPECT_EQ(backend_.gpu().driver.free_bytes(), FakeCudaDriver::kTotalBytes);
}

TEST_F(CudaDeviceLogicTest, AFaultStaysAndIsTheCandidates) {
  backend_.gpu().fault = Fault::kIllegalAddress;
  EXPECT_EQ(Prepare(kSound).status().code(), absl::StatusCode::kAborted);
  backend_.gpu().fault = Fault::kNone;
  EXPECT_EQ(Prepare(kSound).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Measure(kSound, 64, 64, 1).status().code(),
            absl::StatusCode::kAborted);
}

TEST_F(CudaDeviceLogicTest, AnUncorrectableMemoryErrorIsTheDevicesFault) {
  backend_.gpu().fault = Fault::kEcc;
  const absl::Status status = Prepare(kSound).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("ECC_UNCORRECTABLE"));
}

TEST_F(CudaDeviceLogicTest, AFaultOfAGpuThatIsLostIsTheDevicesFault) {
  backend_.nvml.power_limit = [](NvmlHandle, unsigned*) { return 15; };
  const absl::StatusOr<std::unique_ptr<Device>> device =
      backend_.Open(device_->facts().uuid, "");
  ASSERT_TRUE(device.ok()) << device.status();
  ASSERT_TRUE((*device)->Load(TestKernel(kFaultsKernel)).ok());
  backend_.gpu().fault = Fault::kIllegalAddress;
  const absl::Status status =
      (*device)->Prepare(kSound, {{.extents = {1, 37}}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the GPU is lost, or must be reset"));
}

TEST_F(CudaDeviceLogicTest, SaysWhatIsFreeWhereAServerHoldsTheCard) {
  backend_.gpu().driver.HoldByOthers(FakeCudaDriver::kTotalBytes -
                                     (size_t{1} << 20));
  const absl::Status status = Measure(kSound, 1024, 1024, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("1 of 1024 MiB are free"));
  EXPECT_THAT(message, HasSubstr("--memory-cap"));
  backend_.gpu().driver.HoldByOthers(0);
  EXPECT_TRUE(Measure(kSound, 1024, 1024, 1).ok());
}

TEST_F(CudaDeviceLogicTest, WhereNotEvenAContextFitsItSaysSo) {
  backend_.gpu().driver.FailToOpen(CUDA_ERROR_OUT_OF_MEMORY);
  const absl::Status status = backend_.Open(device_->facts().uuid, "").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("another process holds the rest"));
}

TEST_F(CudaDeviceLogicTest, RotatesFullyAgainOnceThereIsRoom) {
  FakeCudaDriver& driver = backend_.gpu().driver;
  // Room for a few slices of 64 KiB only.
  driver.HoldByOthers(FakeCudaDriver::kTotalBytes - (size_t{1} << 20));
  backend_.gpu().inputs.clear();
  ASSERT_TRUE(Measure(kSound, 1024, 16, 50).ok());
  EXPECT_LT(backend_.gpu().inputs.size(), 65u);
  driver.HoldByOthers(0);
  backend_.gpu().inputs.clear();
  ASSERT_TRUE(Measure(kSound, 1024, 16, 50).ok());
  EXPECT_EQ(backend_.gpu().inputs.size(), 65u);
}

TEST_F(CudaDeviceLogicTest, SaysThatTheHostStalledWhereTheHoldGaveUp) {
  EXPECT_FALSE(Measure(kSound, 64, 64, 1)->host_stalled);
  backend_.gpu().driver.AddKernel("hold", [](const FakeLaunch& launch) {
    launch.Get<int*>(0)[1] = 1;
    return CUDA_SUCCESS;
  });
  EXPECT_TRUE(Measure(kSound, 64, 64, 1)->host_stalled);
  backend_.gpu().driver.AddKernel(
      "hold", [](const FakeLaunch&) { return CUDA_SUCCESS; });
  EXPECT_FALSE(Measure(kSound, 64, 64, 1)->host_stalled);
}

TEST_F(CudaDeviceLogicTest, ACachedHoldKernelThatIsRefusedIsCompiledAnew) {
  const std::string cache = ::testing::TempDir() + "/hold-cache";
  std::filesystem::remove_all(cache);
  const std::string uuid = device_->facts().uuid;
  ASSERT_TRUE(backend_.Open(uuid, cache).ok());
  backend_.gpu().driver.RefuseModules(1);
  EXPECT_TRUE(backend_.Open(uuid, cache).ok());
  backend_.gpu().driver.RefuseModules(2);  // Not the cache's fault.
  EXPECT_FALSE(backend_.Open(uuid, cache).ok());
  std::filesystem::remove_all(cache);
}

TEST(CudaDeviceListTest, AGpuThatDoesNotAnswerHidesNoOther) {
  FakeCudaDriver driver;
  driver.SetDevices(3, /*silent_index=*/1);
  const absl::StatusOr<CudaDeviceList> list =
      ListCudaDevices(driver.driver(), nullptr, "x");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->entries.size(), 2u);
  ASSERT_EQ(list->failures.size(), 1u);
  EXPECT_THAT(list->failures[0], HasSubstr("GPU 1 is left out: "));
}

// Its keys would be others than with NVML: it is not attached, and looked for
// again.
TEST(CudaDeviceListTest, AGpuOfWhichNvmlFailsIsLeftOutAndNotAnotherOne) {
  const FakeCudaDriver driver;
  NvmlFunctions functions;
  static NvmlCode code = 0;
  functions.driver_version = [](char*, unsigned) { return code; };
  functions.handle_by_uuid = [](const char*, NvmlHandle*) { return code; };
  const Nvml nvml(functions);
  code = 999;
  absl::StatusOr<CudaDeviceList> list =
      ListCudaDevices(driver.driver(), &nvml, "x");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_TRUE(list->entries.empty());
  ASSERT_EQ(list->failures.size(), 1u);
  EXPECT_THAT(list->failures[0], HasSubstr("GPU 0 is left out: "));
  code = 6;  // It has no such GPU, and never will.
  list = ListCudaDevices(driver.driver(), &nvml, "x");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->entries.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    FakeGpu, BackendContractTest,
    ::testing::Values(BackendContract{
        .create = [] { return std::make_unique<FakeGpuBackend>(); },
        .kernel = [] { return TestKernel(kFaultsKernel); },
        .configuration = kSound,
        .problem = {.extents = {100, 37}},
        .correctness_problems = {{.extents = {100, 37}}}}));

}  // namespace
}  // namespace wavetune
