#include "client/usage/usage_recorder.h"

#include <algorithm>
#include <utility>

namespace wavetune {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

// As many samples as make good use of a ring without passing it often: the
// distances between them are random.
constexpr uint64_t kRingUsed = 12;
constexpr uint64_t kRingParts = 16;
constexpr uint32_t kLargestStride = 1 << 30;

// Marsaglia, Xorshift RNGs (2003); never 0.
uint32_t NextRandom(uint32_t x) {
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return x;
}

}  // namespace

UsageCounts& UsageCounts::operator+=(const UsageCounts& other) {
  wide_bound += other.wide_bound;
  fitted += other.fitted;
  extrapolated += other.extrapolated;
  stale += other.stale;
  defaults += other.defaults;
  return *this;
}

UsageRecorder::UsageRecorder(size_t dimensions, bool repeated)
    : dimensions_(dimensions),
      ring_entries_(repeated ? kRingEntriesRepeated : kRingEntries),
      words_per_entry_(dimensions + (repeated ? kMostRepeated : 0)),
      entries_(kThreadSlots * ring_entries_),
      words_(entries_.size() * words_per_entry_),
      seen_sequences_(entries_.size()) {
  for (size_t i = 0; i < kThreadSlots; ++i) {
    // Slots that are read together must not sample in step.
    slots_[i].random.store(static_cast<uint32_t>(0x9e3779b9 * (i + 1)),
                           kRelaxed);
  }
}

void UsageRecorder::RecordShared(Slot& slot, std::atomic<uint64_t>& counter,
                                 const ProblemView& problem,
                                 const Decision& decision) noexcept {
  counter.fetch_add(1, kRelaxed);
  // Who takes the last count keeps the problem. The others count on below zero
  // until Keep sets a new distance, so that only one is in Keep; acquire and
  // release hand the slot's state from one to the next.
  if (slot.countdown.fetch_sub(1, std::memory_order_acq_rel) == 1)
    Keep(kSharedSlot, problem, decision);
}

void UsageRecorder::Keep(size_t number, const ProblemView& problem,
                         const Decision& decision) noexcept {
  Slot& slot = slots_[number];
  if (IsKept(problem, decision)) {
    const uint32_t place = PlaceFor(slot);
    if (place < ring_entries_) {
      Write(number * ring_entries_ + place, slot.gap.load(kRelaxed), problem);
    }
  }
  // Uniform in [1, 2 * stride - 1]: the mean is the stride.
  const uint32_t stride = slot.stride.load(kRelaxed);
  const uint32_t distance = 1 + Draw(slot) % (2 * stride - 1);
  slot.gap.store(distance, kRelaxed);
  slot.countdown.store(distance, kRelease);
}

uint32_t UsageRecorder::Draw(Slot& slot) noexcept {
  const uint32_t random = NextRandom(slot.random.load(kRelaxed));
  slot.random.store(random, kRelaxed);
  return random;
}

uint32_t UsageRecorder::PlaceFor(Slot& slot) noexcept {
  const uint32_t offered = slot.offered.load(kRelaxed);
  slot.offered.store(offered + 1, kRelaxed);
  // Of threads that share the slot, one may have read `offered` before others
  // raised it and a drain took note: then this is the first since that drain.
  const auto ahead =
      static_cast<int32_t>(offered - slot.drained.load(kRelaxed));
  const uint32_t before = ahead < 0 ? 0 : static_cast<uint32_t>(ahead);
  if (before < ring_entries_) return before;
  return std::min(Draw(slot) % (before + 1), ring_entries_);
}

bool UsageRecorder::IsKept(const ProblemView& problem,
                           const Decision& decision) const noexcept {
  // Without a table a problem is no less asked for.
  const bool legal = decision.source != DecisionSource::kDefault ||
                     decision.reason == DefaultReason::kNoTable ||
                     decision.reason == DefaultReason::kTableWithdrawn;
  return legal && problem.extents.size() == dimensions_ &&
         problem.repeated.size() <= words_per_entry_ - dimensions_;
}

// A seqlock without fences, which ThreadSanitizer does not know: a reader that
// sees a new word (acquire) has also seen the odd sequence before it (release).
void UsageRecorder::Write(size_t at, uint32_t decisions,
                          const ProblemView& problem) noexcept {
  Entry& entry = entries_[at];
  const uint32_t sequence = entry.sequence.load(kRelaxed);
  entry.sequence.store(sequence + 1, kRelaxed);
  entry.decisions.store(decisions, kRelease);
  entry.repeated.store(static_cast<uint32_t>(problem.repeated.size()),
                       kRelease);
  std::atomic<int64_t>* word = &words_[at * words_per_entry_];
  for (const int64_t extent : problem.extents)
    (word++)->store(extent, kRelease);
  for (const int64_t extent : problem.repeated)
    (word++)->store(extent, kRelease);
  entry.sequence.store(sequence + 2, kRelease);
}

void UsageRecorder::Drain(DrainedUsage* drained) {
  drained->counts = {};
  drained->sampled.clear();
  for (size_t i = 0; i < kThreadSlots; ++i) DrainSlot(i, drained);
}

void UsageRecorder::DrainSlot(size_t number, DrainedUsage* drained) {
  Slot& slot = slots_[number];
  Seen& seen = seen_[number];
  std::array<uint64_t, kKinds> fresh;
  uint64_t decisions = 0;
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const uint64_t now = slot.counters[kind].load(kRelaxed);
    fresh[kind] = now - seen.counters[kind];
    seen.counters[kind] = now;
    decisions += fresh[kind];
  }
  drained->counts += {fresh[0], fresh[1], fresh[2], fresh[3], fresh[4]};
  const uint32_t offered = slot.offered.load(kRelaxed);
  const size_t first = drained->sampled.size();
  for (size_t i = 0; i < ring_entries_; ++i) {
    DrainedUsage::Sampled sampled;
    if (Read(number * ring_entries_ + i, &sampled)) {
      drained->sampled.push_back(std::move(sampled));
    }
  }
  // Each kept problem stands for those that found no place, too.
  const size_t kept = drained->sampled.size() - first;
  const double each =
      std::max(1.0, static_cast<double>(offered - seen.offered) /
                        static_cast<double>(std::max<size_t>(1, kept)));
  for (size_t i = first; i < drained->sampled.size(); ++i) {
    drained->sampled[i].decisions *= each;
  }
  seen.offered = offered;
  slot.drained.store(offered, kRelaxed);
  const uint64_t wanted = ring_entries_ * kRingUsed / kRingParts;
  slot.stride.store(static_cast<uint32_t>(std::clamp<uint64_t>(
                        decisions / wanted, kLeastStride, kLargestStride)),
                    kRelaxed);
}

bool UsageRecorder::Read(size_t at, DrainedUsage::Sampled* sampled) {
  const Entry& entry = entries_[at];
  const uint32_t sequence = entry.sequence.load(kAcquire);
  if (sequence % 2 == 1 || sequence == seen_sequences_[at]) return false;
  sampled->decisions = static_cast<double>(entry.decisions.load(kAcquire));
  // Torn, it may be anything that was ever written: never too large.
  const size_t repeated = entry.repeated.load(kAcquire);
  const std::atomic<int64_t>* word = &words_[at * words_per_entry_];
  for (size_t i = 0; i < dimensions_; ++i)
    sampled->extents.push_back((word++)->load(kAcquire));
  for (size_t i = 0; i < repeated; ++i)
    sampled->repeated.push_back((word++)->load(kAcquire));
  if (entry.sequence.load(kRelaxed) != sequence) return false;
  seen_sequences_[at] = sequence;
  return true;
}

}  // namespace wavetune
