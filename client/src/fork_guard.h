// ForkGeneration and ForkSafeMutex: what a library that lives in other people's
// processes needs where these fork.
//
// After fork() the child has one thread, and the state as it was. Threads that
// it believes to have are not there, and a mutex that another thread held stays
// locked for ever. So data that a ForkSafeMutex guards is whole and unlocked in
// the child, because a fork waits for those who hold one. Who has threads or
// connections remembers the generation in which it got them:
//
//   const uint32_t born = ForkGeneration();
//   ...
//   if (born != ForkGeneration()) return;  // Not ours: it was the parent's.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_CLIENT_SRC_FORK_GUARD_H_
#define WAVETUNE_CLIENT_SRC_FORK_GUARD_H_

#include <cstdint>
#include <mutex>

namespace wavetune {

// Returns how many forks lie between this process and the one that first called
// PrepareForForks. Cannot fail. Cost: a load.
uint32_t ForkGeneration() noexcept;

// Registers what fork() calls (pthread_atfork), once per process. Call it
// before anything that a fork may cut. Cannot fail.
void PrepareForForks() noexcept;

// A mutex that no fork catches locked: fork() waits for those who hold it. Hold
// it for moments only, and do not fork meanwhile. For std::lock_guard. Cost:
// some tens of nanoseconds more than std::mutex.
class ForkSafeMutex {
 public:
  ForkSafeMutex() = default;
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock();
  void unlock();

 private:
  std::mutex mutex_;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_FORK_GUARD_H_
