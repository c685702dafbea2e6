#include "model/decision_memo.h"

#include <atomic>

namespace wavetune {

uint64_t NewTableNumber() {
  static std::atomic<uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace wavetune
