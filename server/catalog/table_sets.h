// TableSets: table sets that clients have announced, by digest, so that other
// ranks of a job can ask for what their first rank decides with.
//
// In memory and bounded: a set is a few hundred bytes, is needed while a job
// starts, and is announced again by whoever publishes it. A set's digest is its
// content's, so nobody can announce something else under it.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_CATALOG_TABLE_SETS_H_
#define WAVETUNE_SERVER_CATALOG_TABLE_SETS_H_

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace wavetune {

class TableSets {
 public:
  // Kernel name -> hex digest of its table.
  using Set = std::map<std::string, std::string>;

  static constexpr size_t kMaxSets = 1024;
  // Names and digests in all sets: anybody may announce, and 1024 of the
  // largest would be half of a daemon's bound.
  static constexpr size_t kMaxBytes = size_t{4} << 20;
  static constexpr size_t kMaxEntries = 256;
  static constexpr size_t kMaxNameLength = 256;

  // Keeps a set, in place of those that were announced longest ago where there
  // are too many or they are too large, and returns its digest. Errors:
  // INVALID_ARGUMENT for a set without entries or with more than kMaxEntries,
  // and for a name or digest that is none.
  absl::StatusOr<std::string> Announce(const Set& set);

  std::optional<Set> Find(const std::string& digest) const;

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  size_t bytes_ = 0;
  std::map<std::string, Set> sets_;
  std::deque<std::string> order_;  // Digests, the oldest first.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_TABLE_SETS_H_
