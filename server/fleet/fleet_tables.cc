#include "server/fleet/fleet_tables.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "model/decide/compiled_table.h"
#include "server/fleet/fleet_writes.h"

namespace wavetune {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestWait{60000};
// Clocks of a cluster that differ so much are worth a word.
constexpr std::chrono::minutes kClockSlack{5};

// 0: there is none.
int64_t RevisionOf(const std::optional<FleetEntry>& entry) {
  return entry ? entry->revision : 0;
}

// Whether trying again may help without anything changing here.
bool IsOfNetwork(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) ||
         absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status) ||
         absl::IsResourceExhausted(status) || absl::IsInternal(status);
}

}  // namespace

FleetTables::FleetTables(Options options) : options_(std::move(options)) {}

FleetTables::~FleetTables() {
  Stop();
  catalog_handle_ = nullptr;
}

absl::Status FleetTables::Start() {
  ASSIGN_OR_RETURN(const auto accepted, options_.accepted->List());
  for (const auto& [key, stored] : accepted) {
    heads_[key].stored.table_epoch = stored.table_epoch;
    auto head = ReadHead(key, stored.bytes);
    if (!head.ok() || !options_.trust.Check(*head).ok()) continue;
    heads_[key].accepted = *std::move(head);
    heads_[key].stored = stored;
  }
  catalog_handle_ = options_.tables
                        ->Subscribe(options_.tables->snapshot()->revision,
                                    [this](const TableChange&) {
                                      const std::lock_guard lock(mutex_);
                                      // What was in the way may be so no
                                      // longer.
                                      for (auto& [key, state] : heads_)
                                        state.retry_at = {};
                                      awake_ = true;
                                      changed_.notify_all();
                                    })
                        .handle;
  thread_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

void FleetTables::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    options_.registry->Stop();
    thread_.join();
  }
  // Without the lock, which their listeners take.
  std::map<std::string, Watched> classes;
  const std::lock_guard lock(mutex_);
  classes.swap(classes_);
}

void FleetTables::Run() {
  while (true) {
    WatchClasses();
    const OwnTables own = FindOwnTables();
    std::vector<std::string> keys;
    {
      const std::lock_guard lock(mutex_);
      awake_ = false;
      for (const auto& [key, record] : own) heads_.try_emplace(key);
      for (const auto& [key, state] : heads_) keys.push_back(key);
    }
    ObeyWithdrawals();
    TellWithdrawals();
    // What falls due while others are settled has its turn at once.
    const Time began = steady_clock::now();
    for (const std::string& key : keys) Settle(key, own);
    std::unique_lock lock(mutex_);
    Time next = steady_clock::now() + options_.look_interval;
    for (const auto& [key, state] : heads_) {
      const Time due = std::max(state.calm_until, state.retry_at);
      if (due > began) next = std::min(next, due);
    }
    changed_.wait_until(lock, next, [this] { return stopping_ || awake_; });
    if (stopping_) return;
  }
}

void FleetTables::WatchClasses() {
  for (const AgentDirectory::Known& known : options_.devices->List()) {
    const std::string fleet_class = FleetClass(
        SiliconKey(known.record.facts), EnvironmentKey(known.record.facts));
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      if (!classes_.try_emplace(fleet_class).second) continue;
    }
    auto heads = options_.registry->Watch(
        HeadsPrefix(fleet_class), [this, fleet_class](const FleetNews& news) {
          OnNews(fleet_class, news, &FleetTables::TakeHeads);
        });
    auto orders = options_.registry->Watch(
        OrdersPrefix(fleet_class), [this, fleet_class](const FleetNews& news) {
          OnNews(fleet_class, news, &FleetTables::TakeOrders);
        });
    auto rollouts =
        options_.registry->Watch(RolloutsPrefix(fleet_class),
                                 [this, fleet_class](const FleetNews& news) {
                                   TakeRollouts(fleet_class, news);
                                 });
    const std::lock_guard lock(mutex_);
    classes_[fleet_class].heads = std::move(heads);
    classes_[fleet_class].orders = std::move(orders);
    classes_[fleet_class].rollouts = std::move(rollouts);
  }
}

void FleetTables::OnNews(const std::string& fleet_class, const FleetNews& news,
                         void (FleetTables::*take)(const std::string&,
                                                   const FleetNews&)) {
  std::string before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(outage_, std::string(news.status.message()));
    if (news.status.ok()) (this->*take)(fleet_class, news);
    awake_ = true;
  }
  changed_.notify_all();
  if (before.empty() && !news.status.ok()) {
    options_.log(true, absl::StrCat("the fleet's registry is out of reach, "
                                    "this node serves what it has: ",
                                    news.status.message()));
  } else if (!before.empty() && news.status.ok()) {
    options_.log(false, "the fleet's registry answers again");
  }
}

size_t FleetTables::ForEachOf(const std::string& fleet_class,
                              const std::function<void(State&)>& change) {
  const std::string prefix = HeadsPrefix(fleet_class);
  size_t states = 0;
  for (auto it = heads_.lower_bound(prefix);
       it != heads_.end() && it->first.starts_with(prefix); ++it) {
    ++states;
    change(it->second);
  }
  return states;
}

void FleetTables::TakeHeads(const std::string& fleet_class,
                            const FleetNews& news) {
  if (news.whole) classes_[fleet_class].heads_listed = true;
  size_t heads = ForEachOf(fleet_class, [&](State& state) {
    if (news.whole) state.registered = std::nullopt;
  });
  for (const FleetNews::Entry& one : news.entries) {
    if (!heads_.contains(one.entry.key) && ++heads > kMostHeads) break;
    State& state = heads_[one.entry.key];
    state.registered = one.deleted ? std::nullopt : std::optional(one.entry);
    // What is too large is no head, and need not be kept.
    if (one.entry.value.size() > kMostHeadBytes)
      state.registered->value.clear();
    state.calm_until = steady_clock::now() + RandomWait();
    state.retry_at = {};
    state.backoff.reset();
  }
}

FleetTables::OwnTables FleetTables::FindOwnTables() const {
  OwnTables own;
  for (const auto current = options_.tables->snapshot();
       const ServingTable& table : current->tables) {
    if (!table.record.measured_here()) continue;
    TableRecord& newest = own[HeadKey(table.record.key)];
    if (table.record.epoch > newest.epoch) newest = table.record;
  }
  return own;
}

FleetTables::Judgement FleetTables::JudgementOf(
    const std::string& key, const std::optional<FleetEntry>& entry) const {
  if (!entry) return {};
  Judgement judged{.revision = entry->revision,
                   .verdict = HeadVerdict::kBroken};
  absl::StatusOr<SignedHead> head = ReadHead(key, entry->value);
  if (!head.ok()) {
    if (absl::IsFailedPrecondition(head.status()))  // Of a later version.
      judged.verdict = HeadVerdict::kForeign;
    judged.refused = std::string(head.status().message());
    return judged;
  }
  if (head->head.fleet != options_.fleet) {
    judged.refused = absl::StrCat("it is of fleet ", head->head.fleet);
    return judged;
  }
  const auto signer = options_.trust.Check(*head);
  if (!signer.ok()) {
    if (!options_.trust.IsRevoked(head->public_key))
      judged.verdict = HeadVerdict::kForeign;
    judged.refused = std::string(signer.status().message());
    return judged;
  }
  judged.verdict = HeadVerdict::kGood;
  judged.signer = *signer;
  judged.head = *std::move(head);
  return judged;
}

void FleetTables::Judge(const std::string& key, State& state,
                        uint64_t trust_list) {
  if (state.judged.revision == RevisionOf(state.registered) &&
      state.judged.trust_list == trust_list)
    return;
  state.judged = JudgementOf(key, state.registered);
  state.judged.trust_list = trust_list;
  {
    const std::lock_guard lock(mutex_);
    heads_[key].judged = state.judged;
  }
  if (state.judged.refused.empty()) return;
  Count(&Counts::refused_signature);
  SetBehind(
      key, absl::StrCat("the fleet's head is refused: ", state.judged.refused));
}

void FleetTables::Settle(const std::string& key, const OwnTables& own_tables) {
  State state;
  uint64_t trust_list = 0;
  const Time now = steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    const auto watched = classes_.find(PlaceOf(key).fleet_class);
    // What the registry has is not known: nothing is done about a guess.
    if (stopping_ || !outage_.empty() || watched == classes_.end() ||
        !watched->second.listed())
      return;
    state = heads_[key];
    trust_list = trust_lists_;
  }
  if (now < state.retry_at) return;
  Judge(key, state, trust_list);
  JudgeTrial(key, state, trust_list);
  const auto own = own_tables.find(key);
  const std::optional<FleetWithdrawal> withdrawn =
      state.judged.head ? WithdrawalOf(state, state.judged.head->head.digest)
                        : std::nullopt;
  HeadFacts facts{.verdict = state.judged.verdict,
                  .unusable = state.judged.unusable || withdrawn.has_value(),
                  .own = own != own_tables.end() &&
                         own->second.epoch > state.stored.table_epoch};
  if (state.judged.head) facts.registered = state.judged.head->head;
  if (state.accepted) facts.accepted = state.accepted->head;
  if (facts.own && state.trial.rollout &&
      own->second.digest == state.trial.judged.head->head.digest) {
    if (!LeaveToRollout(key, state, own->second).ok()) return;
    facts.own = false;
  }
  AddTrial(key, state, facts);
  const FleetStep step = NextFleetStep(facts);
  if (withdrawn.has_value() && step != FleetStep::kPublish &&
      step != FleetStep::kTry) {
    SetBehind(key, absl::StrCat(
                       "the fleet's table was withdrawn: ", TextOf(*withdrawn),
                       ". Profile it: wavetune reprofile"));
    return;
  }
  if (step == FleetStep::kPublish && state.frozen) {
    SetBehind(
        key, absl::StrCat("a table of this node's own serves, and the "
                          "fleet's is ",
                          TextOf(*state.frozen), " (wavetune fleet unfreeze)"));
    return;
  }
  if (step == FleetStep::kNothing) {
    if (state.judged.verdict == HeadVerdict::kGood ||
        state.judged.verdict == HeadVerdict::kNone)
      SetBehind(key, "");
    return;
  }
  // What every node of the class does, each does in its own time.
  if (step != FleetStep::kPublish && now < state.calm_until) return;
  const absl::Status taken =
      Take(step, key, state, facts, facts.own ? &own->second : nullptr);
  if (!taken.ok() && !absl::IsAborted(taken))
    SetBehind(key, std::string(taken.message()));
  const std::lock_guard lock(mutex_);
  State& kept = heads_[key];
  if (taken.ok()) {
    kept.backoff.reset();
    return;
  }
  if (kept.backoff == nullptr) {
    kept.backoff =
        std::make_shared<Backoff>(options_.look_interval, kLongestWait);
  }
  kept.retry_at = steady_clock::now() + kept.backoff->Next();
  if (IsOfNetwork(taken)) return;
  if (step == FleetStep::kTry &&
      !options_.tables->snapshot()->PinOf(
          state.trial.judged.head->head.key.kernel,
          state.trial.judged.head->head.key.silicon_key)) {
    kept.trial.fault = std::string(taken.message());
  }
  if (step != FleetStep::kAdopt) return;
  // An own table is published over it now, where there is one.
  kept.judged.unusable = true;
  if (facts.own) kept.retry_at = {};
  awake_ = awake_ || facts.own;
}

absl::Status FleetTables::Take(FleetStep step, const std::string& key,
                               const State& state, const HeadFacts& facts,
                               const TableRecord* own) {
  switch (step) {
    case FleetStep::kAdopt:
      return Adopt(key, state);
    case FleetStep::kPublish:
      return Publish(key, state, facts, *own);
    case FleetStep::kRestore:
      return Restore(key, state);
    case FleetStep::kTry:
      return Try(key, state);
    case FleetStep::kGoBack:
      return GoBack(key, state);
    default:
      return absl::OkStatus();
  }
}

std::optional<TableRecord> FleetTables::ServingOf(const FleetHead& head) const {
  for (const auto current = options_.tables->snapshot();
       const ServingTable& table : current->tables) {
    if (table.record.key == head.key && table.record.digest == head.digest)
      return table.record;
  }
  return std::nullopt;
}

absl::StatusOr<std::string> FleetTables::Fetch(const std::string& key,
                                               const State& state,
                                               const FleetHead& head) {
  const std::string& digest = head.digest;
  // One that may not serve here yet is not fetched with each try.
  if (Sha256Hex(state.fetched) == digest) return state.fetched;
  const auto blob = options_.registry->Get(BlobKey(head.key, digest));
  if (absl::IsNotFound(blob.status())) {
    // It may have gone since, with a head that is the fleet's no longer.
    RETURN_IF_ERROR(LookAgain(key, state));
    RefuseFor(key, &Counts::refused_payload);
    return absl::NotFoundError(absl::StrCat(
        "the fleet's registry has no payload of table ", ShortDigest(digest)));
  }
  RETURN_IF_ERROR(blob.status());
  if (Sha256Hex(blob->value) != digest) {
    RefuseFor(key, &Counts::refused_payload);
    return absl::DataLossError(
        absl::StrCat("the payload of table ", ShortDigest(digest),
                     " in the fleet's registry does not have that digest"));
  }
  const std::lock_guard lock(mutex_);
  heads_[key].fetched = blob->value;
  return blob->value;
}

absl::StatusOr<TableRecord> FleetTables::RecordOf(
    const Judgement& judged, const std::string& payload) const {
  const FleetHead& head = judged.head->head;
  ASSIGN_OR_RETURN(const auto table, CompiledTable::Create(payload));
  const Table& content = table->table();
  ProfileKey measured = head.key;
  if (!head.carried_from.empty()) measured.environment_key = head.carried_from;
  if (ProfileKey{content.kernel, content.fingerprint, content.silicon_key,
                 content.environment_key} != measured) {
    return absl::DataLossError(
        absl::StrCat("table ", ShortDigest(head.digest),
                     " is of another kernel or class than its head says"));
  }
  ASSIGN_OR_RETURN(TableRecord record,
                   options_.admission->RecordOf(content, head.key));
  record.how =
      head.rolled_back ? PromotionKind::kRolledBack : PromotionKind::kFleet;
  record.by = judged.signer;
  record.why = head.why;
  record.compiler = head.compiler;
  record.carried_from = head.carried_from;
  record.fit_residual = head.fit_residual;
  return record;
}

absl::StatusOr<TableCatalog::RolledBack> FleetTables::Serve(
    const std::string& key, const State& state, const Judgement& judged) {
  const FleetHead& head = judged.head->head;
  ASSIGN_OR_RETURN(const std::string payload, Fetch(key, state, head));
  absl::StatusOr<TableRecord> record = RecordOf(judged, payload);
  if (absl::IsDataLoss(record.status()) ||
      absl::IsInvalidArgument(record.status()))
    RefuseFor(key, &Counts::refused_payload);
  RETURN_IF_ERROR(record.status());
  ASSIGN_OR_RETURN(const TableCatalog::RolledBack imported,
                   options_.tables->Import(*record, payload));
  Count(&Counts::adopted);
  options_.adopted(head.key, head.digest);
  return imported;
}

absl::Status FleetTables::Adopt(const std::string& key, const State& state) {
  const FleetHead& head = state.judged.head->head;
  const std::string& bytes = state.registered->value;
  // Its own, or one that it had before it was restarted.
  if (const auto serves = ServingOf(head))
    return Accept(key, *state.judged.head, {bytes, serves->epoch});
  ASSIGN_OR_RETURN(const TableCatalog::RolledBack imported,
                   Serve(key, state, state.judged));
  // Heads are in order without clocks; what people read of times is not.
  const std::chrono::microseconds ahead(head.published_at_us -
                                        options_.clock->NowUs());
  if (ahead > kClockSlack) {
    options_.log(
        true,
        absl::StrCat(
            "node ", head.node, " published kernel ", head.key.kernel, " ",
            std::chrono::duration_cast<std::chrono::minutes>(ahead).count(),
            " minutes from now: its clock is wrong, or this node's is"));
  }
  // What a job here promoted since, also while this was under way.
  std::vector<TableRecord> lost = imported.ended;
  for (const auto current = options_.tables->snapshot();
       const ServingTable& table : current->tables) {
    if (HeadKey(table.record.key) == key) lost.push_back(table.record);
  }
  for (const TableRecord& table : lost) {
    if (table.measured_here() && table.epoch > state.stored.table_epoch &&
        table.epoch < imported.table.epoch)
      RETURN_IF_ERROR(KeepAsCandidate(table, head));
  }
  return Accept(key, *state.judged.head, {bytes, imported.table.epoch});
}

absl::Status FleetTables::KeepAsCandidate(const TableRecord& own,
                                          const FleetHead& winner) {
  ASSIGN_OR_RETURN(const ServingTable table, options_.tables->Get(own.digest));
  RETURN_IF_ERROR(options_.tables->Reject(
      {.record = own,
       .reason =
           absl::StrCat("node ", winner.node, " published table ",
                        ShortDigest(winner.digest), " for the fleet before it"),
       .at_us = options_.clock->NowUs()},
      std::string(table.table->payload())));
  Count(&Counts::lost);
  options_.lost(own, winner);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FleetWrite>> FleetTables::PayloadWrites(
    const State& state, const FleetHead& head) {
  ASSIGN_OR_RETURN(FleetListing blobs,
                   options_.registry->List(BlobsPrefix(head.key)));
  // The one that is replaced is first to be kept, then what came last.
  const std::string own = BlobKey(head.key, head.digest);
  const std::string before =
      state.judged.head ? BlobKey(head.key, state.judged.head->head.digest)
                        : "";
  std::sort(blobs.entries.begin(), blobs.entries.end(),
            [&](const FleetEntry& a, const FleetEntry& b) {
              return std::pair(a.key == before, a.revision) >
                     std::pair(b.key == before, b.revision);
            });
  bool there = false;
  size_t kept = 1;
  std::vector<FleetWrite> writes;
  for (const FleetEntry& blob : blobs.entries) {
    if (blob.key == own) {
      there = Sha256Hex(blob.value) == head.digest;
    } else if (kept < kPayloadsKept) {
      ++kept;
    } else if (writes.size() + 3 < FleetRegistry::kMaxWrites) {
      writes.push_back({.key = blob.key, .value = std::nullopt});
    }
  }
  if (there) return writes;
  ASSIGN_OR_RETURN(const ServingTable table, options_.tables->Get(head.digest));
  writes.push_back({.key = own, .value = std::string(table.table->payload())});
  return writes;
}

absl::Status FleetTables::LookAgain(const std::string& key,
                                    const State& state) {
  const auto now = options_.registry->Get(key);
  if (!now.ok() && !absl::IsNotFound(now.status())) return now.status();
  const int64_t revision = now.ok() ? now->revision : 0;
  if (revision == RevisionOf(state.registered)) return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  SetRegistered(heads_[key], state,
                now.ok() ? std::optional(*now) : std::nullopt);
  return FleetEntryChanged(key);
}

void FleetTables::SetRegistered(State& now, const State& before,
                                std::optional<FleetEntry> entry) {
  if (RevisionOf(now.registered) == RevisionOf(before.registered))
    now.registered = std::move(entry);
}

absl::Status FleetTables::Write(const std::string& key, const State& state,
                                const FleetHead& head, const std::string& bytes,
                                std::optional<FleetWrite> order) {
  ASSIGN_OR_RETURN(std::vector<FleetWrite> writes, PayloadWrites(state, head));
  if (order) writes.push_back(*std::move(order));
  writes.push_back(
      {.key = key, .value = bytes, .expected = RevisionOf(state.registered)});
  // What is left of a rollout goes with the next head.
  if (state.trial.rollout && !state.trial.rollout->halted.empty())
    writes.push_back({.key = RolloutPlace(head.key)});
  const auto revision = options_.registry->Commit(writes);
  if (absl::IsAborted(revision.status()))
    RETURN_IF_ERROR(LookAgain(key, state));
  RETURN_IF_ERROR(revision.status());
  const std::lock_guard lock(mutex_);
  SetRegistered(heads_[key], state, FleetEntry{key, bytes, *revision});
  return absl::OkStatus();
}

absl::StatusOr<FleetTables::NewHead> FleetTables::MakeHead(
    const TableRecord& table, const HeadFacts& facts, const std::string& why,
    bool rolled_back) const {
  if (!options_.key) {
    return absl::FailedPreconditionError(
        "this node has no key to publish a table with (--fleet-key)");
  }
  NewHead made{.head = {{.fleet = options_.fleet,
                         .key = table.key,
                         .digest = table.digest,
                         .epoch = NextFleetEpoch(facts),
                         .carried_from = table.carried_from,
                         .compiler = table.compiler,
                         .fit_residual = table.fit_residual,
                         .node = options_.node,
                         .published_at_us = options_.clock->NowUs(),
                         .why = why,
                         .rolled_back = rolled_back},
                        options_.key->public_key()}};
  if (made.head.head.epoch > kMostFleetEpoch) {
    return absl::FailedPreconditionError(
        "the fleet's head has the last epoch that there is: somebody's key was "
        "misused; revoke it (docs/fleet.md)");
  }
  // Who is not trusted here would publish what this node itself refuses.
  RETURN_IF_ERROR(options_.trust.Check(made.head).status());
  made.bytes = SignHead(made.head.head, *options_.key);
  return made;
}

absl::Status FleetTables::Publish(const std::string& key, const State& state,
                                  const HeadFacts& facts,
                                  const TableRecord& own) {
  ASSIGN_OR_RETURN(const NewHead made,
                   MakeHead(own, facts, own.why, /*rolled_back=*/false));
  ASSIGN_OR_RETURN(const RolloutPlan plan,
                   options_.rollout_of(own.key, own.digest));
  if (!plan.stages.empty())
    return BeginRollout(key, state, made.head.head, made.bytes, plan);
  const HeadPlace place = PlaceOf(key);
  RETURN_IF_ERROR(Write(key, state, made.head.head, made.bytes,
                        FreezeAbsent(place.fleet_class, place.kernel)));
  Count(&Counts::published);
  return Accept(key, made.head, {made.bytes, own.epoch});
}

absl::Status FleetTables::Restore(const std::string& key, const State& state) {
  // Many nodes have it: what one wrote before is seen at once.
  RETURN_IF_ERROR(LookAgain(key, state));
  if (state.judged.verdict == HeadVerdict::kGood) {
    RefuseFor(key, &Counts::refused_replayed);
    SetBehind(key, absl::StrCat("the fleet's head has epoch ",
                                state.judged.head->head.epoch,
                                ", this node has accepted epoch ",
                                state.accepted->head.epoch));
  }
  const absl::Status written =
      Write(key, state, state.accepted->head, state.stored.bytes);
  // Without its payload nobody could adopt it: a node that has it does that.
  if (absl::IsNotFound(written)) return absl::OkStatus();
  RETURN_IF_ERROR(written);
  Count(&Counts::restored);
  return absl::OkStatus();
}

absl::Status FleetTables::Accept(const std::string& key, const SignedHead& head,
                                 const StoredFleetHead& stored) {
  // A reload may have revoked it meanwhile.
  RETURN_IF_ERROR(options_.trust.Check(head).status());
  RETURN_IF_ERROR(options_.accepted->Put(key, stored));
  const std::lock_guard lock(mutex_);
  State& state = heads_[key];
  state.accepted = head;
  state.stored = stored;
  state.behind.clear();
  state.fetched.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::string> FleetTables::HeadOf(const ProfileKey& key) {
  const std::string place = HeadKey(key);
  const std::lock_guard lock(mutex_);
  const auto watched = classes_.find(PlaceOf(place).fleet_class);
  const auto unknown =
      absl::UnavailableError("what the fleet serves is not known here yet");
  if (!outage_.empty() || watched == classes_.end() ||
      !watched->second.listed())
    return unknown;
  const auto found = heads_.find(place);
  if (found == heads_.end() || !found->second.registered) return "";
  const State& state = found->second;
  if (state.judged.revision != state.registered->revision ||
      state.judged.trust_list != trust_lists_)
    return unknown;
  if (!state.judged.head ||
      state.judged.head->head.key.fingerprint != key.fingerprint)
    return "";
  return state.judged.head->head.digest;
}

absl::StatusOr<std::string> FleetTables::TableOf(const ProfileKey& key) {
  ASSIGN_OR_RETURN(const std::string head, HeadOf(key));
  if (!head.empty()) return head;
  const std::string place = HeadKey(key);
  const std::lock_guard lock(mutex_);
  if (!classes_[PlaceOf(place).fleet_class].rollouts_listed)
    return absl::UnavailableError("what the fleet tries is not known here yet");
  const auto found = heads_.find(place);
  if (found == heads_.end() || !found->second.trial.rollout) return "";
  const FleetHead& tried = found->second.trial.judged.head->head;
  return tried.key == key ? tried.digest : "";
}

bool FleetTables::Serves(const ProfileKey& key,
                         const std::string& digest) const {
  return ServingOf({.key = key, .digest = digest}).has_value();
}

void FleetTables::JudgeAnew() {
  {
    const std::lock_guard lock(mutex_);
    ++trust_lists_;
    for (auto& [key, state] : heads_) {
      state.calm_until = steady_clock::now() + RandomWait();
      state.retry_at = {};
      state.backoff.reset();
      if (!state.accepted || options_.trust.Check(*state.accepted).ok())
        continue;
      state.accepted.reset();
      state.stored = {};
    }
    awake_ = true;
  }
  changed_.notify_all();
}

FleetView FleetTables::View() {
  FleetView view{.node = options_.node, .publishes = options_.key != nullptr};
  const std::lock_guard lock(mutex_);
  view.outage = outage_;
  view.counts = counts_;
  for (const auto& [key, state] : heads_) {
    const HeadPlace place = PlaceOf(key);
    FleetView::Standing standing{.fleet_class = place.fleet_class,
                                 .kernel = place.kernel,
                                 .behind = state.behind};
    if (state.frozen) standing.frozen = TextOf(*state.frozen);
    if (state.accepted) {
      standing.accepted = state.accepted->head;
      if (standing.behind.empty() && !ServingOf(*standing.accepted)) {
        standing.behind =
            "it was retired, rolled back, withdrawn or replaced on this node";
      }
    }
    AddTrial(state, standing);
    if (state.trial.rollout) {
      const FleetRollout& rollout = *state.trial.rollout;
      view.rollouts.push_back({.fleet_class = place.fleet_class,
                               .kernel = place.kernel,
                               .digest = state.trial.judged.head->head.digest,
                               .stages = rollout.plan.stages,
                               .stage = rollout.stage,
                               .driver = state.driver,
                               .halted = rollout.halted});
    }
    view.heads.push_back(std::move(standing));
  }
  return view;
}

void FleetTables::Count(int64_t Counts::*counter) {
  const std::lock_guard lock(mutex_);
  ++(counts_.*counter);
}

void FleetTables::RefuseFor(const std::string& key, int64_t Counts::*counter) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(heads_[key].judged.counted, true)) ++(counts_.*counter);
}

void FleetTables::SetBehind(const std::string& key, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(heads_[key].behind, why) == why) return;
  }
  if (why.empty()) return;
  const HeadPlace place = PlaceOf(key);
  options_.log(true, absl::StrCat("kernel ", place.kernel, " of class ",
                                  place.fleet_class, ": ", why));
}

std::chrono::milliseconds FleetTables::RandomWait() {
  return std::chrono::milliseconds(std::uniform_int_distribution<int64_t>(
      0, options_.jitter.count())(random_));
}

}  // namespace wavetune
