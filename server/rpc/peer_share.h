// PeerShare: all that the connections of one peer, a user or an address, take
// of one relay (frame_relay.h). So many connections are no way around the
// bounds of one.
//
// Frames that move no call forward are work without end: pings, settings,
// windows, calls that are begun and reset. Each adds to a debt that time pays
// back; who is overdrawn is not read from until it is. Nothing fails: a peer
// that means well never notices, and one that does not waits in its own writes.
//
// Thread safety: for one thread.
#ifndef WAVETUNE_SERVER_RPC_PEER_SHARE_H_
#define WAVETUNE_SERVER_RPC_PEER_SHARE_H_

#include <algorithm>
#include <cstddef>

#include "base/clock.h"

namespace wavetune {

class PeerShare {
 public:
  // Calls at once over all connections: the streams that one user may have
  // (StreamSet), and a call beside each.
  static constexpr size_t kMostCalls = 4096;
  // What a frame costs, and a call that its peer gives up: gRPC takes some
  // 24 KiB for one, and frees them late.
  static constexpr double kFrameCost = 1;
  static constexpr double kResetCost = 40;
  // How much may be owed: calls of a node's processes that end together.
  static constexpr double kMostDebt = kResetCost * 1024;
  static constexpr double kPaidBackPerSecond = kMostDebt / 2;

  // Returns false, counting nothing, where as many calls run as may.
  bool BeginCall() {
    if (calls_ >= kMostCalls) return false;
    ++calls_;
    return true;
  }
  void EndCall() { --calls_; }

  void Owe(double cost) { debt_ += cost; }
  void PayBack(double cost) { debt_ = std::max(0.0, debt_ - cost); }
  // Whether nothing more is to be read at `now`.
  bool Overdrawn(Clock::Duration now) {
    Settle(now);
    return debt_ > kMostDebt;
  }
  // Whether a peer that has gone leaves nothing to remember.
  bool Settled(Clock::Duration now) {
    Settle(now);
    return calls_ == 0 && debt_ == 0;
  }

 private:
  void Settle(Clock::Duration now) {
    PayBack(std::chrono::duration<double>(now - settled_).count() *
            kPaidBackPerSecond);
    settled_ = now;
  }

  size_t calls_ = 0;
  double debt_ = 0;
  Clock::Duration settled_{0};
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_PEER_SHARE_H_
