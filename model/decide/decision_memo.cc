#include "model/decide/decision_memo.h"

#include <atomic>

namespace wavetune {
namespace {

constinit thread_local DecisionMemo thread_memo;

}  // namespace

DecisionMemo& DecisionMemo::OfThread() { return thread_memo; }

uint64_t NewTableNumber() {
  static std::atomic<uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace wavetune
