// Usage feedback from end to end: a client decides, the daemon knows of it, the
// next profile measures what was asked for, and too many uncertain decisions
// queue one top-up. Real daemon and client on a unix socket; the agent is
// scripted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>
#include <string>

#include "proto/wavetune/v1/status_service.grpc.pb.h"
#include "proto/wavetune/v1/usage_service.grpc.pb.h"
#include "server/daemon_fixture.h"
#include "wavetune/client.h"

namespace wavetune {
namespace {

using ::testing::ContainsRegex;

constexpr int64_t kHuge = 2'000'000'000;
// Iterations beyond the range of FakeProfiling's tables.
constexpr int64_t kBeyond = 16'000'000;

class UsageFeedbackTest : public DaemonFixture {
 protected:
  void SetUp() override {
    unsetenv("WAVETUNE_USAGE");
    unsetenv("WAVETUNE_ENDPOINT");
    DaemonFixture::SetUp();
    agent_ = Attach("CPU-1");
  }
  void TearDown() override {
    agent_.reset();
    daemon_.reset();
  }

  void AwaitEnd(uint64_t id) {
    ASSERT_TRUE(WaitUntil([&] { return Job(id).finished_at_us() != 0; }));
    EXPECT_EQ(Job(id).state(), v1::SUCCEEDED) << Job(id).message();
  }
  v1::JobInfo Job(uint64_t id) {
    v1::GetJobRequest request;
    request.set_id(id);
    v1::GetJobResponse response;
    Call(&v1::StatusService::Stub::GetJob,
         Stub<v1::StatusService>("reader.sock"), request, &response);
    return response.job();
  }
  int Jobs() {
    v1::ListJobsResponse response;
    Call(&v1::StatusService::Stub::ListJobs,
         Stub<v1::StatusService>("reader.sock"), v1::ListJobsRequest(),
         &response);
    return response.jobs_size();
  }
  v1::GetUsageResponse Usage() {
    v1::GetUsageResponse response;
    EXPECT_TRUE(Call(&v1::UsageService::Stub::GetUsage,
                     Stub<v1::UsageService>("reader.sock"),
                     v1::GetUsageRequest(), &response)
                    .ok());
    return response;
  }

  // A client that reports all the time, and when it goes.
  std::unique_ptr<Client> Connect(bool usage_feedback = true) {
    auto client =
        Client::Connect({.endpoint = "unix:" + folder_ / "reader.sock",
                         .cache_dir = "",
                         .usage_feedback = usage_feedback,
                         .usage_interval_s = 0.01});
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  // Decides so often; returns the last answer's source.
  static DecisionSource Decide(const Tuner& tuner, int64_t n, int64_t k,
                               int decisions) {
    DecisionSource source = DecisionSource::kDefault;
    for (int i = 0; i < decisions; ++i) source = tuner.Resolve({n, k}).source;
    return source;
  }

  std::unique_ptr<ScriptedAgent> agent_;
};

TEST_F(UsageFeedbackTest, WhatIsAskedForIsShownMeasuredAndRefinedFor) {
  Reprofile();
  {
    const auto client = Connect();
    const Tuner tuner = client->GetTuner("copy").value();
    EXPECT_EQ(Decide(tuner, 4000, 300, 5000), DecisionSource::kFitted);
    // Legal, but larger than what the manifest lets a profile construct.
    EXPECT_EQ(Decide(tuner, kHuge, 300, 500), DecisionSource::kFitted);
  }
  v1::GetUsageResponse usage = Usage();
  ASSERT_EQ(usage.kernels_size(), 1);
  EXPECT_EQ(usage.kernels(0).kernel(), "copy");
  EXPECT_EQ(usage.kernels(0).device_label(), "a CPU");
  EXPECT_NEAR(usage.kernels(0).counts().fitted(), 5500, 1);
  EXPECT_EQ(usage.kernels(0).uncertain_share(), 0);
  ASSERT_GE(usage.kernels(0).problems_size(), 1);
  const v1::Problem& most = usage.kernels(0).problems(0).problem();
  EXPECT_EQ(most.extents(0).values(0), 4000);
  EXPECT_EQ(Jobs(), 1);

  // More than 10,000 decisions, most of them beyond the table's range.
  {
    const auto client = Connect();
    const Tuner tuner = client->GetTuner("copy").value();
    EXPECT_EQ(Decide(tuner, 4000, kBeyond, 9000),
              DecisionSource::kExtrapolated);
  }
  ASSERT_TRUE(WaitUntil([this] { return Jobs() == 2; }));
  const v1::JobInfo job = Job(2);
  EXPECT_TRUE(job.top_up());
  EXPECT_EQ(job.kernel(), "copy");
  EXPECT_GE(job.used_problems(), 1);
  // The client may have reported all 9,000 decisions or a part of them.
  EXPECT_THAT(job.reason(),
              ContainsRegex("automatic: (4[5-9]|5.|6[0-2])[.]. %"));
  AwaitEnd(2);
  EXPECT_GT(Usage().kernels(0).refined_at_us(), 0);
  EXPECT_TRUE(agent_->HasMeasured({4000, 300}));
  EXPECT_TRUE(agent_->HasMeasured({4000, kBeyond}));
  EXPECT_FALSE(agent_->HasMeasured({kHuge, 300}));

  // Not again so soon, after a restart either.
  {
    const auto client = Connect();
    Decide(client->GetTuner("copy").value(), 4000, kBeyond, 20000);
  }
  agent_.reset();
  StartDaemon();
  EXPECT_GT(Usage().kernels(0).counts().extrapolated(), 28000);
  EXPECT_EQ(Jobs(), 2);
}

TEST_F(UsageFeedbackTest, DecisionsWithoutATableAreKnown) {
  {
    const auto client = Connect();
    const Tuner tuner = client->GetTuner("copy").value();
    EXPECT_EQ(Decide(tuner, 64, 128, 300), DecisionSource::kDefault);
  }
  const v1::GetUsageResponse usage = Usage();
  ASSERT_EQ(usage.kernels_size(), 1);
  EXPECT_NEAR(usage.kernels(0).counts().default_configuration(), 300, 1);
  EXPECT_EQ(usage.kernels(0).problems_size(), 1);
}

TEST_F(UsageFeedbackTest, CanBeTurnedOffByOptionAndEnvironment) {
  Decide(Connect(false)->GetTuner("copy").value(), 64, 128, 300);
  setenv("WAVETUNE_USAGE", "off", 1);
  Decide(Connect()->GetTuner("copy").value(), 64, 128, 300);
  unsetenv("WAVETUNE_USAGE");
  EXPECT_EQ(Usage().kernels_size(), 0);
  EXPECT_EQ(Usage().reports(), 0);
}

TEST_F(UsageFeedbackTest, ATunerDecidesOnWithoutDaemonAndClient) {
  Reprofile();
  auto client = Connect();
  const Tuner tuner = client->GetTuner("copy").value();
  agent_.reset();
  daemon_.reset();
  EXPECT_EQ(Decide(tuner, 4000, 300, 5000), DecisionSource::kFitted);
  client.reset();
  EXPECT_EQ(Decide(tuner, 4000, 300, 5000), DecisionSource::kFitted);
}

}  // namespace
}  // namespace wavetune
