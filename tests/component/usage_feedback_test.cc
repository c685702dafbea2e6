// Usage feedback from end to end: a client decides, the daemon knows of it, the
// next profile measures what was asked for, and too many uncertain decisions
// queue one refinement. Real daemon and client on a unix socket; the agent is
// scripted.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/client.h"
#include "proto/wavetune/v1/admin_service.grpc.pb.h"
#include "proto/wavetune/v1/status_service.grpc.pb.h"
#include "proto/wavetune/v1/usage_service.grpc.pb.h"
#include "server/daemon.h"
#include "server/registry/fake_profiling.h"
#include "server/registry/fake_stores.h"
#include "server/registry/fake_usage_store.h"
#include "server/test_folder.h"
#include "tests/lib/scripted_agent.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kHuge = 2'000'000'000;
// Iterations beyond the range of FakeProfiling's tables.
constexpr int64_t kBeyond = 16'000'000;

class UsageFeedbackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("WAVETUNE_USAGE");
    unsetenv("WAVETUNE_ENDPOINT");
    folder_.WriteKernel("copy");
    StartDaemon();
    agent_ = std::make_unique<testing::ScriptedAgent>(Channel("agent.sock"),
                                                      "CPU-1");
    ASSERT_TRUE(agent_->greeted());
    ASSERT_TRUE(WaitUntil([this] {
      v1::ListDevicesResponse devices;
      grpc::ClientContext context;
      status_->ListDevices(&context, {}, &devices);
      return devices.devices_size() == 1 && devices.devices(0).attached();
    }));
  }
  void TearDown() override {
    agent_.reset();
    daemon_.reset();
  }

  void StartDaemon() {
    daemon_.reset();
    DaemonOptions options;
    options.reader_socket = folder_ / "reader.sock";
    options.agent_socket = folder_ / "agent.sock";
    options.admin_socket = folder_ / "admin.sock";
    options.kernels_dirs = {folder_ / "kernels"};
    options.version = "1.2.3";
    options.profiling = FakeProfiling();
    DaemonStores stores{&samples_, &tables_, &jobs_, &devices_};
    stores.usage = &usage_;
    auto daemon = Daemon::Start(stores, options);
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
    status_ = v1::StatusService::NewStub(Channel("reader.sock"));
    admin_ = v1::AdminService::NewStub(Channel("admin.sock"));
    reports_ = v1::UsageService::NewStub(Channel("reader.sock"));
  }

  std::shared_ptr<grpc::Channel> Channel(const std::string& name) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("unix:" + folder_ / name,
                                     grpc::InsecureChannelCredentials(),
                                     arguments);
  }

  static bool WaitUntil(const std::function<bool()>& condition) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  void Reprofile() {
    v1::ReprofileResponse response;
    grpc::ClientContext context;
    ASSERT_TRUE(admin_->Reprofile(&context, {}, &response).ok());
    AwaitEnd(response.jobs(0).id());
  }
  void AwaitEnd(uint64_t id) {
    ASSERT_TRUE(WaitUntil([&] { return Job(id).finished_at_us() != 0; }));
    EXPECT_EQ(Job(id).state(), v1::SUCCEEDED) << Job(id).message();
  }
  v1::JobInfo Job(uint64_t id) {
    grpc::ClientContext context;
    v1::GetJobRequest request;
    request.set_id(id);
    v1::GetJobResponse response;
    status_->GetJob(&context, request, &response);
    return response.job();
  }
  int Jobs() {
    grpc::ClientContext context;
    v1::ListJobsResponse response;
    status_->ListJobs(&context, {}, &response);
    return response.jobs_size();
  }
  v1::GetUsageResponse Usage() {
    grpc::ClientContext context;
    v1::GetUsageResponse response;
    EXPECT_TRUE(reports_->GetUsage(&context, {}, &response).ok());
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

  const TestFolder folder_;
  FakeSampleStore samples_;
  FakeTableStore tables_;
  FakeJobStore jobs_;
  FakeDeviceStore devices_;
  FakeUsageStore usage_;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<testing::ScriptedAgent> agent_;
  std::unique_ptr<v1::StatusService::Stub> status_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
  std::unique_ptr<v1::UsageService::Stub> reports_;
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
  EXPECT_TRUE(job.refinement());
  EXPECT_EQ(job.kernel(), "copy");
  EXPECT_GE(job.used_problems(), 1);
  EXPECT_THAT(job.reason(), HasSubstr("automatic: 62.1 %"));
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
