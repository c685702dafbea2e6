// FleetTestNode: what a daemon has of a fleet, with stores in memory, one
// device and a catalog of its own; the registry is the caller's.
//
//   FleetTestNode node({.registry = &registry, .kernels = &kernels});
//   node.Start();
//   const std::string digest = node.Profile("copy", 10);
//
// Thread safety: one thread at a time.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_TEST_NODE_H_
#define WAVETUNE_SERVER_FLEET_FLEET_TEST_NODE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "server/catalog/disk_kernel_catalog.h"
#include "server/fleet/fleet_tables.h"
#include "server/fleet/fleet_test_support.h"
#include "server/jobs/fake_profiling.h"
#include "server/store/fake_fleet_head_store.h"
#include "server/store/fake_stores.h"

namespace wavetune::testing {

// Returns a list that trusts the keys of these seeds. Cannot fail.
inline std::string TrustIn(const std::vector<char>& seeds) {
  std::string list;
  for (const char seed : seeds)
    list += TestSigningKey(seed).public_key() + " *\n";
  return list;
}

class FleetTestNode {
 public:
  struct Options {
    FleetRegistry* registry = nullptr;     // Outlives the node.
    DiskKernelCatalog* kernels = nullptr;  // As well; nodes may share it.
    std::string name = "a";
    char key = 0;  // Seed of the key that it signs with; 0: none.
    std::string trust = TrustIn({1, 2});
    DeviceFacts device = TestFleetDevice();
    std::chrono::milliseconds jitter{1};
    std::chrono::milliseconds look_interval{20};
    // As FleetTables::Options.
    std::function<absl::StatusOr<RolloutPlan>(const ProfileKey&,
                                              const std::string&)>
        rollout_of = FleetTables::Options().rollout_of;
    std::function<std::string(const ProfileKey&, const std::string&)>
        trial_problem = FleetTables::Options().trial_problem;
  };

  explicit FleetTestNode(Options options) : options_(std::move(options)) {
    EXPECT_TRUE(device_store_.Put({.facts = options_.device}).ok());
    EXPECT_TRUE(devices_.Load().ok());
  }

  void Start() {
    const Options& my = options_;
    trust_ = FleetTrust::Parse(my.trust).value();
    fleet_ = std::make_unique<FleetTables>(FleetTables::Options{
        .registry = my.registry,
        .tables = &tables_,
        .devices = &devices_,
        .admission = &admission_,
        .accepted = &accepted_,
        .clock = &clock_,
        .fleet = "/wavetune/",
        .node = my.name,
        .trust = trust_,
        .key = my.key == 0
                   ? nullptr
                   : std::make_shared<SigningKey>(TestSigningKey(my.key)),
        .jitter = my.jitter,
        .look_interval = my.look_interval,
        .rollout_of = my.rollout_of,
        .trial_problem = my.trial_problem,
        .halted =
            [this](const FleetHead& head, const std::string& why) {
              const std::lock_guard lock(mutex_);
              halted_.push_back(head.digest + " " + why);
            },
        .lost =
            [this](const TableRecord& own, const FleetHead& winner) {
              const std::lock_guard lock(mutex_);
              lost_.push_back(own.digest + " " + winner.digest);
            },
        .log =
            [this](bool, const std::string& line) {
              const std::lock_guard lock(mutex_);
              said_ += line + "\n";
            },
    });
    ASSERT_TRUE(fleet_->Start().ok());
  }
  // The file of trusted keys is another one, and is read again.
  void Trust(const std::string& list) {
    EXPECT_TRUE(trust_.Replace(FleetTrust::Parse(list).value()));
    fleet_->JudgeAnew();
  }
  void Stop() { fleet_.reset(); }

  ProfileKey Key(const std::string& kernel = "copy") {
    const DeviceFacts& device = options_.device;
    return {kernel, *options_.kernels->Fingerprint(kernel, device),
            SiliconKey(device), EnvironmentKey(device)};
  }
  // A job here promotes a table; returns its digest.
  std::string Promote(const std::string& kernel, const Table& table) {
    TableRecord record{.key = Key(kernel)};
    record.how = PromotionKind::kProfiled;
    record.why = "measured";
    const auto promoted = tables_.Promote(record, *EncodeTable(table));
    EXPECT_TRUE(promoted.ok()) << promoted.status();
    return promoted.ok() ? promoted->digest : "";
  }
  // One that always answers `latency_us`.
  std::string Profile(double latency_us, const std::string& kernel = "copy") {
    const KernelSpec& spec = **options_.kernels->Spec(kernel);
    return Promote(kernel, FixedTable(spec, Key(kernel),
                                      spec.default_configuration, latency_us));
  }
  // Digest of what serves; empty: nothing does.
  std::string Serving(const std::string& kernel = "copy") {
    const auto match =
        tables_.Find({.kernel = kernel, .device = options_.device});
    return match.ok() ? match->serving.record.digest : "";
  }

  // Whether that is `digest`, and this node has noted so of the fleet: a table
  // serves a moment before the node has accepted its head.
  bool Serves(const std::string& digest) {
    if (Serving() != digest) return false;
    if (digest.empty() || fleet_ == nullptr) return true;
    const FleetView view = fleet_->View();
    return std::any_of(
        view.heads.begin(), view.heads.end(),
        [&](const FleetView::Standing& head) {
          return head.trial_digest == digest ||
                 (head.accepted && head.accepted->digest == digest);
        });
  }

  // Tables of its own that another node was ahead of, each with that one's.
  std::vector<std::string> Lost() {
    const std::lock_guard lock(mutex_);
    return lost_;
  }
  // Rollouts that were halted, each with why.
  std::vector<std::string> Halted() {
    const std::lock_guard lock(mutex_);
    return halted_;
  }
  // The device has come back, with another driver.
  void SetDriver(const std::string& driver) {
    options_.device.driver = driver;
    EXPECT_TRUE(device_store_.Put({.facts = options_.device}).ok());
    EXPECT_TRUE(devices_.Load().ok());
  }
  // What it has logged.
  std::string Said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

  FakeClock clock_;
  FakeTableStore store_;
  FakeSampleStore samples_;
  FakeDeviceStore device_store_;
  FakeFleetHeadStore accepted_;
  TableCatalog tables_{&store_, [](const std::string&) {}};
  AgentDirectory devices_{&device_store_, &clock_};
  Options options_;
  TableAdmission admission_{&devices_, options_.kernels, &samples_, &clock_};
  std::mutex mutex_;
  std::string said_;               // Guarded by mutex_.
  std::vector<std::string> lost_;  // The same.
  std::vector<std::string> halted_;
  FleetTrust trust_;
  std::unique_ptr<FleetTables> fleet_;
};

// Waits until all of them serve it, half a minute at most.
inline bool AllServe(const std::vector<FleetTestNode*>& nodes,
                     const std::string& digest) {
  return Eventually([&] {
    return std::all_of(nodes.begin(), nodes.end(), [&](FleetTestNode* node) {
      return node->Serves(digest);
    });
  });
}

}  // namespace wavetune::testing

#endif  // WAVETUNE_SERVER_FLEET_FLEET_TEST_NODE_H_
