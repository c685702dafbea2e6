#include "profiler_agent/replay/replay_device.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_agent/backend_contract_test.h"
#include "profiler_agent/replay/replay_backend.h"
#include "profiler_agent/worker/test_kernels.h"

namespace wavetune {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

const char kTrace[] = WAVETUNE_SOURCE_DIR "/tests/data/h200_triton_gemm";
// First line of the trace: 159.019 us.
const Configuration kRecorded = {16, 64, 32, 2, 4};
const Problem kProblem = {.extents = {19, 1536, 7168}};

std::unique_ptr<Device> OpenTrace(const std::string& folder) {
  ReplayBackend backend({folder});
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
  EXPECT_GT(candidate->capacity, device_->facts().multiprocessors);
  EXPECT_EQ(candidate->capacity % device_->facts().multiprocessors, 0);
}

TEST_F(ReplayDeviceTest, NamesTheNearestProblemThatWasRecorded) {
  const absl::Status status =
      device_->Measure(kRecorded, {.extents = {19, 1537, 7168}}, 1, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("n=1537"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("nearest: m=19 n=1536 k=7168"));
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
  EXPECT_THAT(ReplayBackend({"/does/not/exist"}).Enumerate().note,
              HasSubstr("/does/not/exist"));
}

TEST(ReplayBackendTest, ADamagedTraceIsRefusedWithItsPath) {
  std::string folder = ::testing::TempDir() + "trace_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  for (const char* name : {"manifest.textproto", "device.textproto"}) {
    std::filesystem::copy(std::string(kTrace) + "/" + name, folder);
  }
  std::ofstream(folder + "/broken.csv") << "block_m,m\nsixteen,1\n";
  const std::unique_ptr<Device> device = OpenTrace(folder);
  ASSERT_NE(device, nullptr);
  const absl::Status status = device->Load(TestKernel(folder));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("broken.csv"));
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Replay, BackendContractTest,
                         ::testing::Values(BackendContract{
                             .create =
                                 [] {
                                   return std::make_unique<ReplayBackend>(
                                       std::vector<std::string>{kTrace});
                                 },
                             .kernel = [] { return TestKernel(kTrace); },
                             .configuration = kRecorded,
                             .problem = kProblem}));

}  // namespace
}  // namespace wavetune
