// What no client may do to a daemon.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "proto/wavetune/v1/usage_service.grpc.pb.h"
#include "server/daemon_fixture.h"
#include "server/rpc/usage_handler.h"
#include "server/store/faulty_stores.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

class DaemonLimitsTest : public DaemonFixture {
 protected:
  // Sends bytes as they are.
  grpc::Status Send(const std::string& socket, const std::string& method,
                    const std::string& bytes) {
    grpc::GenericStub stub(Channel(socket));
    grpc::ClientContext context;
    grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, "/wavetune.v1." + method, {}, &request, &response,
                   [&](const grpc::Status& status) { done.set_value(status); });
    return done.get_future().get();
  }

  static std::string Repeated(const std::string& bytes, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += bytes;
    return all;
  }

  bool ReadersAreAnswered() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(30));
    v1::ListTablesResponse tables;
    return Stub<v1::TableService>("reader.sock")
        ->ListTables(&context, {}, &tables)
        .ok();
  }
};

TEST_F(DaemonLimitsTest, RequestsOfManyEmptyPartsAreRefusedUnparsed) {
  // Field 4 of no bytes: a million problems in two million bytes.
  const grpc::Status status =
      Send("reader.sock", "DecisionService/Resolve",
           Repeated(std::string("\x22\x00", 2), 1'000'000));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("too many entries"));
  EXPECT_TRUE(ReadersAreAnswered());
}

TEST_F(DaemonLimitsTest, RequestsTooLongForTheirMethodAreRefused) {
  const std::string name(8 << 10, 'x');
  const std::string names = "\x12\x80\x40" + name;  // Field 2 of 8 KiB.
  for (const std::string method :
       {"TableService/ListTables", "TableService/GetTable",
        "StatusService/GetStatus", "StatusService/ListJobs",
        "UsageService/GetUsage", "StatusService/ListSamples",
        "TableService/WatchTables"}) {
    const grpc::Status status = Send("reader.sock", method, names);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
        << method << ": " << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("at most 4 KiB")) << method;
  }
  EXPECT_EQ(Send("admin.sock", "AdminService/CancelJob", names).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(DaemonLimitsTest, TheLargestReportOfAClientIsTaken) {
  v1::ReportUsageRequest request;
  for (int i = 0; i < UsageHandler::kMaxKernels; ++i) {
    v1::ReportedUsage* const usage = request.add_kernels();
    usage->set_kernel("a_kernel_with_a_long_name_" + std::to_string(i));
    usage->set_silicon_key(std::string(100, 'k'));
    usage->set_digest(std::string(64, 'd'));
    for (int j = 0; j < UsageHandler::kMaxProblems; ++j) {
      v1::UsedProblem* const used = usage->add_problems();
      used->set_decisions(1e6);
      used->set_overcount(1e3);
      for (int k = 0; k < 8; ++k) {
        auto* const extents = used->mutable_problem()->add_extents();
        extents->set_dimension("dimension");
        extents->add_values(1 << 20);
      }
    }
  }
  v1::ReportUsageResponse response;
  const grpc::Status status =
      Call(&v1::UsageService::Stub::ReportUsage,
           Stub<v1::UsageService>("reader.sock"), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.left_out(), UsageHandler::kMaxKernels);  // Unknown.
}

TEST_F(DaemonLimitsTest, MessagesTooLongForASocketAreRefused) {
  for (const auto& [socket, method] :
       std::vector<std::pair<std::string, std::string>>{
           {"reader.sock", "DecisionService/Resolve"},
           {"agent.sock", "AgentService/Attach"},
           {"admin.sock", "AdminService/Measure"}}) {
    EXPECT_EQ(Send(socket, method, std::string(5 << 20, '\0')).error_code(),
              grpc::StatusCode::RESOURCE_EXHAUSTED)
        << socket;
  }
}

TEST_F(DaemonLimitsTest, SaysThatARequestIsNoneOfItsKind) {
  const grpc::Status damaged =
      Send("reader.sock", "DecisionService/Resolve", "\xff\xff\xff");
  EXPECT_EQ(damaged.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  // Field 1, a kernel's name that is no text.
  const grpc::Status foreign =
      Send("reader.sock", "DecisionService/Resolve", "\x0a\x01\xe9");
  EXPECT_EQ(foreign.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(foreign.error_message(), HasSubstr("UTF-8"));
}

TEST_F(DaemonLimitsTest, ASlowDiskKeepsNoReaderWaiting) {
  const auto agent = Attach("CPU-1");
  agent->Leave();
  daemon_ = nullptr;
  FaultyJobStore slow(&jobs_);
  FaultyDeviceStore slow_devices(&devices_);
  DaemonStores stores = Stores();
  stores.jobs = &slow;
  stores.devices = &slow_devices;
  auto daemon = Daemon::Start(stores, Options());
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  daemon_ = *std::move(daemon);
  const auto back = Attach("CPU-1");
  slow.writes().Hold();
  // More than gRPC has threads on most machines.
  std::vector<std::future<grpc::Status>> writers;
  for (int i = 0; i < 16; ++i) {
    writers.push_back(std::async(std::launch::async, [this, i] {
      v1::ReprofileRequest request;
      request.set_budget_s(i + 1);
      request.set_device_uuid("CPU-1");
      v1::ReprofileResponse response;
      return Call(&v1::AdminService::Stub::Reprofile,
                  Stub<v1::AdminService>("admin.sock"), request, &response);
    }));
  }
  slow.writes().WaitForHeld();
  // Not before: the agent that has just come is stored by the same thread.
  slow_devices.writes().Hold();
  EXPECT_TRUE(ReadersAreAnswered());
  v1::GetStatusResponse status;
  EXPECT_TRUE(Call(&v1::StatusService::Stub::GetStatus,
                   Stub<v1::StatusService>("reader.sock"),
                   v1::GetStatusRequest(), &status)
                  .ok());
  slow.writes().Release();
  slow_devices.writes().Release();
  for (auto& writer : writers) EXPECT_TRUE(writer.get().ok());
  daemon_ = nullptr;  // Before its stores.
}

TEST_F(DaemonLimitsTest, WhatTheDiskIsReadForKeepsNoOtherReaderWaiting) {
  daemon_ = nullptr;
  FaultyJobStore slow(&jobs_);
  DaemonStores stores = Stores();
  stores.jobs = &slow;
  auto daemon = Daemon::Start(stores, Options());
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  daemon_ = *std::move(daemon);
  slow.reads().Hold();
  std::vector<std::future<grpc::Status>> readers;
  for (int i = 0; i < 16; ++i) {
    readers.push_back(std::async(std::launch::async, [this] {
      v1::ListJobsResponse response;
      return Call(&v1::StatusService::Stub::ListJobs,
                  Stub<v1::StatusService>("reader.sock"), v1::ListJobsRequest(),
                  &response);
    }));
  }
  slow.reads().WaitForHeld();
  EXPECT_TRUE(ReadersAreAnswered());
  slow.reads().Release();
  for (auto& reader : readers) EXPECT_TRUE(reader.get().ok());
  daemon_ = nullptr;  // Before its stores.
}

TEST_F(DaemonLimitsTest, JobsInMemoryAreShownWhileOthersAreReadFromASlowDisk) {
  const auto first = Attach("CPU-1");
  const uint64_t long_ago = Reprofile().id();
  first->Leave();
  daemon_ = nullptr;
  FaultyJobStore slow(&jobs_);
  DaemonStores stores = Stores();
  stores.jobs = &slow;
  auto daemon = Daemon::Start(stores, Options());
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  daemon_ = *std::move(daemon);
  const auto agent = Attach("CPU-1");
  const uint64_t in_memory = Reprofile().id();
  const auto watch = [this](uint64_t id) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(30));
    v1::WatchJobRequest request;
    request.set_id(id);
    const auto admin = Stub<v1::AdminService>("admin.sock");
    const auto reader = admin->WatchJob(&context, request);
    v1::WatchJobResponse last;
    while (reader->Read(&last)) {
    }
    return reader->Finish().ok() && last.job().id() == id;
  };
  slow.reads().Hold();
  // More than gRPC has threads on most machines.
  std::vector<std::future<bool>> watchers;
  for (int i = 0; i < 16; ++i)
    watchers.push_back(std::async(std::launch::async, watch, long_ago));
  slow.reads().WaitForHeld();
  EXPECT_TRUE(watch(in_memory));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(30));
  v1::GetJobRequest request;
  request.set_id(in_memory);
  v1::GetJobResponse shown;
  EXPECT_TRUE(Stub<v1::StatusService>("reader.sock")
                  ->GetJob(&context, request, &shown)
                  .ok());
  slow.reads().Release();
  for (auto& watcher : watchers) EXPECT_TRUE(watcher.get());
  daemon_ = nullptr;  // Before its stores.
}

TEST_F(DaemonLimitsTest, ASlowDiskKeepsNoReaderOfDefaultsWaiting) {
  {
    const auto agent = Attach("CPU-1");
    ASSERT_EQ(Reprofile().state(), v1::SUCCEEDED);
  }
  const ProfileKey key = tables_.ListServing().value().at(0).key;
  const uint64_t newest = samples_.Generations(key).value().back();
  std::vector<CandidateRecord> candidates =
      samples_.LoadCandidates(key, newest).value();
  for (CandidateRecord& record : candidates)
    record.candidate.excluded_reason = "hung";
  ASSERT_TRUE(samples_.Append(key, newest, {}, candidates).ok());
  // A daemon to which the device is new, with a disk that is slow.
  daemon_ = nullptr;
  FaultySampleStore slow(&samples_);
  FakeTableStore no_tables;
  FakeDeviceStore no_devices;
  DaemonStores stores = Stores();
  stores.samples = &slow;
  stores.tables = &no_tables;
  stores.devices = &no_devices;
  auto daemon = Daemon::Start(stores, Options());
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  daemon_ = *std::move(daemon);
  slow.reads().Hold();
  const auto agent = Attach("CPU-1");
  v1::ResolveRequest request = Problem(33, 100);
  request.set_device_uuid("CPU-1");
  const auto unusable = [&]() -> absl::StatusOr<bool> {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(30));
    v1::ResolveResponse response;
    const grpc::Status status = Stub<v1::DecisionService>("reader.sock")
                                    ->Resolve(&context, request, &response);
    if (!status.ok()) return absl::UnknownError(status.error_message());
    return absl::StartsWith(response.decisions(0).reason(), "DEFAULT_UNUSABLE");
  };
  // More than gRPC has threads on most machines.
  std::vector<std::future<absl::StatusOr<bool>>> readers;
  for (int i = 0; i < 16; ++i)
    readers.push_back(std::async(std::launch::async, unusable));
  slow.reads().WaitForHeld();
  for (auto& reader : readers) {
    const absl::StatusOr<bool> known = reader.get();
    ASSERT_TRUE(known.ok()) << known.status();
    EXPECT_FALSE(*known) << "nothing is known yet";
  }
  v1::ListKernelsResponse kernels;
  EXPECT_TRUE(Call(&v1::StatusService::Stub::ListKernels,
                   Stub<v1::StatusService>("reader.sock"),
                   v1::ListKernelsRequest(), &kernels)
                  .ok());
  EXPECT_TRUE(ReadersAreAnswered());
  slow.reads().Release();
  EXPECT_TRUE(WaitUntil([&] { return unusable().value_or(false); }));
  daemon_ = nullptr;  // Before its stores.
}

TEST_F(DaemonLimitsTest, ASlowDiskKeepsNoReaderOfWithdrawnTablesWaiting) {
  {
    const auto agent = Attach("CPU-1");
    ASSERT_EQ(Reprofile().state(), v1::SUCCEEDED);
  }
  // Withdrawn, and its kernel's folder is gone: only the table itself says
  // what the default is.
  daemon_ = nullptr;
  TableRecord record = tables_.ListServing().value().at(0);
  record.withdrawn = "it is wrong";
  ASSERT_TRUE(tables_.Withdraw(record).ok());
  std::filesystem::remove_all(folder_ / "kernels/copy");
  FaultyTableStore slow(&tables_);
  DaemonStores stores = Stores();
  stores.tables = &slow;
  auto daemon = Daemon::Start(stores, Options());
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  daemon_ = *std::move(daemon);
  slow.reads().Hold();
  const auto reason = [&]() -> absl::StatusOr<std::string> {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(30));
    v1::ResolveResponse response;
    const grpc::Status status =
        Stub<v1::DecisionService>("reader.sock")
            ->Resolve(&context, Problem(33, 100), &response);
    if (!status.ok()) return absl::UnknownError(status.error_message());
    return response.decisions(0).reason();
  };
  // More than gRPC has threads on most machines.
  std::vector<std::future<absl::StatusOr<std::string>>> readers;
  for (int i = 0; i < 16; ++i)
    readers.push_back(std::async(std::launch::async, reason));
  for (auto& reader : readers) {
    const absl::StatusOr<std::string> told = reader.get();
    ASSERT_TRUE(told.ok()) << told.status();
    EXPECT_THAT(*told, HasSubstr("TABLE_WITHDRAWN"));
  }
  EXPECT_TRUE(ReadersAreAnswered());
  slow.reads().Release();
  daemon_ = nullptr;  // Before its stores.
}

TEST_F(DaemonLimitsTest, OneUserTakesNoMoreThanItsConnections) {
  DaemonOptions options = Options();
  options.descriptors = 64;  // A handful of connections.
  StartDaemon(options);
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  int connected = 0;
  for (int i = 0; i < 32; ++i) {
    channels.push_back(Channel("reader.sock"));
    const auto stub = v1::TableService::NewStub(channels.back());
    v1::ListTablesResponse tables;
    connected += Call(&v1::TableService::Stub::ListTables, stub,
                      v1::ListTablesRequest(), &tables)
                         .ok()
                     ? 1
                     : 0;
  }
  EXPECT_GE(connected, 4);
  EXPECT_LT(connected, 32);
  channels.clear();
  EXPECT_TRUE(WaitUntil([&] { return ReadersAreAnswered(); }));
}

TEST_F(DaemonLimitsTest, AReloadReadsTheKernelFoldersAgain) {
  v1::ListKernelsResponse kernels;
  const auto count = [&] {
    EXPECT_TRUE(Call(&v1::StatusService::Stub::ListKernels,
                     Stub<v1::StatusService>("reader.sock"),
                     v1::ListKernelsRequest(), &kernels)
                    .ok());
    return kernels.kernels_size();
  };
  EXPECT_EQ(count(), 1);
  folder_.WriteKernel("another");
  daemon_->Reload();
  EXPECT_EQ(count(), 2);
}

}  // namespace
}  // namespace wavetune
