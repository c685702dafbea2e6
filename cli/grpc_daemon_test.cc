#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cli/advice.h"
#include "cli/daemon.h"
#include "cli/scratch_folder.h"
#include "proto/wavetune/v1/status_service.grpc.pb.h"
#include "proto/wavetune/v1/workload_service.grpc.pb.h"
#include "tests/lib/freezing_relay.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A daemon that has every request, and answers none: its disk stands.
class StuckDaemon : public v1::WorkloadService::Service {
 public:
  explicit StuckDaemon(const std::string& endpoint) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(endpoint, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~StuckDaemon() override {
    server_->Shutdown(std::chrono::system_clock::now());
  }

  grpc::Status AddWorkload(grpc::ServerContext* context,
                           const v1::AddWorkloadRequest*,
                           v1::AddWorkloadResponse*) override {
    return Stand(context);
  }
  grpc::Status ListWorkloads(grpc::ServerContext* context,
                             const v1::ListWorkloadsRequest*,
                             v1::ListWorkloadsResponse*) override {
    return Stand(context);
  }

 private:
  static grpc::Status Stand(grpc::ServerContext* context) {
    while (!context->IsCancelled())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return grpc::Status::CANCELLED;
  }

  std::unique_ptr<grpc::Server> server_;
};

TEST(GrpcDaemonTest, AChangeThatIsNotAnsweredInTimeMayStillBeDone) {
  const auto folder = ScratchFolder::Create();
  ASSERT_TRUE(folder.ok()) << folder.status();
  const std::string endpoint =
      absl::StrCat("unix:", (*folder)->path(), "/reader.sock");
  const StuckDaemon daemon(endpoint);
  const auto connection = ConnectGrpcDaemon(endpoint, /*timeout_s=*/0.3);
  ASSERT_TRUE(connection.ok()) << connection.status();
  const absl::Status added =
      (*connection)
          ->Ask<v1::AddWorkloadResponse>(v1::AddWorkloadRequest())
          .status();
  EXPECT_EQ(added.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(added.message(),
              HasSubstr("may still be done: look before asking again"));
  const absl::Status listed =
      (*connection)
          ->Ask<v1::ListWorkloadsResponse>(v1::ListWorkloadsRequest())
          .status();
  EXPECT_EQ(listed.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(listed.message(), Not(HasSubstr("may still be done")));
}

// A daemon to which nothing happens.
class QuietDaemon : public v1::StatusService::Service {
 public:
  QuietDaemon() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~QuietDaemon() override {
    server_->Shutdown(std::chrono::system_clock::now());
  }
  uint16_t port() const { return static_cast<uint16_t>(port_); }
  void AwaitFollower() { followed_.get_future().wait(); }

  grpc::Status ListDevices(grpc::ServerContext*, const v1::ListDevicesRequest*,
                           v1::ListDevicesResponse*) override {
    return {grpc::StatusCode::UNIMPLEMENTED, "of a later release"};
  }
  grpc::Status WatchEvents(
      grpc::ServerContext* context, const v1::WatchEventsRequest*,
      grpc::ServerWriter<v1::WatchEventsResponse>* writer) override {
    writer->Write(v1::WatchEventsResponse());
    followed_.set_value();
    while (!context->IsCancelled())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return grpc::Status::CANCELLED;
  }

 private:
  int port_ = 0;
  std::promise<void> followed_;
  std::unique_ptr<grpc::Server> server_;
};

TEST(GrpcDaemonTest, AConnectionThatEndsOnItsWayIsNoMatterOfCertificates) {
  QuietDaemon daemon;
  auto between = std::make_unique<testing::FreezingRelay>(daemon.port());
  const auto connection =
      ConnectGrpcDaemon(between->address(), /*timeout_s=*/60);
  ASSERT_TRUE(connection.ok()) << connection.status();
  auto followed = std::async(std::launch::async, [&] {
    return (*connection)
        ->Follow<v1::WatchEventsResponse>(
            v1::WatchEventsRequest(), [](const v1::WatchEventsResponse&) {});
  });
  daemon.AwaitFollower();
  between = nullptr;
  const absl::Status ended = followed.get();
  EXPECT_EQ(ended.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(AdviceOf(ended), HasSubstr("it was there"));
  EXPECT_THAT(AdviceOf(ended), Not(HasSubstr("certificate")));
}

TEST(GrpcDaemonTest, AnEndpointWithASchemeIsRefusedAtOnce) {
  for (const char* endpoint :
       {"tcp://node2:7000", "http://node2:7000", "node2", "a:1,b:2"}) {
    const absl::Status refused =
        ConnectGrpcDaemon(endpoint, /*timeout_s=*/60).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << endpoint;
    EXPECT_THAT(refused.message(), HasSubstr("unix:/path or host:port"));
  }
}

TEST(GrpcDaemonTest, ADaemonWithoutTheMethodIsOlder) {
  const QuietDaemon daemon;
  const auto connection = ConnectGrpcDaemon(
      absl::StrCat("127.0.0.1:", daemon.port()), /*timeout_s=*/60);
  ASSERT_TRUE(connection.ok()) << connection.status();
  Daemon& older = **connection;
  const absl::Status status =
      older.Ask<v1::GetStatusResponse>(v1::GetStatusRequest()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("older than this command: upgrade"));
  const absl::Status workloads =
      older.Ask<v1::ListWorkloadsResponse>(v1::ListWorkloadsRequest()).status();
  EXPECT_EQ(workloads.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(workloads.message(), HasSubstr("and knows no workloads"));
  // What the method itself cannot do it says itself.
  EXPECT_EQ(older.Ask<v1::ListDevicesResponse>(v1::ListDevicesRequest())
                .status()
                .message(),
            "of a later release");
  // Commands can do without these.
  EXPECT_TRUE(absl::IsUnimplemented(
      older.Ask<v1::GetUsageResponse>(v1::GetUsageRequest()).status()));
  EXPECT_TRUE(absl::IsUnimplemented(older.Follow<v1::ListSamplesResponse>(
      v1::ListSamplesRequest(), [](const v1::ListSamplesResponse&) {})));
}

}  // namespace
}  // namespace wavetune::cli
