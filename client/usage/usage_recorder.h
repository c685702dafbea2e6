// UsageRecorder: counts decisions by source and keeps a few of the problems
// asked for, on the launch path.
//
//   if (recorder != nullptr) recorder->Record(problem, decision);  // ~1 ns
//   ...
//   recorder->Drain(&drained);  // another thread, now and then
//
// Why its own structure: the launch path affords neither a lock nor a shared
// cache line. Each thread has a slot of its own (ThreadSlot): a cache line of
// counters that it alone writes, and a ring of sampled problems. Threads beyond
// the slots share one with atomic additions (about 5 ns). Every n-th decision,
// n random around a stride that Drain adapts to the rate, writes its problem
// into the ring. With it goes the number of decisions that it stands for: an
// unbiased sample, whatever the pattern of calls.
//
// Exact: the counters. Lossy: a slot's ring keeps a uniform choice of the
// problems sampled between two drains (Vitter: Random Sampling with a
// Reservoir, ACM TOMS 11(1), 1985, algorithm R), so that a burst after a quiet
// time is represented, too, and not its end alone.
//
// Thread safety: Record from any thread; Drain from one thread at a time.
// Nothing is a data race: all shared words are atomics.
#ifndef WAVETUNE_CLIENT_USAGE_USAGE_RECORDER_H_
#define WAVETUNE_CLIENT_USAGE_USAGE_RECORDER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "client/usage/thread_slot.h"
#include "usage/usage_weights.h"
#include "wavetune/decision.h"
#include "wavetune/problem.h"

namespace wavetune {

// Decisions by kind; each decision is in one.
struct UsageCounts {
  // FITTED or STALE, but with a relative bound above kWideBound.
  uint64_t wide_bound = 0;
  uint64_t fitted = 0;
  uint64_t extrapolated = 0;
  uint64_t stale = 0;
  uint64_t defaults = 0;  // DEFAULT.

  uint64_t total() const {
    return wide_bound + fitted + extrapolated + stale + defaults;
  }
  UsageCounts& operator+=(const UsageCounts& other);

  friend bool operator==(const UsageCounts&, const UsageCounts&) = default;
};

// The decisions since the last drain.
struct DrainedUsage {
  struct Sampled {
    std::vector<int64_t> extents;
    std::vector<int64_t> repeated;
    double decisions = 0;  // That it stands for, >= 1.
  };
  UsageCounts counts;
  std::vector<Sampled> sampled;
};

class UsageRecorder {
 public:
  // Sampled problems per slot between two drains; where problems are lists.
  static constexpr uint32_t kRingEntries = 16;
  static constexpr uint32_t kRingEntriesRepeated = 4;
  // A problem with more elements in its repeated dimension is counted, not
  // kept.
  static constexpr size_t kMostRepeated = 128;
  // The least average distance between sampled decisions: writing a problem
  // costs some 20 decisions' counting.
  static constexpr uint32_t kLeastStride = 16;

  // `dimensions`: of the kernel's problems, 1 to kMaxDimensions; `repeated`:
  // one of them is. Allocates everything that is ever needed: for a GEMM 24
  // KiB, with a repeated dimension 140 KiB.
  UsageRecorder(size_t dimensions, bool repeated);

  // Counts a decision. Cannot fail. Cost: about a nanosecond; no lock,
  // allocation or system call. A problem of another number of extents, or that
  // is none of the kernel, is counted only.
  void Record(const ProblemView& problem, const Decision& decision) noexcept {
    const uint32_t number = ThreadSlot();
    Slot& slot = slots_[number];
    std::atomic<uint64_t>& counter = slot.counters[KindOf(decision)];
    if (number == kSharedSlot) [[unlikely]] {
      RecordShared(slot, counter, problem, decision);
      return;
    }
    // Its owner alone writes: no read-modify-write is needed.
    Bump(counter, 1);
    const uint32_t left = slot.countdown.load(std::memory_order_relaxed) - 1;
    slot.countdown.store(left, std::memory_order_relaxed);
    if (left == 0) [[unlikely]]
      Keep(number, problem, decision);
  }

  // Replaces `drained` by the decisions since the last call. Cost: some
  // microseconds; disturbs no recording thread beyond a cache miss.
  void Drain(DrainedUsage* drained);

 private:
  static constexpr size_t kKinds = 5;
  static constexpr size_t kWide = 0;  // Else the DecisionSource.

  // One sampled problem. `sequence` is odd while it is written, and tells a
  // reader whether the words changed meanwhile.
  struct Entry {
    std::atomic<uint32_t> sequence{0};
    std::atomic<uint32_t> repeated{0};  // Number of elements.
    std::atomic<uint64_t> decisions{0};
  };
  struct alignas(64) Slot {
    std::array<std::atomic<uint64_t>, kKinds> counters{};
    std::atomic<uint32_t> countdown{kLeastStride};  // To the next sample.
    std::atomic<uint32_t> gap{kLeastStride};  // Decisions that it stands for.
    std::atomic<uint32_t> stride{kLeastStride};  // Set by Drain.
    std::atomic<uint32_t> random{1};
    std::atomic<uint32_t> offered{0};  // Problems sampled, ever.
    std::atomic<uint32_t> drained{0};  // `offered` at the last drain.
  };
  // The drain's memory of a slot.
  struct Seen {
    std::array<uint64_t, kKinds> counters{};
    uint32_t offered = 0;
  };

  static size_t KindOf(const Decision& decision) noexcept {
    const bool wide = decision.relative_bound > kWideBound &&
                      decision.source != DecisionSource::kExtrapolated;
    return wide ? kWide : static_cast<size_t>(decision.source);
  }
  static void Bump(std::atomic<uint64_t>& counter, uint64_t by) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + by,
                  std::memory_order_relaxed);
  }

  void RecordShared(Slot& slot, std::atomic<uint64_t>& counter,
                    const ProblemView& problem,
                    const Decision& decision) noexcept;
  // Offers the problem to the slot's ring, if it is one of the kernel, and
  // draws the distance to the next. One thread at a time per slot.
  void Keep(size_t number, const ProblemView& problem,
            const Decision& decision) noexcept;
  bool IsKept(const ProblemView& problem,
              const Decision& decision) const noexcept;
  // Returns the place in the ring for the next sampled problem; ring_entries_:
  // none, others stand for it.
  uint32_t PlaceFor(Slot& slot) noexcept;
  void Write(size_t at, uint32_t decisions,
             const ProblemView& problem) noexcept;
  static uint32_t Draw(Slot& slot) noexcept;
  void DrainSlot(size_t number, DrainedUsage* drained);
  // Reads an entry that was written since the last call; false where it was
  // not, or changes right now.
  bool Read(size_t at, DrainedUsage::Sampled* sampled);

  const size_t dimensions_;
  const uint32_t ring_entries_;  // Per slot.
  const size_t words_per_entry_;
  std::array<Slot, kThreadSlots> slots_;
  std::vector<Entry> entries_;
  std::vector<std::atomic<int64_t>> words_;
  // Drain's alone.
  std::array<Seen, kThreadSlots> seen_;
  std::vector<uint32_t> seen_sequences_;  // Those of entries_.
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_USAGE_USAGE_RECORDER_H_
