#include "client/client.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/endpoint.h"
#include "client/usage/grpc_usage_sender.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "model/device_space.h"
#include "model/digest.h"
#include "model/status_macros.h"
#include "proto/convert/kernel_spec.h"
#include "proto/convert/status.h"
#include "proto/convert/types.h"
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

// A pinned digest, or a daemon's mistake, may name a table of something else.
absl::Status CheckIdentity(const v1::TableInfo& info, const std::string& kernel,
                           const TunerOptions& options) {
  if (info.kernel() == kernel &&
      absl::StartsWith(info.fingerprint(), options.fingerprint))
    return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      "table ", info.digest().substr(0, 12), " is for kernel \"", info.kernel(),
      "\", ", Describe(info), ", not for kernel \"", kernel, "\"",
      options.fingerprint.empty() ? "" : ", fingerprint ",
      options.fingerprint));
}

absl::Status UnknownSpecialisation(const std::string& kernel,
                                   const std::string& wanted,
                                   const std::vector<std::string>& known) {
  return absl::NotFoundError(absl::StrCat(
      "kernel \"", kernel, "\" has no specialisation \"", wanted,
      "\"; it has: ",
      absl::StrJoin(known, ", ", [](std::string* out, const std::string& name) {
        absl::StrAppend(out, "\"", name, "\"");
      })));
}

// The daemon cannot be asked; the cache may answer.
bool IsUnreachable(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

struct Client::Rpc {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::TableService::Stub> tables;
  std::unique_ptr<v1::StatusService::Stub> status;
};

Client::Client(ClientOptions options, std::unique_ptr<Rpc> rpc)
    : options_(std::move(options)),
      cache_(options_.cache_dir),
      rpc_(std::move(rpc)) {
  if (!UsageFeedbackWanted(options_.usage_feedback)) return;
  usage_ = std::make_unique<UsageReporter>(
      MakeGrpcUsageSender(rpc_->channel),
      UsageReporter::Options{
          .drain_interval_s = std::min(2.0, options_.usage_interval_s),
          .send_interval_s = options_.usage_interval_s,
          .timeout_s = options_.timeout_s});
}

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
  if (!(resolved.usage_interval_s > 0 && resolved.usage_interval_s <= 86400)) {
    return absl::InvalidArgumentError(
        absl::StrCat("usage_interval_s is ", resolved.usage_interval_s,
                     "; give seconds above 0, at most 86400"));
  }
  auto rpc = std::make_unique<Rpc>();
  rpc->channel = channel;
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
    cache_.Put(*fetched, options.device).IgnoreError();
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
  if (!options.digest.empty()) {
    // The daemon has it no longer (another store, pruned); its bytes are the
    // same wherever they come from.
    absl::StatusOr<FetchedTable> cached = FindInCache(kernel, options);
    if (cached.ok()) return MakeTuner(*cached, options, TableOrigin::kCache);
  } else if (absl::IsNotFound(fetched.status()) &&
             options.fingerprint.empty()) {
    return DefaultsFromDaemon(kernel, options);
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
  RETURN_IF_ERROR(CheckIdentity(response.info(), kernel, options));
  return FetchedTable{.info = response.info(),
                      .payload = std::move(*response.mutable_payload())};
}

absl::StatusOr<FetchedTable> Client::FindInCache(
    const std::string& kernel, const TunerOptions& options) const {
  if (!options.digest.empty()) {
    ASSIGN_OR_RETURN(FetchedTable pinned, cache_.Get(options.digest));
    RETURN_IF_ERROR(CheckIdentity(pinned.info, kernel, options));
    return pinned;
  }
  std::vector<v1::TableInfo> choices;
  for (v1::TableInfo& info : cache_.List(kernel)) {
    if (CheckIdentity(info, kernel, options).ok() &&
        (options.device.empty() || cache_.Serves(info, options.device)))
      choices.push_back(std::move(info));
  }
  if (choices.empty()) {
    return absl::NotFoundError(
        cache_.dir().empty()
            ? "the table cache is off"
            : absl::StrCat("the cache ", cache_.dir(),
                           " has no table for kernel \"", kernel, "\"",
                           options.device.empty() ? "" : " on device ",
                           options.device));
  }
  // Another driver or an edited kernel leaves the older table beside the newer;
  // only other silicon is another question.
  const v1::TableInfo& newest = *std::max_element(
      choices.begin(), choices.end(),
      [](const v1::TableInfo& a, const v1::TableInfo& b) {
        return std::make_tuple(a.promoted_at_us(), a.epoch()) <
               std::make_tuple(b.promoted_at_us(), b.epoch());
      });
  if (std::any_of(choices.begin(), choices.end(),
                  [&newest](const v1::TableInfo& info) {
                    return info.silicon_key() != newest.silicon_key();
                  })) {
    return absl::FailedPreconditionError(absl::StrCat(
        "several cached tables fit kernel \"", kernel,
        "\"; give a device, fingerprint or digest:\n  ",
        absl::StrJoin(choices, "\n  ",
                      [](std::string* out, const v1::TableInfo& info) {
                        *out += Describe(info);
                      })));
  }
  return cache_.Get(newest.digest());
}

absl::StatusOr<std::vector<DeviceFacts>> Client::FetchDevices(
    const std::string& uuid) {
  grpc::ClientContext context;
  SetDeadline(&context, options_.timeout_s);
  v1::ListDevicesResponse response;
  RETURN_IF_ERROR(
      FromGrpcStatus(rpc_->status->ListDevices(&context, {}, &response)));
  std::vector<DeviceFacts> attached;
  std::vector<DeviceFacts> seen;
  for (const v1::DeviceStatus& device : response.devices()) {
    if (!uuid.empty() && device.facts().uuid() != uuid) continue;
    seen.push_back(DeviceFactsFromProto(device.facts()));
    if (device.attached()) attached.push_back(seen.back());
  }
  if (!attached.empty()) return attached;
  if (!seen.empty() || uuid.empty()) return seen;
  return absl::NotFoundError(absl::StrCat(
      "the daemon knows no device \"", uuid, "\"; it knows: ",
      absl::StrJoin(response.devices(), ", ",
                    [](std::string* out, const v1::DeviceStatus& device) {
                      absl::StrAppend(out, device.facts().uuid(), " (",
                                      device.facts().label(), ")");
                    })));
}

absl::StatusOr<Tuner> Client::DefaultsFromDaemon(const std::string& kernel,
                                                 const TunerOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<DeviceFacts> devices,
                   FetchDevices(options.device));
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
      return UnknownSpecialisation(kernel, options.specialisation, names);
    auto state = std::make_shared<Tuner::State>();
    state->kernel = kernel;
    for (const Parameter& parameter : spec.parameters)
      state->parameters.push_back(parameter.name);
    state->dimensions = spec.dimensions;
    ASSIGN_OR_RETURN(state->default_configuration,
                     DefaultForDevices(spec, devices));
    state->usage = RecorderFor(*state, options);
    return Tuner(std::move(state));
  }
  return absl::NotFoundError(absl::StrCat(
      "the daemon has no valid kernel \"", kernel, "\"; it has: ",
      absl::StrJoin(response.kernels(), ", ",
                    [](std::string* out, const v1::KernelStatus& status) {
                      absl::StrAppend(
                          out, status.spec().name(),
                          status.problem().empty() ? "" : " (invalid)");
                    })));
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
    std::vector<std::string> known;
    for (const SubTable& sub : table.sub_tables)
      known.push_back(sub.specialisation);
    return UnknownSpecialisation(table.kernel, options.specialisation, known);
  }
  state->kernel = table.kernel;
  state->parameters = table.parameters;
  state->dimensions = table.dimensions;
  state->default_configuration = table.default_configuration;
  state->origin = origin;
  state->stale = fetched.info.stale();
  state->usage = RecorderFor(*state, options);
  return Tuner(std::move(state));
}

std::shared_ptr<UsageRecorder> Client::RecorderFor(
    const Tuner::State& state, const TunerOptions& options) const {
  if (usage_ == nullptr) return nullptr;
  return usage_->Recorder(
      {.kernel = state.kernel,
       .device_uuid = options.device,
       .silicon_key =
           state.table == nullptr ? "" : state.table->table().silicon_key,
       .digest = state.table == nullptr ? "" : state.table->digest(),
       .specialisation = options.specialisation,
       .dimensions = state.dimensions});
}

}  // namespace wavetune
