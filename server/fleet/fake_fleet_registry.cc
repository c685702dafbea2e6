#include "server/fleet/fake_fleet_registry.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/fleet/fleet_writes.h"

namespace wavetune {

// A watch, or one that waits for sessions.
class FakeFleetRegistry::Subscription : public WatchHandle {
 public:
  Subscription(FakeFleetRegistry* registry, std::string prefix,
               Listener listener, SessionListener session_listener)
      : registry_(registry),
        prefix_(std::move(prefix)),
        listener_(std::move(listener)),
        session_listener_(std::move(session_listener)) {
    registry_->subscriptions_.push_back(this);
  }
  ~Subscription() override {
    const std::lock_guard lock(registry_->fleet_->mutex_);
    std::erase(registry_->subscriptions_, this);
  }

  void TellOutage() const {
    if (listener_) listener_({.status = registry_->Reachable()});
  }
  void TellAll() const {
    if (!listener_) return;
    const FleetListing listing = registry_->ListNow(prefix_);
    FleetNews news{.whole = true, .revision = listing.revision};
    for (const FleetEntry& entry : listing.entries)
      news.entries.push_back({.entry = entry});
    listener_(news);
  }
  void Tell(const std::vector<FleetNews::Entry>& changed) const {
    if (!listener_) return;
    FleetNews news{.revision = registry_->fleet_->revision_};
    for (const FleetNews::Entry& one : changed) {
      if (absl::StartsWith(one.entry.key, prefix_)) news.entries.push_back(one);
    }
    if (!news.entries.empty()) listener_(news);
  }
  void TellSession() const {
    if (session_listener_) session_listener_();
  }

 private:
  FakeFleetRegistry* const registry_;
  const std::string prefix_;
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

absl::StatusOr<FleetEntry> FakeFleetRegistry::Get(absl::string_view key) {
  const std::lock_guard lock(fleet_->mutex_);
  RETURN_IF_ERROR(Reachable());
  const auto found = fleet_->values_.find(std::string(key));
  if (found == fleet_->values_.end())
    return absl::NotFoundError(absl::StrCat("the fleet has no ", key));
  return found->second.entry;
}

FleetListing FakeFleetRegistry::ListNow(absl::string_view prefix) const {
  FleetListing listing{.revision = fleet_->revision_};
  for (const auto& [key, value] : fleet_->values_) {
    if (absl::StartsWith(key, prefix)) listing.entries.push_back(value.entry);
  }
  return listing;
}

absl::StatusOr<FleetListing> FakeFleetRegistry::List(absl::string_view prefix) {
  const std::lock_guard lock(fleet_->mutex_);
  RETURN_IF_ERROR(Reachable());
  return ListNow(prefix);
}

absl::StatusOr<int64_t> FakeFleetRegistry::Commit(
    const std::vector<FleetWrite>& writes) {
  RETURN_IF_ERROR(CheckFleetWrites(writes));
  const std::lock_guard lock(fleet_->mutex_);
  RETURN_IF_ERROR(Reachable());
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
    FleetEntry entry{write.key, write.value.value_or(""), fleet_->revision_};
    if (write.value) {
      fleet_->values_[write.key] = {.entry = entry,
                                    .owner = write.of_session ? this : nullptr};
    } else if (fleet_->values_.erase(write.key) == 0) {
      continue;  // There was none.
    }
    changed.push_back(
        {.entry = std::move(entry), .deleted = !write.value.has_value()});
  }
  Tell(changed);
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
    changed.push_back(
        {.entry = {entry.key, "", fleet_->revision_}, .deleted = true});
  }
  Tell(changed);
  return static_cast<int64_t>(changed.size());
}

void FakeFleetRegistry::Tell(const std::vector<FleetNews::Entry>& changed) {
  for (FakeFleetRegistry* node : fleet_->nodes_) {
    if (!node->connected_) continue;
    // A copy: a listener may begin another watch.
    for (const Subscription* one : std::vector(node->subscriptions_))
      one->Tell(changed);
  }
}

std::unique_ptr<FleetRegistry::WatchHandle> FakeFleetRegistry::Watch(
    absl::string_view prefix, Listener listener) {
  const std::lock_guard lock(fleet_->mutex_);
  auto handle = std::make_unique<Subscription>(this, std::string(prefix),
                                               std::move(listener), nullptr);
  if (connected_) {
    handle->TellAll();
  } else {
    handle->TellOutage();
  }
  return handle;
}

bool FakeFleetRegistry::HasSession() {
  const std::lock_guard lock(fleet_->mutex_);
  return connected_ && session_;
}

std::unique_ptr<FleetRegistry::WatchHandle> FakeFleetRegistry::OnSession(
    SessionListener listener) {
  const std::lock_guard lock(fleet_->mutex_);
  auto handle =
      std::make_unique<Subscription>(this, "", nullptr, std::move(listener));
  if (connected_ && session_) handle->TellSession();
  return handle;
}

void FakeFleetRegistry::Disconnect() {
  const std::lock_guard lock(fleet_->mutex_);
  connected_ = false;
  for (const Subscription* one : std::vector(subscriptions_)) one->TellOutage();
}

void FakeFleetRegistry::Connect() {
  const std::lock_guard lock(fleet_->mutex_);
  connected_ = true;
  if (!session_) BeginSession();
  for (const Subscription* one : std::vector(subscriptions_)) one->TellAll();
}

void FakeFleetRegistry::BeginSession() {
  session_ = true;
  for (const Subscription* one : std::vector(subscriptions_))
    one->TellSession();
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
    gone.push_back({.entry = {key, "", fleet_->revision_}, .deleted = true});
  }
  for (const FleetNews::Entry& one : gone) fleet_->values_.erase(one.entry.key);
  Tell(gone);
}

}  // namespace wavetune
