#include "server/catalog/workload_catalog.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "formats/workload/layer_problems.h"
#include "model/kernel/kernel_spec.h"
#include "usage/declared_problems.h"

namespace wavetune {
namespace {

constexpr char kRoot[] = "0";

Workload WorkloadOf(const WorkloadRecord& record) {
  return {.name = record.name,
          .config = record.config,
          .parallelism = {.tensor = record.tensor_parallel,
                          .expert = record.expert_parallel},
          .max_tokens = record.max_tokens,
          .routing = record.routing};
}

// What digests of workloads have of a routing; nothing where it is drawn, so
// that they stay as they were before there were others.
std::string RoutingText(const ExpertPopularity& routing) {
  if (!routing.counts.empty()) {
    return absl::StrCat(" ", absl::StrJoin(routing.counts, ","));
  }
  return routing.popularity == Popularity::kEven ? " even" : "";
}

WorkloadCatalog::Entry EntryOf(WorkloadRecord record,
                               absl::StatusOr<ModelLayers> layers) {
  WorkloadCatalog::Entry entry;
  entry.readable = layers.status();
  if (layers.ok()) entry.layers = *std::move(layers);
  entry.config_bytes = static_cast<int64_t>(record.config.size());
  entry.digest = Sha256Hex(absl::StrCat(
      record.tensor_parallel, " ", record.expert_parallel, " ",
      record.max_tokens, RoutingText(record.routing), "\n", record.config));
  record.config.clear();
  entry.record = std::move(record);
  return entry;
}

}  // namespace

WorkloadCatalog::WorkloadCatalog(WorkloadStore* store, Clock* clock,
                                 std::string own_user)
    : store_(store), clock_(clock), own_user_(std::move(own_user)) {}

absl::Status WorkloadCatalog::Load() {
  if (store_ == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::vector<WorkloadRecord> records, store_->List());
  std::lock_guard lock(mutex_);
  for (WorkloadRecord& record : records) {
    const std::string name = record.name;
    entries_[name] = Read(std::move(record));
  }
  return absl::OkStatus();
}

bool WorkloadCatalog::IsTrusted(const std::string& user) const {
  return user == kRoot || user == own_user_;
}

absl::Status WorkloadCatalog::CheckRoom(const Workload& workload,
                                        const std::string& user) const {
  const auto known = entries_.find(workload.name);
  if (known != entries_.end()) {
    if (known->second.record.user == user || IsTrusted(user)) {
      return absl::OkStatus();
    }
    return absl::PermissionDeniedError(absl::StrCat(
        "workload ", workload.name, " is user ", known->second.record.user,
        "'s: choose another name, or ask for it to be removed (wavetune "
        "workload remove)"));
  }
  if (entries_.size() >= kMostWorkloads) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", entries_.size(),
                     " workloads, which is all that are kept: remove one "
                     "(wavetune workload list, wavetune workload remove)"));
  }
  const auto own = std::count_if(
      entries_.begin(), entries_.end(),
      [&](const auto& entry) { return entry.second.record.user == user; });
  if (!IsTrusted(user) && static_cast<size_t>(own) >= kMostOfUser) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "user ", user, " has ", own,
        " workloads, which is all that one may have: replace one by adding it "
        "under the same name, or ask for one to be removed"));
  }
  return absl::OkStatus();
}

absl::Status WorkloadCatalog::NotFound(const std::string& name) const {
  const std::string known =
      absl::StrJoin(entries_, ", ", [](std::string* out, const auto& entry) {
        absl::StrAppend(out, entry.first);
      });
  return absl::NotFoundError(absl::StrCat(
      "there is no workload ", name,
      known.empty() ? "; none was added yet (wavetune workload add)"
                    : absl::StrCat("; there are ", known)));
}

absl::StatusOr<WorkloadCatalog::Added> WorkloadCatalog::Add(
    const Workload& workload, const std::string& user) {
  ASSIGN_OR_RETURN(ModelLayers layers, LayersOf(workload));
  WorkloadRecord record{.name = workload.name,
                        .config = workload.config,
                        .tensor_parallel = workload.parallelism.tensor,
                        .expert_parallel = workload.parallelism.expert,
                        .max_tokens = workload.max_tokens,
                        .routing = workload.routing,
                        .user = user,
                        .added_at_us = clock_->NowUs()};
  std::lock_guard change(change_mutex_);
  bool known = false;
  {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(CheckRoom(workload, user));
    known = entries_.contains(workload.name);
  }
  // Serving processes declare theirs whenever they start.
  if (known) {
    const absl::StatusOr<Entry> old = Get(workload.name);
    if (old.ok() && WorkloadOf(old->record) == workload) {
      return Added{.entry = *old, .unchanged = true};
    }
  }
  if (store_ != nullptr) RETURN_IF_ERROR(store_->Put(record));
  Entry entry = EntryOf(record, std::move(layers));
  // Without a store the text is nowhere else.
  if (store_ == nullptr) entry.record.config = std::move(record.config);
  std::lock_guard lock(mutex_);
  entries_[workload.name] = entry;
  return Added{.entry = std::move(entry), .replaced = known};
}

absl::Status WorkloadCatalog::Remove(const std::string& name) {
  std::lock_guard change(change_mutex_);
  {
    std::lock_guard lock(mutex_);
    if (!entries_.contains(name)) return NotFound(name);
  }
  if (store_ != nullptr) RETURN_IF_ERROR(store_->Delete(name));
  std::lock_guard lock(mutex_);
  entries_.erase(name);
  return absl::OkStatus();
}

absl::StatusOr<WorkloadCatalog::Entry> WorkloadCatalog::Get(
    const std::string& name) {
  Entry entry;
  {
    std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    if (found == entries_.end()) return NotFound(name);
    entry = found->second;
  }
  if (store_ != nullptr) {
    ASSIGN_OR_RETURN(WorkloadRecord record, store_->Get(name));
    entry.record = std::move(record);
  }
  return entry;
}

std::vector<WorkloadCatalog::Entry> WorkloadCatalog::List() const {
  std::vector<Entry> entries;
  std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : entries_) entries.push_back(entry);
  return entries;
}

std::vector<WeightedProblem> WorkloadCatalog::Problems(
    const KernelSpec& spec) const {
  return ProblemsOf(List(), spec);
}

WorkloadCatalog::Entry WorkloadCatalog::Read(WorkloadRecord record) {
  absl::StatusOr<ModelLayers> layers = LayersOf(WorkloadOf(record));
  return EntryOf(std::move(record), std::move(layers));
}

std::vector<WeightedProblem> WorkloadCatalog::ProblemsOf(
    const std::vector<Entry>& entries, const KernelSpec& spec) {
  std::set<std::string> known;
  std::vector<std::vector<WeightedProblem>> layers;
  for (const Entry& entry : entries) {
    if (!known.insert(entry.digest).second) continue;
    for (LayerProblems& of_layer :
         wavetune::ProblemsOf(entry.layers, entry.record.max_tokens, spec,
                              TokenCounts::kProfiled)) {
      layers.push_back(std::move(of_layer.problems));
    }
  }
  return DeclaredProblems(spec, layers);
}

WorkloadCatalog::Share WorkloadCatalog::ShareOf(const Entry& entry,
                                                const KernelSpec& spec) {
  Share share;
  if (!entry.readable.ok()) return share;
  for (const LayerProblems& of_layer :
       wavetune::ProblemsOf(entry.layers, entry.record.max_tokens, spec,
                            TokenCounts::kProfiled)) {
    share.problems += of_layer.problems.size();
    share.left_out += of_layer.left_out;
  }
  return share;
}

}  // namespace wavetune
