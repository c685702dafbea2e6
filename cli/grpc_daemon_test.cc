#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cli/daemon.h"
#include "cli/scratch_folder.h"
#include "proto/wavetune/v1/workload_service.grpc.pb.h"

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
      connection->workloads->AddWorkload(v1::AddWorkloadRequest()).status();
  EXPECT_EQ(added.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(added.message(),
              HasSubstr("may still be done: look before asking again"));
  const absl::Status listed = connection->workloads->ListWorkloads().status();
  EXPECT_EQ(listed.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(listed.message(), Not(HasSubstr("may still be done")));
}

}  // namespace
}  // namespace wavetune::cli
