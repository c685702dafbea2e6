// What FleetTables does about rollouts: it serves their tables on trial where
// this node is chosen, and goes back where they are halted.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "server/fleet/fleet_tables.h"

namespace wavetune {
namespace {

using std::chrono::steady_clock;

}  // namespace

void FleetTables::TakeRollouts(const std::string& fleet_class,
                               const FleetNews& news) {
  if (!news.status.ok()) return;  // The heads' watch tells of it.
  {
    const std::lock_guard lock(mutex_);
    const std::string prefix = RolloutsPrefix(fleet_class);
    const auto head_of = [&](absl::string_view kernel) {
      return absl::StrCat(HeadsPrefix(fleet_class), kernel);
    };
    if (news.whole) {
      classes_[fleet_class].rollouts_listed = true;
      ForEachOf(fleet_class, [](State& state) {
        state.rolled_out.reset();
        state.driver.clear();
      });
    }
    for (const FleetNews::Entry& one : news.entries) {
      absl::string_view kernel = one.entry.key;
      if (!absl::ConsumePrefix(&kernel, prefix)) continue;
      const bool of_driver = absl::ConsumeSuffix(&kernel, "/driver");
      const std::string key = head_of(kernel);
      if (heads_.size() >= kMostHeads && !heads_.contains(key)) continue;
      State& state = heads_[key];
      if (of_driver) {
        const auto driver = DecodeFleetHolder(one.entry.value);
        state.driver = one.deleted || !driver.ok() ? "" : driver->node;
        continue;
      }
      state.rolled_out = one.deleted ? std::nullopt : std::optional(one.entry);
      state.calm_until = steady_clock::now() + RandomWait();
      state.retry_at = {};
    }
    awake_ = true;
  }
  changed_.notify_all();
}

void FleetTables::JudgeTrial(const std::string& key, State& state,
                             uint64_t trust_list) {
  const int64_t revision = state.rolled_out ? state.rolled_out->revision : 0;
  if (state.trial.revision == revision &&
      state.trial.judged.trust_list == trust_list)
    return;
  state.trial = {.revision = revision};
  if (state.rolled_out) {
    auto rollout =
        DecodeFleetRollout(state.rolled_out->key, state.rolled_out->value);
    std::string refused;
    if (rollout.ok()) {
      state.trial.judged =
          JudgementOf(key, FleetEntry{key, rollout->head, revision});
      refused = state.trial.judged.refused;
      if (state.trial.judged.head) state.trial.rollout = *std::move(rollout);
    } else {
      refused = std::string(rollout.status().message());
    }
    if (!refused.empty()) {
      Count(&Counts::refused_signature);
      options_.log(true, absl::StrCat("a rollout is refused: ", refused));
    }
  }
  state.trial.judged.trust_list = trust_list;
  const std::lock_guard lock(mutex_);
  heads_[key].trial = state.trial;
}

bool FleetTables::IsChosenFor(const Trial& trial) const {
  const FleetHead& head = trial.judged.head->head;
  return trial.rollout->halted.empty() &&
         (head.node == options_.node ||
          RolloutNumber(head.digest, options_.node) <=
              trial.rollout->threshold);
}

absl::Status FleetTables::LeaveToRollout(const std::string& key, State& state,
                                         const TableRecord& own) {
  state.stored.table_epoch = own.epoch;
  RETURN_IF_ERROR(options_.accepted->Put(key, state.stored));
  const std::lock_guard lock(mutex_);
  heads_[key].stored.table_epoch = own.epoch;
  return absl::OkStatus();
}

std::optional<TableRecord> FleetTables::StrayOf(const std::string& key,
                                                const State& state) const {
  for (const auto current = options_.tables->snapshot();
       const ServingTable& table : current->tables) {
    const TableRecord& record = table.record;
    if (HeadKey(record.key) != key ||
        (state.accepted && record.digest == state.accepted->head.digest))
      continue;
    if (state.trial.rollout &&
        record.digest == state.trial.judged.head->head.digest)
      return record;
    // After a restart nothing but this says that a rollout ended meanwhile.
    if (state.accepted && record.key == state.accepted->head.key &&
        (record.how == PromotionKind::kFleet ||
         (record.measured_here() && record.epoch <= state.stored.table_epoch)))
      return record;
  }
  return std::nullopt;
}

void FleetTables::AddTrial(const std::string& key, State& state,
                           HeadFacts& facts) {
  const uint64_t newest = NextFleetEpoch(facts) - 1;
  if (!state.trial.rollout || !IsChosenFor(state.trial) ||
      state.trial.judged.head->head.epoch <= newest) {
    facts.stray = StrayOf(key, state).has_value();
    return;
  }
  facts.trial = state.trial.judged.head->head;
  facts.serves_trial = ServingOf(*facts.trial).has_value();
  if (facts.serves_trial) {
    state.trial.served = true;
    state.trial.fault.clear();
  } else if (state.trial.served) {
    // It is not tried again.
    facts.serves_trial = true;
    state.trial.fault =
        "it serves here no longer: it was withdrawn, rolled back or retired";
  }
  const std::lock_guard lock(mutex_);
  heads_[key].trial.served = state.trial.served;
  heads_[key].trial.fault = state.trial.fault;
}

void FleetTables::AddTrial(const State& state,
                           FleetView::Standing& standing) const {
  if (!state.trial.rollout || !IsChosenFor(state.trial)) return;
  const FleetHead& head = state.trial.judged.head->head;
  const bool serves = ServingOf(head).has_value();
  if (!serves && state.trial.fault.empty()) return;
  standing.trial_digest = head.digest;
  standing.trial_problem = state.trial.fault;
  if (!serves) return;
  standing.behind.clear();
  standing.trial_problem = options_.trial_problem(head.key, head.digest);
}

absl::Status FleetTables::Try(const std::string& key, const State& state) {
  return Serve(key, state, state.trial.judged).status();
}

absl::Status FleetTables::GoBack(const std::string& key, const State& state) {
  // A rollout that has ended well is gone a moment before its head is told.
  RETURN_IF_ERROR(LookAgain(key, state));
  const std::optional<TableRecord> stray = StrayOf(key, state);
  if (!stray) return absl::OkStatus();
  const std::string why =
      absl::StrCat("its rollout has ended",
                   state.trial.rollout && !state.trial.rollout->halted.empty()
                       ? absl::StrCat(": ", state.trial.rollout->halted)
                       : "");
  const bool serves = state.accepted && ServingOf(state.accepted->head);
  if (state.accepted && !serves) {
    ASSIGN_OR_RETURN(const std::string signer,
                     options_.trust.Check(*state.accepted));
    RETURN_IF_ERROR(
        Serve(key, state, {.head = state.accepted, .signer = signer}).status());
  }
  // Importing ends those of its own key.
  if (serves || !state.accepted || stray->key != state.accepted->head.key)
    RETURN_IF_ERROR(options_.tables->Retire(stray->key, kDaemonUser, why));
  options_.log(true,
               absl::StrCat("kernel ", stray->key.kernel, ": table ",
                            ShortDigest(stray->digest),
                            " serves no longer, the fleet's head does: ", why));
  return absl::OkStatus();
}

absl::Status FleetTables::BeginRollout(const std::string& key,
                                       const State& state,
                                       const FleetHead& head,
                                       const std::string& bytes,
                                       const RolloutPlan& plan) {
  if (state.trial.rollout && state.trial.rollout->halted.empty()) {
    return absl::UnavailableError(
        "a table is to go to the fleet in stages, and another one is on its "
        "way: it waits for that");
  }
  RETURN_IF_ERROR(LookAgain(key, state));
  ASSIGN_OR_RETURN(std::vector<FleetWrite> writes, PayloadWrites(state, head));
  const FleetRollout rollout{
      .head = bytes,
      .plan = plan,
      .head_revision = state.registered ? state.registered->revision : 0};
  writes.push_back(
      {.key = RolloutPlace(head.key),
       .value = EncodeFleetRollout(rollout),
       .expected = state.rolled_out ? state.rolled_out->revision : 0});
  const HeadPlace place = PlaceOf(key);
  writes.push_back(FreezeAbsent(place.fleet_class, place.kernel));
  ASSIGN_OR_RETURN(const int64_t revision, options_.registry->Commit(writes));
  options_.log(false,
               absl::StrCat("table ", ShortDigest(head.digest), " of kernel ",
                            head.key.kernel, " goes to the fleet in stages"));
  // Not twice, whatever the watch is about to tell.
  const std::lock_guard lock(mutex_);
  heads_[key].rolled_out =
      FleetEntry{RolloutPlace(head.key), EncodeFleetRollout(rollout), revision};
  awake_ = true;
  return absl::OkStatus();
}

std::vector<FleetTables::Rollout> FleetTables::Rollouts() {
  std::vector<Rollout> rollouts;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, state] : heads_) {
    if (!state.trial.rollout) continue;
    rollouts.push_back(
        {.rollout = *state.trial.rollout,
         .revision = state.trial.revision,
         .head = state.trial.judged.head->head,
         .driver = state.driver,
         .head_revision = state.registered ? state.registered->revision : 0});
  }
  return rollouts;
}

}  // namespace wavetune
