// A daemon's sockets, agents and restarts.
#include "server/daemon.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/daemon_fixture.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

class DaemonTest : public DaemonFixture {};

TEST_F(DaemonTest, TheSocketsHaveTheirRolesModes) {
  const std::vector<std::pair<std::string, mode_t>> modes = {
      {"reader.sock", 0666}, {"agent.sock", 0660}, {"admin.sock", 0660}};
  for (const auto& [name, mode] : modes) {
    struct stat info {};
    ASSERT_EQ(::stat((folder_ / name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, mode) << name;
  }
  // A reader is no administrator.
  v1::ReprofileResponse response;
  EXPECT_EQ(Call(&v1::AdminService::Stub::Reprofile,
                 Stub<v1::AdminService>("reader.sock"), v1::ReprofileRequest(),
                 &response)
                .error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(DaemonTest, AdminsMayAskWhatCanBeCalledAndReadersMayNot) {
  // A ServerReflectionRequest for the list of services.
  const grpc::Slice list_services(std::string("\x3a\x00", 2));
  const auto ask = [&](const std::string& socket, std::string* answer) {
    grpc::GenericStub stub(Channel(socket));
    grpc::ClientContext context;
    const grpc::ByteBuffer request(&list_services, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    stub.UnaryCall(
        &context,
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", {},
        &request, &response,
        [&](const grpc::Status& status) { done.set_value(status); });
    const grpc::Status status = done.get_future().get();
    grpc::Slice slice;
    if (status.ok() && response.DumpToSingleSlice(&slice).ok())
      answer->assign(slice.begin(), slice.end());
    return status.error_code();
  };
  std::string answer;
  EXPECT_EQ(ask("admin.sock", &answer), grpc::StatusCode::OK);
  EXPECT_THAT(answer, HasSubstr("wavetune.v1.AdminService"));
  EXPECT_EQ(ask("reader.sock", &answer), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(ask("agent.sock", &answer), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(DaemonTest, EachSocketHasAGroupOfItsOwn) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root is in every group";
  DaemonOptions options = Options();
  options.reader_group = 4241;
  options.agent_group = 4242;
  options.admin_group = 4243;
  StartDaemon(options);
  const std::vector<std::pair<std::string, gid_t>> groups = {
      {"reader.sock", 4241}, {"agent.sock", 4242}, {"admin.sock", 4243}};
  for (const auto& [name, group] : groups) {
    struct stat info {};
    ASSERT_EQ(::stat((folder_ / name).c_str(), &info), 0);
    EXPECT_EQ(info.st_gid, group) << name;
    // With a group the reader socket is for that group alone.
    EXPECT_EQ(info.st_mode & 0777, 0660u) << name;
  }
}

TEST_F(DaemonTest, RefusesAnAgentOfAnotherApiVersion) {
  ScriptedAgent agent(Channel("agent.sock"), "CPU-1", kApiVersion + 1000);
  EXPECT_FALSE(agent.greeted());
  const grpc::Status status = agent.Leave();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("upgrade the daemon"));
}

TEST_F(DaemonTest, RefusesASecondAgentForADevice) {
  const auto first = Attach("CPU-1");
  ScriptedAgent second(Channel("agent.sock"), "CPU-1");
  EXPECT_FALSE(second.greeted());
  EXPECT_EQ(second.Leave().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  ScriptedAgent third(Channel("agent.sock"), "CPU-2");
  EXPECT_TRUE(third.greeted());
}

TEST_F(DaemonTest, AStoppedDaemonGoesOnWithItsJobs) {
  v1::ReprofileRequest request;
  {
    const auto agent = Attach("CPU-1");
    // The greeting comes before the device is known.
    v1::ListDevicesResponse known;
    while (known.devices().empty()) {
      ASSERT_TRUE(Call(&v1::StatusService::Stub::ListDevices,
                       Stub<v1::StatusService>("reader.sock"),
                       v1::ListDevicesRequest(), &known)
                      .ok());
    }
  }
  // Its agent is gone: the job waits.
  request.set_device_uuid("CPU-1");
  v1::ReprofileResponse response;
  ASSERT_TRUE(Call(&v1::AdminService::Stub::Reprofile,
                   Stub<v1::AdminService>("admin.sock"), request, &response)
                  .ok());
  const uint64_t id = response.jobs(0).id();
  StartDaemon();
  const auto agent = Attach("CPU-1");
  grpc::ClientContext context;
  v1::WatchJobRequest watch;
  watch.set_id(id);
  const auto admin = Stub<v1::AdminService>("admin.sock");
  const auto reader = admin->WatchJob(&context, watch);
  v1::WatchJobResponse progress;
  while (reader->Read(&progress)) {
  }
  EXPECT_EQ(progress.job().state(), v1::SUCCEEDED) << progress.job().message();
}

// Asks grpc.health.v1, on the reader socket.
class HealthProbe {
 public:
  explicit HealthProbe(std::shared_ptr<grpc::Channel> channel)
      : stub_(std::move(channel)) {}

  // HealthCheckResponse: 1 is SERVING, 2 NOT_SERVING. -1: no answer.
  int Ask(const std::string& service) {
    // The message of one field, by hand: the package ships no stub.
    std::string request;
    if (!service.empty()) {
      request = "\x0a";
      request += static_cast<char>(service.size());
      request += service;
    }
    grpc::Slice slice(request);
    const grpc::ByteBuffer buffer(&slice, 1);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const auto call = stub_.PrepareUnaryCall(
        &context, "/grpc.health.v1.Health/Check", buffer, &queue);
    call->StartCall();
    grpc::ByteBuffer answer;
    grpc::Status status;
    call->Finish(&answer, &status, this);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    grpc::Slice bytes;
    if (!status.ok() || !answer.DumpToSingleSlice(&bytes).ok()) return -1;
    return bytes.size() == 2 ? *(bytes.begin() + 1) : -1;
  }

 private:
  grpc::GenericStub stub_;
};

TEST_F(DaemonTest, StatusAndHealthSayThatNothingCanBeStored) {
  // The daemon outlives this function.
  const auto full = std::make_shared<std::atomic<bool>>(false);
  const auto state = [full] {
    return *full ? absl::ResourceExhaustedError("the disk is full: free space")
                 : absl::OkStatus();
  };
  DaemonStores stores = Stores();
  stores.facts.write_problem = state;
  stores.facts.tend = state;
  DaemonOptions options = Options();
  options.store_look_interval = std::chrono::milliseconds(1);
  // What the service manager is told.
  std::mutex mutex;
  std::string told;
  options.tell_state = [&](const std::string& text) {
    std::lock_guard lock(mutex);
    told = text;
  };
  const auto last_state = [&] {
    std::lock_guard lock(mutex);
    return told;
  };
  daemon_ = nullptr;
  daemon_ = Daemon::Start(stores, options).value();
  const auto status = Stub<v1::StatusService>("reader.sock");
  const auto problem = [&] {
    v1::GetStatusResponse response;
    EXPECT_TRUE(Call(&v1::StatusService::Stub::GetStatus, status,
                     v1::GetStatusRequest(), &response)
                    .ok());
    return response.store_problem();
  };
  HealthProbe health(Channel("reader.sock"));
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(health.Ask("wavetune.store"), 1);

  *full = true;
  EXPECT_THAT(problem(), HasSubstr("free space"));
  EXPECT_TRUE(WaitUntil([&] { return health.Ask("wavetune.store") == 2; }));
  for (const char* service : {"", "wavetune.ready", "wavetune.live"}) {
    EXPECT_EQ(health.Ask(service), 1) << service;  // Tables are served.
  }
  EXPECT_THAT(last_state(), HasSubstr("free space"));

  *full = false;
  EXPECT_TRUE(WaitUntil([&] { return health.Ask("wavetune.store") == 1; }));
  EXPECT_EQ(problem(), "");
  EXPECT_TRUE(WaitUntil([&] { return last_state() == "serves 0 tables"; }));
  daemon_ = nullptr;  // It tells until then.
}

TEST_F(DaemonTest, GivesSignsOfLifeWhileItsSocketsTakeConnections) {
  std::atomic<int> signs = 0;
  DaemonOptions options = Options();
  options.alive = [&signs] { ++signs; };
  StartDaemon(options);
  EXPECT_TRUE(WaitUntil([&] { return signs >= 2; }));
  daemon_ = nullptr;
  const int at_end = signs;
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  EXPECT_EQ(signs, at_end);
}

TEST_F(DaemonTest, TakesOverWhatOfItsOptionsMayChange) {
  const auto agent = Attach("CPU-1");
  DaemonOptions options = Options();
  options.even_if_busy = true;
  daemon_->Change(options);
  v1::ReprofileRequest request;
  request.set_device_uuid("CPU-1");
  v1::ReprofileResponse response;
  ASSERT_TRUE(WaitUntil([&] {  // The greeting comes before it is known.
    return Call(&v1::AdminService::Stub::Reprofile,
                Stub<v1::AdminService>("admin.sock"), request, &response)
        .ok();
  }));
  ASSERT_EQ(response.jobs_size(), 1);
  EXPECT_TRUE(response.jobs(0).even_if_busy());
}

TEST_F(DaemonTest, AReloadIsAnEvent) {
  StartDaemon();
  daemon_->TellOfReload("budget is now 7", /*failed=*/false);
  v1::ListEventsResponse response;
  ASSERT_TRUE(Call(&v1::StatusService::Stub::ListEvents,
                   Stub<v1::StatusService>("reader.sock"),
                   v1::ListEventsRequest(), &response)
                  .ok());
  ASSERT_EQ(response.events_size(), 1);
  EXPECT_EQ(response.events(0).kind(), v1::Event::CONFIG_RELOADED);
  EXPECT_EQ(response.events(0).text(), "budget is now 7");
  EXPECT_FALSE(response.events(0).warning());
}

TEST_F(DaemonTest, ChecksWhatItsOptionsName) {
  EXPECT_TRUE(Daemon::Check(Options()).ok()) << Daemon::Check(Options());
  DaemonOptions options = Options();
  options.kernels_dirs = {"/no/such/folder"};
  EXPECT_TRUE(absl::IsNotFound(Daemon::Check(options)));
  options = Options();
  options.tcp.address = "127.0.0.1:0";
  EXPECT_TRUE(absl::IsInvalidArgument(Daemon::Check(options)));
  options = Options();
  options.metrics_address = "9478";
  EXPECT_TRUE(absl::IsInvalidArgument(Daemon::Check(options)));
  options.metrics_address = "127.0.0.1:9478";
  EXPECT_TRUE(Daemon::Check(options).ok());
  options = Options();
  options.agent_socket = options.admin_socket;
  EXPECT_THAT(std::string(Daemon::Check(options).message()),
              HasSubstr("cannot share"));
}

TEST_F(DaemonTest, ASecondDaemonLeavesTheFirstOneAlone) {
  const auto second = Daemon::Start(Stores(), Options());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("(pid ", ::getpid(), ")")));
  v1::GetStatusResponse status;
  EXPECT_TRUE(Call(&v1::StatusService::Stub::GetStatus,
                   Stub<v1::StatusService>("reader.sock"),
                   v1::GetStatusRequest(), &status)
                  .ok());
}

}  // namespace
}  // namespace wavetune
