// Nodes of one fleet, each with stores, devices and a catalog of its own.
#include "server/fleet/fleet_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/digest.h"
#include "base/fake_clock.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "server/catalog/disk_kernel_catalog.h"
#include "server/fleet/fake_fleet_registry.h"
#include "server/fleet/fleet_test_support.h"
#include "server/jobs/fake_profiling.h"
#include "server/store/fake_fleet_head_store.h"
#include "server/store/fake_stores.h"
#include "server/test_folder.h"

namespace wavetune::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

DeviceFacts TheDevice() {
  return {.uuid = "CPU-1",
          .label = "a CPU",
          .backend = "opencl",
          .multiprocessors = 4,
          .driver = "1",
          .compiler = "PoCL 3.1"};
}

std::string TrustIn(const std::vector<char>& seeds) {
  std::string list;
  for (const char seed : seeds)
    list += TestSigningKey(seed).public_key() + " *\n";
  return list;
}

// What a daemon has of it.
class Node {
 public:
  // `key`: seed of the key that it signs with; 0: none.
  Node(FakeFleet* fleet, const std::string& kernels, const std::string& name,
       char key, const std::string& trust = TrustIn({1, 2}))
      : registry_(fleet), kernels_({kernels}), name_(name), key_(key) {
    kernels_.Reload();
    trust_ = trust;
    EXPECT_TRUE(device_store_.Put({.facts = TheDevice()}).ok());
    EXPECT_TRUE(devices_.Load().ok());
    Start();
  }

  void Start() {
    registry_.Connect();
    fleet_ = std::make_unique<FleetTables>(FleetTables::Options{
        .registry = &registry_,
        .tables = &tables_,
        .devices = &devices_,
        .admission = &admission_,
        .accepted = &accepted_,
        .clock = &clock_,
        .fleet = "/wavetune/",
        .node = name_,
        .trust = FleetTrust::Parse(trust_).value(),
        .key = key_ == 0 ? nullptr
                         : std::make_shared<SigningKey>(TestSigningKey(key_)),
        .jitter = std::chrono::milliseconds(1),
        .look_interval = std::chrono::milliseconds(20),
    });
    ASSERT_TRUE(fleet_->Start().ok());
  }
  void Stop() { fleet_.reset(); }

  ProfileKey Key() {
    const DeviceFacts device = TheDevice();
    return {"copy", *kernels_.Fingerprint("copy", device), SiliconKey(device),
            EnvironmentKey(device)};
  }
  // A job here promotes a table that always answers `latency_us`.
  std::string Profile(double latency_us) {
    const KernelSpec& spec = **kernels_.Spec("copy");
    TableRecord record{.key = Key()};
    record.how = PromotionKind::kProfiled;
    record.why = "measured";
    const auto promoted = tables_.Promote(
        record, *EncodeTable(FixedTable(spec, Key(), spec.default_configuration,
                                        latency_us)));
    EXPECT_TRUE(promoted.ok()) << promoted.status();
    return promoted.ok() ? promoted->digest : "";
  }
  std::string Serving() {
    const auto match = tables_.Find({.kernel = "copy", .device = TheDevice()});
    return match.ok() ? match->serving.record.digest : "";
  }

  FakeClock clock_;
  FakeFleetRegistry registry_;
  FakeTableStore store_;
  FakeSampleStore samples_;
  FakeDeviceStore device_store_;
  FakeFleetHeadStore accepted_;
  TableCatalog tables_{&store_, [](const std::string&) {}};
  AgentDirectory devices_{&device_store_, &clock_};
  DiskKernelCatalog kernels_;
  TableAdmission admission_{&devices_, &kernels_, &samples_, &clock_};
  std::string trust_;
  const std::string name_;
  const char key_;
  std::unique_ptr<FleetTables> fleet_;
};

class FleetTablesTest : public ::testing::Test {
 protected:
  FleetTablesTest() { folder_.WriteKernel("copy"); }

  std::unique_ptr<Node> Join(const std::string& name, char key,
                             const std::string& trust = TrustIn({1, 2})) {
    return std::make_unique<Node>(&fleet_, folder_ / "kernels", name, key,
                                  trust);
  }
  static bool Eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 3000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  static bool AllServe(const std::vector<Node*>& nodes,
                       const std::string& digest) {
    return Eventually([&] {
      for (Node* node : nodes) {
        if (node->Serving() != digest) return false;
      }
      return true;
    });
  }
  // Writes an entry as somebody who can write to the registry.
  void Write(const std::string& key, const std::string& value) {
    FakeFleetRegistry somebody(&fleet_);
    ASSERT_TRUE(somebody.Commit({{.key = key, .value = value}}).ok());
  }
  std::string Read(const std::string& key) {
    FakeFleetRegistry somebody(&fleet_);
    const auto entry = somebody.Get(key);
    return entry.ok() ? entry->value : "";
  }

  const TestFolder folder_;
  FakeFleet fleet_;
};

TEST_F(FleetTablesTest, WhatOneNodePromotesEveryNodeOfTheClassServes) {
  const auto a = Join("a", 1);
  const auto b = Join("b", 0);
  const std::string first = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, first));
  const TableRecord served =
      b->tables_.Find({.kernel = "copy", .device = TheDevice()})
          ->serving.record;
  EXPECT_EQ(served.how, PromotionKind::kFleet);
  EXPECT_EQ(served.by, "a");
  EXPECT_EQ(served.why, "measured");
  EXPECT_FALSE(served.unverified);
  // One that joins later.
  const auto c = Join("c", 2);
  EXPECT_TRUE(AllServe({c.get()}, first));
  const std::string second = a->Profile(11);
  EXPECT_TRUE(AllServe({a.get(), b.get(), c.get()}, second));
  const FleetView view = c->fleet_->View();
  EXPECT_EQ(view.node, "c");
  EXPECT_TRUE(view.publishes);
  EXPECT_THAT(view.outage, IsEmpty());
  ASSERT_EQ(view.heads.size(), 1u);
  EXPECT_EQ(view.heads[0].kernel, "copy");
  EXPECT_EQ(view.heads[0].accepted->digest, second);
  EXPECT_EQ(view.heads[0].accepted->epoch, 2u);
  EXPECT_THAT(view.heads[0].behind, IsEmpty());
  EXPECT_EQ(a->fleet_->View().counts.published, 2);
  EXPECT_EQ(b->fleet_->View().counts.adopted, 2);
}

TEST_F(FleetTablesTest, ATableOfBeforeTheFleetIsPublishedUnlessThereIsOne) {
  const auto a = Join("a", 1);
  a->Stop();
  const std::string mine = a->Profile(10);
  const auto b = Join("b", 2);
  b->Stop();
  const std::string other = b->Profile(11);
  a->Start();
  ASSERT_TRUE(
      Eventually([&] { return a->fleet_->View().counts.published == 1; }));
  b->Start();
  ASSERT_TRUE(AllServe({a.get(), b.get()}, mine));
  // What lost stays a candidate.
  ASSERT_TRUE(Eventually([&] { return b->fleet_->View().counts.lost == 1; }));
  const auto rejected =
      b->tables_.Rejected("copy", SiliconKey(TheDevice())).value();
  ASSERT_EQ(rejected.size(), 1u);
  EXPECT_EQ(rejected[0].record.digest, other);
  EXPECT_THAT(rejected[0].reason, HasSubstr("node a published"));
}

TEST_F(FleetTablesTest, AfterAPartitionAllServeOneTable) {
  const auto a = Join("a", 1);
  const auto b = Join("b", 2);
  const std::string first = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, first));
  b->registry_.Disconnect();
  const std::string here = b->Profile(11);
  const std::string there = a->Profile(12);
  ASSERT_TRUE(
      Eventually([&] { return a->fleet_->View().counts.published == 2; }));
  EXPECT_EQ(b->Serving(), here);
  EXPECT_THAT(b->fleet_->View().outage, HasSubstr("does not answer"));
  b->registry_.Connect();
  EXPECT_TRUE(AllServe({a.get(), b.get()}, there));
  EXPECT_THAT(b->fleet_->View().outage, IsEmpty());
  // Where only it had promoted, its table is the fleet's.
  b->registry_.Disconnect();
  const std::string alone = b->Profile(13);
  b->registry_.Connect();
  EXPECT_TRUE(AllServe({a.get(), b.get()}, alone));
}

TEST_F(FleetTablesTest, ARegistryThatWasRestoredGetsTheNewerHeadBack) {
  const auto a = Join("a", 1);
  a->Profile(10);
  const std::string key = HeadKey(a->Key());
  ASSERT_TRUE(Eventually([&] { return !Read(key).empty(); }));
  const std::string old = Read(key);
  const std::string second = a->Profile(11);
  ASSERT_TRUE(
      Eventually([&] { return a->fleet_->View().counts.published == 2; }));
  const std::string newer = Read(key);
  // Restored from a backup; or somebody replays what was signed once.
  Write(key, old);
  EXPECT_TRUE(Eventually([&] { return Read(key) == newer; }));
  EXPECT_EQ(a->Serving(), second);
  EXPECT_EQ(a->fleet_->View().counts.refused_replayed, 1);
  // Or is empty, and the node has restarted.
  a->Stop();
  FakeFleetRegistry somebody(&fleet_);
  ASSERT_TRUE(somebody.DeleteBelow("").ok());
  a->Start();
  EXPECT_TRUE(Eventually([&] { return Read(key) == newer; }));
  EXPECT_THAT(Read(BlobKey(second)), ::testing::Not(IsEmpty()));
  EXPECT_EQ(a->Serving(), second);
}

TEST_F(FleetTablesTest, WhatNobodySignedIsRefusedEverywhereAndWrittenOver) {
  const auto a = Join("a", 1);
  const auto b = Join("b", 0);
  const std::string served = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, served));
  const std::string key = HeadKey(a->Key());
  const std::string good = Read(key);
  FleetHead other = ReadHead(key, good)->head;
  other.fleet = "/another/";
  other.epoch = 9;
  int64_t refused = 0;
  for (const std::string& bytes :
       {std::string("nonsense"), std::string(), good.substr(0, 40),
        std::string(FleetTables::kMostHeadBytes + 1, 'x'),
        SignHead(other, TestSigningKey(1))}) {
    b->registry_.Disconnect();
    Write(key, bytes);
    EXPECT_TRUE(Eventually([&] { return Read(key) == good; }));
    b->registry_.Connect();
    EXPECT_TRUE(Eventually([&] {
      return a->fleet_->View().counts.refused_signature == refused + 1;
    }));
    ++refused;
    EXPECT_EQ(b->Serving(), served);
  }
  EXPECT_EQ(a->fleet_->View().counts.restored, refused);
}

TEST_F(FleetTablesTest, WhatIsSignedByAStrangerIsRefusedAndStays) {
  const auto a = Join("a", 1);
  const std::string served = a->Profile(10);
  const std::string key = HeadKey(a->Key());
  ASSERT_TRUE(Eventually([&] { return !Read(key).empty(); }));
  FleetHead forged = ReadHead(key, Read(key))->head;
  forged.epoch = 9;
  const std::string bytes = SignHead(forged, TestSigningKey(9));
  Write(key, bytes);
  ASSERT_TRUE(Eventually(
      [&] { return a->fleet_->View().counts.refused_signature == 1; }));
  EXPECT_THAT(a->fleet_->View().heads.at(0).behind,
              HasSubstr("not in this node's list"));
  // Other nodes may know the key: nothing is written over it.
  a->Profile(11);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(Read(key), bytes);
  EXPECT_EQ(a->fleet_->View().counts.published, 1);
  EXPECT_EQ(a->fleet_->View().counts.refused_signature, 1);
}

TEST_F(FleetTablesTest, WhatARevokedKeySignedIsReplaced) {
  const auto a = Join("a", 1);
  const std::string first = a->Profile(10);
  const auto b = Join("b", 2);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, first));
  a->Stop();
  b->Stop();
  b->trust_ = TrustIn({2}) + "revoked " + TestSigningKey(1).public_key();
  b->Start();
  ASSERT_TRUE(Eventually(
      [&] { return b->fleet_->View().counts.refused_signature == 1; }));
  const std::string key = HeadKey(b->Key());
  const std::string second = b->Profile(11);
  ASSERT_TRUE(Eventually([&] {
    const auto head = ReadHead(key, Read(key));
    return head.ok() && head->head.digest == second;
  }));
  EXPECT_EQ(b->Serving(), second);
  EXPECT_EQ(b->fleet_->View().counts.restored, 0);
}

// Nodes upgrade a kernel one after the other.
TEST_F(FleetTablesTest, TwoVersionsOfAKernelDoNotFight) {
  const auto a = Join("a", 1);
  const std::string old = a->Profile(10);
  ASSERT_TRUE(
      Eventually([&] { return a->fleet_->View().counts.published == 1; }));
  folder_.Write("kernels/copy/copy.cl", "edited source");
  a->kernels_.Reload();
  const auto b = Join("b", 2);
  const std::string key = HeadKey(b->Key());
  ASSERT_TRUE(AllServe({b.get()}, old));
  const std::string edited = b->Profile(11);
  ASSERT_NE(old, edited);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, edited))
      << a->fleet_->View().heads.at(0).behind << " / "
      << b->fleet_->View().heads.at(0).behind;
  const std::string head = Read(key);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(Read(key), head);
  EXPECT_EQ(a->fleet_->View().counts.published, 1);
  EXPECT_EQ(b->fleet_->View().counts.published, 1);
}

TEST_F(FleetTablesTest, AnOwnTableIsPublishedOverOneThatCannotServe) {
  const auto a = Join("a", 1);
  a->Profile(10);
  const std::string key = HeadKey(a->Key());
  ASSERT_TRUE(Eventually([&] { return !Read(key).empty(); }));
  FleetHead lost = ReadHead(key, Read(key))->head;
  lost.digest = std::string(64, 'e');  // Nobody has its payload.
  lost.epoch = 5;
  Write(key, SignHead(lost, TestSigningKey(1)));
  ASSERT_TRUE(Eventually(
      [&] { return a->fleet_->View().counts.refused_payload == 1; }));
  const std::string mine = a->Profile(11);
  ASSERT_TRUE(Eventually([&] {
    const auto head = ReadHead(key, Read(key));
    return head.ok() && head->head.digest == mine && head->head.epoch == 6;
  }));
}

TEST_F(FleetTablesTest, WhatIsRetiredHereIsSaidToBe) {
  const auto a = Join("a", 1);
  const auto b = Join("b", 0);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, a->Profile(10)));
  ASSERT_TRUE(b->tables_.Retire(b->Key()).ok());
  EXPECT_THAT(b->fleet_->View().heads.at(0).behind, HasSubstr("retired"));
  EXPECT_THAT(a->fleet_->View().heads.at(0).behind, IsEmpty());
}

TEST_F(FleetTablesTest, APayloadThatIsNotWhatItsHeadSaysIsRefused) {
  const auto a = Join("a", 1);
  const std::string good = a->Profile(10);
  const std::string key = HeadKey(a->Key());
  ASSERT_TRUE(Eventually([&] { return !Read(key).empty(); }));
  FleetHead head = ReadHead(key, Read(key))->head;
  const std::string payload = Read(BlobKey(good));
  a->Stop();
  const auto expect_refused = [&] {
    const auto b = Join("b", 0);
    EXPECT_TRUE(Eventually(
        [&] { return b->fleet_->View().counts.refused_payload > 0; }));
    EXPECT_EQ(b->Serving(), "");
    EXPECT_THAT(b->fleet_->View().heads.at(0).behind,
                ::testing::Not(IsEmpty()));
  };
  Write(BlobKey(good), payload.substr(0, payload.size() / 2));
  expect_refused();
  // There is none; one that is no table; one of another version of the kernel.
  head.digest = std::string(64, 'e');
  Write(key, SignHead(head, TestSigningKey(1)));
  expect_refused();
  head.digest = Sha256Hex("nonsense");
  Write(BlobKey(head.digest), "nonsense");
  Write(key, SignHead(head, TestSigningKey(1)));
  expect_refused();
  Write(BlobKey(good), payload);
  head.digest = good;
  head.key.fingerprint = std::string(64, 'a');
  Write(key, SignHead(head, TestSigningKey(1)));
  expect_refused();
}

TEST_F(FleetTablesTest, APinnedKernelIsBehindUntilItIsUnpinned) {
  const auto a = Join("a", 1);
  const auto b = Join("b", 0);
  const std::string first = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, first));
  const std::string silicon = SiliconKey(TheDevice());
  ASSERT_TRUE(b->tables_.Pin({.kernel = "copy", .silicon_key = silicon}).ok());
  const std::string second = a->Profile(11);
  ASSERT_TRUE(Eventually(
      [&] { return !b->fleet_->View().heads.at(0).behind.empty(); }));
  EXPECT_EQ(b->Serving(), first);
  ASSERT_TRUE(b->tables_.Unpin("copy", silicon).ok());
  EXPECT_TRUE(AllServe({b.get()}, second));
  EXPECT_TRUE(
      Eventually([&] { return b->fleet_->View().heads.at(0).behind.empty(); }));
}

TEST_F(FleetTablesTest, StopsWhileTheRegistryIsSilent) {
  const auto a = Join("a", 1);
  ASSERT_TRUE(Eventually([&] { return !a->Profile(10).empty(); }));
  a->fleet_->Stop();
  // A job promotes while the daemon stops.
  EXPECT_NE(a->Profile(11), "");
  EXPECT_EQ(a->fleet_->View().node, "a");
}

TEST_F(FleetTablesTest, WithoutAKeyNothingIsPublishedAndItSaysSo) {
  const auto a = Join("a", 0);
  a->Profile(10);
  ASSERT_TRUE(Eventually([&] {
    const FleetView view = a->fleet_->View();
    return !view.heads.empty() && !view.heads[0].behind.empty();
  }));
  EXPECT_THAT(a->fleet_->View().heads.at(0).behind, HasSubstr("no key"));
  EXPECT_EQ(a->fleet_->View().counts.published, 0);
}

}  // namespace
}  // namespace wavetune::testing
