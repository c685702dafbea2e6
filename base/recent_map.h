// RecentMap: the few values that were used last, by key.
//
//   RecentMap<Kernel> kernels(8);
//   kernels.Put(fingerprint, kernel);          // May push the oldest one out.
//   if (Kernel* kernel = kernels.Find(fingerprint)) Use(*kernel);
//
// Two of the same limit that are asked the same in the same order hold the
// same: so a sender knows what the receiver keeps. For a handful of values: a
// look-up reads all keys. Thread safety: none.
#ifndef WAVETUNE_BASE_RECENT_MAP_H_
#define WAVETUNE_BASE_RECENT_MAP_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace wavetune {

template <typename Value>
class RecentMap {
 public:
  RecentMap() = default;  // Keeps nothing.
  explicit RecentMap(size_t limit) : limit_(limit) {}

  // Returns the value, which is now the one used last, or nullptr. Valid until
  // the next call.
  Value* Find(absl::string_view key) {
    const auto entry = Locate(key);
    if (entry == entries_.end()) return nullptr;
    std::rotate(entry, entry + 1, entries_.end());
    return &entries_.back().second;
  }

  // Adds or replaces a value, which is now the one used last.
  void Put(absl::string_view key, Value value) {
    Erase(key);
    if (limit_ == 0) return;
    if (entries_.size() == limit_) entries_.erase(entries_.begin());
    entries_.emplace_back(std::string(key), std::move(value));
  }

  void Erase(absl::string_view key) {
    const auto entry = Locate(key);
    if (entry != entries_.end()) entries_.erase(entry);
  }

  size_t size() const { return entries_.size(); }
  size_t limit() const { return limit_; }

 private:
  using Entries = std::vector<std::pair<std::string, Value>>;

  typename Entries::iterator Locate(absl::string_view key) {
    return std::find_if(
        entries_.begin(), entries_.end(),
        [key](const auto& entry) { return entry.first == key; });
  }

  size_t limit_ = 0;
  Entries entries_;  // The one used last is the last.
};

}  // namespace wavetune

#endif  // WAVETUNE_BASE_RECENT_MAP_H_
