#include "server/fleet/fleet_tables.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/fleet/fleet_writes.h"

namespace wavetune {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestWait{60000};

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
    State& state = heads_[key];
    state.stored = stored;
    auto head = ReadHead(key, stored.bytes);
    if (!head.ok()) continue;
    state.accepted = *std::move(head);
    Lapse(state);
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
    WatchOrdersAnew();
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
    const std::string fleet_class = FleetClass(known.record.facts);
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      const auto [watched, is_new] = classes_.try_emplace(fleet_class);
      if (!is_new) continue;
      watched->second.orders_trust_list = trust_lists_;
    }
    auto heads = options_.registry->Watch(
        HeadsPrefix(fleet_class), {.entry_bytes = kMostHeadBytes},
        [this, fleet_class](const FleetNews& news) {
          OnNews(fleet_class, news, &FleetTables::TakeHeads);
        });
    auto orders = options_.registry->Watch(
        OrdersPrefix(fleet_class), {.entry_bytes = kMostHeadBytes},
        [this, fleet_class](const FleetNews& news) {
          OnNews(fleet_class, news, &FleetTables::TakeOrders);
        });
    auto rollouts = options_.registry->Watch(
        RolloutsPrefix(fleet_class), {.entry_bytes = 2 * kMostHeadBytes},
        [this, fleet_class](const FleetNews& news) {
          TakeRollouts(fleet_class, news);
        });
    const std::lock_guard lock(mutex_);
    classes_[fleet_class].heads = std::move(heads);
    classes_[fleet_class].orders = std::move(orders);
    classes_[fleet_class].rollouts = std::move(rollouts);
  }
}

void FleetTables::WatchOrdersAnew() {
  std::map<std::string, std::unique_ptr<FleetRegistry::WatchHandle>> old;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    for (auto& [fleet_class, watched] : classes_) {
      if (std::exchange(watched.orders_trust_list, trust_lists_) ==
          trust_lists_)
        continue;
      watched.orders_listed = false;
      old[fleet_class] = std::move(watched.orders);
    }
  }
  for (auto& [fleet_class, handle] : old) {
    handle.reset();  // Without the lock, which its listener takes.
    auto orders = options_.registry->Watch(
        OrdersPrefix(fleet_class), {.entry_bytes = kMostHeadBytes},
        [this, fleet_class = fleet_class](const FleetNews& news) {
          OnNews(fleet_class, news, &FleetTables::TakeOrders);
        });
    const std::lock_guard lock(mutex_);
    classes_[fleet_class].orders = std::move(orders);
  }
}

void FleetTables::OnNews(const std::string& fleet_class, const FleetNews& news,
                         void (FleetTables::*take)(const std::string&,
                                                   const FleetNews&)) {
  {
    const std::lock_guard lock(mutex_);
    outage_ = std::string(news.status.message());
    if (news.status.ok()) (this->*take)(fleet_class, news);
    awake_ = true;
  }
  changed_.notify_all();
}

std::string FleetTables::outage() {
  const std::lock_guard lock(mutex_);
  return outage_;
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
  // What changes for many kernels at once is fetched over as many waits; what
  // a node finds when it comes is not.
  const Time now = steady_clock::now();
  int64_t waiting = 0;
  size_t heads = ForEachOf(fleet_class, [&](State& state) {
    if (news.whole) state.registered = std::nullopt;
    if (state.calm_until > now) ++waiting;
  });
  for (const FleetNews::Entry& one : news.entries) {
    if (!heads_.contains(one.entry.key) && ++heads > kMostHeads) continue;
    State& state = heads_[one.entry.key];
    state.registered = one.deleted ? std::nullopt : std::optional(one.entry);
    if (state.calm_until <= now) ++waiting;
    state.calm_until = now + (news.whole ? 1 : waiting) * RandomWait();
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

FleetTables::EntryVerdict FleetTables::VerdictOf(
    const std::string& key, const std::optional<FleetEntry>& entry) const {
  if (!entry) return {};
  EntryVerdict judged{.revision = entry->revision,
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
  state.judged = VerdictOf(key, state.registered);
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
  if (state.accepted) {
    facts.accepted = state.accepted->head;
    facts.misplaced = IsMisplaced(*facts.accepted);
  }
  AddLapsed(state, facts);
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
    case FleetStep::kSignAnew:
      return SignAnew(key, state, facts);
    default:
      return absl::OkStatus();
  }
}

std::optional<TableRecord> FleetTables::ServingOf(const FleetHead& head) const {
  for (const auto current = options_.tables->snapshot();
       const ServingTable& table : current->tables) {
    const TableRecord& record = table.record;
    // One that was carried over is for both environments.
    if (record.digest == head.digest && record.key.kernel == head.key.kernel &&
        record.key.fingerprint == head.key.fingerprint &&
        record.key.silicon_key == head.key.silicon_key &&
        record.IsFor(head.key.environment_key))
      return record;
  }
  return std::nullopt;
}

std::set<std::string> FleetTables::EnvironmentsOf(
    const std::string& silicon_key) const {
  std::set<std::string> environments;
  for (const DeviceFacts& device : AttachedElseSeen(
           options_.devices->List(), [&](const DeviceFacts& device) {
             return SiliconKey(device) == silicon_key;
           }))
    environments.insert(EnvironmentKey(device));
  return environments;
}

std::set<std::string> FleetTables::ClassesNow() const {
  std::set<std::string> silicon;
  for (const AgentDirectory::Known& known : options_.devices->List())
    silicon.insert(SiliconKey(known.record.facts));
  std::set<std::string> classes;
  for (const std::string& one : silicon) {
    for (const std::string& environment : EnvironmentsOf(one))
      classes.insert(FleetClass(one, environment));
  }
  return classes;
}

bool FleetTables::IsMisplaced(const FleetHead& head) const {
  const auto now = options_.tables->snapshot();
  bool elsewhere = false;
  std::set<std::string> environments;
  for (const ServingTable& table : now->tables) {
    const TableRecord& record = table.record;
    if (record.digest != head.digest || record.key.kernel != head.key.kernel ||
        record.key.fingerprint != head.key.fingerprint ||
        record.key.silicon_key != head.key.silicon_key)
      continue;
    if (record.IsFor(head.key.environment_key)) return false;
    if (environments.empty())
      environments = EnvironmentsOf(head.key.silicon_key);
    elsewhere =
        elsewhere || std::none_of(environments.begin(), environments.end(),
                                  [&](const std::string& environment) {
                                    return record.IsFor(environment);
                                  });
  }
  return elsewhere && environments.contains(head.key.environment_key);
}

void FleetTables::Lapse(State& state) const {
  if (!state.accepted || options_.trust.Check(*state.accepted).ok()) return;
  if (options_.trust.IsRevoked(state.accepted->public_key))
    state.lapsed = state.accepted;
  state.accepted.reset();
}

void FleetTables::AddLapsed(const State& state, HeadFacts& facts) const {
  if (!state.lapsed) return;
  facts.lapsed = state.lapsed->head;
  facts.misused = options_.trust.IsMisused(state.lapsed->public_key);
  facts.signs_lapsed = !facts.misused && CheckMaySign(*facts.lapsed).ok() &&
                       ServingOf(*facts.lapsed).has_value();
}

absl::Status FleetTables::Accept(const std::string& key, const SignedHead& head,
                                 const StoredFleetHead& stored) {
  // A reload may have revoked it meanwhile.
  RETURN_IF_ERROR(options_.trust.Check(head).status());
  StoredFleetHead kept;
  {
    const std::lock_guard lock(mutex_);
    kept = heads_[key].stored;
  }
  kept.bytes = stored.bytes;
  kept.table_epoch = stored.table_epoch;
  RETURN_IF_ERROR(options_.accepted->Put(key, kept));
  const std::lock_guard lock(mutex_);
  State& state = heads_[key];
  state.accepted = head;
  state.lapsed.reset();
  state.stored = kept;
  state.behind.clear();
  std::string().swap(state.fetched);
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
      Lapse(state);
    }
    awake_ = true;
  }
  changed_.notify_all();
}

FleetView FleetTables::View() {
  FleetView view{.node = options_.node, .publishes = options_.key != nullptr};
  const std::set<std::string> classes = ClassesNow();
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
    standing.followed_only = !classes.contains(place.fleet_class);
    if (standing.followed_only) standing.behind.clear();
    if (state.trial.rollout && !IsOvertaken(state)) {
      const FleetRollout& rollout = *state.trial.rollout;
      view.rollouts.push_back(
          {.fleet_class = place.fleet_class,
           .kernel = place.kernel,
           .digest = rollout.head.digest,
           .stages = rollout.plan.stages,
           .stage = rollout.stage,
           .driver = state.driver,
           .halted = IsHalted(state) ? state.stored.halted_why : ""});
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
