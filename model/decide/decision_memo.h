// DecisionMemo: the last answers of a thread, for problems that repeat: a model
// launches the same few layers over and over.
//
//   const MemoKey key(table_and_sub_table, extents, count);
//   MemoEntry& entry = DecisionMemo::OfThread().EntryFor(key);
//   if (!entry.Holds(key)) entry.Keep(key, answer);
//
// Each problem has one place (direct-mapped), so that looking costs the same
// whether it is there or not. An entry is a cache line. It holds no pointer and
// names its table by a number that no other table of the process gets. So
// nobody has to tell it when tables come and go.
//
// Thread safety: one per thread, without a lock. 8 KiB per thread that decides;
// a thread's storage comes from the loader: with the program, or where this was
// loaded later (dlopen) at the first decision of the thread. Not for signal
// handlers: one that decides may change the entry that its thread reads.
#ifndef WAVETUNE_MODEL_DECIDE_DECISION_MEMO_H_
#define WAVETUNE_MODEL_DECIDE_DECISION_MEMO_H_

#include <cstddef>
#include <cstdint>

#include "absl/base/attributes.h"
#include "model/decide/group_answer.h"

namespace wavetune {

// A problem without a repeated dimension.
struct MemoKey {
  static constexpr size_t kMaxExtents = 4;  // Kernels with more are not kept.

  constexpr MemoKey() = default;
  // 1 to kMaxExtents extents.
  MemoKey(uint64_t table_and_sub_table, const int64_t* of, size_t count)
      : table(table_and_sub_table), extents{of[0], 0, 0, 0} {
    // Not a loop: its end would be a branch more. Most kernels have three.
    if (count == 3) {
      extents[1] = of[1];
      extents[2] = of[2];
      return;
    }
    if (count > 1) extents[1] = of[1];
    if (count > 2) extents[2] = of[2];
    if (count > 3) extents[3] = of[3];
  }

  // Returns what a sub-table of a table is known by: another number for each
  // pair, never 0, with all bits spread for EntryFor.
  static uint64_t TableOf(uint64_t table_number, uint64_t sub_table) {
    return (table_number << 8 | sub_table) * 0x9e3779b97f4a7c15U;  // Odd.
  }

  uint64_t table = 0;                 // TableOf.
  int64_t extents[kMaxExtents] = {};  // Zeros fill it up.
};

struct alignas(64) MemoEntry {
  MemoKey key;
  GroupAnswer answer;  // What Resolve's follows from, `stale` apart.

  // Puts a problem and its answer there.
  void Keep(const MemoKey& of, const GroupAnswer& its_answer) {
    // Field by field, as they were just written: read as vectors they would
    // have to wait for that.
    key.table = of.table;
    for (size_t i = 0; i < MemoKey::kMaxExtents; ++i) {
      key.extents[i] = of.extents[i];
    }
    answer.latency_us = its_answer.latency_us;
    answer.pick = its_answer.pick;
    answer.relative_bound = its_answer.relative_bound;
  }

  bool Holds(const MemoKey& wanted) const {
    // Without branches in between: most look-ups agree, or differ anywhere.
    return ((key.table ^ wanted.table) |
            static_cast<uint64_t>((key.extents[0] ^ wanted.extents[0]) |
                                  (key.extents[1] ^ wanted.extents[1]) |
                                  (key.extents[2] ^ wanted.extents[2]) |
                                  (key.extents[3] ^ wanted.extents[3]))) == 0;
  }
};
static_assert(sizeof(MemoEntry) == 64);

class DecisionMemo {
 public:
  static constexpr int kLogEntries = 7;
  static constexpr size_t kEntries = size_t{1} << kLogEntries;

  // Returns the calling thread's. No allocation of ours; see above. Not inline:
  // the C library before glibc 2.40 does not keep vector registers where it
  // allocates the storage behind a TLS descriptor. decision_memo.cc is compiled
  // with these, and a caller of a function does not count on them.
  ABSL_ATTRIBUTE_NOINLINE static DecisionMemo& OfThread();

  // Returns a problem's place.
  MemoEntry& EntryFor(const MemoKey& key) {
    // A sum of products with odd constants: they are computed side by side, and
    // the upper bits depend on all of the input's.
    uint64_t hash = key.table;
    hash += static_cast<uint64_t>(key.extents[0]) * 0xbf58476d1ce4e5b9U;
    hash += static_cast<uint64_t>(key.extents[1]) * 0x94d049bb133111ebU;
    hash += static_cast<uint64_t>(key.extents[2]) * 0xd6e8feb86659fd93U;
    hash += static_cast<uint64_t>(key.extents[3]) * 0xa0761d6478bd642fU;
    return entries_[hash >> (64 - kLogEntries)];
  }

 private:
  MemoEntry entries_[kEntries];
};

// Returns a number that was never returned before, from 1; below 2^56.
uint64_t NewTableNumber();

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_DECISION_MEMO_H_
