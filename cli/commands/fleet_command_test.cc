// wavetune fleet, against a fake daemon.
#include <string>

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
}

}  // namespace
}  // namespace wavetune::cli
