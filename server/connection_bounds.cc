#include "server/connection_bounds.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

// Twice the thousand watchers of the daemon's budget for one user, as the
// serving processes of a node are often all one user's.
constexpr ConnectionBounds kReader{4096, 2048};
// One agent a node is usual.
constexpr ConnectionBounds kAgent{64, 32};
// People and scripts.
constexpr ConnectionBounds kAdmin{256, 128};

// The store's files (RocksDB keeps at most 64 open), logs, kernel folders,
// threads' own.
constexpr uint64_t kDescriptorsForOthers = 256;
// The connection, and the one that notices its end.
constexpr uint64_t kDescriptorsPerConnection = 2;

ConnectionBounds Scaled(const ConnectionBounds& bounds, double factor) {
  const auto scale = [factor](size_t count) {
    return std::max<size_t>(
        4, static_cast<size_t>(static_cast<double>(count) * factor));
  };
  return {scale(bounds.in_all), scale(bounds.per_user)};
}

}  // namespace

SocketBounds BoundsFor(uint64_t descriptors) {
  constexpr uint64_t kWanted = kReader.in_all + kAgent.in_all + kAdmin.in_all +
                               3 * ConnectionCounts::kKeptForOwners;
  const uint64_t left =
      descriptors > 2 * kDescriptorsForOthers
          ? (descriptors - kDescriptorsForOthers) / kDescriptorsPerConnection
          : descriptors / (2 * kDescriptorsPerConnection);
  if (left >= kWanted) return {kReader, kAgent, kAdmin};
  const double factor =
      static_cast<double>(left) / static_cast<double>(kWanted);
  return {Scaled(kReader, factor), Scaled(kAgent, factor),
          Scaled(kAdmin, factor)};
}

absl::Status ConnectionCounts::Admit(uid_t user) {
  const size_t of_user = Of(user);
  if (of_user >= bounds_.per_user) {
    return absl::ResourceExhaustedError(
        absl::StrCat("user ", user, " has ", of_user,
                     " connections, the most that one user may have: share "
                     "one client per process, or close some"));
  }
  const bool owner = user == 0 || user == own_user_;
  if (in_all_ >= bounds_.in_all + (owner ? kKeptForOwners : 0)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", in_all_,
                     " connections, the most that this socket takes"));
  }
  ++in_all_;
  ++by_user_[user];
  return absl::OkStatus();
}

void ConnectionCounts::Release(uid_t user) {
  const auto it = by_user_.find(user);
  if (it == by_user_.end()) return;
  --in_all_;
  if (--it->second == 0) by_user_.erase(it);
}

size_t ConnectionCounts::Of(uid_t user) const {
  const auto it = by_user_.find(user);
  return it == by_user_.end() ? 0 : it->second;
}

}  // namespace wavetune
