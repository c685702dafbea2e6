#include "client/src/tuner_slots.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "client/src/daemon_link.h"

namespace wavetune {
namespace {

// Remembered for tuners that are just being made; a node has a few dozen
// kernels.
constexpr size_t kMostWithdrawn = 256;

// Whether the notice is about what the tuner may decide with.
bool Concerns(const v1::TableInfo& table, const TableSlot& slot) {
  const std::string silicon = slot.silicon_key();
  return slot.activation() != ActivationPolicy::kPinned &&
         table.kernel() == slot.identity().kernel &&
         (silicon.empty() || table.silicon_key() == silicon);
}

bool IsOfOurVersion(const v1::TableInfo& table, const TableSlot& slot) {
  return absl::StartsWith(table.fingerprint(), slot.fingerprint());
}

// Whether the tuner has it. One that decides as stale may have been carried
// over since.
bool IsKnown(const v1::TableInfo& table, const TableSlot& slot) {
  const std::shared_ptr<const TableState> current = slot.current();
  return current->digest() == table.digest() && !current->stale &&
         !table.stale();
}

// Whether what was withdrawn is what the tuner decides with. One that was asked
// for by its version keeps it where only another version was shown wrong, one
// of another driver where only this one was.
bool IsWithdrawnFor(const v1::TableInfo& table, const TableSlot& slot) {
  if (!Concerns(table, slot) ||
      !absl::StartsWith(table.fingerprint(), slot.identity().fingerprint))
    return false;
  const std::shared_ptr<const TableState> current = slot.current();
  return current->table == nullptr || current->stale ||
         current->table->table().environment_key == table.environment_key();
}

// Whether a tuner that decides with `current` decides with another table of the
// very key: an older one, as nothing newer was withdrawn, which may choose the
// same.
bool IsOlderOfSameKey(const TableState& current, const v1::TableInfo& table) {
  if (current.table == nullptr || current.digest() == table.digest())
    return false;
  const Table& own = current.table->table();
  return own.fingerprint == table.fingerprint() &&
         own.silicon_key == table.silicon_key() &&
         own.environment_key == table.environment_key();
}

absl::Status WasWithdrawn(const v1::TableInfo& table) {
  return absl::FailedPreconditionError(
      absl::StrCat("table ", ShortDigest(table.digest()), " of kernel \"",
                   table.kernel(), "\" was withdrawn: ", table.withdrawn(),
                   "; the default decides until another is promoted"));
}

}  // namespace

uint64_t TunerSlots::news() const {
  std::lock_guard lock(mutex_);
  return news_;
}

void TunerSlots::Add(const std::shared_ptr<TableSlot>& slot,
                     uint64_t news_before) {
  bool missed = false;
  std::vector<v1::TableInfo> withdrawn;
  {
    std::lock_guard lock(mutex_);
    slots_.push_back(slot);
    missed = news_ != news_before;
    withdrawn = withdrawn_;
  }
  for (const v1::TableInfo& table : withdrawn) {
    if (IsWithdrawnFor(table, *slot))
      slot->Revoke(table.digest(), WasWithdrawn(table));
  }
  if (missed && slot->activation() != ActivationPolicy::kPinned)
    Refresh(*slot, "");
}

TunerSlots::Slots TunerSlots::InUse() const {
  std::lock_guard lock(mutex_);
  Slots in_use;
  std::erase_if(slots_, [&](const std::weak_ptr<TableSlot>& weak) {
    std::shared_ptr<TableSlot> slot = weak.lock();
    if (slot == nullptr) return true;
    in_use.push_back(std::move(slot));
    return false;
  });
  return in_use;
}

bool TunerSlots::OnServing(const std::vector<v1::TableInfo>& serving) {
  {
    std::lock_guard lock(mutex_);
    ++news_;
    withdrawn_.clear();  // What still is comes behind the snapshot.
  }
  bool reached = true;
  for (const std::shared_ptr<TableSlot>& slot : InUse()) {
    for (const v1::TableInfo& table : serving) {
      if (!Concerns(table, *slot) || !IsOfOurVersion(table, *slot) ||
          IsKnown(table, *slot))
        continue;
      reached = Refresh(*slot, table.digest()) && reached;
      break;  // What was asked for is the best of all that serve.
    }
  }
  return reached;
}

bool TunerSlots::OnPromoted(const v1::TableInfo& table) {
  {
    std::lock_guard lock(mutex_);
    ++news_;
    std::erase_if(withdrawn_, [&](const v1::TableInfo& other) {
      return other.kernel() == table.kernel() &&
             other.silicon_key() == table.silicon_key();
    });
  }
  bool reached = true;
  for (const std::shared_ptr<TableSlot>& slot : InUse()) {
    if (!Concerns(table, *slot) || IsKnown(table, *slot)) continue;
    if (!IsOfOurVersion(table, *slot)) {
      log_->Add(ClientEvent::Kind::kRefused, table.kernel(), table.digest(),
                absl::FailedPreconditionError(absl::StrCat(
                    "a new table of kernel \"", table.kernel(),
                    "\" is for fingerprint ", table.fingerprint().substr(0, 12),
                    ", the tuner for ", slot->fingerprint().substr(0, 12),
                    ". For the kernel's other version make a new tuner")));
      continue;
    }
    reached = Refresh(*slot, table.digest()) && reached;
  }
  return reached;
}

void TunerSlots::OnWithdrawn(const v1::TableInfo& table) {
  {
    std::lock_guard lock(mutex_);
    ++news_;
    // Each connection brings it again.
    std::erase_if(withdrawn_, [&](const v1::TableInfo& other) {
      return other.digest() == table.digest() &&
             other.fingerprint() == table.fingerprint() &&
             other.environment_key() == table.environment_key();
    });
    if (withdrawn_.size() >= kMostWithdrawn)
      withdrawn_.erase(withdrawn_.begin());
    withdrawn_.push_back(table);
  }
  finder_->NoteWithdrawn(table);
  for (const std::shared_ptr<TableSlot>& slot : InUse()) {
    if (!IsWithdrawnFor(table, *slot)) continue;
    slot->Revoke(table.digest(), WasWithdrawn(table));
    const std::shared_ptr<const TableState> current = slot->current();
    if (IsOlderOfSameKey(*current, table))
      slot->Revoke(current->digest(), WasWithdrawn(table));
  }
}

void TunerSlots::OnRetired(const v1::TableInfo& table) {
  if (!table.withdrawn().empty()) {
    OnWithdrawn(table);
    return;
  }
  for (const std::shared_ptr<TableSlot>& slot : InUse()) {
    if (slot->identity().kernel == table.kernel())
      slot->Withdraw(table.digest());
  }
}

bool TunerSlots::OnRemarked(const v1::TableInfo& table) {
  bool reached = true;
  for (const std::shared_ptr<TableSlot>& slot : InUse()) {
    const std::shared_ptr<const TableState> current = slot->current();
    if (current->digest() != table.digest() ||
        (current->stale == table.stale() &&
         current->stale_reason == table.stale_reason()))
      continue;
    // Whether it is so on the tuner's device the daemon knows.
    reached = Refresh(*slot, table.digest()) && reached;
  }
  return reached;
}

bool TunerSlots::Refresh(TableSlot& slot,
                         const std::string& noticed_digest) const {
  const std::string& kernel = slot.identity().kernel;
  TunerOptions names;
  names.device = slot.identity().device;
  names.fingerprint = slot.fingerprint();
  if (slot.activation() == ActivationPolicy::kPinned) {
    names = {.digest = noticed_digest};
  }
  absl::StatusOr<OfferedTable> table = finder_->Fetch(kernel, names);
  if (absl::IsFailedPrecondition(table.status()) && !noticed_digest.empty()) {
    names.digest = noticed_digest;
    table = finder_->Fetch(kernel, names);
  }
  if (table.ok()) {
    slot.Offer(*table).status().IgnoreError();  // A refusal is in the log.
    return true;
  }
  return !IsUnreachable(table.status()) && !absl::IsCancelled(table.status());
}

}  // namespace wavetune
