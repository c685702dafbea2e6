#include "server/fleet/etcd/etcd_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "server/fleet/etcd/test_etcd.h"
#include "server/fleet/fleet_registry_contract_test.h"

namespace wavetune::testing {
namespace {

using ::testing::HasSubstr;

class EtcdUnderTest : public FleetUnderTest {
 public:
  EtcdUnderTest() { etcd_.Start(); }
  std::unique_ptr<FleetRegistry> Join() override {
    EtcdOptions options = ParseEtcdUrl(etcd_.url()).value();
    options.session_ttl = std::chrono::seconds(3);
    return EtcdRegistry::Create(options).value();
  }
  void Stop() override { etcd_.Kill(); }
  void Start() override { etcd_.Start(); }

 private:
  TestEtcd etcd_;
};

std::unique_ptr<FleetUnderTest> MakeEtcdFleet() {
  return std::make_unique<EtcdUnderTest>();
}

INSTANTIATE_TEST_SUITE_P(Etcd, FleetRegistryContractTest,
                         ::testing::Values(&MakeEtcdFleet));

class EtcdRegistryTest : public ::testing::Test {
 protected:
  static std::unique_ptr<EtcdRegistry> Join(const std::string& url) {
    EtcdOptions options = ParseEtcdUrl(url).value();
    options.session_ttl = std::chrono::seconds(3);
    options.call_timeout = std::chrono::milliseconds(2000);
    return EtcdRegistry::Create(options).value();
  }
  static absl::Status Commit(FleetRegistry& node, const std::string& value) {
    return node.Commit({{.key = "heads/a", .value = value}}).status();
  }

  TestEtcd etcd_;
};

TEST_F(EtcdRegistryTest, KeysAreBeneathThePrefix) {
  etcd_.Start();
  ASSERT_TRUE(Commit(*Join(etcd_.url() + "/fleets/one"), "1").ok());
  ASSERT_TRUE(Commit(*Join(etcd_.url()), "2").ok());
  EXPECT_EQ(etcd_.Etcdctl({"get", "--prefix", "/"}),
            "/fleets/one/heads/a\n1\n/wavetune/heads/a\n2\n");
}

TEST_F(EtcdRegistryTest, AnEtcdThatComesLaterIsFound) {
  const auto node = Join(etcd_.url());
  FleetFollower follower(node.get(), "heads/");
  EXPECT_TRUE(follower.SeesOutage());
  const absl::Status none = Commit(*node, "1");
  EXPECT_TRUE(absl::IsUnavailable(none)) << none;
  EXPECT_THAT(std::string(none.message()), HasSubstr(etcd_.endpoint()));
  etcd_.Start();
  EXPECT_TRUE(follower.Sees({}));
  EXPECT_TRUE(Commit(*node, "2").ok());
  EXPECT_TRUE(follower.Sees({{"heads/a", "2"}}));
}

TEST_F(EtcdRegistryTest, ADeadMemberIsPassedOver) {
  etcd_.Start();
  const auto node = Join("etcd://127.0.0.1:" + std::to_string(FreePort()) +
                         "," + etcd_.endpoint());
  EXPECT_TRUE(Commit(*node, "1").ok());
}

TEST_F(EtcdRegistryTest, ACompactedRevisionIsListedAnew) {
  etcd_.Start();
  const auto node = Join(etcd_.url());
  FleetFollower follower(node.get(), "heads/");
  ASSERT_TRUE(Commit(*node, "1").ok());
  ASSERT_TRUE(follower.Sees({{"heads/a", "1"}}));
  // While it is away, so much happens that etcd forgets the beginning.
  etcd_.Kill();
  ASSERT_TRUE(follower.SeesOutage());
  etcd_.Start();
  for (const char* const value : {"2", "3", "4"})
    etcd_.Etcdctl({"put", "/wavetune/heads/a", value});
  const auto revision = node->List("heads/")->revision;
  etcd_.Etcdctl({"compact", std::to_string(revision)});
  EXPECT_TRUE(follower.Sees({{"heads/a", "4"}}));
}

TEST_F(EtcdRegistryTest, ARestoredBackupIsListedAnew) {
  etcd_.Start();
  const auto node = Join(etcd_.url());
  FleetFollower follower(node.get(), "heads/");
  ASSERT_TRUE(Commit(*node, "1").ok());
  const std::string backup = etcd_.folder() + "/backup";
  etcd_.Etcdctl({"snapshot", "save", backup});
  for (const char* const value : {"2", "3", "4"})
    ASSERT_TRUE(Commit(*node, value).ok());
  ASSERT_TRUE(follower.Sees({{"heads/a", "4"}}));
  etcd_.Restore(backup);
  EXPECT_TRUE(follower.Sees({{"heads/a", "1"}}));
  EXPECT_TRUE(Commit(*node, "5").ok());
  EXPECT_TRUE(follower.Sees({{"heads/a", "5"}}));
}

TEST_F(EtcdRegistryTest, AUserIsNeededWhereEtcdAsksForOne) {
  etcd_.Start();
  etcd_.Etcdctl({"user", "add", "root:secret"});
  etcd_.Etcdctl({"user", "grant-role", "root", "root"});
  etcd_.Etcdctl({"user", "add", "node:open"});
  etcd_.Etcdctl({"role", "add", "wavetune"});
  etcd_.Etcdctl({"role", "grant-permission", "wavetune", "--prefix=true",
                 "readwrite", "/wavetune/"});
  etcd_.Etcdctl({"user", "grant-role", "node", "wavetune"});
  etcd_.Etcdctl({"auth", "enable"});
  const absl::Status nobody = Commit(*Join(etcd_.url()), "1");
  EXPECT_TRUE(absl::IsUnauthenticated(nobody)) << nobody;
  EXPECT_THAT(std::string(nobody.message()), HasSubstr("asks for a user"));

  EtcdOptions options = ParseEtcdUrl(etcd_.url()).value();
  options.session_ttl = std::chrono::seconds(3);
  options.user = "node";
  options.password = "wrong";
  const absl::Status wrong = Commit(*EtcdRegistry::Create(options).value(), "");
  EXPECT_TRUE(absl::IsUnauthenticated(wrong)) << wrong;

  options.password = "open";
  const auto node = EtcdRegistry::Create(options).value();
  FleetFollower follower(node.get(), "heads/");
  EXPECT_TRUE(Commit(*node, "1").ok());
  EXPECT_TRUE(follower.Sees({{"heads/a", "1"}}));
  options.prefix = "/others/";
  const absl::Status refused =
      Commit(*EtcdRegistry::Create(options).value(), "1");
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("readwrite"));
}

TEST(EtcdOptionsTest, ReadsUrls) {
  const auto options = ParseEtcdUrl("etcds://a:1,[::1]:2379/fleets/one/");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(options->tls);
  EXPECT_THAT(options->endpoints, ::testing::ElementsAre("a:1", "[::1]:2379"));
  EXPECT_EQ(options->prefix, "/fleets/one/");
  EXPECT_EQ(ParseEtcdUrl("etcd://a:1")->prefix, "/wavetune/");
  for (const char* const bad : {"", "a:1", "http://a:1", "etcd://", "etcd://a",
                                "etcd://a:0", "etcd://a:70000", "etcd://:1",
                                "etcd://a:1,", "etcd://a:1/", "etcd://a:1//"}) {
    const auto refused = ParseEtcdUrl(bad);
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << bad;
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("'")) << bad;
  }
}

}  // namespace
}  // namespace wavetune::testing
