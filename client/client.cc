#include "client/client.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/endpoint.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "model/digest.h"
#include "model/status_macros.h"
#include "proto/convert/kernel_spec.h"
#include "proto/convert/status.h"
#include "proto/wavetune/v1/status_service.grpc.pb.h"
#include "proto/wavetune/v1/table_service.grpc.pb.h"

namespace wavetune {
namespace {

constexpr size_t kMinFingerprintPrefix = 8;

void SetDeadline(grpc::ClientContext* context, double timeout_s) {
  context->set_deadline(
      std::chrono::system_clock::now() +
      std::chrono::microseconds(static_cast<int64_t>(timeout_s * 1e6)));
}

std::string Describe(const v1::TableInfo& info) {
  return absl::StrCat("fingerprint ", info.fingerprint().substr(0, 12),
                      ", device ", info.device_uuid(), " (",
                      info.device_label(), "), digest ",
                      info.digest().substr(0, 12));
}

bool Matches(const v1::TableInfo& info, const TunerOptions& options) {
  return (options.device.empty() || info.device_uuid() == options.device) &&
         (options.fingerprint.empty() ||
          absl::StartsWith(info.fingerprint(), options.fingerprint));
}

// The daemon cannot be asked; the cache may answer.
bool IsUnreachable(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

struct Client::Rpc {
  std::unique_ptr<v1::TableService::Stub> tables;
  std::unique_ptr<v1::StatusService::Stub> status;
};

Client::Client(ClientOptions options, std::unique_ptr<Rpc> rpc)
    : options_(std::move(options)),
      cache_(options_.cache_dir),
      rpc_(std::move(rpc)) {}

Client::~Client() = default;

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(
    const ClientOptions& options) {
  ClientOptions resolved = options;
  resolved.endpoint = ReaderEndpoint(options.endpoint);
  if (resolved.cache_dir == "auto") resolved.cache_dir = DefaultCacheDir();
  if (!(resolved.timeout_s > 0 && resolved.timeout_s <= 3600)) {
    return absl::InvalidArgumentError(
        absl::StrCat("timeout_s is ", resolved.timeout_s,
                     "; give seconds above 0, at most 3600"));
  }
  auto channel = grpc::CreateChannel(resolved.endpoint,
                                     grpc::InsecureChannelCredentials());
  if (channel == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("endpoint \"", resolved.endpoint,
                     "\" is not valid; give unix:/path/to/reader.sock"));
  }
  auto rpc = std::make_unique<Rpc>();
  rpc->tables = v1::TableService::NewStub(channel);
  rpc->status = v1::StatusService::NewStub(channel);
  return std::unique_ptr<Client>(
      new Client(std::move(resolved), std::move(rpc)));
}

absl::StatusOr<Tuner> Client::GetTuner(const std::string& kernel,
                                       const TunerOptions& options) {
  if (!options.fingerprint.empty() &&
      options.fingerprint.size() < kMinFingerprintPrefix) {
    return absl::InvalidArgumentError(
        absl::StrCat("fingerprint \"", options.fingerprint,
                     "\" is too short; give at least ", kMinFingerprintPrefix,
                     " characters"));
  }
  absl::StatusOr<FetchedTable> fetched = FetchFromDaemon(kernel, options);
  if (fetched.ok()) {
    // A cache that cannot be written costs the fallback, not the answer.
    cache_.Put(*fetched).IgnoreError();
    return MakeTuner(*fetched, options, TableOrigin::kDaemon);
  }
  if (IsUnreachable(fetched.status())) {
    absl::StatusOr<FetchedTable> cached = FindInCache(kernel, options);
    if (cached.ok()) return MakeTuner(*cached, options, TableOrigin::kCache);
    if (!absl::IsNotFound(cached.status())) return cached.status();
    return absl::UnavailableError(absl::StrCat(
        "the daemon at ", options_.endpoint, " cannot be reached (",
        fetched.status().message(), ") and ", cached.status().message(),
        ". Start wavetuned, or set WAVETUNE_ENDPOINT"));
  }
  if (absl::IsNotFound(fetched.status()) && options.digest.empty()) {
    absl::StatusOr<Tuner> defaults = DefaultsFromDaemon(kernel, options);
    if (defaults.ok()) return defaults;
  }
  return fetched.status();
}

absl::StatusOr<FetchedTable> Client::FetchFromDaemon(
    const std::string& kernel, const TunerOptions& options) {
  v1::GetTableRequest request;
  if (!options.digest.empty()) {
    request.set_digest(options.digest);
  } else {
    request.set_kernel(kernel);
    request.set_device_uuid(options.device);
    request.set_fingerprint(options.fingerprint);
  }
  grpc::ClientContext context;
  SetDeadline(&context, options_.timeout_s);
  v1::GetTableResponse response;
  RETURN_IF_ERROR(
      FromGrpcStatus(rpc_->tables->GetTable(&context, request, &response)));
  if (response.info().kernel() != kernel ||
      !Matches(response.info(), {.fingerprint = options.fingerprint})) {
    return absl::NotFoundError(absl::StrCat(
        "table ", options.digest, " is for kernel \"", response.info().kernel(),
        "\", ", Describe(response.info()), ", not what was asked for"));
  }
  return FetchedTable{.info = response.info(),
                      .payload = std::move(*response.mutable_payload())};
}

absl::StatusOr<FetchedTable> Client::FindInCache(
    const std::string& kernel, const TunerOptions& options) const {
  if (!options.digest.empty()) return cache_.Get(options.digest);
  std::vector<v1::TableInfo> choices;
  for (v1::TableInfo& info : cache_.List(kernel)) {
    if (Matches(info, options)) choices.push_back(std::move(info));
  }
  if (choices.empty()) {
    return absl::NotFoundError(absl::StrCat("the cache ", cache_.dir(),
                                            " has no table for kernel \"",
                                            kernel, "\""));
  }
  if (choices.size() > 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "several cached tables fit kernel \"", kernel,
        "\"; give a device, fingerprint or digest:\n  ",
        absl::StrJoin(choices, "\n  ",
                      [](std::string* out, const v1::TableInfo& info) {
                        *out += Describe(info);
                      })));
  }
  return cache_.Get(choices[0].digest());
}

absl::StatusOr<Tuner> Client::DefaultsFromDaemon(const std::string& kernel,
                                                 const TunerOptions& options) {
  grpc::ClientContext context;
  SetDeadline(&context, options_.timeout_s);
  v1::ListKernelsResponse response;
  RETURN_IF_ERROR(
      FromGrpcStatus(rpc_->status->ListKernels(&context, {}, &response)));
  for (const v1::KernelStatus& status : response.kernels()) {
    if (status.spec().name() != kernel || !status.problem().empty()) continue;
    ASSIGN_OR_RETURN(KernelSpec spec, KernelSpecFromProto(status.spec()));
    const std::vector<std::string> names = spec.SpecialisationNames();
    if (std::find(names.begin(), names.end(), options.specialisation) ==
        names.end())
      break;
    auto state = std::make_shared<Tuner::State>();
    state->kernel = kernel;
    for (const Parameter& parameter : spec.parameters)
      state->parameters.push_back(parameter.name);
    state->dimensions = spec.dimensions;
    state->default_configuration = spec.default_configuration;
    return Tuner(std::move(state));
  }
  return absl::NotFoundError(
      absl::StrCat("the daemon knows no kernel \"", kernel, "\""));
}

absl::StatusOr<Tuner> Client::MakeTuner(const FetchedTable& fetched,
                                        const TunerOptions& options,
                                        TableOrigin origin) const {
  auto state = std::make_shared<Tuner::State>();
  ASSIGN_OR_RETURN(state->table, CompiledTable::Create(fetched.payload));
  const Table& table = state->table->table();
  if (state->table->digest() != fetched.info.digest()) {
    return absl::DataLossError(absl::StrCat(
        "the table's digest is ", state->table->digest(), ", announced was ",
        fetched.info.digest(), "; fetch it again"));
  }
  state->sub_table = state->table->SubTableIndex(options.specialisation);
  if (state->sub_table < 0) {
    return absl::NotFoundError(absl::StrCat(
        "kernel \"", table.kernel, "\" has no specialisation \"",
        options.specialisation, "\"; its table has: ",
        absl::StrJoin(table.sub_tables, ", ",
                      [](std::string* out, const SubTable& sub) {
                        absl::StrAppend(out, "\"", sub.specialisation, "\"");
                      })));
  }
  state->kernel = table.kernel;
  state->parameters = table.parameters;
  state->dimensions = table.dimensions;
  state->default_configuration = table.default_configuration;
  state->origin = origin;
  state->stale = fetched.info.stale();
  return Tuner(std::move(state));
}

}  // namespace wavetune
