// MemoryReturn: gives the memory that a job or a burst of streams took back to
// the system.
//
// Why: the C library keeps freed memory in each of its arenas, and each fit's
// thread may get another arena. So a daemon would keep the size of its worst
// minute for months. It is given back more than once, as connections, their
// buffers and a job's threads end some time after the counted work.
//
// Thread safety: for one thread, which looks now and then.
#ifndef WAVETUNE_SERVER_RPC_MEMORY_RETURN_H_
#define WAVETUNE_SERVER_RPC_MEMORY_RETURN_H_

#include <cstddef>
#include <functional>
#include <utility>

namespace wavetune {

class MemoryReturn {
 public:
  // Streams that make a burst: fewer leave some MiB at most.
  static constexpr size_t kBurst = 256;
  // Looks in which memory is given back after a burst: each kEvery-th.
  static constexpr int kLooks = 60;
  static constexpr int kEvery = 10;

  explicit MemoryReturn(std::function<void()> give_back)
      : give_back_(std::move(give_back)) {}

  // `streams` and `jobs` have ended since the last look.
  void Look(size_t streams, size_t jobs) {
    ended_ += streams + jobs * kBurst;
    if (looks_left_ == 0 && ended_ >= kBurst) {
      ended_ = 0;
      looks_left_ = kLooks;
    }
    if (looks_left_ == 0) return;
    if (--looks_left_ % kEvery == 0) give_back_();
  }

 private:
  const std::function<void()> give_back_;
  size_t ended_ = 0;
  int looks_left_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_MEMORY_RETURN_H_
