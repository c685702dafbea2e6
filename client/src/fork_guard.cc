#include "client/src/fork_guard.h"

#include <pthread.h>

#include <atomic>

namespace wavetune {
namespace {

// Shared by all who hold a ForkSafeMutex; a fork takes it alone. Prefers
// readers, so that one thread may hold several mutexes while a fork waits.
pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
constinit std::atomic<uint32_t> generation{0};

void CloseGate() { pthread_rwlock_wrlock(&gate); }

void AfterForkInParent() { pthread_rwlock_unlock(&gate); }

void OpenGateInChild() {
  // Anew, and not unlocked: who locked it is a thread of the parent.
  pthread_rwlock_init(&gate, nullptr);
  generation.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

uint32_t ForkGeneration() noexcept {
  return generation.load(std::memory_order_relaxed);
}

void PrepareForForks() noexcept {
  static const bool prepared =
      pthread_atfork(CloseGate, AfterForkInParent, OpenGateInChild) == 0;
  (void)prepared;
}

void ForkSafeMutex::lock() {
  pthread_rwlock_rdlock(&gate);
  mutex_.lock();
}

void ForkSafeMutex::unlock() {
  mutex_.unlock();
  pthread_rwlock_unlock(&gate);
}

}  // namespace wavetune
