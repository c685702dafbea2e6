#include "server/fleet/fleet_demand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/fake_clock.h"
#include "model/testing/kernels.h"
#include "proto/wavetune/v1/fleet.pb.h"
#include "server/fleet/fake_fleet_registry.h"
#include "server/fleet/fleet_test_support.h"
#include "server/fleet/signed_content.h"
#include "server/store/stored_usage.h"

namespace wavetune::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr double kHour = 3600;
constexpr char kSilicon[] = "sm_90";

Problem Of(int64_t m) { return {.extents = {m, 4096, 4096}}; }

Workload Model(const std::string& name, int64_t hidden) {
  return {
      .name = name,
      .config = absl::StrCat(
          R"({"architectures": ["LlamaForCausalLM"], "hidden_size": )", hidden,
          R"(, "intermediate_size": 128, "num_hidden_layers": 2,
                 "num_attention_heads": 4, "vocab_size": 256})"),
      .max_tokens = 100};
}

// What a daemon has of it.
class DemandNode {
 public:
  DemandNode(FakeFleet* fleet, const std::string& name, char key,
             std::chrono::seconds interval)
      : registry_(fleet),
        demand_({.registry = &registry_,
                 .usage = &usage_,
                 .workloads = &workloads_,
                 .clock = &clock_,
                 .fleet = "/wavetune/",
                 .node = name,
                 .trust = FleetTrust::Parse(
                              TestSigningKey(1).public_key() + " sm_9*\n" +
                              TestSigningKey(2).public_key() + " sm_8*\n")
                              .value(),
                 .key = key == 0
                            ? nullptr
                            : std::make_shared<SigningKey>(TestSigningKey(key)),
                 .silicon = [] { return std::set<std::string>{kSilicon}; },
                 .interval = interval,
                 .first_within = std::chrono::seconds(0),
                 .log =
                     [this](bool, const std::string& line) {
                       said_ += line + "\n";
                     }}) {}

  void Ask(const Problem& problem, double decisions,
           const std::string& silicon = kSilicon) {
    usage_.Add({.kernel = "gemm",
                .silicon_key = silicon,
                .counts = {.fitted = decisions},
                .problems = {{problem, decisions, 0}}});
  }
  void Declare(const Workload& workload) {
    ASSERT_TRUE(workloads_.Add(workload, "0").ok());
  }
  // All that is due an hour later.
  void LookAgain() {
    clock_.Advance(1.2 * kHour);
    demand_.Look();
  }
  ProfileDemand Of(const std::string& kernel = "gemm") {
    auto demand = demand_.Of(kernel, kSilicon, spec_);
    EXPECT_TRUE(demand.ok()) << demand.status();
    return demand.ok() ? *demand : ProfileDemand();
  }

  FakeClock clock_;
  FakeFleetRegistry registry_;
  UsageLedger usage_{nullptr, &clock_, {}, [](const std::string&) {}};
  WorkloadCatalog workloads_{nullptr, &clock_, "0"};
  KernelSpec spec_ = [] {
    KernelSpec spec = GemmSpec();
    spec.serves = ServedLinear{.m = 0, .n = 1, .k = 2};
    return spec;
  }();
  std::string said_;
  FleetDemand demand_;
};

class FleetDemandTest : public ::testing::Test {
 protected:
  std::vector<FleetEntry> Entries(const std::string& prefix) {
    return watcher_.List(prefix)->entries;
  }
  std::unique_ptr<DemandNode> Join(
      const std::string& name, char key = 1,
      std::chrono::seconds interval = std::chrono::hours(1)) {
    return std::make_unique<DemandNode>(&fleet_, name, key, interval);
  }
  // A node that is asked for one problem, and has told it where it could: it
  // looks until it has drawn a place that is free.
  std::unique_ptr<DemandNode> Asked(const std::string& name,
                                    const Problem& problem, double decisions,
                                    char key = 1) {
    auto node = Join(name, key, std::chrono::seconds(0));
    node->Ask(problem, decisions);
    const size_t before = Entries("usage/").size();
    for (int i = 0; i < 100 && Entries("usage/").size() == before; ++i)
      node->demand_.Look();
    return node;
  }
  void Write(const std::string& key, const std::string& value) {
    ASSERT_TRUE(watcher_.Commit({{.key = key, .value = value}}).ok());
  }
  // Signs what stands at a key anew, changed.
  void Change(const FleetEntry& entry,
              const std::function<void(v1::FleetDemandContent&)>& change,
              const std::string& purpose, char key = 1) {
    v1::FleetDemandContent content;
    ASSERT_TRUE(content.ParseFromString(
        ReadSignedContent(purpose, entry.key, entry.value)->content));
    change(content);
    Write(content.key(), SignContent(purpose, content.SerializeAsString(),
                                     TestSigningKey(key)));
  }

  FakeFleet fleet_;
  FakeFleetRegistry watcher_{&fleet_};
};

TEST_F(FleetDemandTest, NodesAddUpByWhatTheyAreAskedFor) {
  const auto a = Asked("a", Of(16), 3000);
  const auto b = Asked("b", Of(32), 2000);
  const auto c = Asked("c", Of(16), 1000);
  const auto profiler = Join("d");
  const ProfileDemand demand = profiler->Of();
  EXPECT_EQ(demand.counts.nodes, 3);
  EXPECT_THAT(demand.used, ElementsAre(WeightedProblem{Of(16), 4000},
                                       WeightedProblem{Of(32), 2000}));
  EXPECT_THAT(profiler->Of("softmax").used, IsEmpty());
  // One that asks counts with what it knows now, told or not.
  b->Ask(Of(32), 4000);
  EXPECT_THAT(b->Of().used, ElementsAre(WeightedProblem{Of(32), 6000},
                                        WeightedProblem{Of(16), 4000}));
  EXPECT_EQ(b->Of().counts.nodes, 3);
}

TEST_F(FleetDemandTest, FewDecisionsAndNodesWithoutAKeyTellNothing) {
  const auto few = Asked("a", Of(16), 999);
  const auto keyless = Asked("b", Of(16), 5000, 0);
  keyless->Declare(Model("m", 64));
  keyless->LookAgain();
  // Its key is for other silicon.
  const auto foreign = Asked("c", Of(16), 5000, 2);
  EXPECT_THAT(Entries(""), IsEmpty());
  EXPECT_EQ(keyless->Of().counts.nodes, 1);
}

TEST_F(FleetDemandTest, APlaceIsWrittenOverWhereItIsItsOwnOrNoLongerFresh) {
  const auto node = Asked("a", Of(16), 5000);
  // All places are others', and fresh.
  const FleetEntry mine = Entries("usage/").front();
  const std::string prefix = mine.key.substr(0, mine.key.size() - 2);
  const auto fill = [&](double age_s) {
    for (int place = 0; place < FleetDemand::kPlaces; ++place) {
      Change(
          mine,
          [&](v1::FleetDemandContent& content) {
            content.set_key(absl::StrFormat("%s%02d", prefix, place));
            content.set_node(absl::StrCat("other-", place));
            content.set_at_us(node->clock_.NowUs() + 4'320'000'000 -
                              static_cast<int64_t>(age_s * 1e6));
          },
          "usage");
    }
  };
  const auto written = [&] {
    const std::vector<FleetEntry> before = Entries("usage/");
    node->LookAgain();
    return Entries("usage/") != before;
  };
  fill(FleetDemand::kFreshS - 1);
  EXPECT_FALSE(written());
  fill(FleetDemand::kFreshS + 1);
  EXPECT_TRUE(written());
  // By a clock that is ahead: as old.
  fill(-299);
  EXPECT_FALSE(written());
  fill(-301);
  EXPECT_TRUE(written());
  EXPECT_THAT(Entries("usage/"), SizeIs(FleetDemand::kPlaces));
}

TEST_F(FleetDemandTest, OfANodeTheNewestCountsDecayed) {
  const auto node = Asked("a", Of(16), 4000);
  for (int hour = 0; hour < 20; ++hour) node->LookAgain();
  EXPECT_GT(Entries("usage/").size(), 5u);
  const auto profiler = Join("b");
  profiler->clock_.Advance(48 * kHour);
  const ProfileDemand demand = profiler->Of();
  EXPECT_EQ(demand.counts.nodes, 1);
  ASSERT_THAT(demand.used, SizeIs(1));
  EXPECT_NEAR(demand.used[0].weight, 1000, 1);
}

TEST_F(FleetDemandTest, WhatIsLongSilentIsForgotten) {
  const auto node = Asked("a", Of(16), 4000);
  const auto other = Join("w");
  other->Declare(Model("m", 64));
  other->demand_.Look();
  ASSERT_THAT(Entries(""), SizeIs(2));
  const auto profiler = Join("b");
  // By a clock that is behind it counts as little, and stays.
  profiler->clock_.Advance(-kHour);
  EXPECT_EQ(profiler->Of().counts, FleetDemandCounts());
  EXPECT_THAT(Entries(""), SizeIs(2));
  profiler->clock_.Advance(kHour + FleetDemand::kForgottenS + 10);
  EXPECT_EQ(profiler->Of().counts, FleetDemandCounts());
  EXPECT_THAT(Entries(""), IsEmpty());
}

TEST_F(FleetDemandTest, NoNodeOutweighsTheOthers) {
  const auto a = Asked("a", Of(16), 2000);
  const auto b = Asked("b", Of(32), 3000);
  const auto c = Asked("c", Of(64), 1e12);
  EXPECT_THAT(Join("d")->Of().used,
              UnorderedElementsAre(WeightedProblem{Of(16), 2000},
                                   WeightedProblem{Of(32), 3000},
                                   WeightedProblem{Of(64), 24000}));
}

TEST_F(FleetDemandTest, WhatIsForgedForeignOrBrokenIsRefusedAndSaid) {
  const auto node = Asked("a", Of(16), 4000);
  const auto other = Join("w");
  other->Declare(Model("m", 64));
  other->demand_.Look();
  const FleetEntry usage = Entries("usage/").front();
  const FleetEntry workload = Entries("workloads/").front();
  const auto refused = [&] {
    const auto profiler = Join("b");
    const ProfileDemand demand = profiler->Of();
    EXPECT_THAT(demand.used, IsEmpty());
    return profiler->said_;
  };
  const auto write = [&](const std::string& value) {
    Write(usage.key, value);
    return refused();
  };
  EXPECT_THAT(write("nothing"), HasSubstr("1 entries below usage/"));
  // By a key that nobody knows, and one of other silicon.
  const auto resigned = [&](char key, const std::string& record) {
    v1::FleetDemandContent content;
    content.ParseFromString(
        ReadSignedContent("usage", usage.key, usage.value)->content);
    if (!record.empty()) content.set_record(record);
    return SignContent("usage", content.SerializeAsString(),
                       TestSigningKey(key));
  };
  EXPECT_THAT(write(resigned(3, "")), HasSubstr("is not in this node's list"));
  EXPECT_THAT(write(resigned(2, "")), HasSubstr("may not sign for sm_90"));
  // Of another place, silicon and fleet.
  Write(usage.key, "");
  Write(usage.key + "0", usage.value);
  EXPECT_THAT(refused(), HasSubstr("2 entries"));
  EXPECT_TRUE(watcher_.DeleteBelow(usage.key + "0").ok());
  const auto changed = [&](auto change) {
    Change(usage, change, "usage");
    return refused();
  };
  EXPECT_THAT(changed([](auto& content) { content.set_silicon_key("sm_91"); }),
              HasSubstr("is no usage of it"));
  EXPECT_THAT(changed([](auto& content) { content.set_fleet("/other/"); }),
              HasSubstr("is no usage of it"));
  // Signed, and none all the same.
  EXPECT_THAT(write(resigned(1, "junk")), HasSubstr("refused"));
  UsageRecord many;
  for (int i = 0; i <= static_cast<int>(FleetDemand::kMostProblems); ++i)
    many.problems.push_back({.problem = Of(i + 1), .weight = 1});
  EXPECT_THAT(write(resigned(1, EncodeStoredUsage(many))),
              HasSubstr("no use of a kernel"));
  UsageRecord endless{.problems = {{.problem = Of(1), .weight = 1e308},
                                   {.problem = Of(2), .weight = 1e308}}};
  EXPECT_THAT(write(resigned(1, EncodeStoredUsage(endless))),
              HasSubstr("no use of a kernel"));
  std::string large =
      EncodeStoredUsage({.problems = {{.problem = Of(1), .weight = 1}}});
  for (int i = 0; i < 150000; ++i) large += std::string("\x7a\0", 2);
  EXPECT_THAT(write(resigned(1, large)), HasSubstr("too many entries"));
  // Nobody makes the median nothing.
  EXPECT_THAT(write(resigned(1, EncodeStoredUsage({}))),
              HasSubstr("no use of a kernel"));
  // A workload in the place of another.
  Change(
      workload,
      [](auto& content) {
        content.set_key(content.key().substr(0, content.key().size() - 64) +
                        std::string(64, '0'));
      },
      "workload");
  const auto profiler = Join("b");
  EXPECT_EQ(profiler->Of().counts.workloads, 1);
  EXPECT_THAT(profiler->said_, HasSubstr("it is another workload"));
  // What does not count is written over.
  const auto counts = [&] {
    return ReadSignedContent("usage", usage.key, watcher_.Get(usage.key)->value)
        .ok();
  };
  Write(usage.key, "nothing");
  for (int i = 0; i < 2000 && !counts(); ++i) {
    node->Ask(Of(16), 4000);
    node->LookAgain();
  }
  EXPECT_TRUE(counts());
}

TEST_F(FleetDemandTest, EqualWorkloadsAreOneUnderAnyName) {
  const auto a = Join("a");
  a->Declare(Model("m", 64));
  a->Declare(Model("again", 64));
  a->demand_.Look();
  const auto b = Join("b");
  b->Declare(Model("other", 128));
  b->Declare(Model("mine", 64));
  b->demand_.Look();
  EXPECT_THAT(Entries("workloads/"), SizeIs(2));
  const ProfileDemand all = Join("c")->Of();
  EXPECT_EQ(all.counts.workloads, 2);
  EXPECT_EQ(all.workloads.size(), b->workloads_.Problems(b->spec_).size());
  EXPECT_EQ(a->Of().counts.workloads, 2);
  // Nobody is told who declared it.
  for (const FleetEntry& entry : Entries("workloads/"))
    EXPECT_EQ(entry.value.find("\"0\""), std::string::npos);
}

TEST_F(FleetDemandTest, WorkloadsAreToldWithTheirRouting) {
  const auto a = Join("a");
  a->Declare(Model("m", 64));
  Workload even = Model("even", 64);
  even.routing.popularity = Popularity::kEven;
  a->Declare(even);
  a->demand_.Look();
  EXPECT_THAT(Entries("workloads/"), SizeIs(2));
  EXPECT_EQ(Join("b")->Of().counts.workloads, 2);
}

TEST_F(FleetDemandTest, AWorkloadIsKeptAliveUntilTheLastNodeRemovesIt) {
  const auto a = Join("a");
  const auto b = Join("b");
  for (DemandNode* node : {a.get(), b.get()}) {
    node->Declare(Model("m", 64));
    node->demand_.Look();
  }
  const auto now = [&] { return Entries("workloads/").front().revision; };
  const int64_t first = now();
  b->LookAgain();
  EXPECT_EQ(now(), first);
  b->clock_.Advance(FleetDemand::kRefreshS);
  b->demand_.Look();
  EXPECT_GT(now(), first);
  // The next look tells a removal, not the next hour.
  ASSERT_TRUE(a->workloads_.Remove("m").ok());
  a->demand_.Look();
  EXPECT_THAT(Entries("workloads/"), IsEmpty());
  b->LookAgain();
  EXPECT_THAT(Entries("workloads/"), SizeIs(1));
  ASSERT_TRUE(b->workloads_.Remove("m").ok());
  b->demand_.Look();
  EXPECT_THAT(Entries("workloads/"), IsEmpty());
  // So is one that is declared.
  b->Declare(Model("n", 128));
  b->demand_.Look();
  EXPECT_THAT(Entries("workloads/"), SizeIs(1));
}

TEST_F(FleetDemandTest, WorkloadsHaveBounds) {
  const auto node = Join("a");
  Workload large = Model("large", 64);
  large.config += std::string(FleetDemand::kMostConfigBytes, ' ');
  node->Declare(large);
  node->demand_.Look();
  node->LookAgain();
  EXPECT_THAT(Entries("workloads/"), IsEmpty());
  EXPECT_EQ(node->said_.find("workload large counts for profiles of this node"),
            node->said_.rfind("workload large"));
  EXPECT_EQ(node->Of().counts.workloads, 1);
  ASSERT_TRUE(node->workloads_.Remove("large").ok());
  node->Declare(Model("m", 64));
  node->demand_.Look();
  const FleetEntry first = Entries("workloads/").front();
  for (size_t i = 1; i < FleetDemand::kMostWorkloads; ++i) {
    Change(
        first,
        [&](v1::FleetDemandContent& content) {
          content.set_key(first.key.substr(0, first.key.size() - 64) +
                          absl::StrFormat("%064d", i));
        },
        "workload");
  }
  node->Declare(Model("beyond", 128));
  node->demand_.Look();
  node->LookAgain();
  EXPECT_THAT(Entries("workloads/"), SizeIs(FleetDemand::kMostWorkloads));
  EXPECT_THAT(node->said_, HasSubstr("the fleet has 256 workloads for sm_90"));
}

TEST_F(FleetDemandTest, WhatCannotBeToldIsToldWhenTheRegistryIsBack) {
  const auto node = Join("a");
  node->Declare(Model("m", 64));
  node->Ask(Of(16), 4000);
  node->registry_.Disconnect();
  node->demand_.Look();
  EXPECT_FALSE(node->demand_.Of("gemm", kSilicon, node->spec_).ok());
  node->registry_.Connect();
  node->demand_.Look();
  EXPECT_THAT(Entries(""), IsEmpty()) << "as all nodes would at once";
  node->clock_.Advance(60);
  node->demand_.Look();
  EXPECT_THAT(Entries(""), SizeIs(2));
  EXPECT_THAT(node->said_, IsEmpty());
}

}  // namespace
}  // namespace wavetune::testing
