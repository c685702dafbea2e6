// Backoff: how long to wait before trying again: exponential, with jitter, so
// that the clients of a daemon that restarts do not all come at once.
//
// Thread safety: one thread at a time.
#ifndef WAVETUNE_BASE_BACKOFF_H_
#define WAVETUNE_BASE_BACKOFF_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace wavetune {

class Backoff {
 public:
  using Duration = std::chrono::milliseconds;

  // The n-th wait after a success lies between half of and all of
  // min(first * 2^n, longest).
  Backoff(Duration first, Duration longest,
          uint64_t seed = std::random_device{}())
      : first_(first), longest_(longest), next_(first), random_(seed) {}

  // Returns the next wait. Cannot fail.
  Duration Next() {
    const Duration most = next_;
    next_ = std::min(2 * next_, longest_);
    return Duration(std::uniform_int_distribution<Duration::rep>(
        most.count() / 2, most.count())(random_));
  }

  // It worked: begins anew.
  void Reset() { next_ = first_; }

 private:
  const Duration first_;
  const Duration longest_;
  Duration next_;
  std::mt19937_64 random_;
};

}  // namespace wavetune

#endif  // WAVETUNE_BASE_BACKOFF_H_
