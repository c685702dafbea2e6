#include "server/rpc/call_durations.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

namespace wavetune {
namespace {

struct MethodList {
  std::mutex mutex;
  // Guarded by mutex.
  std::map<std::string, std::unique_ptr<CallDurations::Method>, std::less<>>
      methods;
};

MethodList& AllMethods() {
  // Never destroyed: calls may end while the process does.
  static MethodList* const list = new MethodList;
  return *list;
}

}  // namespace

void CallDurations::Method::Add(std::chrono::nanoseconds took,
                                absl::StatusCode code) {
  const double seconds = std::chrono::duration<double>(took).count();
  const auto bound =
      std::lower_bound(kBoundsS.begin(), kBoundsS.end(), seconds);
  const auto bucket = static_cast<size_t>(bound - kBoundsS.begin());
  const auto number = static_cast<size_t>(code);
  buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
  sum_ns_.fetch_add(took.count(), std::memory_order_relaxed);
  // absl numbers them as gRPC does.
  codes_[number < kCodes ? number : size_t{2}].fetch_add(
      1, std::memory_order_relaxed);
}

CallDurations::Counts CallDurations::Method::counts() const {
  Counts counts{.method = name_};
  for (size_t i = 0; i < counts.buckets.size(); ++i)
    counts.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
  for (size_t i = 0; i < counts.codes.size(); ++i)
    counts.codes[i] = codes_[i].load(std::memory_order_relaxed);
  counts.sum_s =
      1e-9 * static_cast<double>(sum_ns_.load(std::memory_order_relaxed));
  return counts;
}

CallDurations::Method& CallDurations::Of(absl::string_view method) {
  MethodList& all = AllMethods();
  std::lock_guard lock(all.mutex);
  std::unique_ptr<Method>& entry = all.methods[std::string(method)];
  if (entry == nullptr) entry = std::make_unique<Method>(method);
  return *entry;
}

std::vector<CallDurations::Counts> CallDurations::All() {
  MethodList& all = AllMethods();
  std::lock_guard lock(all.mutex);
  std::vector<Counts> counts;
  for (const auto& [name, method] : all.methods)
    counts.push_back(method->counts());
  return counts;
}

}  // namespace wavetune
