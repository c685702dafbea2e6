// What FleetTables does about rollouts: it serves their tables on trial where
// this node is chosen, and goes back where they are halted.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "server/fleet/fleet_tables.h"
#include "server/fleet/fleet_writes.h"

namespace wavetune {
namespace {

using std::chrono::steady_clock;

// What a rollout says of itself before its first stage.
void ForgetStage(FleetRollout& rollout) {
  rollout.stage = 0;
  rollout.stage_since_us = 0;
  rollout.threshold = 0;
  rollout.halted.clear();
  rollout.node.clear();
}

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
    const std::string refused = ReadTrial(*state.rolled_out, state.trial);
    if (!refused.empty()) {
      Count(&Counts::refused_signature);
      options_.log(true, absl::StrCat("a rollout is refused: ", refused));
    }
  }
  state.trial.judged.trust_list = trust_list;
  NoteHalt(key, state);
  const std::lock_guard lock(mutex_);
  heads_[key].trial = state.trial;
}

std::string FleetTables::ReadTrial(const FleetEntry& entry,
                                   Trial& trial) const {
  absl::StatusOr<SignedRollout> read = ReadRollout(entry.key, entry.value);
  if (!read.ok()) return std::string(read.status().message());
  FleetRollout& rollout = read->rollout;
  const FleetHead& head = rollout.head;
  if (head.fleet != options_.fleet)
    return absl::StrCat("it is of fleet ", head.fleet);
  const auto signer =
      options_.trust.Check(read->plan_key, head.node, head.key.silicon_key);
  if (!signer.ok()) return std::string(signer.status().message());
  std::string refused = read->stage_refused;
  if (!read->stage_key.empty()) {
    const absl::Status driver =
        options_.trust
            .Check(read->stage_key, rollout.node, head.key.silicon_key)
            .status();
    if (!driver.ok()) {
      refused = std::string(driver.message());
      ForgetStage(rollout);
    }
  }
  trial.judged = {.revision = entry.revision,
                  .verdict = HeadVerdict::kGood,
                  .head = SignedHead{head, read->plan_key},
                  .signer = *signer};
  trial.rollout = std::move(rollout);
  return refused;
}

void FleetTables::NoteHalt(const std::string& key, State& state) {
  if (!state.trial.rollout || state.trial.rollout->halted.empty() ||
      state.trial.rollout->head.epoch <= state.stored.halted_epoch)
    return;
  const FleetRollout& rollout = *state.trial.rollout;
  state.stored.halted_epoch = rollout.head.epoch;
  state.stored.halted_digest = rollout.head.digest;
  state.stored.halted_why = rollout.halted;
  // Where the store cannot take it now, the next head's has it.
  options_.accepted->Put(key, state.stored).IgnoreError();
  {
    const std::lock_guard lock(mutex_);
    heads_[key].stored = state.stored;
  }
  if (ClassesNow().contains(PlaceOf(key).fleet_class))
    options_.halted(rollout.head, rollout.halted);
}

bool FleetTables::IsHalted(const State& state) {
  return state.trial.rollout &&
         (!state.trial.rollout->halted.empty() ||
          state.trial.rollout->head.epoch <= state.stored.halted_epoch);
}

std::string FleetTables::WhyHalted(const TableRecord& table) {
  const std::lock_guard lock(mutex_);
  const auto found = heads_.find(HeadKey(table.key));
  if (found == heads_.end()) return "";
  const State& state = found->second;
  if (state.stored.halted_epoch == 0 ||
      state.stored.halted_digest != table.digest)
    return "";
  if (state.accepted) {
    const FleetHead& head = state.accepted->head;
    const auto is_table = [&](const FleetHead& one) {
      return one.digest == table.digest;
    };
    if (is_table(head) ||
        std::any_of(head.before.begin(), head.before.end(), is_table))
      return "";
  }
  return state.stored.halted_why;
}

bool FleetTables::IsOvertaken(const State& state) {
  if (!state.trial.rollout) return false;
  const uint64_t epoch = state.trial.rollout->head.epoch;
  return (state.accepted && epoch <= state.accepted->head.epoch) ||
         (state.judged.head && epoch <= state.judged.head->head.epoch);
}

bool FleetTables::IsChosenFor(const State& state) const {
  if (IsHalted(state)) return false;
  const FleetRollout& rollout = *state.trial.rollout;
  return rollout.head.node == options_.node ||
         (rollout.stage_since_us != 0 &&
          RolloutNumber(rollout.head.digest, options_.node) <=
              rollout.threshold);
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
    if (record.how == PromotionKind::kTrial) return record;
    // What this node left to a rollout itself.
    const bool left =
        record.measured_here() && record.epoch <= state.stored.table_epoch;
    const bool of_rollout =
        (state.trial.rollout &&
         record.digest == state.trial.rollout->head.digest) ||
        record.digest == state.stored.halted_digest;
    if (left && of_rollout) return record;
    // After a restart nothing but this says that a rollout ended meanwhile.
    if (state.accepted && record.key == state.accepted->head.key &&
        (left || record.how == PromotionKind::kFleet))
      return record;
  }
  return std::nullopt;
}

void FleetTables::AddTrial(const std::string& key, State& state,
                           HeadFacts& facts) {
  facts.rollout_epoch = state.stored.halted_epoch;
  if (state.trial.rollout) {
    facts.rollout_epoch =
        std::max(facts.rollout_epoch, state.trial.rollout->head.epoch);
  }
  if (!state.trial.rollout || !IsChosenFor(state) ||
      state.trial.rollout->head.epoch <= NewestFleetEpoch(facts)) {
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
  if (!state.trial.rollout || !IsChosenFor(state) || IsOvertaken(state)) return;
  const FleetHead& head = state.trial.rollout->head;
  const bool serves = ServingOf(head).has_value();
  if (!serves && state.trial.fault.empty()) return;
  standing.trial_digest = head.digest;
  standing.trial_problem = state.trial.fault;
  if (!serves) return;
  standing.behind.clear();
  standing.trial_problem = options_.trial_problem(head.key, head.digest);
}

absl::Status FleetTables::Try(const std::string& key, const State& state) {
  return Serve(key, state, state.trial.judged, PromotionKind::kTrial).status();
}

absl::Status FleetTables::GoBack(const std::string& key, const State& state) {
  // Nothing is taken away where nobody stands for what is gone back to.
  if (!state.accepted && state.lapsed) {
    SetBehind(key,
              "a table serves here whose rollout has ended, and the head "
              "before it is of a key that was revoked: it serves on until "
              "there is another head");
    return absl::OkStatus();
  }
  // A rollout that has ended well is gone a moment before its head is told.
  RETURN_IF_ERROR(LookAgain(key, state));
  const std::optional<TableRecord> stray = StrayOf(key, state);
  if (!stray) return absl::OkStatus();
  std::string why = "its rollout has ended";
  if (stray->digest == state.stored.halted_digest)
    absl::StrAppend(&why, ": ", state.stored.halted_why);
  const bool serves = state.accepted && ServingOf(state.accepted->head);
  if (state.accepted && !serves) {
    ASSIGN_OR_RETURN(const std::string signer,
                     options_.trust.Check(*state.accepted));
    RETURN_IF_ERROR(Serve(key, state,
                          {.head = state.accepted, .signer = signer},
                          PromotionKind::kFleet)
                        .status());
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
                                       const RolloutPlan& plan) {
  if (state.trial.rollout && !IsHalted(state) && !IsOvertaken(state)) {
    return absl::UnavailableError(
        "a table is to go to the fleet in stages, and another one is on its "
        "way: it waits for that");
  }
  RETURN_IF_ERROR(LookAgain(key, state));
  ASSIGN_OR_RETURN(std::vector<FleetWrite> writes, PayloadWrites(state, head));
  FleetRollout rollout{.head = head,
                       .plan = plan,
                       .head_revision = RevisionOf(state.registered)};
  const std::string entry = SignRollout(rollout, *options_.key);
  writes.push_back({.key = RolloutPlace(head.key),
                    .value = entry,
                    .expected = RevisionOf(state.rolled_out)});
  const HeadPlace place = PlaceOf(key);
  writes.push_back(FreezeAbsent(place.fleet_class, place.kernel));
  ASSIGN_OR_RETURN(const int64_t revision, options_.registry->Commit(writes));
  options_.log(false,
               absl::StrCat("table ", ShortDigest(head.digest), " of kernel ",
                            head.key.kernel, " goes to the fleet in stages"));
  // Not twice, whatever the watch is about to tell.
  const std::lock_guard lock(mutex_);
  heads_[key].rolled_out = FleetEntry{RolloutPlace(head.key), entry, revision};
  awake_ = true;
  return absl::OkStatus();
}

std::vector<FleetTables::Rollout> FleetTables::Rollouts() {
  std::vector<Rollout> rollouts;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, state] : heads_) {
    // One that has ended is nobody's to drive, though it was not judged anew.
    if (!state.trial.rollout ||
        RevisionOf(state.rolled_out) != state.trial.revision)
      continue;
    const bool halted = IsHalted(state);
    rollouts.push_back(
        {.rollout = *state.trial.rollout,
         .revision = state.trial.revision,
         .driver = state.driver,
         .head_revision = RevisionOf(state.registered),
         .overtaken = IsOvertaken(state),
         .halted_before = halted ? state.stored.halted_why : ""});
  }
  return rollouts;
}

absl::StatusOr<std::string> FleetTables::StageOf(FleetRollout rollout) const {
  RETURN_IF_ERROR(CheckMaySign(rollout.head));
  rollout.node = options_.node;
  return SignStage(rollout, *options_.key);
}

absl::StatusOr<std::string> FleetTables::FinalHeadOf(
    const FleetRollout& rollout) const {
  RETURN_IF_ERROR(CheckMaySign(rollout.head));
  FleetHead head = rollout.head;
  if (head.node != options_.node) {
    absl::StrAppend(&head.why, "; measured by node ", head.node,
                    ", which could not publish it itself");
    head.node = options_.node;
  }
  head.published_at_us = options_.clock->NowUs();
  return SignHead(head, *options_.key);
}

}  // namespace wavetune
