#include "server/fleet/fake_fleet_registry.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/fleet/fleet_writes.h"
#include "server/fleet/registry_bounds.h"

namespace wavetune {

// A watch, or one that waits for sessions.
class FakeFleetRegistry::Subscription : public WatchHandle {
 public:
  Subscription(FakeFleetRegistry* registry, std::string prefix,
               const FleetBounds& bounds, Listener listener,
               SessionListener session_listener)
      : registry_(registry),
        prefix_(std::move(prefix)),
        bounds_(bounds),
        budget_(prefix_, bounds),
        listener_(std::move(listener)),
        session_listener_(std::move(session_listener)) {
    registry_->subscriptions_.push_back(this);
  }
  ~Subscription() override {
    const std::lock_guard lock(registry_->fleet_->mutex_);
    std::erase(registry_->subscriptions_, this);
  }

  void TellOutage() {
    if (listener_) listener_({.status = registry_->Reachable()});
  }
  void TellAll() {
    if (!listener_) return;
    FleetNews news{.whole = true, .revision = registry_->fleet_->revision_};
    budget_.Clear();
    full_ = false;
    for (FleetEntry& entry : registry_->ListNow(prefix_).entries)
      Add({.entry = std::move(entry)}, news);
    listener_(news);
  }
  void Deliver(const std::vector<FleetNews::Entry>& changed) {
    if (!listener_) return;
    if (full_) return TellAll();
    FleetNews news{.revision = registry_->fleet_->revision_};
    for (const FleetNews::Entry& one : changed) Add(one, news);
    if (full_ || !news.entries.empty()) listener_(news);
  }
  void TellSession() const {
    if (session_listener_) session_listener_();
  }

 private:
  void Add(FleetNews::Entry one, FleetNews& news) {
    if (!budget_.IsOurs(one.entry.key)) return;
    if (one.deleted) {
      budget_.Forget(one.entry.key);
    } else if (absl::Status full = budget_.Take(one.entry); !full.ok()) {
      news.status = std::move(full);
      full_ = true;
    }
    news.entries.push_back(std::move(one));
  }

  FakeFleetRegistry* const registry_;
  const std::string prefix_;
  const FleetBounds bounds_;
  EntryBudget budget_;
  bool full_ = false;
  const Listener listener_;
  const SessionListener session_listener_;
};

FakeFleetRegistry::FakeFleetRegistry(FakeFleet* fleet) : fleet_(fleet) {
  const std::lock_guard lock(fleet_->mutex_);
  fleet_->nodes_.push_back(this);
}

FakeFleetRegistry::~FakeFleetRegistry() {
  const std::lock_guard lock(fleet_->mutex_);
  DropSession();
  std::erase(fleet_->nodes_, this);
}

absl::Status FakeFleetRegistry::Reachable() const {
  if (connected_) return absl::OkStatus();
  return absl::UnavailableError("the registry does not answer");
}

absl::StatusOr<FleetEntry> FakeFleetRegistry::Get(absl::string_view key,
                                                  size_t most_bytes) {
  const std::lock_guard lock(fleet_->mutex_);
  RETURN_IF_ERROR(Reachable());
  const auto found = fleet_->values_.find(std::string(key));
  if (found == fleet_->values_.end())
    return absl::NotFoundError(absl::StrCat("the fleet has no ", key));
  FleetEntry entry = found->second.entry;
  CutEntry(most_bytes, entry);
  return entry;
}

FleetListing FakeFleetRegistry::ListNow(absl::string_view prefix) const {
  FleetListing listing{.revision = fleet_->revision_};
  for (const auto& [key, value] : fleet_->values_) {
    if (absl::StartsWith(key, prefix)) listing.entries.push_back(value.entry);
  }
  return listing;
}

absl::StatusOr<int64_t> FakeFleetRegistry::Read(absl::string_view prefix,
                                                const FleetBounds& bounds,
                                                const Taker& take) {
  const std::lock_guard lock(fleet_->mutex_);
  RETURN_IF_ERROR(Reachable());
  EntryBudget budget(std::string(prefix), bounds);
  FleetListing listing = ListNow(prefix);
  for (FleetEntry& entry : listing.entries) {
    if (!budget.IsOurs(entry.key)) continue;
    RETURN_IF_ERROR(budget.Take(entry));
    take(std::move(entry));
  }
  return listing.revision;
}

void FakeFleetRegistry::Refuse(absl::Status why) {
  const std::lock_guard lock(fleet_->mutex_);
  refusal_ = std::move(why);
}

absl::StatusOr<int64_t> FakeFleetRegistry::Commit(
    const std::vector<FleetWrite>& writes) {
  RETURN_IF_ERROR(CheckFleetWrites(writes));
  const std::lock_guard lock(fleet_->mutex_);
  RETURN_IF_ERROR(Reachable());
  RETURN_IF_ERROR(refusal_);
  for (const FleetWrite& write : writes) {
    if (write.of_session && !session_)
      return absl::FailedPreconditionError("this node has no session");
    if (!write.expected) continue;
    const auto found = fleet_->values_.find(write.key);
    const int64_t revision =
        found == fleet_->values_.end() ? 0 : found->second.entry.revision;
    if (revision != *write.expected) return FleetEntryChanged(write.key);
  }
  ++fleet_->revision_;
  std::vector<FleetNews::Entry> changed;
  for (const FleetWrite& write : writes) {
    FleetEntry entry{.key = write.key,
                     .value = write.value.value_or(""),
                     .revision = fleet_->revision_,
                     .of_session = write.of_session};
    if (write.value) {
      fleet_->values_[write.key] = {.entry = entry,
                                    .owner = write.of_session ? this : nullptr};
    } else if (fleet_->values_.erase(write.key) == 0) {
      continue;  // There was none.
    }
    changed.push_back(
        {.entry = std::move(entry), .deleted = !write.value.has_value()});
  }
  Deliver(changed);
  if (std::exchange(loses_answer_, false))
    return absl::UnavailableError("nobody answered");
  return fleet_->revision_;
}

void FakeFleetRegistry::LoseNextAnswer() {
  const std::lock_guard lock(fleet_->mutex_);
  loses_answer_ = true;
}

absl::StatusOr<int64_t> FakeFleetRegistry::DeleteBelow(
    absl::string_view prefix) {
  const std::lock_guard lock(fleet_->mutex_);
  RETURN_IF_ERROR(Reachable());
  ++fleet_->revision_;
  std::vector<FleetNews::Entry> changed;
  for (const FleetEntry& entry : ListNow(prefix).entries) {
    fleet_->values_.erase(entry.key);
    changed.push_back({.entry = {.key = entry.key,
                                 .value = "",
                                 .revision = fleet_->revision_},
                       .deleted = true});
  }
  Deliver(changed);
  return static_cast<int64_t>(changed.size());
}

void FakeFleetRegistry::Deliver(const std::vector<FleetNews::Entry>& changed) {
  for (FakeFleetRegistry* node : fleet_->nodes_) {
    if (!node->connected_) continue;
    // A copy: a listener may begin another watch.
    for (Subscription* one : std::vector(node->subscriptions_))
      one->Deliver(changed);
  }
}

std::unique_ptr<FleetRegistry::WatchHandle> FakeFleetRegistry::Watch(
    absl::string_view prefix, const FleetBounds& bounds, Listener listener) {
  const std::lock_guard lock(fleet_->mutex_);
  auto handle = std::make_unique<Subscription>(
      this, std::string(prefix), bounds, std::move(listener), nullptr);
  if (connected_) {
    handle->TellAll();
  } else {
    handle->TellOutage();
  }
  return handle;
}

absl::Status FakeFleetRegistry::Session() {
  const std::lock_guard lock(fleet_->mutex_);
  RETURN_IF_ERROR(Reachable());
  if (!session_) return absl::FailedPreconditionError("it has no session");
  return absl::OkStatus();
}

std::unique_ptr<FleetRegistry::WatchHandle> FakeFleetRegistry::OnSession(
    SessionListener listener) {
  const std::lock_guard lock(fleet_->mutex_);
  auto handle = std::make_unique<Subscription>(this, "", FleetBounds(), nullptr,
                                               std::move(listener));
  if (connected_ && session_) handle->TellSession();
  return handle;
}

void FakeFleetRegistry::Disconnect() {
  const std::lock_guard lock(fleet_->mutex_);
  connected_ = false;
  for (Subscription* one : std::vector(subscriptions_)) one->TellOutage();
}

void FakeFleetRegistry::Connect() {
  const std::lock_guard lock(fleet_->mutex_);
  connected_ = true;
  if (!session_) BeginSession();
  for (Subscription* one : std::vector(subscriptions_)) one->TellAll();
}

void FakeFleetRegistry::BeginSession() {
  session_ = true;
  for (Subscription* one : std::vector(subscriptions_)) one->TellSession();
}

void FakeFleetRegistry::EndSession() {
  const std::lock_guard lock(fleet_->mutex_);
  DropSession();
  if (connected_) BeginSession();
}

void FakeFleetRegistry::DropSession() {
  session_ = false;
  std::vector<FleetNews::Entry> gone;
  ++fleet_->revision_;
  for (const auto& [key, value] : fleet_->values_) {
    if (value.owner != this) continue;
    gone.push_back(
        {.entry = {.key = key, .value = "", .revision = fleet_->revision_},
         .deleted = true});
  }
  for (const FleetNews::Entry& one : gone) fleet_->values_.erase(one.entry.key);
  Deliver(gone);
}

}  // namespace wavetune
