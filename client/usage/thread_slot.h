// ThreadSlot: a small number for the calling thread that no other live thread
// has, so that per-thread counters need no lock and no atomic
// read-modify-write.
//
//   counters[ThreadSlot()].Add(1);
//
// The first kThreadSlots - 1 threads alive at a time get a number of their own,
// given back when the thread ends; all others share kSharedSlot. What a thread
// wrote under its number happens before what the next owner reads.
//
// Thread safety: any thread.
#ifndef WAVETUNE_CLIENT_USAGE_THREAD_SLOT_H_
#define WAVETUNE_CLIENT_USAGE_THREAD_SLOT_H_

#include <cstdint>

namespace wavetune {

inline constexpr uint32_t kThreadSlots = 32;
inline constexpr uint32_t kSharedSlot = kThreadSlots - 1;

namespace internal {

inline constexpr uint32_t kNoSlot = UINT32_MAX;

// Not initial-exec, for the reason that client/src/read_section.h gives: a
// library with such a variable and the decision memo cannot be loaded late.
extern constinit thread_local uint32_t thread_slot;

// Takes a number for the calling thread and returns it. Allocates nothing; one
// atomic operation.
uint32_t TakeThreadSlot() noexcept;

}  // namespace internal

// Returns the calling thread's number, below kThreadSlots. Cannot fail. Cost: a
// load; the first call of a thread takes a number.
inline uint32_t ThreadSlot() noexcept {
  const uint32_t slot = internal::thread_slot;
  if (slot != internal::kNoSlot) [[likely]]
    return slot;
  return internal::TakeThreadSlot();
}

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_USAGE_THREAD_SLOT_H_
