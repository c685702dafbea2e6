#include "server/daemon.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "proto/convert/api_version.h"
#include "proto/wavetune/v1/admin_service.grpc.pb.h"
#include "proto/wavetune/v1/agent_service.grpc.pb.h"
#include "proto/wavetune/v1/decision_service.grpc.pb.h"
#include "proto/wavetune/v1/status_service.grpc.pb.h"
#include "proto/wavetune/v1/table_service.grpc.pb.h"
#include "proto/wavetune/v1/usage_service.grpc.pb.h"
#include "server/registry/fake_profiling.h"
#include "server/registry/fake_stores.h"
#include "server/registry/fake_usage_store.h"
#include "server/test_folder.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using AttachStream =
    grpc::ClientReaderWriter<v1::AttachRequest, v1::AttachResponse>;

v1::DeviceFacts Cpu(const std::string& uuid) {
  v1::DeviceFacts facts;
  facts.set_uuid(uuid);
  facts.set_label("a CPU");
  facts.set_backend("opencl");
  facts.set_architecture("x86-64");
  facts.set_multiprocessors(4);
  return facts;
}

// Larger blocks and steps are faster.
double LatencyUs(const v1::Configuration& configuration) {
  return 1000.0 /
         static_cast<double>(configuration.values(0) * configuration.values(1));
}

// An agent that answers every batch at once.
class ScriptedAgent {
 public:
  ScriptedAgent(const std::shared_ptr<grpc::Channel>& channel,
                const std::string& uuid, int32_t api_version = kApiVersion)
      : stub_(v1::AgentService::NewStub(channel)),
        stream_(stub_->Attach(&context_)) {
    v1::AttachRequest message;
    message.mutable_hello()->set_api_version(api_version);
    message.mutable_hello()->set_agent_name("agent of " + uuid);
    *message.mutable_hello()->add_devices() = Cpu(uuid);
    stream_->Write(message);
    v1::AttachResponse answer;
    greeted_ = stream_->Read(&answer) && answer.has_hello();
    if (greeted_) thread_ = std::thread([this] { Run(); });
  }
  ~ScriptedAgent() { Leave(); }

  bool greeted() const { return greeted_; }
  int64_t measured() const { return measured_.load(); }

  grpc::Status Leave() {
    if (left_) return grpc::Status::OK;
    left_ = true;
    if (greeted_) context_.TryCancel();
    if (thread_.joinable()) thread_.join();
    return stream_->Finish();
  }

 private:
  void Run() {
    v1::AttachResponse message;
    while (stream_->Read(&message)) {
      if (message.has_prepare()) Prepare(message.prepare());
      if (message.has_measure()) Measure(message.measure());
    }
  }
  void Prepare(const v1::PrepareBatch& batch) {
    v1::AttachRequest report;
    for (int i = 0; i < batch.configurations_size(); ++i) {
      report.mutable_candidate()->set_batch_id(batch.batch_id());
      report.mutable_candidate()->set_index(i);
      report.mutable_candidate()->mutable_facts()->set_capacity(64);
      report.mutable_candidate()
          ->mutable_facts()
          ->set_blocks_per_multiprocessor(16);
      stream_->Write(report);
    }
    Done(batch.batch_id());
  }
  void Measure(const v1::MeasureBatch& batch) {
    v1::AttachRequest report;
    for (int i = 0; i < batch.requests_size(); ++i) {
      const double us = LatencyUs(batch.requests(i).configuration());
      report.mutable_sample()->set_batch_id(batch.batch_id());
      report.mutable_sample()->set_index(i);
      v1::Sample* const sample = report.mutable_sample()->mutable_sample();
      sample->set_latency_us(us);
      sample->set_min_us(us);
      sample->set_launches(10);
      sample->set_device_time_us(10 * us);
      stream_->Write(report);
      measured_.fetch_add(1);
    }
    Done(batch.batch_id());
  }
  void Done(uint64_t batch_id) {
    v1::AttachRequest report;
    report.mutable_done()->set_batch_id(batch_id);
    stream_->Write(report);
  }

  grpc::ClientContext context_;
  const std::unique_ptr<v1::AgentService::Stub> stub_;
  const std::unique_ptr<AttachStream> stream_;
  bool greeted_ = false;
  bool left_ = false;
  std::atomic<int64_t> measured_ = 0;
  std::thread thread_;
};

class DaemonTest : public ::testing::Test {
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
    return options;
  }
  DaemonStores Stores() {
    DaemonStores stores{&samples_, &tables_, &jobs_, &devices_};
    stores.facts.store_id = "store-1";
    stores.facts.path = "/nowhere";
    stores.facts.schema_version = 1;
    stores.usage = &usage_;
    return stores;
  }
  void StartDaemon() {
    daemon_ = nullptr;
    auto daemon = Daemon::Start(Stores(), Options());
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
  }

  std::shared_ptr<grpc::Channel> Channel(const std::string& name) const {
    grpc::ChannelArguments arguments;
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
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!IsAttached(status, uuid)) {
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << uuid << " was never attached";
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
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
  std::unique_ptr<Daemon> daemon_;
};

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

TEST_F(DaemonTest, ProfilesWithAnAgentAndServesTheTable) {
  const auto agent = Attach("CPU-1");
  const v1::JobInfo job = Reprofile();
  EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.message();
  EXPECT_EQ(job.samples(), agent->measured());

  const auto tables = Stub<v1::TableService>("reader.sock");
  v1::GetTableRequest get;
  get.set_kernel("copy");
  v1::GetTableResponse table;
  ASSERT_TRUE(
      Call(&v1::TableService::Stub::GetTable, tables, get, &table).ok());
  EXPECT_EQ(table.info().digest(), job.digest());
  v1::ListTablesResponse list;
  ASSERT_TRUE(Call(&v1::TableService::Stub::ListTables, tables,
                   v1::ListTablesRequest(), &list)
                  .ok());
  EXPECT_EQ(list.tables_size(), 1);

  const auto decisions = Stub<v1::DecisionService>("reader.sock");
  v1::ResolveResponse resolved;
  ASSERT_TRUE(Call(&v1::DecisionService::Stub::Resolve, decisions,
                   Problem(100, 100), &resolved)
                  .ok());
  ASSERT_EQ(resolved.decisions_size(), 1);
  EXPECT_EQ(resolved.digest(), job.digest());
  EXPECT_EQ(resolved.decisions(0).configuration(0).value(), 32);
  v1::ExplainRequest explain;
  explain.set_kernel("copy");
  *explain.mutable_problem() = Problem(100, 100).problems(0);
  v1::ExplainResponse explained;
  ASSERT_TRUE(
      Call(&v1::DecisionService::Stub::Explain, decisions, explain, &explained)
          .ok());
  EXPECT_GE(explained.rows_size(), 1);

  const auto status = Stub<v1::StatusService>("reader.sock");
  v1::GetStatusResponse all;
  ASSERT_TRUE(Call(&v1::StatusService::Stub::GetStatus, status,
                   v1::GetStatusRequest(), &all)
                  .ok());
  EXPECT_EQ(all.version(), "1.2.3");
  EXPECT_EQ(all.devices_attached(), 1);
  EXPECT_EQ(all.kernels(), 1);
  EXPECT_EQ(all.tables(), 1);
  EXPECT_EQ(all.samples(), agent->measured());
  EXPECT_GT(all.resident_bytes(), 0);
  v1::ListDevicesResponse devices;
  ASSERT_TRUE(Call(&v1::StatusService::Stub::ListDevices, status,
                   v1::ListDevicesRequest(), &devices)
                  .ok());
  ASSERT_EQ(devices.devices_size(), 1);
  EXPECT_TRUE(devices.devices(0).attached());
  v1::ListKernelsResponse kernels;
  ASSERT_TRUE(Call(&v1::StatusService::Stub::ListKernels, status,
                   v1::ListKernelsRequest(), &kernels)
                  .ok());
  ASSERT_EQ(kernels.kernels_size(), 1);
  EXPECT_EQ(kernels.kernels(0).configurations(), 4);
  EXPECT_EQ(kernels.kernels(0).tables_size(), 1);
  v1::ListJobsResponse jobs;
  ASSERT_TRUE(Call(&v1::StatusService::Stub::ListJobs, status,
                   v1::ListJobsRequest(), &jobs)
                  .ok());
  EXPECT_EQ(jobs.jobs_size(), 1);
  v1::GetJobRequest unknown;
  unknown.set_id(77);
  v1::GetJobResponse none;
  EXPECT_EQ(Call(&v1::StatusService::Stub::GetJob, status, unknown, &none)
                .error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(DaemonTest, ListsTheSamplesBehindATable) {
  const auto agent = Attach("CPU-1");
  const v1::JobInfo job = Reprofile();
  const auto status = Stub<v1::StatusService>("reader.sock");
  const auto list = [&](const std::string& digest, int64_t* samples) {
    v1::ListSamplesRequest request;
    request.set_digest(digest);
    grpc::ClientContext context;
    const auto reader = status->ListSamples(&context, request);
    v1::ListSamplesResponse response;
    while (reader->Read(&response)) *samples += response.profiled_size();
    return reader->Finish();
  };
  int64_t samples = 0;
  const grpc::Status ended = list(job.digest(), &samples);
  EXPECT_TRUE(ended.ok()) << ended.error_message();
  EXPECT_EQ(samples, agent->measured());
  EXPECT_EQ(list(std::string(64, 'f'), &samples).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(DaemonTest, AnswersWithTheDefaultWithoutATable) {
  const auto decisions = Stub<v1::DecisionService>("reader.sock");
  v1::ResolveResponse response;
  ASSERT_TRUE(Call(&v1::DecisionService::Stub::Resolve, decisions,
                   Problem(1, 1), &response)
                  .ok());
  EXPECT_EQ(response.decisions(0).source(), v1::DEFAULT);
  EXPECT_EQ(response.decisions(0).configuration(0).value(), 32);
  // A bad problem has its own answer and leaves the others theirs.
  v1::ResolveRequest wrong = Problem(1, 1);
  wrong.mutable_problems(0)->mutable_extents(0)->set_dimension("x");
  *wrong.add_problems() = Problem(1, 1).problems(0);
  ASSERT_TRUE(
      Call(&v1::DecisionService::Stub::Resolve, decisions, wrong, &response)
          .ok());
  ASSERT_EQ(response.decisions_size(), 2);
  EXPECT_EQ(response.decisions(0).source(), v1::DEFAULT);
  EXPECT_EQ(response.decisions(0).configuration(0).value(), 32);
  EXPECT_THAT(response.decisions(0).reason(), HasSubstr("\"x\""));
  EXPECT_THAT(response.decisions(1).reason(), Not(HasSubstr("\"x\"")));
  wrong = Problem(1, 1);
  wrong.set_kernel("nope");
  EXPECT_EQ(
      Call(&v1::DecisionService::Stub::Resolve, decisions, wrong, &response)
          .error_code(),
      grpc::StatusCode::NOT_FOUND);
}

TEST_F(DaemonTest, AnEditedKernelIsServedItsNewTable) {
  const auto agent = Attach("CPU-1");
  const v1::JobInfo first = Reprofile();
  folder_.Write("kernels/copy/copy.cl", "another version of the kernel");
  const v1::JobInfo second = Reprofile();
  ASSERT_NE(first.digest(), second.digest());
  v1::GetTableRequest request;
  request.set_kernel("copy");
  v1::GetTableResponse response;
  const grpc::Status status =
      Call(&v1::TableService::Stub::GetTable,
           Stub<v1::TableService>("reader.sock"), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.info().digest(), second.digest());
}

TEST_F(DaemonTest, AWatchSeesPromotionsAndEndsWithTheDaemon) {
  const auto agent = Attach("CPU-1");
  const auto tables = Stub<v1::TableService>("reader.sock");
  grpc::ClientContext context;
  const auto reader = tables->WatchTables(&context, v1::WatchTablesRequest());
  v1::WatchTablesResponse notice;
  ASSERT_TRUE(reader->Read(&notice));
  EXPECT_EQ(notice.kind(), v1::WatchTablesResponse::SYNCED);
  const v1::JobInfo job = Reprofile();
  ASSERT_TRUE(reader->Read(&notice));
  EXPECT_EQ(notice.kind(), v1::WatchTablesResponse::PROMOTED);
  EXPECT_EQ(notice.table().digest(), job.digest());

  grpc::ClientContext other_store;
  v1::WatchTablesRequest from;
  from.set_store_id("store-0");
  from.set_from_revision(9);
  const auto resync = tables->WatchTables(&other_store, from);
  ASSERT_TRUE(resync->Read(&notice));
  EXPECT_EQ(notice.kind(), v1::WatchTablesResponse::RESYNC);
  ASSERT_TRUE(resync->Read(&notice));
  EXPECT_EQ(notice.kind(), v1::WatchTablesResponse::SNAPSHOT);

  daemon_->Stop();
  EXPECT_FALSE(reader->Read(&notice));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
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

TEST_F(DaemonTest, MeasuresAndStreamsTheResults) {
  const auto agent = Attach("CPU-1");
  Reprofile();
  v1::MeasureRequest request;
  request.set_kernel("copy");
  request.set_exhaustive(true);
  for (const auto& [n, k] : {std::pair{33, 100}, std::pair{5000, 77}}) {
    *request.add_problems() = Problem(n, k).problems(0);
  }
  const auto admin = Stub<v1::AdminService>("admin.sock");
  grpc::ClientContext context;
  const auto reader = admin->Measure(&context, request);
  v1::MeasureResponse message;
  std::vector<v1::MeasuredProblem> results;
  v1::JobInfo last;
  while (reader->Read(&message)) {
    if (message.has_result()) results.push_back(message.result());
    if (message.has_job()) last = message.job();
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(last.state(), v1::SUCCEEDED) << last.message();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].all_size(), 4);
  EXPECT_EQ(results[0].best().configuration().values(0), 32);
  EXPECT_EQ(results[1].problem().extents(0).values(0), 5000);

  request.mutable_problems(0)->clear_extents();
  grpc::ClientContext bad;
  const auto refused = admin->Measure(&bad, request);
  EXPECT_FALSE(refused->Read(&message));
  EXPECT_EQ(refused->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(DaemonTest, RecordsAndStreamsEverySample) {
  ScriptedAgent agent(Channel("agent.sock"), "CPU-1");
  v1::MeasureRequest request;
  request.set_kernel("copy");
  request.set_record(true);
  request.set_anchors_per_candidate(40);
  *request.add_problems() = Problem(33, 100).problems(0);
  const auto admin = Stub<v1::AdminService>("admin.sock");
  // The greeting comes before the device is known.
  const auto known = [&] {
    v1::ListDevicesResponse devices;
    return Call(&v1::StatusService::Stub::ListDevices,
                Stub<v1::StatusService>("reader.sock"),
                v1::ListDevicesRequest(), &devices)
               .ok() &&
           !devices.devices().empty();
  };
  while (!known()) {
  }
  grpc::ClientContext context;
  const auto reader = admin->Measure(&context, request);
  v1::MeasureResponse message;
  std::map<v1::RecordedSet, int> samples;
  v1::Recording recording;
  v1::JobInfo last;
  while (reader->Read(&message)) {
    if (message.has_recorded()) {
      samples[message.recorded().set()] += message.recorded().samples_size();
    }
    if (message.has_recording()) recording = message.recording();
    if (message.has_job()) last = message.job();
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(last.state(), v1::SUCCEEDED) << last.message();
  EXPECT_GT(samples[v1::ANCHORS], 4 * 20);
  // Those of the exhaustive pass, and the leaders again.
  EXPECT_EQ(samples[v1::JUDGED], 4 + 4);
  ASSERT_EQ(recording.candidates_size(), 4);
  EXPECT_EQ(recording.candidates(0).facts().capacity(), 64);
  EXPECT_EQ(recording.device().uuid(), "CPU-1");
  EXPECT_FALSE(recording.fingerprint().empty());

  const auto refusal = [&](int anchors, bool record) {
    request.set_anchors_per_candidate(anchors);
    request.set_record(record);
    request.set_exhaustive(true);
    grpc::ClientContext other;
    const auto refused = admin->Measure(&other, request);
    EXPECT_FALSE(refused->Read(&message));
    return refused->Finish();
  };
  EXPECT_EQ(refusal(5, true).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(refusal(5000, true).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(refusal(40, false).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
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

TEST_F(DaemonTest, ASecondDaemonLeavesTheFirstOneAlone) {
  const auto second = Daemon::Start(Stores(), Options());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  v1::GetStatusResponse status;
  EXPECT_TRUE(Call(&v1::StatusService::Stub::GetStatus,
                   Stub<v1::StatusService>("reader.sock"),
                   v1::GetStatusRequest(), &status)
                  .ok());
}

}  // namespace
}  // namespace wavetune
