// DaemonFixture: a daemon on stores in memory and sockets in a folder of its
// own, and calls to it. For tests.
#ifndef WAVETUNE_SERVER_DAEMON_FIXTURE_H_
#define WAVETUNE_SERVER_DAEMON_FIXTURE_H_

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "proto/wavetune/v1/admin_service.grpc.pb.h"
#include "proto/wavetune/v1/decision_service.grpc.pb.h"
#include "proto/wavetune/v1/status_service.grpc.pb.h"
#include "proto/wavetune/v1/table_service.grpc.pb.h"
#include "server/agents/scripted_agent.h"
#include "server/daemon.h"
#include "server/jobs/fake_profiling.h"
#include "server/store/fake_event_store.h"
#include "server/store/fake_fleet_head_store.h"
#include "server/store/fake_stores.h"
#include "server/store/fake_usage_store.h"
#include "server/store/fake_workload_store.h"
#include "server/test_folder.h"

namespace wavetune {

class DaemonFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.WriteKernel("copy");
    StartDaemon();
  }

  DaemonOptions Options() const {
    DaemonOptions options;
    options.reader_socket = folder_ / "reader.sock";
    options.agent_socket = folder_ / "agent.sock";
    options.admin_socket = folder_ / "admin.sock";
    options.kernels_dirs = {folder_ / "kernels"};
    options.version = "1.2.3";
    options.profiling = FakeProfiling();
    options.top_ups.due_for_s = 0;
    return options;
  }
  DaemonStores Stores() {
    DaemonStores stores{&samples_, &tables_, &jobs_, &devices_};
    stores.facts.store_id = "store-1";
    stores.facts.path = "/nowhere";
    stores.facts.schema_version = 1;
    stores.usage = &usage_;
    stores.workloads = &workloads_;
    stores.events = &events_;
    stores.fleet_heads = &fleet_heads_;
    return stores;
  }
  void StartDaemon() { StartDaemon(Options()); }
  void StartDaemon(const DaemonOptions& options) {
    const absl::Status started = TryToStart(options);
    ASSERT_TRUE(started.ok()) << started;
  }
  absl::Status TryToStart(const DaemonOptions& options) {
    daemon_ = nullptr;
    auto daemon = Daemon::Start(Stores(), options);
    if (!daemon.ok()) return daemon.status();
    daemon_ = *std::move(daemon);
    return absl::OkStatus();
  }

  // Returns whether the condition came true within a minute.
  static bool WaitUntil(const std::function<bool()>& condition) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  std::shared_ptr<grpc::Channel> Channel(
      const std::string& name, grpc::ChannelArguments arguments = {}) const {
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("unix:" + folder_ / name,
                                     grpc::InsecureChannelCredentials(),
                                     arguments);
  }
  template <typename Service>
  auto Stub(const std::string& name) const {
    return Service::NewStub(Channel(name));
  }

  // Calls a unary method: Call(&Stub::Method, stub, request, &response).
  template <typename StubType, typename Request, typename Response>
  grpc::Status Call(grpc::Status (StubType::*method)(grpc::ClientContext*,
                                                     const Request&, Response*),
                    const std::unique_ptr<StubType>& stub,
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    return (stub.get()->*method)(&context, request, response);
  }

  // Attaches an agent and waits until the daemon knows its device: it greets
  // first.
  std::unique_ptr<ScriptedAgent> Attach(const std::string& uuid) {
    auto agent = std::make_unique<ScriptedAgent>(Channel("agent.sock"), uuid);
    EXPECT_TRUE(agent->greeted());
    const auto status = Stub<v1::StatusService>("reader.sock");
    EXPECT_TRUE(WaitUntil([&] { return IsAttached(status, uuid); }))
        << uuid << " was never attached";
    return agent;
  }
  bool IsAttached(const std::unique_ptr<v1::StatusService::Stub>& status,
                  const std::string& uuid) {
    v1::ListDevicesResponse list;
    EXPECT_TRUE(Call(&v1::StatusService::Stub::ListDevices, status,
                     v1::ListDevicesRequest(), &list)
                    .ok());
    return std::any_of(list.devices().begin(), list.devices().end(),
                       [&](const v1::DeviceStatus& device) {
                         return device.facts().uuid() == uuid &&
                                device.attached();
                       });
  }

  // Profiles and returns the job's last message.
  v1::JobInfo Reprofile(const v1::ReprofileRequest& request = {}) {
    const auto admin = Stub<v1::AdminService>("admin.sock");
    v1::ReprofileResponse response;
    const grpc::Status status =
        Call(&v1::AdminService::Stub::Reprofile, admin, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    if (response.jobs().empty()) return {};
    grpc::ClientContext context;
    v1::WatchJobRequest watch;
    watch.set_id(response.jobs(0).id());
    const auto reader = admin->WatchJob(&context, watch);
    v1::WatchJobResponse progress;
    while (reader->Read(&progress)) {
    }
    EXPECT_TRUE(reader->Finish().ok());
    return progress.job();
  }

  v1::ResolveRequest Problem(int64_t n, int64_t k) {
    v1::ResolveRequest request;
    request.set_kernel("copy");
    v1::Problem* const problem = request.add_problems();
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, int64_t>>{{"n", n}, {"k", k}}) {
      v1::Problem::Extents* const extents = problem->add_extents();
      extents->set_dimension(name);
      extents->add_values(value);
    }
    return request;
  }

  const TestFolder folder_;
  FakeSampleStore samples_;
  FakeTableStore tables_;
  FakeJobStore jobs_;
  FakeDeviceStore devices_;
  FakeUsageStore usage_;
  FakeWorkloadStore workloads_;
  FakeEventStore events_;
  FakeFleetHeadStore fleet_heads_;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_DAEMON_FIXTURE_H_
