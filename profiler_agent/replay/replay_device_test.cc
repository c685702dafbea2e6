#include "profiler_agent/replay/replay_device.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/measure/backend_contract_test.h"
#include "profiler_agent/replay/replay_backend.h"
#include "profiler_agent/worker/test_kernels.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

const char kTrace[] = WAVETUNE_SOURCE_DIR "/tests/data/h200_triton_gemm";
// First line of the trace: 159.019 us.
const Configuration kRecorded = {16, 64, 32, 2, 4};
const Problem kProblem = {.extents = {19, 1536, 7168}};

std::unique_ptr<Device> OpenTrace(const std::string& folder,
                                  bool judged = true) {
  ReplayBackend backend({.folders = {folder}, .judged = judged});
  const Backend::Enumeration found = backend.Enumerate();
  if (found.devices.empty()) return nullptr;
  return *backend.Open(found.devices[0].uuid, "");
}

class ReplayDeviceTest : public ::testing::Test {
 protected:
  // Reading the trace takes a moment: once for all.
  static void SetUpTestSuite() {
    device_ = OpenTrace(kTrace).release();
    const absl::Status status = device_->Load(TestKernel(kTrace));
    ASSERT_TRUE(status.ok()) << status;
  }
  static void TearDownTestSuite() { delete device_; }

  static Device* device_;
};
Device* ReplayDeviceTest::device_ = nullptr;

TEST_F(ReplayDeviceTest, AnswersWithTheRecordedLatency) {
  const absl::StatusOr<LaunchTimes> times =
      device_->Measure(kRecorded, kProblem, 1, 3);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(times->launch_us.size(), 3u);
  EXPECT_THAT(times->launch_us, Each(159.019));
  EXPECT_EQ(times->launch_us,
            device_->Measure(kRecorded, kProblem, 1, 3)->launch_us);
}

TEST_F(ReplayDeviceTest, CandidatesHaveTheRecordedResidency) {
  const absl::StatusOr<Candidate> candidate = device_->Prepare(kRecorded, {});
  ASSERT_TRUE(candidate.ok()) << candidate.status();
  EXPECT_GT(candidate->tiles_per_wave, device_->facts().multiprocessors);
  EXPECT_EQ(candidate->tiles_per_wave % device_->facts().multiprocessors, 0);
}

TEST_F(ReplayDeviceTest, NamesTheNearestProblemThatWasRecorded) {
  const absl::Status status =
      device_->Measure(kRecorded, {.extents = {19, 1537, 7168}}, 1, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("n=1537"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("nearest: m=19 n=1536 k=7168"));
}

TEST(ReplayDeviceJudgedTest, JudgedProblemsAreAnsweredOnlyWhenAskedFor) {
  const std::unique_ptr<Device> device = OpenTrace(kTrace, /*judged=*/false);
  ASSERT_TRUE(device->Load(TestKernel(kTrace)).ok());
  const absl::Status status =
      device->Measure(kRecorded, kProblem, 1, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--replay-judged"));
  // An anchor.
  EXPECT_TRUE(
      device->Measure(kRecorded, {.extents = {16, 512, 512}}, 1, 1).ok());
}

TEST_F(ReplayDeviceTest, AConfigurationThatWasNotRecordedIsNotFound) {
  // In the space, but the recording left it out.
  const Configuration other = {256, 128, 32, 2, 4};
  const absl::Status status = device_->Prepare(other, {}).status();
  if (!status.ok()) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  }
}

TEST(ReplayBackendTest, SaysWhyThereIsNoDevice) {
  EXPECT_THAT(ReplayBackend({}).Enumerate().note, HasSubstr("--replay-trace"));
  EXPECT_THAT(ReplayBackend({.folders = {"/does/not/exist"}}).Enumerate().note,
              HasSubstr("/does/not/exist"));
}

TEST(ReplayBackendTest, DevicesAreAlikeButForTheirUuid) {
  ReplayBackend backend({.folders = {kTrace}, .devices = 3});
  const Backend::Enumeration found = backend.Enumerate();
  ASSERT_EQ(found.devices.size(), 3u);
  const DeviceFacts& first = found.devices[0];
  EXPECT_EQ(found.devices[2].uuid, first.uuid + "-b3");
  EXPECT_EQ(SiliconKey(found.devices[2]), SiliconKey(first));
  EXPECT_EQ(EnvironmentKey(found.devices[2]), EnvironmentKey(first));
  const auto third = backend.Open(first.uuid + "-b3", "");
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_EQ((*third)->facts(), found.devices[2]);
  EXPECT_EQ(backend.Open(first.uuid + "-b4", "").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(ReplayDevicePaceTest, ABurstTakesTheRecordedTimeAtThePace) {
  std::vector<double> slept_us;
  ReplayDevice device({.uuid = "GPU-1", .backend = "replay"},
                      {.folders = {kTrace},
                       .judged = true,
                       .pace = 2,
                       .sleep_us = [&](double us) { slept_us.push_back(us); }});
  ASSERT_TRUE(device.Load(TestKernel(kTrace)).ok());
  ASSERT_TRUE(device.Measure(kRecorded, kProblem, 1, 3).ok());
  ASSERT_EQ(slept_us.size(), 1u);
  EXPECT_DOUBLE_EQ(slept_us[0], 2 * 4 * 159.019);
}

// A trace of two candidates, written by hand.
class ReplayTraceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "trace_XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    for (const char* name : {"manifest.textproto", "device.textproto"}) {
      std::filesystem::copy(std::string(kTrace) + "/" + name, folder_);
    }
    Write("candidates.csv",
          "candidate,block_m,block_n,block_k,num_stages,num_warps,capacity,"
          "excluded\n"
          "0,16,64,32,2,4,1312,\n"
          "1,16,64,32,3,4,0,crashed: signal 11\n"
          "2,16,64,32,4,4,0,wrong result: error 0.5\n");
    Write("anchors.csv",
          "candidate,m,n,k,latency_us,suspect\n"
          "0,16,512,512,40,0\n"
          "0,32,512,512,50,1\n");
    Write("representative.csv", "candidate,m,n,k,latency_us\n0,1,2,3,60\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  absl::Status LoadStatus() const {
    const std::unique_ptr<Device> device = OpenTrace(folder_);
    if (device == nullptr) return absl::InternalError("no device");
    return device->Load(TestKernel(folder_));
  }

  std::string folder_;
};

TEST_F(ReplayTraceTest, CandidatesHaveTheirFactsOrWhyTheyWereExcluded) {
  const std::unique_ptr<Device> device = OpenTrace(folder_);
  ASSERT_TRUE(device->Load(TestKernel(folder_)).ok());
  const auto candidate = device->Prepare({16, 64, 32, 2, 4}, {});
  ASSERT_TRUE(candidate.ok()) << candidate.status();
  EXPECT_EQ(candidate->tiles_per_wave, 1312);
  const absl::Status excluded =
      device->Prepare({16, 64, 32, 3, 4}, {}).status();
  EXPECT_EQ(excluded.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(excluded.message()), HasSubstr("crashed: signal 11"));
  // Wrong in replay, too: it counts among the wrong ones.
  const absl::Status wrong = device->Prepare({16, 64, 32, 4, 4}, {}).status();
  EXPECT_EQ(wrong.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(wrong.message()), HasSubstr("error 0.5"));
}

TEST_F(ReplayTraceTest, RepresentativeProblemsAreAnsweredAndSuspectsAreMarked) {
  const std::unique_ptr<Device> device = OpenTrace(folder_, /*judged=*/false);
  ASSERT_TRUE(device->Load(TestKernel(folder_)).ok());
  const auto times = [&](const Problem& problem) {
    return device->Measure({16, 64, 32, 2, 4}, problem, 0, 1).value();
  };
  EXPECT_EQ(times({.extents = {1, 2, 3}}).launch_us[0], 60);
  EXPECT_FALSE(times({.extents = {16, 512, 512}}).suspect);
  EXPECT_TRUE(times({.extents = {32, 512, 512}}).suspect);
}

TEST_F(ReplayTraceTest, ADamagedTraceIsRefusedWithPathAndLine) {
  Write("anchors.csv", "candidate,m,n,k,latency_us\n0,16,512,512,fast\n");
  const absl::Status status = LoadStatus();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(folder_ + "/anchors.csv: trace line 2: column "
                                  "'latency_us': 'fast'"));
}

TEST_F(ReplayTraceTest, ATraceOfAnotherKernelIsRefused) {
  const std::unique_ptr<Device> device = OpenTrace(folder_);
  LoadedKernel kernel = TestKernel(folder_);
  kernel.spec.parameters[0].values.push_back(512);
  const absl::Status status = device->Load(kernel);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      ::testing::AllOf(HasSubstr(folder_), HasSubstr("other parameters")));
  kernel.spec.name = "another";
  EXPECT_THAT(std::string(device->Load(kernel).message()),
              HasSubstr("no trace of kernel another"));
}

INSTANTIATE_TEST_SUITE_P(Replay, BackendContractTest,
                         ::testing::Values(BackendContract{
                             .create =
                                 [] {
                                   return std::make_unique<ReplayBackend>(
                                       ReplayBackend::Options{
                                           .folders = {kTrace},
                                           .judged = true});
                                 },
                             .kernel = [] { return TestKernel(kTrace); },
                             .configuration = kRecorded,
                             .problem = kProblem}));

}  // namespace
}  // namespace wavetune
