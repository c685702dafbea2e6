// wavetune fleet, against a fake daemon.
#include <string>
#include <vector>

#include "cli/commands/daemon_command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using FleetCommandTest = DaemonCommandFixture;

TEST_F(FleetCommandTest, SaysThatTheNodeIsInNone) {
  EXPECT_EQ(Run({"fleet", "status"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("--fleet"));
}

TEST_F(FleetCommandTest, ShowsWhereTheNodeIsBehindAndWhy) {
  v1::GetFleetResponse& fleet = daemon_->fleet;
  fleet.set_node("node-1");
  fleet.set_published(3);
  fleet.set_refused_replayed(2);
  v1::FleetHeadStatus& head = *fleet.add_heads();
  head.set_fleet_class("0123456789abcdef");
  head.set_kernel("gemm_bf16");
  head.set_digest(std::string(64, 'd'));
  head.set_epoch(7);
  head.set_node("node-2");
  EXPECT_EQ(Run({"fleet", "status", "--fail-behind"}), kExitOk);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("node-1, which has no key"),
                    HasSubstr("registry  answers"), HasSubstr("3 published"),
                    HasSubstr("2 older"), HasSubstr("dddddddddddddddd"),
                    HasSubstr("node-2")));
  head.set_behind("the kernel is pinned");
  EXPECT_EQ(Run({"fleet", "status"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("the kernel is pinned"));
  EXPECT_EQ(Run({"fleet", "status", "--fail-behind"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("gemm_bf16 is behind"));
  head.clear_behind();
  fleet.set_outage("etcd does not answer");
  EXPECT_EQ(Run({"fleet", "status", "--fail-behind", "--json"}),
            kExitUnreachable);
  EXPECT_THAT(out_.str(), HasSubstr("\"outage\": \"etcd does not answer\""));
  EXPECT_EQ(Run({"fleet", "status"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("OUT OF REACH"));
  fleet.set_never_reached(true);
  EXPECT_EQ(Run({"fleet", "status"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("NEVER REACHED"));
}

TEST_F(FleetCommandTest, ShowsWhatTheNodesServe) {
  v1::ListFleetNodesResponse nodes;
  nodes.set_nodes(12);
  v1::FleetVersion& version = *nodes.add_versions();
  version.set_version("0.1.0");
  version.set_nodes(12);
  v1::FleetSpread& spread = *nodes.add_spreads();
  spread.set_fleet_class("0123456789abcdef");
  spread.set_kernel("gemm_bf16");
  v1::FleetSpreadTable& table = *spread.add_tables();
  table.set_digest(std::string(64, 'd'));
  table.set_nodes(11);
  spread.set_behind(1);
  v1::FleetNodeBehind& behind = *spread.add_examples();
  behind.set_node("node-7");
  behind.set_why("the kernel is pinned");
  daemon_->fleet_nodes = nodes;
  EXPECT_EQ(Run({"fleet", "nodes"}), kExitOk);
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr("12 of version 0.1.0"), HasSubstr("11 dddddddddddddddd"),
            HasSubstr("node-7, kernel gemm_bf16: the kernel is pinned"),
            HasSubstr("-: this node has no device of the class")));
  daemon_->fleet_nodes = absl::UnavailableError("etcd does not answer");
  EXPECT_EQ(Run({"fleet", "nodes"}), kExitUnreachable);
}

TEST_F(FleetCommandTest, ShowsWhoProfiles) {
  v1::GetFleetResponse& fleet = daemon_->fleet;
  fleet.set_node("node-1");
  fleet.set_absent("another node calls itself node-1");
  v1::FleetProfileStatus& profile = *fleet.add_profiles();
  profile.set_kernel("gemm_bf16");
  profile.set_holder("node-2");
  profile.set_why("a new driver");
  v1::FleetNodeBehind& failure = *profile.add_failures();
  failure.set_node("node-3");
  failure.set_why("the GPU is hot");
  EXPECT_EQ(Run({"fleet", "status"}), kExitOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("ABSENT    another node"),
                                HasSubstr("node node-2 does it; a new driver"),
                                HasSubstr("node-3: the GPU is hot")));
}

TEST_F(FleetCommandTest, AClassThatNoDeviceIsOfAnyMoreIsNotBehind) {
  v1::FleetHeadStatus& head = *daemon_->fleet.add_heads();
  daemon_->fleet.set_node("node-1");
  head.set_kernel("gemm_bf16");
  head.set_followed_only(true);
  EXPECT_EQ(Run({"fleet", "status", "--fail-behind"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("no device of it here any more"));
}

TEST_F(FleetCommandTest, WhatBecameOfAProfileStays) {
  daemon_->fleet.set_node("node-1");
  v1::FleetProfileStatus& profile = *daemon_->fleet.add_profiles();
  profile.set_kernel("gemm_bf16");
  profile.set_done(true);
  profile.set_done_by("node-2");
  profile.set_outcome("not promoted: slower than the incumbent");
  EXPECT_EQ(Run({"fleet", "status"}), kExitOk);
  EXPECT_THAT(out_.str(),
              HasSubstr("done by node node-2: not promoted: slower than the"));
}

TEST_F(FleetCommandTest, ClassesHaveLabelDriverAndPowerLimit) {
  daemon_->fleet.set_node("node-1");
  v1::ListFleetNodesResponse nodes;
  for (const char* limit : {"500", "700"}) {
    v1::FleetHeadStatus& head = *daemon_->fleet.add_heads();
    head.set_fleet_class(std::string(13, 'c') + limit);
    head.set_kernel("gemm_bf16");
    head.set_silicon_key("backend=cuda;arch=sm_90");
    head.set_environment_key(
        std::string("driver=580.95;runtime=13.0;power_w=") + limit);
    nodes.add_spreads()->set_fleet_class(head.fleet_class());
    v1::TableInfo& table = *daemon_->tables.add_tables();
    table.set_silicon_key(head.silicon_key());
    table.set_environment_key(head.environment_key());
    table.set_device_label("NVIDIA H200");
  }
  daemon_->fleet_nodes = nodes;
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{
           {"fleet", "status"}, {"fleet", "nodes"}, {"tables", "list"}}) {
    EXPECT_EQ(Run(command), kExitOk);
    EXPECT_THAT(out_.str(),
                AllOf(HasSubstr("NVIDIA H200, driver 580.95, 500 W"),
                      HasSubstr("NVIDIA H200, driver 580.95, 700 W")));
  }
}

TEST_F(FleetCommandTest, TheNodesStatusHasALineOfIt) {
  EXPECT_EQ(Run({"status"}), kExitOk);
  EXPECT_EQ(out_.str().find("fleet"), std::string::npos);
  daemon_->fleet.set_node("node-1");
  daemon_->fleet.add_heads()->set_behind("the kernel is pinned");
  daemon_->fleet.add_rollouts()->set_halted("slower");
  EXPECT_EQ(Run({"status"}), kExitOk);
  EXPECT_THAT(out_.str(),
              HasSubstr("fleet    node node-1, registry answers, 0 tables, 1 "
                        "BEHIND, 1 rollout HALTED"));
  daemon_->fleet.set_outage("etcd does not answer");
  EXPECT_EQ(Run({"status"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("registry OUT OF REACH"));
  daemon_->fleet.set_never_reached(true);
  EXPECT_EQ(Run({"status"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("registry NEVER REACHED"));
}

TEST_F(FleetCommandTest, PublishesFreezesAndUnfreezes) {
  daemon_->published.set_fleet_class("0123456789abcdef");
  daemon_->published.set_digest(std::string(64, 'd'));
  daemon_->published.set_epoch(8);
  EXPECT_EQ(Run({"fleet", "publish", "gemm_f32", "--device", "GPU-1",
                 "--reason", "from the lab"}),
            kExitOk);
  EXPECT_EQ(daemon_->publish_request.place().kernel(), "gemm_f32");
  EXPECT_EQ(daemon_->publish_request.place().device_uuid(), "GPU-1");
  EXPECT_EQ(daemon_->publish_request.reason(), "from the lab");
  EXPECT_THAT(out_.str(),
              HasSubstr("table dddddddddddddddd of kernel gemm_f32 is the "
                        "fleet's for class 0123456789abcdef, epoch 8"));
  EXPECT_EQ(Run({"fleet", "freeze", "gemm_f32", "--why", "release week"}),
            kExitOk);
  EXPECT_EQ(daemon_->freeze_request.place().kernel(), "gemm_f32");
  EXPECT_EQ(daemon_->freeze_request.reason(), "release week");
  EXPECT_THAT(out_.str(), HasSubstr("is frozen"));
  EXPECT_EQ(Run({"fleet", "unfreeze", "gemm_f32"}), kExitOk);
  EXPECT_EQ(daemon_->unfreeze_request.place().kernel(), "gemm_f32");
  v1::FleetHeadStatus& head = *daemon_->fleet.add_heads();
  daemon_->fleet.set_node("node-1");
  head.set_kernel("gemm_f32");
  head.set_frozen("frozen by user 0 on node node-2: release week");
  EXPECT_EQ(Run({"fleet", "status"}), kExitOk);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("frozen by user 0 on node node-2: release week"),
                    HasSubstr("wavetune fleet unfreeze gemm_f32")));
}

TEST_F(FleetCommandTest, RollsBackAndWaitsUntilItServesHere) {
  daemon_->fleet_rolled_back.set_fleet_class("0123456789abcdef");
  daemon_->fleet_rolled_back.set_digest(std::string(64, 'c'));
  daemon_->fleet_rolled_back.set_epoch(9);
  v1::FleetHeadStatus& head = *daemon_->fleet.add_heads();
  head.set_kernel("gemm_f32");
  head.set_fleet_class("0123456789abcdef");
  head.set_epoch(9);
  EXPECT_EQ(Run({"fleet", "rollback", "gemm_f32", "--to", "cccccccc",
                 "--reason", "slower"}),
            kExitOk);
  EXPECT_EQ(daemon_->fleet_rollback_request.digest(), "cccccccc");
  EXPECT_EQ(daemon_->fleet_rollback_request.reason(), "slower");
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("epoch 9, and frozen"), HasSubstr("serves here"),
                    HasSubstr("wavetune fleet unfreeze gemm_f32")));
  daemon_->fleet_rolled_back.set_replaced(std::string(64, 'd'));
  EXPECT_EQ(Run({"fleet", "rollback", "gemm_f32", "--dry-run"}), kExitOk);
  EXPECT_TRUE(daemon_->fleet_rollback_request.dry_run());
  EXPECT_THAT(out_.str(), HasSubstr("would take dddddddddddddddd back, serve "
                                    "table cccccccccccccccc"));
  daemon_->fleet_rolled_back.clear_replaced();
  daemon_->fleet_rolled_back.set_halted(true);
  EXPECT_EQ(Run({"fleet", "rollback", "gemm_f32"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("the rollout that was under way is halted; "
                                    "table cccccccccccccccc"));
  daemon_->error = absl::FailedPreconditionError("is frozen by user 0");
  for (const std::string command : {"publish", "freeze", "rollback"}) {
    EXPECT_EQ(Run({"fleet", command, "gemm_f32"}), kExitFailed);
    EXPECT_THAT(err_.str(), HasSubstr("frozen by user 0"));
    EXPECT_EQ(Run({"fleet", command}), kExitUsage);
  }
}

}  // namespace
}  // namespace wavetune::cli
