// Nodes of one fleet, each with stores, devices and a catalog of its own.
#include "server/fleet/fleet_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/digest.h"
#include "proto/wavetune/v1/fleet.pb.h"
#include "server/catalog/disk_kernel_catalog.h"
#include "server/fleet/fake_fleet_registry.h"
#include "server/fleet/fleet_fixture.h"
#include "server/fleet/fleet_test_support.h"
#include "server/test_folder.h"

namespace wavetune::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using FleetTablesTest = FleetFixture;

TEST_F(FleetTablesTest, WhatOneNodePromotesEveryNodeOfTheClassServes) {
  const auto a = Join("a", 1);
  const auto b = Join("b", 0);
  const std::string first = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, first));
  const TableRecord served =
      b->tables_.Find({.kernel = "copy", .device = TestFleetDevice()})
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
  EXPECT_SOON(c->fleet_->View().heads.at(0).accepted->digest, second);
  const FleetView view = c->fleet_->View();
  EXPECT_EQ(view.node, "c");
  EXPECT_TRUE(view.publishes);
  EXPECT_THAT(view.outage, IsEmpty());
  ASSERT_EQ(view.heads.size(), 1u);
  EXPECT_EQ(view.heads[0].kernel, "copy");
  EXPECT_EQ(view.heads[0].accepted->digest, second);
  EXPECT_EQ(view.heads[0].accepted->epoch, 2u);
  EXPECT_THAT(view.heads[0].behind, IsEmpty());
  EXPECT_SOON(a->fleet_->View().counts.published, 2);
  EXPECT_SOON(b->fleet_->View().counts.adopted, 2);
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
      b->tables_.Rejected("copy", SiliconKey(TestFleetDevice())).value();
  ASSERT_EQ(rejected.size(), 1u);
  EXPECT_EQ(rejected[0].record.digest, other);
  EXPECT_THAT(rejected[0].reason, HasSubstr("node a published"));
  // And is to be compared with the winner's.
  EXPECT_THAT(b->Lost(), ElementsAre(other + " " + mine));
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
  EXPECT_SOON(b->fleet_->View().outage, HasSubstr("does not answer"));
  b->registry_.Connect();
  EXPECT_TRUE(AllServe({a.get(), b.get()}, there));
  EXPECT_SOON(b->fleet_->View().outage, IsEmpty());
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
  EXPECT_SOON(a->fleet_->View().counts.refused_replayed, 1);
  // Or is empty, and the node has restarted.
  a->Stop();
  FakeFleetRegistry somebody(&fleet_);
  ASSERT_TRUE(somebody.DeleteBelow("").ok());
  a->Start();
  EXPECT_TRUE(Eventually([&] { return Read(key) == newer; }));
  EXPECT_THAT(Read(BlobKey(a->Key(), second)), ::testing::Not(IsEmpty()));
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
  EXPECT_SOON(a->fleet_->View().heads.at(0).behind,
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
  b->options_.trust =
      TrustIn({2}) + "revoked " + TestSigningKey(1).public_key();
  b->Start();
  ASSERT_TRUE(Eventually(
      [&] { return b->fleet_->View().counts.refused_signature == 1; }));
  const std::string key = HeadKey(b->Key());
  const std::string second = b->Profile(11);
  ASSERT_TRUE(Eventually([&] {
    const auto head = ReadHead(key, Read(key));
    return head.ok() && head->head.digest == second &&
           head->public_key == TestSigningKey(2).public_key();
  }));
  EXPECT_EQ(b->Serving(), second);
}

TEST_F(FleetTablesTest, ARotationOfKeysTakesNothingAway) {
  const auto a = Join("a", 1);
  const auto b = Join("b", 2);
  const auto c = Join("c", 0);
  const std::string first = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get(), c.get()}, first));
  const std::string key = HeadKey(b->Key());
  // By the book: the new key everywhere, then to its node, then the old one is
  // revoked, on one node after the other.
  const std::string revoked =
      TrustIn({2, 3}) + "revoked " + TestSigningKey(1).public_key();
  for (Node* node : {a.get(), b.get(), c.get()})
    node->Trust(TrustIn({1, 2, 3}));
  a->Stop();
  a->options_.key = 3;
  a->options_.trust = TrustIn({1, 2, 3});
  a->Start();
  for (Node* node : {c.get(), a.get(), b.get()}) node->Trust(revoked);
  for (Node* node : {a.get(), b.get(), c.get()}) {
    EXPECT_TRUE(Eventually([&] {
      const FleetView::Standing standing = node->fleet_->View().heads.at(0);
      return standing.behind.empty() && standing.accepted &&
             standing.accepted->epoch == 2;
    })) << node->fleet_->View().heads.at(0).behind;
    EXPECT_EQ(node->Serving(), first);
  }
  const auto head = ReadHead(key, Read(key));
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_NE(head->public_key, TestSigningKey(1).public_key());
  EXPECT_EQ(head->head.digest, first);
  // One that joins then has a table; and what is profiled is published.
  const auto d = Join("d", 0, TrustIn({2, 3}));
  EXPECT_TRUE(AllServe({d.get()}, first));
  EXPECT_TRUE(AllServe({a.get(), b.get(), c.get(), d.get()}, a->Profile(11)));
}

TEST_F(FleetTablesTest, WhatAMisusedKeySignedNobodySignsAnew) {
  const auto a = Join("a", 1);
  const auto b = Join("b", 2);
  const std::string first = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, first));
  const std::string key = HeadKey(b->Key());
  const std::string misused = Read(key);
  b->Trust(TrustIn({2}) + "revoked " + TestSigningKey(1).public_key() +
           " misused");
  ASSERT_TRUE(Eventually(
      [&] { return b->fleet_->View().counts.refused_signature == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(Read(key), misused);
  EXPECT_EQ(b->Serving(), first);
  // What is profiled takes its place, also on nodes that have not heard.
  EXPECT_TRUE(AllServe({a.get(), b.get()}, b->Profile(11)));
}

TEST_F(FleetTablesTest, AListThatIsReadAgainRevokesAndBelieves) {
  const auto a = Join("a", 1);
  const auto b = Join("b", 2);
  const std::string first = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, first));
  b->Trust(TrustIn({2, 3}) + "revoked " + TestSigningKey(1).public_key());
  ASSERT_TRUE(Eventually(
      [&] { return b->fleet_->View().counts.refused_signature == 1; }));
  EXPECT_THAT(b->Said(), HasSubstr("is revoked"));
  // It serves on.
  EXPECT_EQ(b->Serving(), first);
  const std::string second = b->Profile(11);
  EXPECT_TRUE(AllServe({a.get(), b.get()}, second));
  // Another node's new key: known to one that has read the list again.
  const auto c = Join("c", 3, TrustIn({2, 3}));
  ASSERT_TRUE(AllServe({c.get()}, second));
  const std::string third = c->Profile(12);
  ASSERT_TRUE(AllServe({b.get(), c.get()}, third));
  ASSERT_TRUE(Eventually(
      [&] { return a->fleet_->View().counts.refused_signature == 1; }));
  EXPECT_EQ(a->Serving(), second);
  a->Trust(TrustIn({1, 2, 3}));
  EXPECT_TRUE(AllServe({a.get()}, third));
  EXPECT_TRUE(
      Eventually([&] { return a->fleet_->View().heads.at(0).behind.empty(); }));
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
  EXPECT_SOON(b->fleet_->View().counts.published, 1);
}

// A fleet of two versions of this program.
TEST_F(FleetTablesTest, AHeadOfALaterVersionStaysAndTheNodeServesOn) {
  const auto a = Join("a", 1);
  const std::string mine = a->Profile(10);
  const std::string key = HeadKey(a->Key());
  ASSERT_TRUE(Eventually([&] { return !Read(key).empty(); }));
  const std::string good = Read(key);
  v1::FleetEnvelope later;
  ASSERT_TRUE(later.ParseFromString(good));
  later.set_format(later.format() + 1);
  later.set_content("of a later version");
  Write(key, later.SerializeAsString());
  ASSERT_TRUE(Eventually(
      [&] { return !a->fleet_->View().heads.at(0).behind.empty(); }));
  EXPECT_THAT(a->Said(), HasSubstr("upgrade this node"));
  EXPECT_EQ(a->Serving(), mine);
  // A job here promotes all the same; those who can read the head follow it.
  const std::string newer = a->Profile(11);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(a->Serving(), newer);
  EXPECT_EQ(Read(key), later.SerializeAsString());
  // The later version comes down to ours again.
  Write(key, good);
  EXPECT_TRUE(Eventually([&] {
    const auto head = ReadHead(key, Read(key));
    return head.ok() && head->head.digest == newer;
  }));
}

TEST_F(FleetTablesTest, AClockThatIsAnHourOffIsSaidAndDoesNotMatter) {
  const auto a = Join("a", 1);
  const auto b = Join("b", 2);
  b->clock_.Advance(-3600);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, a->Profile(10)));
  EXPECT_TRUE(Eventually([&] {
    return b->Said().find("node a published kernel copy 60 minutes from now") !=
           std::string::npos;
  })) << b->Said();
  // What is published with the earlier time is the newer one.
  EXPECT_TRUE(AllServe({a.get(), b.get()}, b->Profile(11)));
  EXPECT_THAT(a->Said(), IsEmpty());
}

TEST_F(FleetTablesTest, ANodeOfAClassOfItsOwnHasItsOwnHead) {
  const auto a = Join("a", 1);
  FakeFleetRegistry registry(&fleet_);
  DeviceFacts other = TestFleetDevice();
  other.driver = "2";
  FleetTestNode alone({.registry = &registry,
                       .kernels = &a->kernels_,
                       .name = "alone",
                       .key = 2,
                       .device = other});
  alone.Start();
  const std::string mine = alone.Profile(11);
  const std::string theirs = a->Profile(10);
  for (FleetTestNode* node : {static_cast<FleetTestNode*>(a.get()), &alone}) {
    EXPECT_TRUE(
        Eventually([&] { return node->fleet_->View().counts.published == 1; }));
    EXPECT_EQ(node->fleet_->View().counts.adopted, 0);
  }
  EXPECT_EQ(alone.Serving(), mine);
  EXPECT_EQ(a->Serving(), theirs);
}

// A driver is upgraded on one node after the other, and put back.
TEST_F(FleetTablesTest, ATableThatIsCarriedOverIsListedOnceOnEveryNode) {
  const auto a = Join("a", 1);
  const auto b = Join("b", 2);
  const std::string table = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, table));
  const auto only = [](Node& node) {
    const auto now = node.tables_.snapshot();
    EXPECT_EQ(now->tables.size(), 1u);
    return now->tables.at(0).record;
  };
  const auto serves_for = [&](Node& node, const std::string& environment) {
    return Eventually([&] {
      const auto now = node.tables_.snapshot();
      return now->tables.size() == 1 &&
             now->tables[0].record.key.environment_key == environment;
    });
  };
  const std::string old_class = FleetClass(b->Key());
  std::string second;
  for (const char* driver : {"2", "3"}) {
    const TableRecord before = only(*a);
    a->SetDriver(driver);
    ASSERT_TRUE(
        a->tables_
            .CarryOver(before,
                       {.key = a->Key(), .by = kDaemonUser, .why = "as fast"})
            .ok());
    ASSERT_TRUE(Eventually([&] { return !Read(HeadKey(a->Key())).empty(); }));
    b->SetDriver(driver);
    EXPECT_TRUE(serves_for(*b, b->Key().environment_key)) << driver;
    EXPECT_EQ(b->Serving(), table);
    if (second.empty()) second = b->Key().environment_key;
  }
  // No device is of the first class any more: it is followed, not judged.
  EXPECT_SOON(b->fleet_->View().heads,
              Each(Field(&FleetView::Standing::behind, IsEmpty())));
  for (const FleetView::Standing& standing : b->fleet_->View().heads) {
    EXPECT_EQ(standing.followed_only,
              standing.fleet_class != FleetClass(b->Key()));
  }
  EXPECT_NE(old_class, FleetClass(b->Key()));
  b->SetDriver("2");
  EXPECT_TRUE(serves_for(*b, second));
}

TEST_F(FleetTablesTest, TwoNodesOfOneIdentityServeOneTable) {
  const auto a = Join("same", 1);
  const auto b = Join("same", 1);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, a->Profile(10)));
  ASSERT_TRUE(AllServe({a.get(), b.get()}, b->Profile(11)));
  // At once: one of them is the fleet's, the other a candidate, or one before.
  const std::string one = a->Profile(12);
  const std::string two = b->Profile(13);
  EXPECT_TRUE(Eventually([&] {
    return (a->Serves(one) && b->Serves(one)) ||
           (a->Serves(two) && b->Serves(two));
  }));
  EXPECT_LE(a->fleet_->View().counts.lost + b->fleet_->View().counts.lost, 1);
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
  EXPECT_SOON(b->fleet_->View().heads.at(0).behind, HasSubstr("retired"));
  EXPECT_SOON(a->fleet_->View().heads.at(0).behind, IsEmpty());
}

TEST_F(FleetTablesTest, APayloadThatIsNotWhatItsHeadSaysIsRefused) {
  const auto a = Join("a", 1);
  const std::string good = a->Profile(10);
  const std::string key = HeadKey(a->Key());
  ASSERT_TRUE(Eventually([&] { return !Read(key).empty(); }));
  FleetHead head = ReadHead(key, Read(key))->head;
  const std::string payload = Read(BlobKey(head.key, good));
  a->Stop();
  const auto expect_refused = [&] {
    const auto b = Join("b", 0);
    EXPECT_TRUE(Eventually(
        [&] { return b->fleet_->View().counts.refused_payload > 0; }));
    EXPECT_EQ(b->Serving(), "");
    EXPECT_SOON(b->fleet_->View().heads.at(0).behind,
                ::testing::Not(IsEmpty()));
  };
  Write(BlobKey(head.key, good), payload.substr(0, payload.size() / 2));
  expect_refused();
  // There is none; one that is no table; one of another version of the kernel.
  head.digest = std::string(64, 'e');
  Write(key, SignHead(head, TestSigningKey(1)));
  expect_refused();
  head.digest = Sha256Hex("nonsense");
  Write(BlobKey(head.key, head.digest), "nonsense");
  Write(key, SignHead(head, TestSigningKey(1)));
  expect_refused();
  Write(BlobKey(head.key, good), payload);
  head.digest = good;
  head.key.fingerprint = std::string(64, 'a');
  Write(key, SignHead(head, TestSigningKey(1)));
  expect_refused();
}

TEST_F(FleetTablesTest, ATableThatTheKernelHereCannotLaunchIsRefused) {
  const auto a = Join("a", 1);
  const KernelSpec& spec = **a->options_.kernels->Spec("copy");
  Table table = FixedTable(spec, a->Key(), spec.default_configuration, 10);
  table.dimensions[0].max = kExpressionLimit;
  a->Promote("copy", table);
  const auto b = Join("b", 0);
  EXPECT_TRUE(
      Eventually([&] { return b->fleet_->View().counts.refused_payload > 0; }));
  EXPECT_EQ(b->Serving(), "");
  EXPECT_SOON(b->fleet_->View().heads.at(0).behind,
              HasSubstr("the table answers n"));
}

TEST_F(FleetTablesTest, OldPayloadsGoAndTheHeadsIsAlwaysThere) {
  const auto a = Join("a", 1);
  const auto b = Join("b", 2);
  const auto c = Join("c", 0);
  FakeFleetRegistry somebody(&fleet_);
  const std::string key = HeadKey(a->Key());
  size_t most = 0;
  // Told within each commit.
  const auto watch = somebody.Watch(key, {}, [&](const FleetNews& news) {
    for (const FleetNews::Entry& one : news.entries) {
      const auto head = ReadHead(key, one.entry.value);
      ASSERT_TRUE(head.ok()) << head.status();
      EXPECT_TRUE(somebody.Get(BlobKey(a->Key(), head->head.digest)).ok());
      most = std::max(most, somebody.List("blobs/")->entries.size());
    }
  });
  // Two nodes promote at once, also what the fleet had before.
  const auto promote = [&](Node& node, double first_us) {
    for (int64_t i = 0; i < 40; ++i) {
      node.Profile(first_us + static_cast<double>(i % 7));
      ASSERT_TRUE(Eventually([&] {
        return node.fleet_->View().counts.published +
                   node.fleet_->View().counts.lost >
               i;
      }));
    }
  };
  std::thread other([&] { promote(*b, 20); });
  promote(*a, 10);
  other.join();
  EXPECT_EQ(most, FleetTables::kPayloadsKept);
  const auto head = [&] { return ReadHead(key, Read(key))->head.digest; };
  ASSERT_TRUE(AllServe({a.get(), b.get(), c.get()}, head()));
  const std::string last = a->Profile(99);
  EXPECT_TRUE(AllServe({a.get(), b.get(), c.get()}, last));
  for (Node* node : {a.get(), b.get(), c.get()})
    EXPECT_EQ(node->fleet_->View().counts.refused_payload, 0);
  // Also what somebody left there.
  for (int i = 0; i < 100; ++i)
    Write(BlobKey(a->Key(), std::to_string(i)), "left over");
  for (const double latency_us : {100, 101})
    ASSERT_TRUE(AllServe({c.get()}, a->Profile(latency_us)));
  EXPECT_EQ(somebody.List("blobs/")->entries.size(),
            FleetTables::kPayloadsKept);
}

TEST_F(FleetTablesTest, APinnedKernelIsBehindUntilItIsUnpinned) {
  const auto a = Join("a", 1);
  const auto b = Join("b", 0);
  const std::string first = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, first));
  const std::string silicon = SiliconKey(TestFleetDevice());
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
  EXPECT_SOON(a->fleet_->View().heads.at(0).behind, HasSubstr("no key"));
  EXPECT_EQ(a->fleet_->View().counts.published, 0);
}

}  // namespace
}  // namespace wavetune::testing
