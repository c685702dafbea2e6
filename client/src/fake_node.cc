#include "client/src/fake_node.h"

#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "formats/types.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "model/table/table_codec.h"
#include "proto/wavetune/v1/status_service.grpc.pb.h"
#include "proto/wavetune/v1/table_service.grpc.pb.h"
#include "proto/wavetune/v1/usage_service.grpc.pb.h"
#include "proto/wavetune/v1/workload_service.grpc.pb.h"

namespace wavetune::testing {
namespace {

class FakeTableService final : public v1::TableService::Service {
 public:
  grpc::Status GetTable(grpc::ServerContext*,
                        const v1::GetTableRequest* request,
                        v1::GetTableResponse* response) override {
    std::unique_lock<std::mutex> lock(mutex);
    ++fetches;
    changed.wait(lock, [this] { return !hangs || stopped; });
    std::vector<const FetchedTable*> matches;
    std::string choices;
    for (const FetchedTable& table : tables) {
      const v1::TableInfo& info = table.info;
      const bool matching =
          request->digest().empty()
              ? info.kernel() == request->kernel() &&
                    absl::StartsWith(info.fingerprint(),
                                     request->fingerprint()) &&
                    (request->device_uuid().empty() ||
                     info.device_uuid() == request->device_uuid() ||
                     request->device_uuid() == kSecondOfClass)
              : info.digest() == request->digest();
      if (!matching) continue;
      matches.push_back(&table);
      absl::StrAppend(&choices, " ", info.device_uuid());
    }
    for (const FetchedTable& table : withdrawn) {
      if (!request->digest().empty() &&
          table.info.digest() == request->digest())
        matches.push_back(&table);
    }
    if (matches.empty()) return {grpc::StatusCode::NOT_FOUND, "no such table"};
    if (matches.size() > 1)
      return {grpc::StatusCode::FAILED_PRECONDITION,
              absl::StrCat("ambiguous:", choices)};
    *response->mutable_info() = matches[0]->info;
    response->set_payload(damaged.empty() ? matches[0]->payload : damaged);
    return grpc::Status::OK;
  }

  grpc::Status WatchTables(
      grpc::ServerContext* context, const v1::WatchTablesRequest* request,
      grpc::ServerWriter<v1::WatchTablesResponse>* writer) override {
    std::unique_lock<std::mutex> lock(mutex);
    requests.push_back(*request);
    ++watchers;
    const int cut_at_start = cuts;
    size_t next = history.size();
    bool alive = true;
    const bool known = request->store_id() == store_id &&
                       request->from_revision() > 0 &&
                       request->from_revision() <= history.size();
    std::vector<v1::WatchTablesResponse> first;
    if (known) {
      first.assign(
          history.begin() + static_cast<ptrdiff_t>(request->from_revision()),
          history.end());
    } else {
      if (!request->store_id().empty())
        first.push_back(Notice(v1::WatchTablesResponse::RESYNC, nullptr));
      for (const FetchedTable& table : tables)
        first.push_back(Notice(v1::WatchTablesResponse::SNAPSHOT, &table.info));
    }
    first.push_back(Notice(v1::WatchTablesResponse::SYNCED, nullptr));
    for (const FetchedTable& table : withdrawn) {
      if (!known)
        first.push_back(Notice(v1::WatchTablesResponse::RETIRED, &table.info));
    }
    for (const auto& notice : first) alive = alive && writer->Write(notice);
    while (alive && !stopped && cuts == cut_at_start &&
           !context->IsCancelled()) {
      // A cancelled call wakes nobody up: look now and then.
      changed.wait_for(lock, std::chrono::milliseconds(5));
      for (; alive && next < history.size(); ++next)
        alive = writer->Write(history[next]);
    }
    --watchers;
    return {grpc::StatusCode::UNAVAILABLE, "the fake daemon ended the watch"};
  }

  grpc::Status AnnounceTableSet(
      grpc::ServerContext*, const v1::AnnounceTableSetRequest* request,
      v1::AnnounceTableSetResponse* response) override {
    std::lock_guard<std::mutex> lock(mutex);
    const std::map<std::string, std::string> set(request->tables().begin(),
                                                 request->tables().end());
    response->set_digest(TableSetDigest(set));
    sets[response->digest()] = set;
    return grpc::Status::OK;
  }

  grpc::Status GetTableSet(grpc::ServerContext*,
                           const v1::GetTableSetRequest* request,
                           v1::GetTableSetResponse* response) override {
    std::lock_guard<std::mutex> lock(mutex);
    const auto set = sets.find(request->digest());
    if (set == sets.end())
      return {grpc::StatusCode::NOT_FOUND, "no such table set"};
    response->mutable_tables()->insert(set->second.begin(), set->second.end());
    return grpc::Status::OK;
  }

  // With mutex held. A change of what serves.
  void Change(v1::WatchTablesResponse::Kind kind, const v1::TableInfo& info) {
    v1::WatchTablesResponse notice = Notice(kind, &info);
    notice.set_revision(history.size() + 1);
    history.push_back(std::move(notice));
    changed.notify_all();
  }
  v1::WatchTablesResponse Notice(v1::WatchTablesResponse::Kind kind,
                                 const v1::TableInfo* info) const {
    v1::WatchTablesResponse notice;
    notice.set_kind(kind);
    notice.set_store_id(store_id);
    notice.set_revision(history.size());
    if (info != nullptr) *notice.mutable_table() = *info;
    return notice;
  }

  // A device of the same class as every profiled one.
  static constexpr const char* kSecondOfClass = "GPU-2";

  std::mutex mutex;
  std::vector<FetchedTable> tables;
  std::vector<FetchedTable> withdrawn;
  std::string damaged;
  std::atomic<int> fetches{0};
  std::condition_variable changed;
  // Guarded by mutex.
  std::string store_id = "store-1";
  std::vector<v1::WatchTablesResponse> history;  // One for each revision.
  std::vector<v1::WatchTablesRequest> requests;
  std::map<std::string, std::map<std::string, std::string>> sets;
  int watchers = 0;
  int cuts = 0;
  bool hangs = false;
  bool stopped = false;
};

class FakeStatusService final : public v1::StatusService::Service {
 public:
  grpc::Status ListKernels(grpc::ServerContext*, const v1::ListKernelsRequest*,
                           v1::ListKernelsResponse* response) override {
    *response = kernels;
    return grpc::Status::OK;
  }
  grpc::Status ListDevices(grpc::ServerContext*, const v1::ListDevicesRequest*,
                           v1::ListDevicesResponse* response) override {
    *response = devices;
    return grpc::Status::OK;
  }

  v1::ListKernelsResponse kernels;
  v1::ListDevicesResponse devices;
};

class FakeUsageService final : public v1::UsageService::Service {
 public:
  grpc::Status ReportUsage(grpc::ServerContext*,
                           const v1::ReportUsageRequest* request,
                           v1::ReportUsageResponse*) override {
    for (const v1::ReportedUsage& usage : request->kernels()) {
      const v1::SourceCounts& counts = usage.counts();
      decisions.fetch_add(counts.fitted() + counts.wide_bound() +
                          counts.extrapolated() + counts.stale() +
                          counts.default_configuration());
    }
    return grpc::Status::OK;
  }

  std::atomic<double> decisions{0};
};

class FakeWorkloadService final : public v1::WorkloadService::Service {
 public:
  grpc::Status AddWorkload(grpc::ServerContext*,
                           const v1::AddWorkloadRequest* request,
                           v1::AddWorkloadResponse* response) override {
    std::lock_guard<std::mutex> lock(mutex);
    requests.push_back(*request);
    if (!refusal.ok()) return refusal;
    v1::WorkloadInfo& info = *response->mutable_workload();
    info.set_name(request->name());
    info.set_architecture("LlamaForCausalLM");
    info.add_notes("a note");
    v1::WorkloadKernel& kernel = *info.add_kernels();
    kernel.set_kernel("add");
    kernel.set_problems(60);
    response->set_unchanged(requests.size() > 1);
    return grpc::Status::OK;
  }

  std::mutex mutex;
  std::vector<v1::AddWorkloadRequest> requests;
  grpc::Status refusal;
};

}  // namespace

TemporaryFolder::TemporaryFolder() {
  path_ = (std::filesystem::temp_directory_path() / "wavetune-test-XXXXXX")
              .string();
  if (mkdtemp(path_.data()) == nullptr) std::abort();
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

FetchedTable Serve(const Table& table, const std::string& device_uuid,
                   int64_t promoted_at_us) {
  FetchedTable fetched;
  fetched.payload = EncodeTable(table).value();
  fetched.info.set_kernel(table.kernel);
  fetched.info.set_fingerprint(table.fingerprint);
  fetched.info.set_silicon_key(table.silicon_key);
  fetched.info.set_environment_key(table.environment_key);
  fetched.info.set_digest(Sha256Hex(fetched.payload));
  fetched.info.set_device_uuid(device_uuid);
  fetched.info.set_device_label("fake");
  fetched.info.set_promoted_at_us(promoted_at_us);
  return fetched;
}

v1::KernelStatus AddKernelStatus() {
  v1::KernelStatus status;
  v1::KernelSpec& spec = *status.mutable_spec();
  spec.set_name("add");
  spec.add_dimensions()->set_name("n");
  v1::Parameter& block = *spec.add_parameters();
  block.set_name("BLOCK");
  block.set_role(v1::Parameter::MACRO);
  block.add_values(128);
  block.add_values(256);
  spec.mutable_mapping()->mutable_tiles()->mutable_text()->set_text(
      "ceil_div(n, BLOCK)");
  spec.add_implementations()->set_backend("replay");
  (*spec.mutable_default_configuration())["BLOCK"] = 128;
  return status;
}

struct FakeNode::Services {
  FakeTableService tables;
  FakeStatusService status;
  FakeUsageService usage;
  FakeWorkloadService workloads;
  std::unique_ptr<grpc::Server> server;
};

FakeNode::FakeNode() : services_(std::make_unique<Services>()) { Start(); }

FakeNode::~FakeNode() { Stop(); }

std::string FakeNode::endpoint() const {
  return absl::StrCat("unix:", folder_.path(), "/reader.sock");
}

void FakeNode::AddTable(FetchedTable table) {
  std::lock_guard<std::mutex> lock(services_->tables.mutex);
  services_->tables.tables.push_back(std::move(table));
}

void FakeNode::AddKernel(const v1::KernelStatus& kernel) {
  *services_->status.kernels.add_kernels() = kernel;
}

void FakeNode::AddDevice(const std::string& uuid) {
  services_->status.devices.add_devices()->mutable_facts()->set_uuid(uuid);
}

void FakeNode::AddDevice(const DeviceFacts& facts) {
  *services_->status.devices.add_devices()->mutable_facts() =
      DeviceFactsToProto(facts);
}

void FakeNode::Damage(const std::string& payload) {
  std::lock_guard<std::mutex> lock(services_->tables.mutex);
  services_->tables.damaged = payload;
}

void FakeNode::Start(bool new_store) {
  {
    std::lock_guard<std::mutex> lock(services_->tables.mutex);
    services_->tables.stopped = false;
    services_->tables.hangs = false;
    if (new_store) {
      services_->tables.store_id += "'";
      services_->tables.history.clear();
    }
  }
  grpc::ServerBuilder builder;
  builder.AddListeningPort(endpoint(), grpc::InsecureServerCredentials());
  builder.RegisterService(&services_->tables);
  builder.RegisterService(&services_->status);
  builder.RegisterService(&services_->usage);
  builder.RegisterService(&services_->workloads);
  services_->server = builder.BuildAndStart();
}

std::vector<v1::AddWorkloadRequest> FakeNode::workload_requests() const {
  std::lock_guard<std::mutex> lock(services_->workloads.mutex);
  return services_->workloads.requests;
}

void FakeNode::RefuseWorkloads(const absl::Status& why) {
  std::lock_guard<std::mutex> lock(services_->workloads.mutex);
  services_->workloads.refusal = grpc::Status(
      static_cast<grpc::StatusCode>(why.code()), std::string(why.message()));
}

void FakeNode::Stop() {
  if (services_->server == nullptr) return;
  {
    std::lock_guard<std::mutex> lock(services_->tables.mutex);
    services_->tables.stopped = true;
    services_->tables.changed.notify_all();
  }
  services_->server->Shutdown(std::chrono::system_clock::now());
  services_->server = nullptr;
}

void FakeNode::Promote(FetchedTable table) {
  FakeTableService& service = services_->tables;
  std::lock_guard<std::mutex> lock(service.mutex);
  const v1::TableInfo info = table.info;
  std::erase_if(service.tables, [&info](const FetchedTable& other) {
    return other.info.kernel() == info.kernel() &&
           other.info.fingerprint() == info.fingerprint() &&
           other.info.silicon_key() == info.silicon_key() &&
           other.info.environment_key() == info.environment_key();
  });
  service.tables.push_back(std::move(table));
  service.Change(v1::WatchTablesResponse::PROMOTED, info);
}

void FakeNode::Retire(const std::string& digest) {
  FakeTableService& service = services_->tables;
  std::lock_guard<std::mutex> lock(service.mutex);
  v1::TableInfo info;
  std::erase_if(service.tables, [&](const FetchedTable& table) {
    if (table.info.digest() != digest) return false;
    info = table.info;
    return true;
  });
  service.Change(v1::WatchTablesResponse::RETIRED, info);
}

void FakeNode::Withdraw(const std::string& digest, const std::string& why) {
  FakeTableService& service = services_->tables;
  std::lock_guard<std::mutex> lock(service.mutex);
  for (const FetchedTable& table : service.tables) {
    if (table.info.digest() == digest) service.withdrawn.push_back(table);
  }
  std::erase_if(service.tables, [&](const FetchedTable& table) {
    return table.info.digest() == digest;
  });
  v1::TableInfo& info = service.withdrawn.back().info;
  info.set_withdrawn(why);
  for (v1::KernelStatus& kernel :
       *services_->status.kernels.mutable_kernels()) {
    if (kernel.spec().name() == info.kernel()) *kernel.add_withdrawn() = info;
  }
  service.Change(v1::WatchTablesResponse::RETIRED, info);
}

void FakeNode::CutWatches() {
  std::lock_guard<std::mutex> lock(services_->tables.mutex);
  ++services_->tables.cuts;
  services_->tables.changed.notify_all();
}

void FakeNode::Remark(const std::string& digest,
                      const std::string& stale_reason) {
  std::lock_guard<std::mutex> lock(services_->tables.mutex);
  for (FetchedTable& table : services_->tables.tables) {
    if (table.info.digest() != digest) continue;
    table.info.set_stale(!stale_reason.empty());
    table.info.set_stale_reason(stale_reason);
    services_->tables.Change(v1::WatchTablesResponse::REMARKED, table.info);
  }
}

void FakeNode::Resync() {
  FakeTableService& service = services_->tables;
  std::lock_guard<std::mutex> lock(service.mutex);
  const auto add = [&](v1::WatchTablesResponse::Kind kind,
                       const v1::TableInfo& info) {
    service.Change(kind, info);
  };
  add(v1::WatchTablesResponse::RESYNC, {});
  for (const FetchedTable& table : service.tables)
    add(v1::WatchTablesResponse::SNAPSHOT, table.info);
  add(v1::WatchTablesResponse::SYNCED, {});
}

void FakeNode::Hang() {
  std::lock_guard<std::mutex> lock(services_->tables.mutex);
  services_->tables.hangs = true;
}

void FakeNode::GoOn() {
  std::lock_guard<std::mutex> lock(services_->tables.mutex);
  services_->tables.hangs = false;
  services_->tables.changed.notify_all();
}

int FakeNode::watchers() const {
  std::lock_guard<std::mutex> lock(services_->tables.mutex);
  return services_->tables.watchers;
}

std::vector<v1::WatchTablesRequest> FakeNode::watch_requests() const {
  std::lock_guard<std::mutex> lock(services_->tables.mutex);
  return services_->tables.requests;
}

double FakeNode::reported_decisions() const {
  return services_->usage.decisions;
}

int FakeNode::fetches() const { return services_->tables.fetches; }

}  // namespace wavetune::testing
