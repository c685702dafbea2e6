// CudaDevice on a real GPU; skipped where there is none.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/correctness_problems.h"
#include "model/kernel/device.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/cuda/cuda_backend.h"
#include "profiler_agent/measure/backend_contract_test.h"
#include "profiler_agent/worker/test_kernels.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

const char kFaults[] = WAVETUNE_SOURCE_DIR "/tests/data/kernels/cuda_faults";
const char kForms[] = WAVETUNE_SOURCE_DIR "/tests/data/kernels/cuda_forms";
const char kGemm[] = WAVETUNE_SOURCE_DIR "/kernels/gemm_bf16";

// BLOCK_N, PERSISTENT, HOPPER, HUGE, FAULT.
const Configuration kSound = {64, 0, 0, 0, 0};
const Configuration kPersistent = {32, 1, 0, 0, 0};
const Configuration kHuge = {64, 0, 0, 1, 0};

Configuration Fault(int64_t number) { return {64, 0, 0, 0, number}; }

class CudaDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Backend::Enumeration found = backend_.Enumerate();
    if (found.devices.empty()) GTEST_SKIP() << found.note;
    facts_ = found.devices[0];
    cache_dir_ = ::testing::TempDir() + "cuda_cache_XXXXXX";
    ASSERT_NE(mkdtemp(cache_dir_.data()), nullptr);
    absl::StatusOr<std::unique_ptr<Device>> device =
        backend_.Open(facts_.uuid, cache_dir_);
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
  }
  void TearDown() override {
    device_.reset();
    if (!cache_dir_.empty()) std::filesystem::remove_all(cache_dir_);
  }

  void Load(const std::string& folder) {
    LoadedKernel loaded = TestKernel(folder);
    spec_ = loaded.spec;
    problems_.clear();
    for (const WeightedProblem& problem : spec_.correctness_problems) {
      problems_.push_back(problem.problem);
    }
    const absl::Status status = device_->Load(std::move(loaded));
    ASSERT_TRUE(status.ok()) << status;
  }

  // A configuration of gemm_bf16: the first of its space with these values.
  Configuration Find(
      const std::vector<std::pair<std::string, int64_t>>& wanted) {
    for (const Configuration& candidate : EnumerateConfigurations(spec_)) {
      bool fits = true;
      for (const auto& [name, value] : wanted) {
        fits &= candidate[spec_.ParameterIndex(name)] == value;
      }
      if (fits) return candidate;
    }
    ADD_FAILURE() << "no such configuration";
    return spec_.default_configuration;
  }

  void PreparesAndMeasures(const Configuration& configuration) {
    SCOPED_TRACE(FormatConfiguration(spec_, configuration));
    const auto problems =
        CandidateProblems(spec_, "", configuration, problems_);
    ASSERT_TRUE(problems.ok()) << problems.status();
    const absl::StatusOr<Candidate> candidate =
        device_->Prepare(configuration, *problems);
    ASSERT_TRUE(candidate.ok()) << candidate.status();
    EXPECT_GE(candidate->tiles_per_wave, facts_.multiprocessors / 2);
    EXPECT_GT(candidate->registers, 0);
    const absl::StatusOr<LaunchTimes> times =
        device_->Measure(configuration, {.extents = {512, 4096, 4096}}, 2, 10);
    ASSERT_TRUE(times.ok()) << times.status();
    for (const double us : times->launch_us) {
      EXPECT_GT(us, 2);
      EXPECT_LT(us, 1e5);
    }
  }

  CudaBackend backend_{0.5, "python3"};
  DeviceFacts facts_;
  std::string cache_dir_;
  std::unique_ptr<Device> device_;
  KernelSpec spec_;
  std::vector<Problem> problems_;
};

TEST_F(CudaDeviceTest, FactsAreThoseOfAGpu) {
  EXPECT_GE(ComputeCapability(facts_), 75);
  EXPECT_GE(facts_.memory_bytes, int64_t{1} << 30);
  EXPECT_GE(facts_.last_level_cache_bytes, int64_t{1} << 20);
  EXPECT_EQ(facts_.max_group_size, 1024);
  EXPECT_GE(facts_.max_shared_memory_bytes, 48 << 10);
  EXPECT_THAT(facts_.uuid, ::testing::ContainsRegex("^(GPU|MIG)-"));
}

TEST_F(CudaDeviceTest, PreparesAndMeasuresASoundKernel) {
  Load(kFaults);
  const absl::StatusOr<Candidate> candidate =
      device_->Prepare(kSound, problems_);
  ASSERT_TRUE(candidate.ok()) << candidate.status();
  EXPECT_EQ(
      candidate->tiles_per_wave,
      int64_t{candidate->blocks_per_multiprocessor} * facts_.multiprocessors);
  EXPECT_GT(candidate->registers, 0);
  EXPECT_EQ(candidate->shared_memory_bytes, 256);
  const absl::StatusOr<LaunchTimes> times =
      device_->Measure(kSound, {.extents = {65536, 64}}, 1, 5);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(times->launch_us.size(), 5u);
}

TEST_F(CudaDeviceTest, ATritonKernelIsCorrectInEachFormAndMeasured) {
  if (facts_.triton.empty()) GTEST_SKIP() << facts_.python << " has no Triton";
  Load(WAVETUNE_SOURCE_DIR "/tests/kernels/triton_gelu");
  for (const Configuration& configuration : EnumerateConfigurations(spec_)) {
    SCOPED_TRACE(FormatConfiguration(spec_, configuration));
    const auto problems =
        CandidateProblems(spec_, "", configuration, problems_);
    ASSERT_TRUE(problems.ok()) << problems.status();
    const absl::StatusOr<Candidate> candidate =
        device_->Prepare(configuration, *problems);
    ASSERT_TRUE(candidate.ok()) << candidate.status();
    EXPECT_GT(candidate->registers, 0);
    // Rows that are 1, a multiple of 16, and neither.
    for (const int64_t rows : {1, 448, 447}) {
      const absl::StatusOr<LaunchTimes> times =
          device_->Measure(configuration, {.extents = {rows, 5000}}, 2, 5);
      ASSERT_TRUE(times.ok()) << times.status();
      EXPECT_GT(times->launch_us.front(), 0.5);
    }
  }
}

TEST_F(CudaDeviceTest, APersistentKernelDoesAllTiles) {
  Load(kFaults);
  const absl::Status status =
      device_->Prepare(kPersistent, {{.extents = {65536, 3}}}).status();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(CudaDeviceTest, MoreLaunchesThanAStreamTakes) {
  Load(kFaults);
  const absl::StatusOr<LaunchTimes> times =
      device_->Measure(kSound, {.extents = {1024, 16}}, 1, 3000);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(times->launch_us.size(), 3000u);
}

TEST_F(CudaDeviceTest, RefusesEachBrokenCandidateAndGoesOn) {
  Load(kFaults);
  absl::Status status = device_->Prepare(Fault(1), problems_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  status = device_->Prepare(Fault(2), problems_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("relative error"));
  status = device_->Prepare(Fault(3), problems_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("past the end"));
  status = device_->Prepare(kHuge, problems_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("shared memory"));
  EXPECT_TRUE(device_->Prepare(kSound, problems_).ok());
}

TEST_F(CudaDeviceTest, AnIllegalAddressIsAFaultOfTheCandidate) {
  // The context does not survive it, and so neither would later tests here. A
  // new process, as CUDA does not survive a fork either.
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        CudaBackend backend(0.5, "python3");
        std::unique_ptr<Device> device = *backend.Open(facts_.uuid, "");
        const absl::Status loaded = device->Load(TestKernel(kFaults));
        const absl::Status status =
            device->Prepare(Fault(4), {{.extents = {64, 8}}}).status();
        _exit(loaded.ok() && absl::IsAborted(status) ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(CudaDeviceTest, TakesCompiledCandidatesFromDisk) {
  Load(kFaults);
  ASSERT_TRUE(device_->Prepare(kSound, problems_).ok());
  const auto count = [&] {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry :
         std::filesystem::directory_iterator(cache_dir_ + "/programs")) {
      paths.push_back(entry.path());
    }
    return paths.size();
  };
  const size_t programs = count();
  EXPECT_GE(programs, 2u);  // Candidate and reference.
  device_ = *backend_.Open(facts_.uuid, cache_dir_);
  Load(kFaults);
  EXPECT_TRUE(device_->Prepare(kSound, problems_).ok());
  EXPECT_EQ(count(), programs);
}

TEST_F(CudaDeviceTest, RefusesMoreThanItsShareOfMemory) {
  Load(kFaults);
  LoadedKernel kernel = TestKernel(kFaults);
  kernel.spec.arguments[0].size = Expression::Product(
      {Expression::OfDimension(0), Expression::OfDimension(1),
       Expression::Constant(1024)});
  ASSERT_TRUE(device_->Load(kernel).ok());
  EXPECT_EQ(device_->Measure(kSound, {.extents = {65536, 65536}}, 1, 1)
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(device_->Measure(kSound, {.extents = {64, 64}}, 1, 1).ok());
}

TEST_F(CudaDeviceTest, MultipliesMatricesOnEveryGpu) {
  Load(kGemm);
  PreparesAndMeasures(Find({{"HOPPER", 0}, {"VECTOR", 1}}));
  PreparesAndMeasures(Find({{"HOPPER", 0}, {"VECTOR", 8}}));
}

TEST_F(CudaDeviceTest, MultipliesWithTensorMapsAndClustersOnHopper) {
  if (ComputeCapability(facts_) != 90) {
    GTEST_SKIP() << "needs compute capability 9.0";
  }
  Load(kGemm);
  PreparesAndMeasures(spec_.default_configuration);
  PreparesAndMeasures(Find({{"HOPPER", 1}, {"CLUSTER_M", 2}}));
  PreparesAndMeasures(Find({{"HOPPER", 1}, {"CLUSTER_N", 2}}));
  PreparesAndMeasures(Find({{"HOPPER", 1}, {"SPLIT_K", 4}}));
  PreparesAndMeasures(Find({{"HOPPER", 1}, {"PINGPONG", 1}}));
}

TEST_F(CudaDeviceTest, MeasuresCublasLtOnTheSameBuffers) {
  Load(kGemm);
  const absl::StatusOr<LaunchTimes> times = device_->MeasureVendorBaseline(
      "cublaslt", {.extents = {512, 4096, 4096}}, 2, 10);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(times->launch_us.size(), 10u);
  for (const double us : times->launch_us) EXPECT_GT(us, 2);
  EXPECT_EQ(device_
                ->MeasureVendorBaseline("cudnn", {.extents = {512, 4096, 4096}},
                                        2, 10)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(CudaDeviceTest, AVendorBaselineThatComputesSomethingElseIsWrong) {
  LoadedKernel kernel = TestKernel(kGemm);
  for (Implementation& implementation : kernel.spec.implementations) {
    for (VendorBaseline& baseline : implementation.vendor_baselines)
      baseline.product.b_transposed = false;
  }
  ASSERT_TRUE(device_->Load(kernel).ok());
  EXPECT_EQ(device_
                ->MeasureVendorBaseline("cublaslt",
                                        {.extents = {512, 4096, 4096}}, 2, 10)
                .status()
                .code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(CudaDeviceTest, AVendorBaselineOfOtherExtentsIsRefused) {
  LoadedKernel kernel = TestKernel(kGemm);
  for (Implementation& implementation : kernel.spec.implementations) {
    for (VendorBaseline& baseline : implementation.vendor_baselines) {
      std::swap(baseline.product.m, baseline.product.n);
    }
  }
  ASSERT_TRUE(device_->Load(kernel).ok());
  EXPECT_EQ(device_
                ->MeasureVendorBaseline("cublaslt",
                                        {.extents = {512, 4096, 4096}}, 2, 10)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(CudaDeviceTest, HopperCandidatesAreNotMeantForOtherGpus) {
  if (ComputeCapability(facts_) == 90) GTEST_SKIP() << "this is a Hopper GPU";
  Load(kGemm);
  EXPECT_EQ(device_->Prepare(Find({{"HOPPER", 1}}), problems_).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// Index buffers, in-out buffers, numbers, workspaces, grids of two sides.
class CudaLaunchFormTest : public CudaDeviceTest {
 protected:
  // Number 4 is the tickets, number 5 the partial sums.
  void LoadZeroed(Zeroed tickets, Zeroed partials) {
    LoadedKernel kernel = TestKernel(kForms);
    kernel.spec.arguments[4].zeroed = tickets;
    kernel.spec.arguments[5].zeroed = partials;
    const absl::Status status = device_->Load(std::move(kernel));
    ASSERT_TRUE(status.ok()) << status;
  }

  // The shortest of ten launches.
  double LaunchUs(const Configuration& configuration, const Problem& problem) {
    const absl::StatusOr<LaunchTimes> times =
        device_->Measure(configuration, problem, 2, 10);
    EXPECT_TRUE(times.ok()) << times.status();
    return times.ok() ? *std::min_element(times->launch_us.begin(),
                                          times->launch_us.end())
                      : 0;
  }
};

TEST_F(CudaLaunchFormTest, IsCheckedAndMeasured) {
  Load(kForms);
  for (const Configuration& sound : {Configuration{32, 1, 0}, {64, 4, 0}}) {
    const absl::Status status = device_->Prepare(sound, problems_).status();
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_GT(LaunchUs(sound, {.extents = {20000, 256}}), 1);
  }
  const std::pair<Configuration, const char*> faults[] = {
      {{64, 4, 1}, "leaves workspace 'tickets' at n=1 k=37 not zero"},
      {{64, 4, 2}, "(nan where"},
      {{64, 4, 3}, "output 'y' at n=1 k=37"}};
  for (const auto& [configuration, says] : faults) {
    const absl::Status status =
        device_->Prepare(configuration, problems_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(says));
  }
}

TEST_F(CudaLaunchFormTest, ZeroingBeforeEachLaunchIsAPartOfIt) {
  const Configuration leaves_tickets_drawn = {64, 4, 1};
  LoadZeroed(Zeroed::kEveryLaunch, Zeroed::kNever);
  const absl::Status status =
      device_->Prepare(leaves_tickets_drawn, {{.extents = {20000, 37}}})
          .status();
  EXPECT_TRUE(status.ok()) << status;
  // Its partial sums are 2.4 MB.
  const Problem wide = {.extents = {65536, 8}};
  LoadZeroed(Zeroed::kOnce, Zeroed::kNever);
  const double alone_us = LaunchUs({64, 4, 0}, wide);
  LoadZeroed(Zeroed::kEveryLaunch, Zeroed::kEveryLaunch);
  const double zeroed_us = LaunchUs({64, 4, 0}, wide);
  RecordProperty("alone_us", std::to_string(alone_us));
  RecordProperty("zeroed_us", std::to_string(zeroed_us));
  EXPECT_GT(zeroed_us, alone_us + 1);
}

INSTANTIATE_TEST_SUITE_P(
    Cuda, BackendContractTest,
    ::testing::Values(BackendContract{
        .create = [] { return std::make_unique<CudaBackend>(0.5, "python3"); },
        .kernel = [] { return TestKernel(kFaults); },
        .configuration = kSound,
        .problem = {.extents = {100, 37}},
        .correctness_problems = {{.extents = {100, 37}}}}));

}  // namespace
}  // namespace wavetune
