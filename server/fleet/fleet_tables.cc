#include "server/fleet/fleet_tables.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "model/decide/compiled_table.h"

namespace wavetune {
namespace {

constexpr size_t kMostWarned = 1000;

// Class and kernel of a head's key.
struct HeadPlace {
  std::string fleet_class;
  std::string kernel;
};
HeadPlace PlaceOf(const std::string& key) {
  const size_t begin = key.find('/') + 1;
  const size_t end = key.find('/', begin);
  return {key.substr(begin, end - begin), key.substr(end + 1)};
}

// Whether this node measured it, so that it is the fleet's to have.
bool IsOwn(const TableRecord& record) {
  return record.how == PromotionKind::kProfiled ||
         record.how == PromotionKind::kCarriedOver;
}

// Whether the head is after the other one. Of two with the same epoch, which a
// restored registry may bring about, the registry's counts.
bool IsNews(const FleetHead& head, const std::optional<SignedHead>& accepted) {
  return !accepted || head.epoch > accepted->head.epoch ||
         (head.epoch == accepted->head.epoch &&
          head.digest != accepted->head.digest);
}

bool IsReplayed(const FleetHead& head,
                const std::optional<SignedHead>& accepted) {
  return accepted && head.epoch < accepted->head.epoch;
}

}  // namespace

FleetTables::FleetTables(Options options) : options_(std::move(options)) {}

FleetTables::~FleetTables() { Stop(); }

absl::Status FleetTables::Start() {
  ASSIGN_OR_RETURN(const auto accepted, options_.accepted->List());
  for (const auto& [key, bytes] : accepted) {
    auto head = ReadHead(key, bytes);
    if (!head.ok()) continue;  // Of a later version; the registry has it anew.
    heads_[key].accepted = *std::move(head);
    heads_[key].accepted_bytes = bytes;
  }
  // Only that something has changed: what, the thread sees.
  catalog_handle_ = options_.tables
                        ->Subscribe(options_.tables->snapshot()->revision,
                                    [this](const TableChange&) { Wake(); })
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
  if (thread_.joinable()) thread_.join();
  catalog_handle_ = nullptr;
  // Without the lock, which their listeners take.
  std::map<std::string, Watched> classes;
  {
    const std::lock_guard lock(mutex_);
    classes.swap(classes_);
  }
}

void FleetTables::Wake() {
  {
    const std::lock_guard lock(mutex_);
    awake_ = true;
  }
  changed_.notify_all();
}

void FleetTables::Run() {
  while (true) {
    WatchClasses();
    std::vector<std::string> keys;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      awake_ = false;
      for (const auto& [key, state] : heads_) keys.push_back(key);
    }
    // What serves and has no head yet.
    for (const ServingTable& table : options_.tables->snapshot()->tables) {
      if (IsOwn(table.record))
        keys.push_back(HeadKey({.key = table.record.key}));
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    for (const std::string& key : keys) {
      const absl::Status settled = Settle(key);
      if (!settled.ok()) WarnOnce(std::string(settled.message()));
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, options_.look_interval,
                      [this] { return stopping_ || awake_; });
    if (stopping_) return;
  }
}

void FleetTables::WatchClasses() {
  std::set<std::string> wanted;
  for (const AgentDirectory::Known& known : options_.devices->List()) {
    wanted.insert(FleetClass(SiliconKey(known.record.facts),
                             EnvironmentKey(known.record.facts)));
  }
  for (const std::string& fleet_class : wanted) {
    {
      const std::lock_guard lock(mutex_);
      if (!classes_.try_emplace(fleet_class).second) continue;
    }
    auto watch = options_.registry->Watch(
        HeadsPrefix(fleet_class), [this, fleet_class](const FleetNews& news) {
          OnNews(fleet_class, news);
        });
    const std::lock_guard lock(mutex_);
    classes_[fleet_class].watch = std::move(watch);
  }
}

void FleetTables::OnNews(const std::string& fleet_class,
                         const FleetNews& news) {
  {
    const std::lock_guard lock(mutex_);
    outage_ = std::string(news.status.message());
  }
  if (!news.status.ok()) {
    WarnOnce(absl::StrCat("the fleet is out of reach, this node serves on: ",
                          news.status.message()));
    return;
  }
  const std::string prefix = HeadsPrefix(fleet_class);
  {
    const std::lock_guard lock(mutex_);
    if (news.whole) {
      classes_[fleet_class].listed = true;
      for (auto it = heads_.lower_bound(prefix);
           it != heads_.end() && it->first.starts_with(prefix); ++it)
        it->second.registered = std::nullopt;
    }
    for (const FleetNews::Entry& one : news.entries) {
      State& state = heads_[one.entry.key];
      state.registered = one.deleted ? std::nullopt : std::optional(one.entry);
    }
  }
  Wake();
}

std::optional<TableRecord> FleetTables::OwnTable(const std::string& key) const {
  std::optional<TableRecord> newest;
  for (const ServingTable& table : options_.tables->snapshot()->tables) {
    if (!IsOwn(table.record) || HeadKey({.key = table.record.key}) != key)
      continue;
    if (!newest || table.record.epoch > newest->epoch) newest = table.record;
  }
  return newest;
}

std::optional<SignedHead> FleetTables::Judge(const std::string& key,
                                             const FleetEntry& entry) {
  absl::StatusOr<SignedHead> head = ReadHead(key, entry.value);
  absl::Status status = head.status();
  if (status.ok()) status = options_.trust.Check(*head);
  if (status.ok()) return *std::move(head);
  if (WarnOnce(absl::StrCat("the fleet's head ", key, " (revision ",
                            entry.revision,
                            ") is refused: ", status.message()))) {
    Count(&Counts::refused_signature);
  }
  SetBehind(key, absl::StrCat("the head is refused: ", status.message()));
  return std::nullopt;
}

absl::Status FleetTables::Settle(const std::string& key) {
  State state;
  {
    const std::lock_guard lock(mutex_);
    const auto watched = classes_.find(PlaceOf(key).fleet_class);
    // What the registry has is not known: nothing is done about a guess.
    if (watched == classes_.end() || !watched->second.listed)
      return absl::OkStatus();
    state = heads_[key];
  }
  if (state.registered) {
    const auto head = Judge(key, *state.registered);
    if (!head) return absl::OkStatus();
    if (IsNews(head->head, state.accepted))
      return Adopt(key, *state.registered, *head);
    if (IsReplayed(head->head, state.accepted)) {
      if (WarnOnce(absl::StrCat(
              "the fleet's head ", key, " (revision ",
              state.registered->revision, ") is of epoch ", head->head.epoch,
              ", this node has accepted epoch ", state.accepted->head.epoch,
              ": it is refused, and the newer one is written again"))) {
        Count(&Counts::refused_replayed);
      }
      return Restore(key, state);
    }
  } else if (state.accepted) {
    return Restore(key, state);
  }
  const std::optional<TableRecord> own = OwnTable(key);
  if (own && (!state.accepted || state.accepted->head.digest != own->digest))
    return Publish(key, state, *own);
  SetBehind(key, "");
  return absl::OkStatus();
}

absl::StatusOr<std::string> FleetTables::Fetch(const FleetHead& head) {
  ASSIGN_OR_RETURN(FleetEntry blob,
                   options_.registry->Get(BlobKey(head.digest)));
  if (Sha256Hex(blob.value) == head.digest) return std::move(blob.value);
  return absl::DataLossError(absl::StrCat("the fleet's blob ",
                                          ShortDigest(head.digest),
                                          " does not have that digest"));
}

absl::Status FleetTables::Accept(const std::string& key,
                                 const std::string& bytes,
                                 const SignedHead& head) {
  RETURN_IF_ERROR(options_.accepted->Put(key, bytes));
  const std::lock_guard lock(mutex_);
  State& state = heads_[key];
  state.accepted = head;
  state.accepted_bytes = bytes;
  state.behind.clear();
  state.fetched.clear();
  return absl::OkStatus();
}

absl::Status FleetTables::Adopt(const std::string& key, const FleetEntry& entry,
                                const SignedHead& signed_head) {
  const FleetHead& head = signed_head.head;
  const auto serves = [&] {
    for (const ServingTable& table : options_.tables->snapshot()->tables) {
      if (table.record.key == head.key && table.record.digest == head.digest)
        return true;
    }
    return false;
  };
  // Its own, or one that it had before it was restarted.
  if (serves()) return Accept(key, entry.value, signed_head);
  std::string payload;
  {
    std::unique_lock lock(mutex_);
    payload = heads_[key].fetched;
    const auto wait =
        std::chrono::milliseconds(std::uniform_int_distribution<int64_t>(
            0, options_.jitter.count())(random_));
    if (changed_.wait_for(lock, wait, [this] { return stopping_; }))
      return absl::OkStatus();
  }
  // One that may not serve here yet is not fetched with each try.
  if (Sha256Hex(payload) != head.digest) {
    absl::StatusOr<std::string> fetched = Fetch(head);
    if (!fetched.ok()) {
      if (!absl::IsUnavailable(fetched.status()))
        Count(&Counts::refused_payload);
      SetBehind(key, std::string(fetched.status().message()));
      return fetched.status();
    }
    payload = *std::move(fetched);
    const std::lock_guard lock(mutex_);
    heads_[key].fetched = payload;
  }
  const auto refuse = [&](const absl::Status& status, bool payload_is_wrong) {
    if (payload_is_wrong) Count(&Counts::refused_payload);
    SetBehind(key, std::string(status.message()));
    return absl::Status(
        status.code(),
        absl::StrCat("table ", ShortDigest(head.digest),
                     " of the fleet, kernel ", head.key.kernel,
                     ", does not serve here: ", status.message()));
  };
  const auto table = CompiledTable::Create(payload);
  if (!table.ok()) return refuse(table.status(), true);
  const Table& content = (*table)->table();
  const std::string& measured_in =
      head.carried_from.empty() ? head.key.environment_key : head.carried_from;
  if (ProfileKey{content.kernel, content.fingerprint, content.silicon_key,
                 content.environment_key} !=
      ProfileKey{head.key.kernel, head.key.fingerprint, head.key.silicon_key,
                 measured_in}) {
    return refuse(absl::DataLossError("it is of another kernel or class than "
                                      "its head says"),
                  true);
  }
  absl::StatusOr<TableRecord> record = options_.admission->RecordOf(content);
  if (!record.ok()) return refuse(record.status(), false);
  record->key = head.key;
  record->how = PromotionKind::kFleet;
  record->by = head.node;
  record->why = head.why;
  record->compiler = head.compiler;
  record->carried_from = head.carried_from;
  record->fit_residual = head.fit_residual;
  const std::optional<TableRecord> own = OwnTable(key);
  const auto imported = options_.tables->Import(*record, payload);
  if (!imported.ok() && !serves()) return refuse(imported.status(), false);
  Count(&Counts::adopted);
  RETURN_IF_ERROR(Accept(key, entry.value, signed_head));
  if (!own || own->digest == head.digest) return absl::OkStatus();
  return KeepAsCandidate(*own, head);
}

absl::Status FleetTables::KeepAsCandidate(const TableRecord& own,
                                          const FleetHead& winner) {
  Count(&Counts::lost);
  ASSIGN_OR_RETURN(const ServingTable table, options_.tables->Get(own.digest));
  return options_.tables->Reject(
      {.record = own,
       .reason =
           absl::StrCat("node ", winner.node, " published table ",
                        ShortDigest(winner.digest), " for the fleet before it"),
       .at_us = options_.clock->NowUs()},
      std::string(table.table->payload()));
}

absl::Status FleetTables::Publish(const std::string& key, const State& state,
                                  const TableRecord& own) {
  if (!options_.key) {
    SetBehind(key, "this node has no key to sign with, and a table of its own");
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const ServingTable table, options_.tables->Get(own.digest));
  FleetHead head{.key = own.key,
                 .digest = own.digest,
                 .epoch = state.accepted ? state.accepted->head.epoch + 1 : 1,
                 .carried_from = own.carried_from,
                 .compiler = own.compiler,
                 .fit_residual = own.fit_residual,
                 .node = options_.node,
                 .published_at_us = options_.clock->NowUs(),
                 .why = own.why};
  const std::string bytes = SignHead(head, *options_.key);
  const SignedHead signed_head{head, options_.key->public_key()};
  // Who is not trusted here would publish what this node itself refuses.
  RETURN_IF_ERROR(options_.trust.Check(signed_head));
  const auto committed = options_.registry->Commit(
      {{.key = BlobKey(head.digest),
        .value = std::string(table.table->payload())},
       {.key = key,
        .value = bytes,
        .expected = state.registered ? state.registered->revision : 0}});
  // Another node was ahead: the watch brings its head.
  if (absl::IsAborted(committed.status())) return absl::OkStatus();
  RETURN_IF_ERROR(committed.status());
  Count(&Counts::published);
  return Accept(key, bytes, signed_head);
}

absl::Status FleetTables::Restore(const std::string& key, const State& state) {
  std::vector<FleetWrite> writes = {
      {.key = key,
       .value = state.accepted_bytes,
       .expected = state.registered ? state.registered->revision : 0}};
  // With its payload, where this node has that: the registry may have lost it,
  // too.
  const auto table = options_.tables->Get(state.accepted->head.digest);
  if (table.ok()) {
    writes.push_back({.key = BlobKey(state.accepted->head.digest),
                      .value = std::string(table->table->payload())});
  }
  const auto committed = options_.registry->Commit(writes);
  if (absl::IsAborted(committed.status())) return absl::OkStatus();
  RETURN_IF_ERROR(committed.status());
  Count(&Counts::restored);
  return absl::OkStatus();
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
    if (state.accepted) standing.accepted = state.accepted->head;
    view.heads.push_back(std::move(standing));
  }
  return view;
}

void FleetTables::Count(int64_t Counts::*counter) {
  const std::lock_guard lock(mutex_);
  ++(counts_.*counter);
}

void FleetTables::SetBehind(const std::string& key, const std::string& why) {
  const std::lock_guard lock(mutex_);
  heads_[key].behind = why;
}

bool FleetTables::WarnOnce(const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    if (warned_.size() >= kMostWarned) warned_.clear();
    if (!warned_.insert(text).second) return false;
  }
  options_.warn(text);
  return true;
}

}  // namespace wavetune
