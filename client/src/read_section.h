// ReadSection and GracePeriod: readers that never wait, and a writer that finds
// out when none of them can hold an old pointer any more.
//
//   std::atomic<const T*> current;
//
//   const ReadSection section;                  // Reader.
//   const T* value = section.Load(current);     // Valid until `section` ends.
//
//   const T* old = current.exchange(next);      // Writer.
//   const GracePeriod period;
//   ...
//   if (period.HasPassed()) delete old;
//
// Why not std::atomic<std::shared_ptr>: libstdc++ locks in it. Why not a shared
// reader count: two locked instructions on one cache line that all cores fight
// for. Here a reader writes to a record of its own thread only: two plain
// stores and no fence, about a nanosecond; the writer pays instead, with
// membarrier(2). Where the kernel has none, and under ThreadSanitizer, which
// does not know it, the reader's first store is a sequentially consistent
// exchange (some 20 cycles).
//
// A thread claims its record at its first section, without allocating, from a
// pool of kMaxReaders, and returns it when it ends. Threads beyond that share
// one counter: slower, as right.
//
// Invariants:
//   1. A record's count is odd exactly while its thread is in a section. Only
//      that thread writes it, and it only grows. But after a signal handler's
//      section inside of the entry the same odd value comes again: then a
//      period may last longer, never shorter.
//   2. A reader that got a pointer that was replaced before the period began
//      made its count odd before that. Let S be the order of seq_cst operations
//      (or membarrier, which puts a full fence into every thread). In S the
//      reader's "odd, then load" and the writer's "exchange, then look" cannot
//      both miss the other.
//   3. So a period that saw each count even once, or changed since it was odd,
//      has outlived every reader of the replaced pointer. The count's release
//      and acquire order their reads before the code after the period.
//
// A section may stand inside of another one, and in a signal handler. It must
// not be handed to another thread.
//
// Thread safety: thread-safe. Global, so that a thread registers once and not
// once for every tuner.
#ifndef WAVETUNE_CLIENT_SRC_READ_SECTION_H_
#define WAVETUNE_CLIENT_SRC_READ_SECTION_H_

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace wavetune {

// Threads that have a record of their own at any one time.
inline constexpr int kMaxReaders = 4096;

namespace internal {

// A cache line, so that threads do not disturb each other.
struct alignas(64) ReaderRecord {
  std::atomic<uint64_t> count{0};  // Odd: in a section.
  std::atomic<bool> taken{false};
};

// Not initial-exec, which would save a call in a shared library. One such
// variable asks for all thread-local storage of the library, the decision memo
// included, in glibc's reserve for libraries that are loaded later. dlopen then
// refuses ("cannot allocate memory in static TLS block").
extern constinit thread_local ReaderRecord* this_reader;

// Whether writers use membarrier. Set by PrepareReaders.
extern constinit std::atomic<bool> readers_need_no_fence;

// Claims a record for this thread and returns it; or counts the thread among
// those without one and returns nullptr.
ReaderRecord* ClaimRecord() noexcept;
void LeaveWithoutRecord() noexcept;

}  // namespace internal

// Call before the first section of any object. Registers with the kernel once
// per process. Cannot fail.
void PrepareReaders();

class ReadSection {
 public:
  ReadSection() noexcept : record_(internal::this_reader) {
    if (record_ == nullptr) {
      record_ = internal::ClaimRecord();
      if (record_ == nullptr) return;
    }
    const uint64_t count = record_->count.load(std::memory_order_relaxed);
    nested_ = (count & 1) != 0;
    if (nested_) return;
    if (internal::readers_need_no_fence.load(std::memory_order_relaxed)) {
      record_->count.store(count + 1, std::memory_order_release);
      // The compiler must not move the load of the pointer before the store;
      // the writer's membarrier keeps the processor from it.
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      record_->count.exchange(count + 1, std::memory_order_seq_cst);
    }
  }

  ~ReadSection() {
    if (record_ == nullptr) {
      internal::LeaveWithoutRecord();
    } else if (!nested_) {
      record_->count.store(record_->count.load(std::memory_order_relaxed) + 1,
                           std::memory_order_release);
    }
  }

  ReadSection(const ReadSection&) = delete;
  ReadSection& operator=(const ReadSection&) = delete;

  // Returns the pointer; what it points to lives until the section ends, if
  // writers keep to GracePeriod. Cannot fail.
  template <typename T>
  T* Load(const std::atomic<T*>& pointer) const noexcept {
    // On x86 and AArch64 an ordinary load-acquire.
    return pointer.load(std::memory_order_seq_cst);
  }

 private:
  internal::ReaderRecord* record_;  // nullptr: the thread has none.
  bool nested_ = false;
};

// What a writer waits for before it frees what it has replaced.
class GracePeriod {
 public:
  // Begins now, after the seq_cst exchange of the pointer. Cost: a few
  // microseconds, O(threads that ever read at one time). Allocates.
  GracePeriod();
  GracePeriod(GracePeriod&&) = default;
  GracePeriod& operator=(GracePeriod&&) = default;

  // Returns whether no reader can hold a pointer that was replaced before the
  // period began. Once true, always. Never blocks.
  bool HasPassed();

 private:
  // Readers that were in a section, with their counts.
  std::vector<std::pair<const internal::ReaderRecord*, uint64_t>> inside_;
  bool waits_for_others_ = true;  // For threads without a record.
  bool unknown_ = false;          // No fence could be had: never passes.
};

// Frees the records of threads that are not in this process. Called in the
// child of a fork; for tests.
void ForgetOtherThreads();

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_READ_SECTION_H_
