// SnapshotCell: holds the current one of immutable objects. Reading it is
// wait-free; replaced objects are freed once nobody can read them.
//
//   SnapshotCell<TableState> cell(first);
//   Decision d = cell.Read([&](const TableState& s) { return s.Resolve(p); });
//   cell.Publish(next);  // Readers see `first` or `next`, whole.
//
// Invariants:
//   1. current_ points to what owner_ owns.
//   2. A published object is in owner_ or retired_ until it is freed; it goes
//      from the one to the other only after current_ points elsewhere.
//   3. Objects in retired_ are freed only after their grace period, which began
//      after current_ pointed elsewhere (client/src/read_section.h), or with
//      the cell.
//
// So memory is bounded by the objects published during the longest read. A
// reader that is preempted delays freeing, and the last replaced object may
// stay until the next Publish or the end of the cell. That was preferred to a
// Publish that waits for readers.
//
// Thread safety: Read, Get and Publish from any thread. The cell must outlive
// its readers, as any object.
#ifndef WAVETUNE_CLIENT_SRC_SNAPSHOT_CELL_H_
#define WAVETUNE_CLIENT_SRC_SNAPSHOT_CELL_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "client/src/fork_guard.h"
#include "client/src/read_section.h"

namespace wavetune {

template <typename T>
class SnapshotCell {
 public:
  // `first` is not null.
  explicit SnapshotCell(std::shared_ptr<const T> first)
      : owner_(std::move(first)), current_(owner_.get()) {
    PrepareReaders();
  }
  SnapshotCell(const SnapshotCell&) = delete;
  SnapshotCell& operator=(const SnapshotCell&) = delete;

  // Returns read(object) for the current object, which lives as long as the
  // call. Wait-free: no lock, allocation or system call of its own.
  template <typename Function>
  auto Read(Function&& read) const noexcept {
    const ReadSection section;
    return std::forward<Function>(read)(*section.Load(current_));
  }

  // Returns the current object, to keep. Locks.
  std::shared_ptr<const T> Get() const {
    std::lock_guard lock(mutex_);
    return owner_;
  }

  // Makes `next`, which is not null, the current object. Waits for other
  // publishers, never for readers. Cost: a few microseconds.
  void Publish(std::shared_ptr<const T> next) {
    std::vector<Retired> free;  // Freed after the lock.
    std::lock_guard lock(mutex_);
    current_.exchange(next.get(), std::memory_order_seq_cst);
    owner_.swap(next);
    retired_.push_back({std::move(next), GracePeriod()});
    Collect(&free);
  }

  // Frees what nobody can read any more; returns how many replaced objects are
  // still kept. Never blocks on readers.
  size_t Collect() {
    std::vector<Retired> free;
    std::lock_guard lock(mutex_);
    Collect(&free);
    return retired_.size();
  }

 private:
  struct Retired {
    std::shared_ptr<const T> object;
    GracePeriod period;
  };

  void Collect(std::vector<Retired>* free) {
    std::vector<Retired> kept;
    for (Retired& retired : retired_) {
      (retired.period.HasPassed() ? *free : kept).push_back(std::move(retired));
    }
    retired_ = std::move(kept);
  }

  mutable ForkSafeMutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<const T> owner_;
  std::vector<Retired> retired_;

  std::atomic<const T*> current_;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_SNAPSHOT_CELL_H_
