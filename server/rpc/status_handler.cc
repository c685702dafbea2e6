#include "server/rpc/status_handler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/copy_fields.h"
#include "base/process_facts.h"
#include "base/status_macros.h"
#include "formats/types.h"
#include "model/kernel/kernel_spec.h"
#include "server/rpc/record_proto.h"

namespace wavetune {
namespace {

constexpr int kDefaultJobs = 100;
constexpr int kMaxJobs = 10000;

v1::FleetProfileStatus FleetProfileToProto(const FleetView::Profile& seen) {
  const FleetProfile& profile = seen.profile;
  v1::FleetProfileStatus status;
  status.set_fleet_class(seen.fleet_class);
  status.set_kernel(profile.key.kernel);
  status.set_holder(seen.holder);
  GIVE_FIELDS(profile, status, node, by, why, asked_at_us, done, done_by,
              outcome);
  status.set_refused(profile.done && profile.digest.empty());
  for (const FleetProfile::Failure& failure : profile.failures) {
    v1::FleetNodeBehind* const added = status.add_failures();
    added->set_node(failure.node);
    added->set_why(failure.why);
  }
  return status;
}

v1::FleetSpread FleetSpreadToProto(const FleetSummary::Spread& spread) {
  v1::FleetSpread message;
  message.set_fleet_class(spread.fleet_class);
  message.set_kernel(spread.kernel);
  for (const auto& [digest, nodes] : spread.nodes) {
    v1::FleetSpreadTable* const table = message.add_tables();
    table->set_digest(digest);
    table->set_nodes(nodes);
  }
  std::stable_sort(
      message.mutable_tables()->begin(), message.mutable_tables()->end(),
      [](const auto& a, const auto& b) { return a.nodes() > b.nodes(); });
  message.set_behind(spread.behind);
  for (const FleetSummary::Behind& behind : spread.examples) {
    v1::FleetNodeBehind* const added = message.add_examples();
    added->set_node(behind.node);
    added->set_why(behind.why);
  }
  message.set_measuring(spread.measuring);
  return message;
}

}  // namespace

StatusHandler::StatusHandler(Options options)
    : options_(std::move(options)),
      lookup_(options_.tables, options_.devices, options_.kernels,
              options_.default_faults),
      staleness_(options_.devices, options_.kernels),
      started_us_(options_.clock->NowUs()) {}

absl::Status StatusHandler::GetStatus(v1::GetStatusResponse* response) const {
  const auto snapshot = options_.tables->snapshot();
  response->set_version(options_.version);
  response->set_store_id(options_.store.store_id);
  response->set_store_path(options_.store.path);
  response->set_schema_version(options_.store.schema_version);
  response->set_revision(snapshot->revision);
  // A clock that was set back would make it negative.
  response->set_uptime_s(std::max(
      0.0, static_cast<double>(options_.clock->NowUs() - started_us_) * 1e-6));
  for (const AgentDirectory::Known& known : options_.devices->List()) {
    response->set_devices_known(response->devices_known() + 1);
    if (known.attached && known.silent_s == 0) {
      response->set_devices_attached(response->devices_attached() + 1);
    }
  }
  response->set_kernels(static_cast<int32_t>(options_.kernels->Names().size()));
  response->set_tables(static_cast<int32_t>(snapshot->tables.size()));
  response->set_tables_withdrawn(
      static_cast<int32_t>(snapshot->withdrawn.size()));
  const JobQueue::Counts jobs = options_.jobs->counts();
  response->set_jobs_running(jobs.running);
  response->set_jobs_queued(jobs.queued);
  ASSIGN_OR_RETURN(const SampleStore::Stats stats,
                   options_.samples->GetStats());
  response->set_samples(stats.samples);
  response->set_samples_bytes(stats.size_bytes);
  response->set_corrupt_entries(options_.store.corrupt_entries());
  response->set_store_problem(
      std::string(options_.store.write_problem().message()));
  response->set_table_set_digest(TableSetDigestOf(snapshot->tables));
  response->set_resident_bytes(ReadResidentBytes());
  response->set_watchers(options_.watchers());
  return absl::OkStatus();
}

absl::Status StatusHandler::GetFleet(v1::GetFleetResponse* response) const {
  const std::optional<FleetView> view =
      options_.fleet ? options_.fleet() : std::nullopt;
  if (!view) return absl::OkStatus();
  response->set_node(view->node);
  GIVE_FIELDS(*view, *response, publishes, outage, never_reached);
  for (const FleetView::Standing& standing : view->heads) {
    v1::FleetHeadStatus* const head = response->add_heads();
    GIVE_FIELDS(standing, *head, fleet_class, kernel, behind, frozen,
                followed_only);
    if (!standing.accepted) continue;
    head->set_silicon_key(standing.accepted->key.silicon_key);
    head->set_environment_key(standing.accepted->key.environment_key);
    GIVE_FIELDS(*standing.accepted, *head, digest, epoch, node,
                published_at_us);
  }
  response->set_absent(view->absent);
  for (const FleetView::Profile& profile : view->profiles)
    *response->add_profiles() = FleetProfileToProto(profile);
  for (const FleetView::Rollout& rollout : view->rollouts) {
    v1::FleetRolloutStatus* const added = response->add_rollouts();
    GIVE_FIELDS(rollout, *added, fleet_class, kernel, digest, stage, driver,
                halted);
    added->mutable_stages()->Add(rollout.stages.begin(), rollout.stages.end());
  }
  const FleetView::Counts& counts = view->counts;
  GIVE_FIELDS(counts, *response, adopted, published, lost, restored,
              refused_signature, refused_replayed, refused_payload, withdrawn);
  return absl::OkStatus();
}

absl::Status StatusHandler::ListFleetNodes(
    v1::ListFleetNodesResponse* response) const {
  ASSIGN_OR_RETURN(const FleetSummary summary, options_.fleet_summary());
  response->set_nodes(summary.nodes);
  for (const FleetSummary::Spread& spread : summary.spreads)
    *response->add_spreads() = FleetSpreadToProto(spread);
  for (const auto& [version, nodes] : summary.versions) {
    v1::FleetVersion* const added = response->add_versions();
    added->set_version(version);
    added->set_nodes(nodes);
  }
  return absl::OkStatus();
}

absl::Status StatusHandler::ListDevices(
    v1::ListDevicesResponse* response) const {
  for (const AgentDirectory::Known& known : options_.devices->List()) {
    v1::DeviceStatus* const device = response->add_devices();
    *device->mutable_facts() = DeviceFactsToProto(known.record.facts);
    GIVE_FIELDS(known, *device, attached, problem, silent_s, class_ratio,
                left_out, unrated);
    device->set_silicon_key(SiliconKey(known.record.facts));
    device->set_environment_key(EnvironmentKey(known.record.facts));
    device->set_last_seen_us(known.record.last_seen_us);
    if (known.state.has_value()) {
      *device->mutable_state() = DeviceStateToProto(*known.state);
    }
  }
  for (std::string& problem : options_.devices->AgentProblems()) {
    response->add_agent_problems(std::move(problem));
  }
  return absl::OkStatus();
}

absl::Status StatusHandler::ListKernels(
    v1::ListKernelsResponse* response) const {
  if (options_.refresh_kernels) options_.refresh_kernels();
  const auto snapshot = options_.tables->snapshot();
  for (std::string& problem : options_.kernels->Problems()) {
    response->add_problems(std::move(problem));
  }
  for (const DiskKernelCatalog::Entry& entry : options_.kernels->List()) {
    v1::KernelStatus* const kernel = response->add_kernels();
    if (entry.folder != nullptr) {
      *kernel->mutable_spec() = entry.folder->proto;
    } else {
      kernel->mutable_spec()->set_name(entry.name);
    }
    GIVE_FIELDS(entry, *kernel, path, configurations, problem);
    if (entry.folder == nullptr) continue;
    for (const ServingTable& table : snapshot->tables) {
      if (table.record.key.kernel == entry.name) {
        *kernel->add_tables() = TableRecordToProto(
            table.record, staleness_.StaleReason(table.record));
      }
    }
    for (const ServingTable& table : snapshot->withdrawn) {
      if (table.record.key.kernel == entry.name) {
        *kernel->add_withdrawn() = TableRecordToProto(table.record);
      }
    }
    AddDefaultFaults(*kernel);
  }
  return absl::OkStatus();
}

void StatusHandler::AddDefaultFaults(v1::KernelStatus& kernel) const {
  for (const AgentDirectory::Known& known : options_.devices->List()) {
    if (!known.attached) continue;
    const DeviceFacts& device = known.record.facts;
    for (const auto& [specialisation, reason] :
         lookup_.DefaultFaultsOn(kernel.spec().name(), device)) {
      v1::DefaultFault* const fault = kernel.add_default_faults();
      fault->set_device_uuid(device.uuid);
      fault->set_specialisation(specialisation);
      fault->set_reason(Shortened(reason));
    }
  }
}

absl::Status StatusHandler::ListJobs(const v1::ListJobsRequest& request,
                                     v1::ListJobsResponse* response) const {
  if (request.limit() < 0 || request.limit() > kMaxJobs) {
    return absl::InvalidArgumentError(
        absl::StrCat("limit must be 0 to ", kMaxJobs));
  }
  ASSIGN_OR_RETURN(const std::vector<JobRecord> jobs,
                   options_.jobs->List(request.limit() > 0 ? request.limit()
                                                           : kDefaultJobs));
  for (const JobRecord& job : jobs) {
    *response->add_jobs() = JobRecordToProto(job);
  }
  return absl::OkStatus();
}

absl::Status StatusHandler::GetJob(const v1::GetJobRequest& request,
                                   v1::GetJobResponse* response) const {
  ASSIGN_OR_RETURN(const JobRecord job, options_.jobs->Get(request.id()));
  *response->mutable_job() = DetailedJobRecordToProto(job);
  return absl::OkStatus();
}

}  // namespace wavetune
