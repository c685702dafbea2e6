// FleetLender: lends this node's idle boards to nodes that profile for the
// fleet (fleet_borrower.h).
//
// Where another node does a profile of a class and kernel that are this node's
// as well, and fewer than kMostLentBoards boards are lent to it, the board is
// offered. What comes for it is run on its agent, with this node's own kernel,
// as long as no job here wants the board and nobody else uses it; what comes of
// it is told every tenth of a second. A board that is wanted here, is used by
// others, hot or lost, or whose batch cannot be run, is taken back.
//
//   FleetLender lender({.registry = &registry, …});
//   lender.Start();
//
// Only who may sign for the class has batches run; no code travels.
//
// Thread safety: thread-safe; a thread of its own waits for the network, and
// one for each board that is lent.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_LENDER_H_
#define WAVETUNE_SERVER_FLEET_FLEET_LENDER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/periodic_task.h"
#include "base/signing_key.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/kernel_catalog.h"
#include "server/fleet/board_messages.h"
#include "server/fleet/fleet_registry.h"
#include "server/fleet/fleet_trust.h"
#include "server/fleet/fleet_view.h"
#include "server/jobs/device_leases.h"
#include "server/jobs/measurement_executor.h"

namespace wavetune {

class FleetLender {
 public:
  // Pointers outlive the object.
  struct Options {
    FleetRegistry* registry = nullptr;
    KernelCatalog* kernels = nullptr;
    ExecutorDirectory* executors = nullptr;
    std::shared_ptr<DeviceLeases> leases;
    FleetParty party;
    FleetTrust trust;
    std::shared_ptr<const SigningKey> key;  // nullptr: it lends nothing.
    // AgentDirectory::List.
    std::function<std::vector<AgentDirectory::Known>()> devices;
    // FleetProfiles::View.
    std::function<std::vector<FleetView::Profile>()> profiles;
    std::chrono::milliseconds look_interval{500};
    // What many nodes would do at once, each does after a random part of it.
    std::chrono::milliseconds jitter{2000};
    // Until a node looks again whether there is room for one more board (and a
    // random part of it more), or offers one again that was taken back.
    std::chrono::milliseconds retry_interval{60000};
    std::chrono::milliseconds report_interval{100};
    // Between signs that a board is there.
    std::chrono::milliseconds sign_interval{3000};
    std::function<void(bool warning, const std::string&)> log =
        [](bool, const std::string&) {};
  };
  // Since the start.
  struct Counts {
    int64_t lent = 0;               // Boards now.
    int64_t refused_signature = 0;  // Batches that are forged, or not trusted.
    int64_t refused_replayed = 0;
  };

  explicit FleetLender(Options options);
  ~FleetLender();  // Stops.

  void Start();
  // After the registry has stopped: no call of it waits any more.
  void Stop();

  Counts counts() const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Board;
  struct Profile {  // That another node does.
    ProfileKey key;
    std::string holder;
    Time offer_at{};
  };

  void LookSoon();
  void Look();
  std::chrono::milliseconds Random(std::chrono::milliseconds most);
  // Whether a board could be lent, or goes on being lent.
  bool IsFree(const std::string& uuid) const;
  bool IsOffered(const Board& board) const;
  std::vector<DeviceFacts> FreeBoards(const ProfileKey& key) const;
  // Offers boards where there is room.
  void Offer(const std::string& boards, Profile& profile);
  // Errors: ABORTED: the place is taken.
  absl::Status OfferOne(const std::string& boards, const Profile& profile,
                        const std::string& place, const DeviceFacts& device);
  void LookLater(Profile& profile);
  // Whether an offer is of this node, which does not know of it: nobody
  // answered when it was made, or taken back.
  bool IsLeftOver(const FleetEntry& entry, const ProfileKey& key) const;
  // Goes on with a board that is lent, or takes it back.
  void Tend(Board& board);
  void TakeBack(Board& board, const std::string& why);

  void OnNews(Board& board, const FleetNews& news);
  // These hold the board's mutex.
  void TakeBatch(Board& board, const FleetEntry& entry, bool listed);
  static void GiveUp(Board& board, const std::string& why);
  // Runs batches until the board is given up.
  void Serve(const std::shared_ptr<Board>& board);
  // `reports`: those that are not told yet.
  absl::Status RunBatch(const std::shared_ptr<Board>& board,
                        const v1::FleetBatchContent& batch,
                        std::vector<v1::AttachRequest>& reports);
  // Tells reports; none: that the board is there. False: nobody was told.
  bool Tell(Board& board, std::vector<v1::AttachRequest> reports);

  const Options options_;
  std::atomic<int64_t> lent_ = 0;
  std::atomic<int64_t> refused_signature_ = 0;
  std::atomic<int64_t> refused_replayed_ = 0;
  // Of Look alone.
  std::map<std::string, Profile> profiles_;  // By BoardsPrefix.
  std::map<std::string, std::shared_ptr<Board>> lent_boards_;  // By UUID.
  std::map<std::string, Time> not_before_;                     // The same.
  std::mt19937_64 random_{std::random_device{}()};
  PeriodicTask looks_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_LENDER_H_
