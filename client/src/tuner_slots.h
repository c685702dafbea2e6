// TunerSlots: the tuners of a client that are in use, and how news of tables
// comes to them.
//
// A notice is only a reason to ask: the daemon alone knows which of a node's
// tables is for a tuner's device. So a tuner's table is fetched by names, and
// by the notice's digest where these are ambiguous.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_CLIENT_SRC_TUNER_SLOTS_H_
#define WAVETUNE_CLIENT_SRC_TUNER_SLOTS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/src/event_log.h"
#include "client/src/fork_guard.h"
#include "client/src/table_finder.h"
#include "client/src/table_slot.h"
#include "proto/wavetune/v1/types.pb.h"

namespace wavetune {

class TunerSlots {
 public:
  using Slots = std::vector<std::shared_ptr<TableSlot>>;

  // Both outlive this.
  TunerSlots(const TableFinder* finder, EventLog* log)
      : finder_(finder), log_(log) {}

  // Returns a number that changes with every news.
  uint64_t news() const;

  // Adds a tuner whose table was asked for at `news_before`; where there has
  // been news since, asks again. Held weakly.
  void Add(const std::shared_ptr<TableSlot>& slot, uint64_t news_before);

  // Those in use, in the order of Add.
  Slots InUse() const;

  // News. Return false where the daemon could not be asked: then they are to
  // come again. A table that is refused is dealt with: it is in the log.
  bool OnServing(const std::vector<v1::TableInfo>& serving);
  bool OnPromoted(const v1::TableInfo& table);
  // A table that was withdrawn as wrong ends deciding, too.
  void OnRetired(const v1::TableInfo& table);
  bool OnRemarked(const v1::TableInfo& table);

 private:
  void OnWithdrawn(const v1::TableInfo& table);
  // Brings the tuner the daemon's present table for it.
  bool Refresh(TableSlot& slot, const std::string& noticed_digest) const;

  const TableFinder* const finder_;
  EventLog* const log_;
  mutable ForkSafeMutex mutex_;
  // Guarded by mutex_.
  uint64_t news_ = 0;
  // Withdrawn since the last snapshot, for tuners that are just being made.
  std::vector<v1::TableInfo> withdrawn_;
  mutable std::vector<std::weak_ptr<TableSlot>> slots_;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_TUNER_SLOTS_H_
