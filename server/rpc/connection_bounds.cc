#include "server/rpc/connection_bounds.h"

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
// Clients of other nodes whose own daemon is away, and people; of one address
// all that run there.
constexpr ConnectionBounds kTcp{1024, 256};

// The store's files (RocksDB keeps at most 64 open), logs, kernel folders,
// threads' own.
constexpr uint64_t kDescriptorsForOthers = 256;
// The connection, and the pair between relay and gRPC.
constexpr uint64_t kDescriptorsPerConnection = 3;

ConnectionBounds Scaled(const ConnectionBounds& bounds, double factor) {
  const auto scale = [factor](size_t count) {
    return std::max<size_t>(
        4, static_cast<size_t>(static_cast<double>(count) * factor));
  };
  return {scale(bounds.in_all), scale(bounds.per_user)};
}

}  // namespace

SocketBounds BoundsFor(uint64_t descriptors, bool over_tcp) {
  const ConnectionBounds tcp = over_tcp ? kTcp : ConnectionBounds{};
  const uint64_t wanted = kReader.in_all + kAgent.in_all + kAdmin.in_all +
                          tcp.in_all + 3 * ConnectionCounts::kKeptForOwners;
  const uint64_t left =
      descriptors > 2 * kDescriptorsForOthers
          ? (descriptors - kDescriptorsForOthers) / kDescriptorsPerConnection
          : descriptors / (2 * kDescriptorsPerConnection);
  if (left >= wanted) return {kReader, kAgent, kAdmin, tcp};
  const double factor = static_cast<double>(left) / static_cast<double>(wanted);
  return {Scaled(kReader, factor), Scaled(kAgent, factor),
          Scaled(kAdmin, factor),
          over_tcp ? Scaled(tcp, factor) : ConnectionBounds{}};
}

std::string ConnectionPeer::Text() const {
  if (address.empty()) return absl::StrCat("user ", user);
  return absl::StrCat("address ", address);
}

absl::Status ConnectionCounts::Admit(const ConnectionPeer& peer) {
  const size_t of_user = Of(peer.user);
  const bool one_has_all = of_user >= bounds_.per_user;
  if (!one_has_all && in_all_ < bounds_.in_all) {
    ++in_all_;
    ++by_user_[peer.user];
    return absl::OkStatus();
  }
  if (TakeKept(peer)) return absl::OkStatus();
  if (one_has_all) {
    return absl::ResourceExhaustedError(absl::StrCat(
        peer.Text(), " has ", of_user, " connections, the most that one ",
        peer.address.empty() ? "user" : "address",
        " may have: share one client per process, or close some"));
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "there are ", in_all_, " connections, the most that this socket takes"));
}

bool ConnectionCounts::TakeKept(const ConnectionPeer& peer) {
  if (peer.user != 0 && peer.user != own_user_) return false;
  return kept_.size() < kKeptForOwners &&
         kept_.try_emplace(peer.process, peer.user).second;
}

void ConnectionCounts::Release(const ConnectionPeer& peer) {
  // Whichever of a process's connections has ended.
  const auto kept = kept_.find(peer.process);
  if (kept != kept_.end() && kept->second == peer.user) {
    kept_.erase(kept);
    return;
  }
  const auto it = by_user_.find(peer.user);
  if (it == by_user_.end()) return;
  --in_all_;
  if (--it->second == 0) by_user_.erase(it);
}

size_t ConnectionCounts::Of(uid_t user) const {
  const auto it = by_user_.find(user);
  return it == by_user_.end() ? 0 : it->second;
}

}  // namespace wavetune
