#include "client/fake_node.h"

#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "model/digest.h"
#include "model/table_codec.h"
#include "proto/convert/types.h"
#include "proto/wavetune/v1/status_service.grpc.pb.h"
#include "proto/wavetune/v1/table_service.grpc.pb.h"

namespace wavetune::testing {
namespace {

class FakeTableService final : public v1::TableService::Service {
 public:
  grpc::Status GetTable(grpc::ServerContext*,
                        const v1::GetTableRequest* request,
                        v1::GetTableResponse* response) override {
    std::lock_guard<std::mutex> lock(mutex);
    ++fetches;
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
    if (matches.empty()) return {grpc::StatusCode::NOT_FOUND, "no such table"};
    if (matches.size() > 1)
      return {grpc::StatusCode::FAILED_PRECONDITION,
              absl::StrCat("ambiguous:", choices)};
    *response->mutable_info() = matches[0]->info;
    response->set_payload(damaged.empty() ? matches[0]->payload : damaged);
    return grpc::Status::OK;
  }

  // A device of the same class as every profiled one.
  static constexpr const char* kSecondOfClass = "GPU-2";

  std::mutex mutex;
  std::vector<FetchedTable> tables;
  std::string damaged;
  std::atomic<int> fetches{0};
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

struct FakeNode::Services {
  FakeTableService tables;
  FakeStatusService status;
  std::unique_ptr<grpc::Server> server;
};

FakeNode::FakeNode() : services_(std::make_unique<Services>()) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(endpoint(), grpc::InsecureServerCredentials());
  builder.RegisterService(&services_->tables);
  builder.RegisterService(&services_->status);
  services_->server = builder.BuildAndStart();
}

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

void FakeNode::Stop() {
  if (services_->server == nullptr) return;
  services_->server->Shutdown();
  services_->server = nullptr;
}

int FakeNode::fetches() const { return services_->tables.fetches; }

}  // namespace wavetune::testing
