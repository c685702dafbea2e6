#include "client/usage/thread_slot.h"

#include <pthread.h>

#include <atomic>
#include <bit>

namespace wavetune::internal {
namespace {

static_assert(kSharedSlot < 64);
constexpr uint64_t kAllTaken = (uint64_t{1} << kSharedSlot) - 1;

// Bit i: slot i has an owner.
std::atomic<uint64_t> taken{0};

// The value is the slot plus one: a destructor is not called for a null value.
void GiveBack(void* value) {
  const auto slot =
      static_cast<uint32_t>(reinterpret_cast<uintptr_t>(value)) - 1;
  // Another destructor of this thread may still decide.
  thread_slot = kSharedSlot;
  taken.fetch_and(~(uint64_t{1} << slot), std::memory_order_release);
}

// A pthread key instead of a thread_local with a destructor: the latter
// allocates when a thread first uses it.
struct Key {
  Key() { valid = pthread_key_create(&key, GiveBack) == 0; }
  pthread_key_t key = 0;
  bool valid = false;
};
// Never deleted: threads may end after static destructors.
const Key exit_key;

}  // namespace

constinit thread_local uint32_t thread_slot = kNoSlot;

uint32_t TakeThreadSlot() noexcept {
  thread_slot = kSharedSlot;
  if (!exit_key.valid) return kSharedSlot;
  uint64_t before = taken.load(std::memory_order_relaxed);
  uint32_t slot = 0;
  do {
    if ((before & kAllTaken) == kAllTaken) return kSharedSlot;
    slot = static_cast<uint32_t>(std::countr_one(before));
  } while (!taken.compare_exchange_weak(before, before | uint64_t{1} << slot,
                                        std::memory_order_acquire,
                                        std::memory_order_relaxed));
  // glibc keeps the first 32 keys in the thread itself; a later one may have to
  // allocate, once per thread.
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an integer for a void*.
  void* const value = reinterpret_cast<void*>(uintptr_t{slot} + 1);
  if (pthread_setspecific(exit_key.key, value) != 0) {
    taken.fetch_and(~(uint64_t{1} << slot), std::memory_order_release);
    return kSharedSlot;
  }
  thread_slot = slot;
  return slot;
}

}  // namespace wavetune::internal
