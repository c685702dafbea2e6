#include "server/fleet/fleet_demand.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "model/kernel/kernel_spec.h"
#include "proto/wavetune/v1/fleet.pb.h"
#include "proto/wavetune/v1/store.pb.h"
#include "server/fleet/placed_content.h"
#include "server/fleet/registry_bounds.h"
#include "server/store/stored_usage.h"
#include "server/store/stored_workload.h"
#include "usage/usage_weights.h"

namespace wavetune {
namespace {

constexpr char kUsage[] = "usage";
constexpr char kWorkload[] = "workload";
constexpr double kMostClockErrorS = 300;
// The longest text, or 64 problems of 128 experts, and what comes with them.
constexpr size_t kMostToldBytes =
    FleetDemand::kMostConfigBytes + (size_t{64} << 10);
// Of use and of workloads, of which there are 64 and 256.
constexpr FleetBounds kToldBounds{.entry_bytes = kMostToldBytes,
                                  .all_bytes = size_t{128} << 20,
                                  .entries = 1000};
constexpr size_t kMostSaid = 1000;

std::string SiliconName(const std::string& silicon_key) {
  return Sha256Hex(silicon_key).substr(0, 16);
}

std::string UsagePrefix(const std::string& silicon_key,
                        const std::string& kernel) {
  return absl::StrCat("usage/", SiliconName(silicon_key), "/", kernel, "/");
}

std::string WorkloadsPrefix(const std::string& silicon_key) {
  return absl::StrCat("workloads/", SiliconName(silicon_key), "/");
}

// What one node is asked for.
struct NodeUse {
  int64_t revision = 0;
  std::vector<WeightedProblem> problems;
  double total = 0;
};

absl::StatusOr<NodeUse> UseOf(int64_t revision,
                              std::vector<WeightedProblem> problems,
                              double factor) {
  NodeUse use{.revision = revision, .problems = std::move(problems)};
  for (WeightedProblem& one : use.problems) {
    one.weight *= factor;
    use.total += one.weight;
  }
  if (use.problems.size() > FleetDemand::kMostProblems ||
      !std::isfinite(use.total) || use.total <= 0)
    return absl::DataLossError("it is no use of a kernel");
  return use;
}

// All that the nodes are asked for, none beyond its bound.
std::vector<WeightedProblem> Together(
    const std::map<std::string, NodeUse>& nodes) {
  std::vector<double> totals;
  for (const auto& [node, use] : nodes) totals.push_back(use.total);
  std::sort(totals.begin(), totals.end());
  std::vector<WeightedProblem> all;
  for (const auto& [node, use] : nodes) {
    // Of two nodes the lesser: the other may be the one that is wrong.
    const double most =
        FleetDemand::kMostOfMedian * totals[(totals.size() - 1) / 2];
    const double share = use.total > most ? most / use.total : 1;
    for (WeightedProblem one : use.problems) {
      one.weight *= share;
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace

FleetDemand::FleetDemand(Options options)
    : options_(std::move(options)),
      due_at_(options_.clock->SteadyNow() + RandomDelay()) {}

FleetDemand::~FleetDemand() { Stop(); }

void FleetDemand::Start() {
  if (options_.key == nullptr) return;
  looks_.Start(options_.look_interval, [this] { Look(); });
}

void FleetDemand::Stop() {
  options_.registry->Stop();
  looks_.Stop();
}

Clock::Duration FleetDemand::RandomDelay() {
  return std::chrono::seconds(std::uniform_int_distribution<int64_t>(
      0, options_.first_within.count())(random_));
}

bool FleetDemand::MaySign(const std::string& silicon_key) const {
  return options_.key != nullptr &&
         options_.trust
             .Check(options_.key->public_key(), options_.node, silicon_key)
             .ok();
}

double FleetDemand::AgeS(int64_t at_us) const {
  const double age_s = 1e-6 * (static_cast<double>(options_.clock->NowUs()) -
                               static_cast<double>(at_us));
  if (age_s < -kMostClockErrorS) return std::numeric_limits<double>::infinity();
  return std::max(age_s, 0.0);
}

std::vector<WeightedProblem> FleetDemand::OwnUse(
    const std::string& kernel, const std::string& silicon_key) const {
  std::vector<WeightedProblem> problems =
      options_.usage->Problems(kernel, silicon_key);
  std::stable_sort(problems.begin(), problems.end(),
                   [](const WeightedProblem& a, const WeightedProblem& b) {
                     return a.weight > b.weight;
                   });
  if (problems.size() > kMostProblems) problems.resize(kMostProblems);
  return problems;
}

absl::StatusOr<FleetDemand::Told> FleetDemand::Read(
    const char* purpose, const FleetEntry& entry,
    const std::string& silicon_key) const {
  const absl::Status is_none = absl::DataLossError(
      absl::StrCat("what is at ", entry.key, " is no ", purpose, " of it"));
  ASSIGN_OR_RETURN(const auto read, ReadPlaced<v1::FleetDemandContent>(
                                        purpose, options_.fleet, entry,
                                        options_.trust, silicon_key));
  const v1::FleetDemandContent& content = read.content;
  if (content.silicon_key() != silicon_key) return is_none;
  return Told{.place = entry.key,
              .revision = entry.revision,
              .node = content.node(),
              .at_us = content.at_us(),
              .record = content.record()};
}

absl::Status FleetDemand::List(
    const char* purpose, const std::string& prefix,
    const std::string& silicon_key,
    const std::function<absl::Status(const Told&)>& take) const {
  int64_t refused = 0;
  std::string why;
  // Each is read and let go.
  const auto take_entry = [&](const FleetEntry& entry) {
    const auto told = Read(purpose, entry, silicon_key);
    absl::Status status = told.status();
    const double age_s = told.ok() ? AgeS(told->at_us) : 0;
    if (age_s > kForgottenS) {
      // Where it fails the next one does it. Of the future: it may be this
      // node's clock that is wrong.
      if (std::isfinite(age_s)) {
        options_.registry
            ->Commit({{.key = entry.key, .expected = entry.revision}})
            .IgnoreError();
      }
      return;
    }
    if (told.ok()) status = take(*told);
    if (!status.ok() && refused++ == 0) why = std::string(status.message());
  };
  RETURN_IF_ERROR(
      options_.registry->Read(prefix, kToldBounds, take_entry).status());
  if (refused > 0) {
    options_.log(true, absl::StrCat(refused, " entries below ", prefix,
                                    " are refused: ", why));
  }
  return absl::OkStatus();
}

absl::StatusOr<ProfileDemand> FleetDemand::Of(const std::string& kernel,
                                              const std::string& silicon_key,
                                              const KernelSpec& spec) const {
  std::map<std::string, NodeUse> nodes;
  const auto take_use = [&](const Told& told) -> absl::Status {
    RETURN_IF_ERROR(CheckEntry(told.place, told.record, kMostParsedRecordBytes,
                               *v1::StoredUsage::descriptor())
                        .status());
    ASSIGN_OR_RETURN(const UsageRecord record, DecodeStoredUsage(told.record));
    std::vector<WeightedProblem> problems;
    for (const HeavyHitters::Entry& used : record.problems)
      problems.push_back({used.problem, used.weight});
    const double factor =
        std::exp2(-AgeS(told.at_us) / options_.usage->half_life_s());
    ASSIGN_OR_RETURN(NodeUse use,
                     UseOf(told.revision, std::move(problems), factor));
    // A node's clock may have been set: the registry knows the order.
    NodeUse& known = nodes[told.node];
    if (use.revision > known.revision) known = std::move(use);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(
      List(kUsage, UsagePrefix(silicon_key, kernel), silicon_key, take_use));
  nodes.erase(options_.node);
  if (auto own = OwnUse(kernel, silicon_key); !own.empty()) {
    ASSIGN_OR_RETURN(nodes[options_.node], UseOf(0, std::move(own), 1));
  }

  std::vector<WorkloadCatalog::Entry> workloads = options_.workloads->List();
  std::set<std::string> known;
  for (const WorkloadCatalog::Entry& own : workloads) known.insert(own.digest);
  const auto take_workload = [&](const Told& told) -> absl::Status {
    RETURN_IF_ERROR(CheckEntry(told.place, told.record, kMostParsedRecordBytes,
                               *v1::StoredWorkload::descriptor())
                        .status());
    ASSIGN_OR_RETURN(WorkloadRecord record, DecodeStoredWorkload(told.record));
    WorkloadCatalog::Entry entry = WorkloadCatalog::Read(std::move(record));
    if (told.place != WorkloadsPrefix(silicon_key) + entry.digest)
      return absl::DataLossError("it is another workload");
    if (known.size() < kMostWorkloads && known.insert(entry.digest).second)
      workloads.push_back(std::move(entry));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(List(kWorkload, WorkloadsPrefix(silicon_key), silicon_key,
                       take_workload));

  ProfileDemand demand{
      .used = MostUsed(spec, Together(nodes)),
      .workloads = WorkloadCatalog::ProblemsOf(workloads, spec)};
  demand.counts.nodes = static_cast<int32_t>(nodes.size());
  demand.counts.workloads = static_cast<int32_t>(
      std::count_if(workloads.begin(), workloads.end(),
                    [&](const WorkloadCatalog::Entry& entry) {
                      return known.erase(entry.digest) > 0 &&
                             WorkloadCatalog::ShareOf(entry, spec).problems > 0;
                    }));
  return demand;
}

void FleetDemand::Look() {
  const Clock::Duration now = options_.clock->SteadyNow();
  const bool due = now >= due_at_;
  if (!due && !begun_) return;
  absl::Status told = TellWorkloads(due);
  if (told.ok() && due) told = TellUse();
  if (!told.ok()) {
    // All nodes have an outage together. Of it others tell.
    if (due) due_at_ = now + options_.look_interval + RandomDelay();
    if (!absl::IsUnavailable(told))
      SayOnce(
          absl::StrCat("what this node is asked for is not told to the "
                       "fleet: ",
                       told.message()));
    return;
  }
  begun_ = true;
  if (!due) return;
  due_at_ = now + std::chrono::duration_cast<Clock::Duration>(
                      options_.interval *
                      std::uniform_real_distribution<>(0.9, 1.1)(random_));
}

absl::StatusOr<std::optional<int64_t>> FleetDemand::FreeAt(
    const char* purpose, const std::string& place,
    const std::string& silicon_key, double most_age_s, bool own_is_free) const {
  const auto entry = options_.registry->Get(place, kMostToldBytes);
  if (absl::IsNotFound(entry.status())) return 0;
  RETURN_IF_ERROR(entry.status());
  const auto told = Read(purpose, *entry, silicon_key);
  const bool stays = told.ok()
                         ? AgeS(told->at_us) <= most_age_s &&
                               !(own_is_free && told->node == options_.node)
                         : absl::IsFailedPrecondition(told.status());
  if (stays) return std::nullopt;
  return entry->revision;
}

absl::Status FleetDemand::Write(const char* purpose, const std::string& place,
                                const std::string& silicon_key,
                                const std::string& record,
                                int64_t expected) const {
  v1::FleetDemandContent content;
  content.set_at_us(options_.clock->NowUs());
  content.set_silicon_key(silicon_key);
  content.set_record(record);
  const absl::Status written =
      options_.registry
          ->Commit(
              {{.key = place,
                .value = SignPlaced(purpose, {options_.fleet, options_.node},
                                    place, *options_.key, std::move(content)),
                .expected = expected}})
          .status();
  return absl::IsAborted(written) ? absl::OkStatus() : written;
}

absl::Status FleetDemand::TellUse() {
  for (const UsageRecord& used : options_.usage->List()) {
    if (!MaySign(used.silicon_key)) continue;
    UsageRecord record{.kernel = used.kernel, .silicon_key = used.silicon_key};
    for (WeightedProblem& one : OwnUse(used.kernel, used.silicon_key))
      record.problems.push_back({std::move(one.problem), one.weight});
    if (record.problems.empty()) continue;
    const std::string place = absl::StrFormat(
        "%s%02d", UsagePrefix(used.silicon_key, used.kernel),
        std::uniform_int_distribution<>(0, kPlaces - 1)(random_));
    ASSIGN_OR_RETURN(const std::optional<int64_t> free,
                     FreeAt(kUsage, place, used.silicon_key, kFreshS,
                            /*own_is_free=*/true));
    if (!free) continue;
    RETURN_IF_ERROR(Write(kUsage, place, used.silicon_key,
                          EncodeStoredUsage(record), *free));
  }
  return absl::OkStatus();
}

absl::Status FleetDemand::TellWorkloads(bool all) {
  std::set<std::string> declared;
  const std::vector<WorkloadCatalog::Entry> workloads =
      options_.workloads->List();
  for (const std::string& silicon : options_.silicon()) {
    if (!MaySign(silicon)) continue;
    for (const WorkloadCatalog::Entry& one : workloads) {
      const std::string place = WorkloadsPrefix(silicon) + one.digest;
      if (!declared.insert(place).second) continue;  // Under another name.
      if (!all && told_.contains(place)) continue;
      RETURN_IF_ERROR(TellWorkload(one, place, silicon));
      told_.insert(place);
    }
  }
  // Who still has one tells it again.
  while (true) {
    const auto gone = std::find_if(
        told_.begin(), told_.end(),
        [&](const std::string& place) { return !declared.contains(place); });
    if (gone == told_.end()) return absl::OkStatus();
    RETURN_IF_ERROR(options_.registry->Commit({{.key = *gone}}).status());
    told_.erase(gone);
  }
}

absl::Status FleetDemand::TellWorkload(const WorkloadCatalog::Entry& workload,
                                       const std::string& place,
                                       const std::string& silicon_key) {
  const std::string& name = workload.record.name;
  if (workload.config_bytes > static_cast<int64_t>(kMostConfigBytes)) {
    SayOnce(absl::StrCat("workload ", name,
                         " counts for profiles of this node alone: its "
                         "config.json has ",
                         workload.config_bytes, " bytes, the fleet takes ",
                         kMostConfigBytes));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::optional<int64_t> free,
                   FreeAt(kWorkload, place, silicon_key, kRefreshS,
                          /*own_is_free=*/false));
  if (!free) return absl::OkStatus();
  if (*free == 0) {
    ASSIGN_OR_RETURN(const bool has_room, HasRoom(silicon_key));
    if (!has_room) return absl::OkStatus();
  }
  auto entry = options_.workloads->Get(name);
  // Removed meanwhile, or another one.
  if (!entry.ok() || entry->digest != workload.digest) return absl::OkStatus();
  WorkloadRecord record = std::move(entry->record);
  record.user.clear();
  record.added_at_us = 0;
  return Write(kWorkload, place, silicon_key, EncodeStoredWorkload(record),
               *free);
}

absl::StatusOr<bool> FleetDemand::HasRoom(const std::string& silicon_key) {
  const Clock::Duration now = options_.clock->SteadyNow();
  if (now < full_until_) return false;
  size_t count = 0;
  RETURN_IF_ERROR(List(kWorkload, WorkloadsPrefix(silicon_key), silicon_key,
                       [&](const Told&) {
                         ++count;
                         return absl::OkStatus();
                       }));
  if (count < kMostWorkloads) return true;
  // Nobody lists them all every hour for nothing.
  full_until_ = now + std::chrono::hours(12);
  SayOnce(absl::StrCat(
      "the fleet has ", count, " workloads for ", silicon_key,
      ", which is all that it takes: others count for profiles of their node "
      "alone; remove some (wavetune workload remove)"));
  return false;
}

void FleetDemand::SayOnce(const std::string& text) {
  if (said_.size() >= kMostSaid) said_.clear();
  if (said_.insert(text).second) options_.log(true, text);
}

}  // namespace wavetune
