#include "profiler_agent/worker/starved_time.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/numbers.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

using ByThread = std::map<pid_t, Clock::Duration>;

// A worker's compiler, whose keeper is between them, and what that starts.
constexpr int kGenerations = 4;

void AddThreads(pid_t pid, int generations, ByThread& starved) {
  std::error_code error;
  const fs::path tasks = "/proc/" + std::to_string(pid) + "/task";
  for (fs::directory_iterator it(tasks, error), end; !error && it != end;
       it.increment(error)) {
    int32_t thread = 0;
    if (!absl::SimpleAtoi(it->path().filename().string(), &thread)) continue;
    int64_t ran_ns = 0;
    int64_t starved_ns = 0;
    std::ifstream schedstat(it->path() / "schedstat");
    if (schedstat >> ran_ns >> starved_ns) {
      starved[thread] = std::chrono::duration_cast<Clock::Duration>(
          std::chrono::nanoseconds(starved_ns));
    }
    if (generations <= 1) continue;
    std::ifstream children(it->path() / "children");
    for (pid_t child = 0; children >> child;) {
      AddThreads(child, generations - 1, starved);
    }
  }
}

ByThread StarvedThreads(pid_t pid) {
  ByThread starved;
  AddThreads(pid, kGenerations, starved);
  return starved;
}

}  // namespace

StarvedTime::StarvedTime(pid_t pid, Clock::Duration most)
    : pid_(pid), left_(most), before_(StarvedThreads(pid)) {}

Clock::Duration StarvedTime::Take() {
  ByThread now = StarvedThreads(pid_);
  Clock::Duration longest{};
  for (const auto& [thread, starved] : now) {
    const auto it = before_.find(thread);
    longest =
        std::max(longest, it == before_.end() ? starved : starved - it->second);
  }
  before_ = std::move(now);
  longest = std::min(longest, left_);
  left_ -= longest;
  return longest;
}

}  // namespace wavetune
