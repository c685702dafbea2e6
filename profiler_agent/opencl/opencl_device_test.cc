#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "base/host_resources.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/measure/backend_contract_test.h"
#include "profiler_agent/opencl/opencl_backend.h"
#include "profiler_agent/worker/test_kernels.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

const char kKernels[] = WAVETUNE_SOURCE_DIR "/tests/data/kernels/";
const Configuration kSound = {16, 8, 0};
const Configuration kBroken = {16, 8, 1};

class OpenClDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cache_dir_ = ::testing::TempDir() + "opencl_cache_XXXXXX";
    ASSERT_NE(mkdtemp(cache_dir_.data()), nullptr);
    // PoCL reads the place of its own cache once a process: no test may remove
    // it.
    backend_ = std::make_unique<OpenClBackend>(::testing::TempDir() +
                                               "opencl_device_test");
    const Backend::Enumeration found = backend_->Enumerate();
    if (found.devices.empty()) GTEST_SKIP() << found.note;
    uuid_ = found.devices[0].uuid;
    device_ = Open();
  }

  void TearDown() override { std::filesystem::remove_all(cache_dir_); }

  std::unique_ptr<Device> Open() {
    absl::StatusOr<std::unique_ptr<Device>> device =
        backend_->Open(uuid_, cache_dir_);
    EXPECT_TRUE(device.ok()) << device.status();
    return device.ok() ? *std::move(device) : nullptr;
  }

  void Load(Device& device, const std::string& kernel) {
    LoadedKernel loaded = TestKernel(kKernels + kernel);
    problems_.clear();
    for (const WeightedProblem& problem : loaded.spec.correctness_problems) {
      problems_.push_back(problem.problem);
    }
    const absl::Status status = device.Load(std::move(loaded));
    ASSERT_TRUE(status.ok()) << status;
  }

  std::string cache_dir_;
  std::unique_ptr<OpenClBackend> backend_;
  std::string uuid_;
  std::unique_ptr<Device> device_;
  std::vector<Problem> problems_;
};

// A virtual machine's memory changes while it runs; the device stays the same.
TEST_F(OpenClDeviceTest, ACpusMemoryIsNoFactOfTheDevice) {
  ASSERT_TRUE(absl::StartsWith(device_->facts().architecture, "cpu-"));
  EXPECT_EQ(device_->facts().memory_bytes, 0);
}

// What PoCL makes of POCL_MAX_PTHREAD_COUNT.
TEST_F(OpenClDeviceTest, ACpuHasNoMoreMultiprocessorsThanCoresThatWeMayUse) {
  ASSERT_TRUE(absl::StartsWith(device_->facts().architecture, "cpu-"));
  EXPECT_LE(device_->facts().multiprocessors, UsableCpus(ReadHostResources()));
}

TEST_F(OpenClDeviceTest, PreparesAndMeasuresASoundKernel) {
  Load(*device_, "column_sum");
  const absl::StatusOr<Candidate> candidate =
      device_->Prepare(kSound, problems_);
  ASSERT_TRUE(candidate.ok()) << candidate.status();
  EXPECT_EQ(candidate->tiles_per_wave, device_->facts().multiprocessors);

  const absl::StatusOr<LaunchTimes> times =
      device_->Measure(kSound, {.extents = {1024, 256}}, 1, 5);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(times->launch_us.size(), 5u);
  for (const double us : times->launch_us) {
    EXPECT_GT(us, 1);
    EXPECT_LT(us, 1e6);
  }
}

TEST_F(OpenClDeviceTest, ReportsTheCompilersLog) {
  Load(*device_, "does_not_compile");
  const absl::Status status = device_->Prepare(kBroken, problems_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("broken on purpose"));
  EXPECT_TRUE(device_->Prepare(kSound, problems_).ok());
}

TEST_F(OpenClDeviceTest, RefusesACandidateThatComputesWrongResults) {
  Load(*device_, "wrong_result");
  const absl::Status status = device_->Prepare(kBroken, problems_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("output 'c'"));
  EXPECT_TRUE(device_->Prepare(kSound, problems_).ok());
}

// What tests/data/kernels/check_faults does with FAULT, and what is said.
struct CheckFault {
  int fault;
  const char* says;
};

class OpenClCheckTest : public OpenClDeviceTest,
                        public ::testing::WithParamInterface<CheckFault> {
 protected:
  absl::Status Prepare(int fault) {
    return device_->Prepare({4, 16, 16, fault}, problems_).status();
  }
};

TEST_P(OpenClCheckTest, FindsTheFault) {
  Load(*device_, "check_faults");
  const absl::Status status = Prepare(GetParam().fault);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().says));
  EXPECT_TRUE(Prepare(0).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Faults, OpenClCheckTest,
    ::testing::Values(
        CheckFault{1, "(nan where"}, CheckFault{2, "(nan where"},
        CheckFault{3, "writes into input 'b' at m=1000 n=1000 k=4: 1 element"},
        CheckFault{4,
                   "writes past the end of output 'c' at m=1000 n=1000 "
                   "k=4: 1 element, the first 3000 elements past"},
        CheckFault{5, "writes before the beginning of output 'c'"},
        CheckFault{6, "first wrong at row 0, column 1; 1 of 1,000,000"},
        CheckFault{7, "in launch 2 of the same"},
        CheckFault{8, "in launch 2 of the same"},
        CheckFault{9, "on inputs whose partial sums cancel"}),
    [](const auto& test) {
      return "Number" + std::to_string(test.param.fault);
    });

// A kernel of tests/data/kernels that launches in a way of its own, sound and
// with a fault that the check must find.
struct LaunchForm {
  const char* kernel;
  Configuration sound;
  Configuration faulty;
  const char* says;
};

class OpenClLaunchFormTest : public OpenClDeviceTest,
                             public ::testing::WithParamInterface<LaunchForm> {
};

TEST_P(OpenClLaunchFormTest, IsCheckedAndMeasured) {
  Load(*device_, GetParam().kernel);
  const absl::Status sound =
      device_->Prepare(GetParam().sound, problems_).status();
  EXPECT_TRUE(sound.ok()) << sound;
  const absl::Status status =
      device_->Prepare(GetParam().faulty, problems_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().says));
  for (const Problem& problem : problems_) {
    const absl::StatusOr<LaunchTimes> times =
        device_->Measure(GetParam().sound, problem, 1, 3);
    EXPECT_TRUE(times.ok()) << times.status();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, OpenClLaunchFormTest,
    ::testing::Values(
        LaunchForm{"add_scaled", {16, 8, 0}, {16, 8, 1}, "output 'y' at n=1"},
        LaunchForm{"add_scaled", {64, 8, 0}, {64, 8, 2}, "output 'y' at n=1"},
        LaunchForm{"add_scaled", {64, 8, 0}, {64, 8, 3}, "output 'y' at n=1"},
        LaunchForm{"split_sum",
                   {16, 4, 0},
                   {16, 4, 1},
                   "leaves workspace 'tickets' at n=1 k=37 not zero: 1 "
                   "element, the first at element 0; it is zeroed once: put "
                   "zeros back"},
        LaunchForm{"split_sum", {16, 4, 0}, {16, 4, 2}, "(nan where"},
        LaunchForm{"split_sum",
                   {16, 4, 0},
                   {16, 4, 3},
                   "writes past the end of workspace 'partials' at n=1"},
        LaunchForm{"packed_int8",
                   {16, 0},
                   {16, 1},
                   "and integers that come of integers are compared exactly"},
        LaunchForm{
            "softmax", {4, 0}, {4, 1}, "(on floats from -128 to 128; launches"},
        LaunchForm{"gather", {4, 8, 0}, {4, 8, 1}, "output 'y' at rows="},
        LaunchForm{"tiles_2d", {8, 16, 8, 0}, {8, 16, 8, 1}, "output 'c'"},
        LaunchForm{"tiles_2d", {2, 16, 8, 0}, {2, 16, 8, 1}, "output 'c'"}),
    [](const auto& test) {
      return std::string(test.param.kernel) + std::to_string(test.index);
    });

// The first of split_sum's workspaces.
constexpr size_t kTickets = 2;

// A kernel that leaves its tickets drawn is right where each launch finds them
// zeroed.
TEST_F(OpenClDeviceTest, ZeroesAWorkspaceBeforeEachLaunchUnlessToldOtherwise) {
  const Configuration leaves_tickets_drawn = {16, 4, 1};
  LoadedKernel loaded = TestKernel(std::string(kKernels) + "split_sum");
  loaded.spec.arguments[kTickets].zeroed = Zeroed::kEveryLaunch;
  ASSERT_TRUE(device_->Load(std::move(loaded)).ok());
  const Problem problem = {.extents = {100, 37}};
  const absl::Status status =
      device_->Prepare(leaves_tickets_drawn, {problem}).status();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(device_->Measure(leaves_tickets_drawn, problem, 1, 3).ok());
}

// 64 MiB take milliseconds, a launch microseconds.
TEST_F(OpenClDeviceTest, ZeroingBeforeEachLaunchCountsInItsTime) {
  const auto shortest_us = [this](Zeroed zeroed) {
    LoadedKernel loaded = TestKernel(std::string(kKernels) + "split_sum");
    loaded.spec.arguments[kTickets].zeroed = zeroed;
    loaded.spec.arguments[kTickets].size = Expression::Constant(1 << 24);
    EXPECT_TRUE(device_->Load(std::move(loaded)).ok());
    const absl::StatusOr<LaunchTimes> times =
        device_->Measure({16, 1, 0}, {.extents = {16, 16}}, 1, 5);
    EXPECT_TRUE(times.ok()) << times.status();
    return times.ok() ? *std::min_element(times->launch_us.begin(),
                                          times->launch_us.end())
                      : 0.0;
  };
  EXPECT_GT(shortest_us(Zeroed::kEveryLaunch),
            shortest_us(Zeroed::kOnce) + 1000);
}

// What the manifest says and what column_sum.cl takes.
TEST_F(OpenClDeviceTest, RefusesAScalarOfAnotherType) {
  LoadedKernel loaded = TestKernel(std::string(kKernels) + "column_sum");
  loaded.spec.arguments[3].type = ElementType::kFloat32;
  ASSERT_TRUE(device_->Load(std::move(loaded)).ok());
  const absl::Status status = device_->Prepare(kSound, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("argument 'k' is FLOAT32 in the manifest, but kernel "
                        "function 'column_sum' takes int"));
}

TEST_F(OpenClDeviceTest, RefusesANumberThatTheKernelTakesInAnotherType) {
  LoadedKernel loaded = TestKernel(std::string(kKernels) + "add_scaled");
  loaded.spec.arguments[2].type = ElementType::kBfloat16;
  ASSERT_TRUE(device_->Load(std::move(loaded)).ok());
  const absl::Status status = device_->Prepare({16, 8, 0}, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("argument 'scale' is BFLOAT16 in the manifest, but "
                        "kernel function 'add_scaled' takes float"));
}

TEST_F(OpenClDeviceTest, RefusesAnotherNumberOfArguments) {
  LoadedKernel loaded = TestKernel(std::string(kKernels) + "column_sum");
  loaded.spec.arguments.pop_back();
  ASSERT_TRUE(device_->Load(std::move(loaded)).ok());
  const absl::Status status = device_->Prepare(kSound, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("takes 4 arguments, but the manifest passes 3: a, c, "
                        "n; make them the same"));
}

TEST_F(OpenClDeviceTest, RefusesABufferThatTheKernelTakesAsAValue) {
  LoadedKernel loaded = TestKernel(std::string(kKernels) + "column_sum");
  std::swap(loaded.spec.arguments[1], loaded.spec.arguments[2]);
  ASSERT_TRUE(device_->Load(std::move(loaded)).ok());
  const absl::Status status = device_->Prepare(kSound, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("argument 'n' is a scalar (INT32) in the manifest, but "
                        "kernel function 'column_sum' takes a pointer"));
}

TEST_F(OpenClDeviceTest, RefusesACandidateThatNoProblemChecks) {
  Load(*device_, "column_sum");
  EXPECT_EQ(device_->Prepare(kSound, {{.extents = {0, 0}}}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(OpenClDeviceTest, ComparesNothingOnlyWhereThereIsNoReference) {
  Load(*device_, "column_sum");
  EXPECT_EQ(device_->Prepare(kSound, {}).status().code(),
            absl::StatusCode::kUnimplemented);
  LoadedKernel kernel = TestKernel(std::string(kKernels) + "column_sum");
  kernel.spec.correctness.reset();
  ASSERT_TRUE(device_->Load(kernel).ok());
  EXPECT_TRUE(device_->Prepare(kSound, {}).ok());
}

TEST_F(OpenClDeviceTest, RefusesABufferLargerThanTheDeviceAllocates) {
  Load(*device_, "column_sum");
  EXPECT_EQ(device_->Measure(kSound, {.extents = {65536, 65536}}, 1, 1)
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(device_->Measure(kSound, {.extents = {64, 64}}, 1, 1).ok());
}

TEST_F(OpenClDeviceTest, RefusesAKernelWithoutItsSource) {
  LoadedKernel kernel = TestKernel(std::string(kKernels) + "column_sum");
  kernel.files.erase("column_sum.cl");
  EXPECT_EQ(device_->Load(kernel).code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(
    OpenCl, BackendContractTest,
    ::testing::Values(BackendContract{
        .create =
            [] {
              return std::make_unique<OpenClBackend>(::testing::TempDir() +
                                                     "opencl_device_test");
            },
        .kernel =
            [] { return TestKernel(std::string(kKernels) + "column_sum"); },
        .configuration = kSound,
        .problem = {.extents = {100, 37}},
        .correctness_problems = {{.extents = {100, 37}}}}));

}  // namespace
}  // namespace wavetune
