// FleetBorrower: boards of other nodes for what this node profiles for the
// fleet.
//
// Nodes of the class lend them (fleet_lender.h); here each is an AgentDevice
// whose stream goes through the registry, so that jobs see a board like any
// other (AgentDirectory::Lend). One whose node takes it back, or dies, is gone
// as one whose agent is. Where the registry goes silent all are, and come
// again after it: jobs go on with this node's own.
//
//   FleetBorrower borrower({.registry = &registry, …});
//   borrower.Start();
//
// Thread safety: thread-safe; one thread of its own waits for the network.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_BORROWER_H_
#define WAVETUNE_SERVER_FLEET_FLEET_BORROWER_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/signing_key.h"
#include "server/agents/agent_device.h"
#include "server/fleet/board_messages.h"
#include "server/fleet/fleet_profile.h"
#include "server/fleet/fleet_registry.h"
#include "server/fleet/fleet_trust.h"

namespace wavetune {

class FleetBorrower {
 public:
  // Pointers outlive the object.
  struct Options {
    FleetRegistry* registry = nullptr;
    FleetParty party;
    FleetTrust trust;
    // nullptr: it holds nothing, and borrows nothing.
    std::shared_ptr<const SigningKey> key;
    // FleetProfiles::Held.
    std::function<std::vector<HeldProfile>()> held;
    // AgentDirectory::Lend.
    std::function<void(uint64_t job, std::vector<std::shared_ptr<AgentDevice>>)>
        lend;
    std::chrono::milliseconds look_interval{500};
    // A board of which nothing is heard for longer is lost.
    double silence_s = 10;
    std::function<void(bool warning, const std::string&)> log =
        [](bool, const std::string&) {};
  };
  // Since the start.
  struct Counts {
    int64_t borrowed = 0;           // Boards now.
    int64_t refused_signature = 0;  // Forged, or not trusted.
    int64_t refused_replayed = 0;
  };

  explicit FleetBorrower(Options options);
  ~FleetBorrower();  // Stops.

  void Start();
  // After the registry has stopped: no call of it waits any more.
  void Stop();

  Counts counts();

 private:
  // Messages on their way to the registry; devices outlive the borrower.
  struct Outbox;
  struct Board {
    int64_t revision = 0;  // Of its offer.
    std::string offer;     // Its id.
    std::string node;
    std::string public_key;
    std::shared_ptr<AgentDevice> device;
    std::shared_ptr<AgentDevice::Stream> stream;
    uint64_t number = 0;  // Of its last report.
  };
  struct Profile {
    HeldProfile held;
    std::unique_ptr<FleetRegistry::WatchHandle> watch;
    // By place. A board that was lost while its offer stands is taken anew with
    // the next news.
    std::map<std::string, FleetEntry> offers;
    std::map<std::string, Board> boards;
  };

  void Run();
  // Watches for what is held, and no longer for what is not.
  void Look();
  void SendBatches();
  void OnNews(const std::string& boards, const FleetNews& news);
  // These hold mutex_.
  void TakeOffers(const std::string& boards, Profile& profile);
  // Returns false where it is none to be kept.
  bool TakeOffer(const std::string& boards, Profile& profile,
                 const FleetEntry& entry);
  void TakeReport(Profile& profile, const FleetEntry& entry);
  void LoseAll(Profile& profile, const std::string& why);
  void Lose(Profile& profile, const std::string& place, const std::string& why);
  void Lend(const Profile& profile);
  void Refuse(int64_t Counts::*count, const std::string& why);

  const Options options_;
  const std::shared_ptr<Outbox> outbox_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, Profile> profiles_;  // By BoardsPrefix.
  Counts counts_;
  std::string refused_;  // The last reason that was told.
  std::thread thread_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_BORROWER_H_
