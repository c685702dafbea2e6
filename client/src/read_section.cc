#include "client/src/read_section.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace wavetune {
namespace internal {

constinit thread_local ReaderRecord* this_reader = nullptr;
constinit std::atomic<bool> readers_need_no_fence{false};

}  // namespace internal

namespace {

using internal::ReaderRecord;

#if defined(__SANITIZE_THREAD__)  // GCC
#define WAVETUNE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WAVETUNE_THREAD_SANITIZER 1
#endif
#endif
#if defined(WAVETUNE_THREAD_SANITIZER)
constexpr bool kMayUseMembarrier = false;  // It would not see the order.
#else
constexpr bool kMayUseMembarrier = true;
#endif

// Zero pages until used. Never destroyed: threads may outlive main.
constinit std::array<ReaderRecord, kMaxReaders> records{};
// Records that were ever taken are the first ones.
constinit std::atomic<int> records_used{0};
// Threads without a record that are in a section.
constinit std::atomic<int64_t> others_inside{0};
pthread_key_t record_key;
bool has_record_key = false;

bool Membarrier(int command) {
  return syscall(SYS_membarrier, command, 0) == 0;
}

// Puts a full fence into every running thread of the process.
bool FenceAllThreads() {
  if (Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return true;
  // The child of a fork may have to register anew.
  return Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
         Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

// Runs when a thread ends, after its thread_local destructors.
void ReturnRecord(void* record) {
  internal::this_reader = nullptr;
  static_cast<ReaderRecord*>(record)->taken.store(false,
                                                  std::memory_order_release);
}

}  // namespace

namespace internal {

ReaderRecord* ClaimRecord() noexcept {
  for (int i = 0; has_record_key && i < kMaxReaders; ++i) {
    ReaderRecord& record = records[static_cast<size_t>(i)];
    bool taken = record.taken.load(std::memory_order_relaxed);
    if (taken || !record.taken.compare_exchange_strong(
                     taken, true, std::memory_order_acquire)) {
      continue;
    }
    int used = records_used.load(std::memory_order_seq_cst);
    while (used <= i && !records_used.compare_exchange_weak(
                            used, i + 1, std::memory_order_seq_cst)) {
    }
    this_reader = &record;
    // Allocates nothing: glibc keeps the values of the first keys in the
    // thread itself. A failure costs the record, not the answer.
    (void)pthread_setspecific(record_key, &record);
    return &record;
  }
  others_inside.fetch_add(1, std::memory_order_seq_cst);
  return nullptr;
}

void LeaveWithoutRecord() noexcept {
  others_inside.fetch_sub(1, std::memory_order_release);
}

}  // namespace internal

void PrepareReaders() {
  static const bool prepared = [] {
    has_record_key = pthread_key_create(&record_key, ReturnRecord) == 0;
    pthread_atfork(nullptr, nullptr, ForgetOtherThreads);
    internal::readers_need_no_fence.store(
        kMayUseMembarrier &&
            Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED),
        std::memory_order_relaxed);
    return true;
  }();
  (void)prepared;
}

void ForgetOtherThreads() {
  const int used = records_used.load(std::memory_order_relaxed);
  for (int i = 0; i < used; ++i) {
    ReaderRecord& record = records[static_cast<size_t>(i)];
    if (&record == internal::this_reader) continue;
    const uint64_t count = record.count.load(std::memory_order_relaxed);
    record.count.store(count + (count & 1), std::memory_order_relaxed);
    record.taken.store(false, std::memory_order_release);
  }
  others_inside.store(0, std::memory_order_relaxed);
}

GracePeriod::GracePeriod() {
  if (internal::readers_need_no_fence.load(std::memory_order_relaxed)) {
    unknown_ = !FenceAllThreads();
  }
  const int used = records_used.load(std::memory_order_seq_cst);
  for (int i = 0; i < used; ++i) {
    const ReaderRecord& record = records[static_cast<size_t>(i)];
    const uint64_t count = record.count.load(std::memory_order_seq_cst);
    if ((count & 1) != 0) inside_.emplace_back(&record, count);
  }
}

bool GracePeriod::HasPassed() {
  if (unknown_) return false;
  std::erase_if(inside_, [](const auto& reader) {
    return reader.first->count.load(std::memory_order_acquire) != reader.second;
  });
  if (others_inside.load(std::memory_order_seq_cst) == 0) {
    waits_for_others_ = false;
  }
  return inside_.empty() && !waits_for_others_;
}

}  // namespace wavetune
