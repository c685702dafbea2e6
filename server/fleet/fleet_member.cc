#include "server/fleet/fleet_member.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "server/catalog/event_texts.h"
#include "server/fleet/fleet_head.h"

namespace wavetune {
namespace {

// Decisions after which clients' reports say something of a table on trial, and
// the share of them that may be uncertain.
constexpr double kFewestTrialDecisions = 1000;
constexpr double kMostUncertain = 0.5;

absl::Status NoFleet() {
  return absl::FailedPreconditionError(
      "this node is in no fleet: start wavetuned with --fleet "
      "(docs/fleet.md)");
}

}  // namespace

FleetMember::FleetMember(Options options)
    : options_(std::move(options)),
      trust_(options_.membership.trust),
      spot_checks_({.devices = [this] { return options_.devices->List(); },
                    .reprofile =
                        [this](const ReprofileRequest& request) {
                          return Reprofile(request);
                        },
                    .disagrees =
                        [this](const JobRecord& job) {
                          options_.events->Record(SpotCheckEvent(job));
                        }}) {
  const FleetMembership& my = options_.membership;
  if (my.registry == nullptr) return;
  using Key = const ProfileKey&;
  using Digest = const std::string&;
  tables_ = std::make_unique<FleetTables>(FleetTables::Options{
      .registry = my.registry,
      .tables = options_.tables,
      .devices = options_.devices,
      .admission = options_.admission,
      .accepted = options_.accepted,
      .clock = options_.clock,
      .fleet = my.name,
      .node = my.node,
      .trust = trust_,
      .key = my.key,
      .rollout_of =
          [this](Key key, Digest digest) {
            return profiles_->RolloutOf(key, digest);
          },
      .trial_problem =
          [this](Key key, Digest digest) { return TrialProblem(key, digest); },
      .adopted =
          [this](Key key, Digest digest, Digest replaced) {
            spot_checks_.OnAdopted(key, digest, replaced);
          },
      .halted =
          [this](const FleetHead& head, const std::string& why) {
            options_.events->Record(
                RolloutHaltedEvent(head.key, head.digest, why));
          },
      .lost = [this](const TableRecord& own,
                     const FleetHead& winner) { Compare(own, winner); },
      .log = options_.log});
  profiles_ = std::make_unique<FleetProfiles>(FleetProfiles::Options{
      .registry = my.registry,
      .kernels = options_.kernels,
      .clock = options_.clock,
      .fleet = my.name,
      .node = my.node,
      .trust = trust_,
      .key = my.key,
      .devices = [this] { return options_.devices->List(); },
      .reprofile =
          [this](const ReprofileRequest& request) {
            return Reprofile(request);
          },
      .is_profiling =
          [this](const std::string& kernel, const std::string& uuid) {
            return options_.jobs->IsProfiling(kernel, uuid);
          },
      .head_of = [this](Key key) { return tables_->HeadOf(key); },
      .table_of = [this](Key key) { return tables_->TableOf(key); },
      .pinned =
          [this](Key key) {
            return options_.tables->snapshot()->PinOf(
                       key.kernel, key.silicon_key) != nullptr;
          },
      .serves = [this](Key key,
                       Digest digest) { return tables_->Serves(key, digest); },
      .log = options_.log});
  demand_ = std::make_unique<FleetDemand>(FleetDemand::Options{
      .registry = my.registry,
      .usage = options_.usage,
      .workloads = options_.workloads,
      .clock = options_.clock,
      .fleet = my.name,
      .node = my.node,
      .trust = trust_,
      .key = my.key,
      .silicon =
          [this] {
            std::set<std::string> silicon;
            for (const AgentDirectory::Known& known : options_.devices->List())
              silicon.insert(SiliconKey(known.record.facts));
            return silicon;
          },
      .log = options_.log});
  presence_ = std::make_unique<FleetPresence>(
      FleetPresence::Options{.registry = my.registry,
                             .state = [this] { return State(); },
                             .silence = [this] { return tables_->outage(); },
                             .log = options_.log});
  rollouts_ = std::make_unique<FleetRollouts>(
      FleetRollouts::Options{.registry = my.registry,
                             .tables = tables_.get(),
                             .presence = presence_.get(),
                             .clock = options_.clock,
                             .node = my.node,
                             .log = options_.log});
}

FleetMember::~FleetMember() { Stop(); }

absl::Status FleetMember::Start() {
  if (tables_ == nullptr) return absl::OkStatus();
  profiles_->Start();
  RETURN_IF_ERROR(tables_->Start());
  demand_->Start();
  presence_->Start();
  rollouts_->Start();
  return absl::OkStatus();
}

void FleetMember::Stop() {
  if (tables_ == nullptr) return;
  presence_->Stop();  // The registry, too.
  rollouts_->Stop();
  demand_->Stop();
  profiles_->Stop();
  tables_->Stop();
}

absl::StatusOr<ProfileTurn> FleetMember::Await(
    JobControl* control, const JobServices::OthersWait& others_wait) {
  if (profiles_ == nullptr) return ProfileTurn();
  ASSIGN_OR_RETURN(ProfileTurn turn, profiles_->Await(control, others_wait));
  const JobRecord job = control->record();
  // One that goes on after a restart has what it began with.
  if (turn.for_fleet && !job.fleet_demand) turn.demand = DemandFor(job);
  return turn;
}

std::optional<ProfileDemand> FleetMember::DemandFor(const JobRecord& job) {
  for (const AgentDirectory::Known& known : options_.devices->List()) {
    const DeviceFacts& device = known.record.facts;
    if (device.uuid != job.device_uuid) continue;
    const auto kernel = options_.kernels->Get(job.kernel, device);
    if (!kernel.ok()) break;  // The job says why.
    auto demand = demand_->Of(job.kernel, SiliconKey(device), (*kernel)->spec);
    if (demand.ok()) return *std::move(demand);
    options_.log(true, absl::StrCat("job ", job.id,
                                    " is weighed by what this node "
                                    "alone is asked for: ",
                                    demand.status().message()));
    break;
  }
  return std::nullopt;
}

void FleetMember::OnJob(const JobRecord& job) {
  if (profiles_ == nullptr) return;
  profiles_->OnJob(job);
  spot_checks_.OnJob(job);
}

absl::StatusOr<std::vector<FleetView::Profile>> FleetMember::AskFor(
    const ReprofileRequest& request, const RolloutPlan& rollout) {
  if (profiles_ == nullptr) return NoFleet();
  return profiles_->AskFor(request, rollout);
}

std::optional<FleetView> FleetMember::View() {
  if (tables_ == nullptr) return std::nullopt;
  FleetView view = tables_->View();
  const FleetPresence::Outage outage = presence_->outage();
  view.outage = outage.why;
  view.never_reached = !outage.reached;
  view.absent = presence_->problem();
  view.profiles = profiles_->View();
  return view;
}

absl::StatusOr<FleetSummary> FleetMember::Summarise() {
  if (tables_ == nullptr) return NoFleet();
  // Nobody else's reading waits for what is known to be silent.
  if (const FleetPresence::Outage outage = presence_->outage(); outage.silent)
    return absl::UnavailableError(outage.why);
  ASSIGN_OR_RETURN(const std::vector<FleetNode> nodes, presence_->Nodes());
  return SummaryOf(nodes);
}

void FleetMember::Trust(const FleetTrust& trust) {
  if (tables_ == nullptr || trust.empty() || !trust_.Replace(trust)) return;
  options_.log(false, "the list of trusted keys is another one");
  tables_->JudgeAnew();
}

FleetNode FleetMember::State() {
  FleetNode state{.node = options_.membership.node,
                  .version = options_.version};
  std::set<std::string> classes;
  std::set<std::string> measuring;
  for (const AgentDirectory::Known& known : options_.devices->List()) {
    const DeviceFacts& device = known.record.facts;
    const std::string one = FleetClass(device);
    classes.insert(one);
    if (known.usable()) measuring.insert(one);
  }
  state.classes = {classes.begin(), classes.end()};
  state.measuring_classes = {measuring.begin(), measuring.end()};
  for (const FleetView::Standing& standing : tables_->View().heads) {
    if (standing.followed_only) continue;
    FleetNode::Table table{.fleet_class = standing.fleet_class,
                           .kernel = standing.kernel,
                           .behind = standing.behind,
                           .trial_digest = standing.trial_digest,
                           .trial_problem = standing.trial_problem};
    if (standing.accepted) {
      table.digest = standing.accepted->digest;
      table.epoch = standing.accepted->epoch;
    }
    state.tables.push_back(std::move(table));
  }
  return state;
}

void FleetMember::Compare(const TableRecord& own, const FleetHead& winner) {
  // A profile with its samples has nothing left to measure but the
  // verification, which is one interleaved measurement of both.
  ReprofileRequest request{
      .kernel = own.key.kernel,
      .silicon_key = own.key.silicon_key,
      .environment_key = own.key.environment_key,
      .reason = absl::StrCat(
          "compares this node's table ", ShortDigest(own.digest), " with ",
          ShortDigest(winner.digest), " of node ", winner.node),
      .fingerprint = own.key.fingerprint};
  if (const auto job = options_.jobs->Get(own.job_id); job.ok()) {
    request.options.samples_per_candidate = job->options.samples_per_candidate;
    request.options.portfolio_size = job->options.portfolio_size;
  }
  const absl::Status queued = Reprofile(request);
  if (queued.ok()) return;
  options_.log(true, absl::StrCat("table ", ShortDigest(own.digest),
                                  " of kernel ", own.key.kernel,
                                  " stays a candidate that nobody compares: ",
                                  queued.message()));
}

std::string FleetMember::TrialProblem(const ProfileKey& key,
                                      const std::string& digest) {
  std::string problem = spot_checks_.ProblemOf(digest);
  if (!problem.empty()) return problem;
  const auto usage = options_.usage->FindCounts(key.kernel, key.silicon_key);
  if (!usage || usage->digest != digest ||
      usage->with_table.total() < kFewestTrialDecisions ||
      usage->with_table.uncertain_share() <= kMostUncertain)
    return "";
  return absl::StrFormat(
      "clients report that %.0f %% of its decisions are extrapolated or have "
      "wide bounds",
      100 * usage->with_table.uncertain_share());
}

absl::Status FleetMember::Reprofile(const ReprofileRequest& request) {
  return options_.jobs->Reprofile(request).status();
}

}  // namespace wavetune
