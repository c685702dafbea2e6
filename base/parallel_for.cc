#include "base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "base/host_resources.h"

namespace wavetune {
namespace {

constexpr size_t kMostThreads = 8;

}  // namespace

size_t ComputeThreads() {
  static const size_t threads = std::min(
      static_cast<size_t>(UsableCpus(ReadHostResources())), kMostThreads);
  return threads;
}

void ParallelFor(size_t count, absl::FunctionRef<void(size_t)> step,
                 size_t threads) {
  std::atomic<size_t> next = 0;
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) step(i);
  };
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < std::min(threads, count)) {
      others.emplace_back(run);
    }
  } catch (const std::system_error&) {
    // No more threads: those that are there do it.
  }
  run();
  for (std::thread& other : others) other.join();
}

}  // namespace wavetune
