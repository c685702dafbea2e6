#include "client/src/client_settings.h"

#include <cmath>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

absl::StatusOr<ClientSettings> Resolve(const ClientOptions& options,
                                       const Variables& variables) {
  return ResolveSettings(options, [&](const char* name) {
    const auto it = variables.find(name);
    return it == variables.end() ? std::string() : it->second;
  });
}

// Refused with the name of what is wrong, and what is legal.
void ExpectIllegal(const ClientOptions& options, const Variables& variables,
                   const std::string& name, const std::string& legal) {
  const absl::Status status = Resolve(options, variables).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(name), HasSubstr("legal is"), HasSubstr(legal)));
}

TEST(ClientSettingsTest, WithNothingSaidTheDaemonIsAsked) {
  const auto settings = Resolve({}, {});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->mode, ClientMode::kAuto);
  EXPECT_EQ(settings->endpoints.size(), 1U);
  EXPECT_EQ(settings->table_file, "");
  EXPECT_FALSE(settings->pinned_set);
  EXPECT_TRUE(settings->watch);
  EXPECT_TRUE(settings->usage_feedback);
}

TEST(ClientSettingsTest, ReportsOfUseAreTurnedOffByOptionEnvironmentOrMode) {
  EXPECT_FALSE(Resolve({.usage_feedback = false}, {})->usage_feedback);
  for (const char* word : {"off", "OFF", "0", "false", "no"}) {
    EXPECT_FALSE(Resolve({}, {{"WAVETUNE_USAGE", word}})->usage_feedback)
        << word;
  }
  EXPECT_TRUE(Resolve({}, {{"WAVETUNE_USAGE", "on"}})->usage_feedback);
  EXPECT_FALSE(Resolve({.usage_feedback = false}, {{"WAVETUNE_USAGE", "on"}})
                   ->usage_feedback)
      << "the program said no";
  EXPECT_FALSE(Resolve({.mode = ClientMode::kOffline}, {})->usage_feedback);
  EXPECT_FALSE(Resolve({.mode = ClientMode::kOff}, {})->usage_feedback);
}

TEST(ClientSettingsTest, IllegalUsageSettingsNameTheLegalOnes) {
  ExpectIllegal({}, {{"WAVETUNE_USAGE", "perhaps"}},
                "WAVETUNE_USAGE is \"perhaps\"", "off");
  for (const double seconds : {0.0, -1.0, 86401.0, std::nan("")}) {
    ExpectIllegal({.usage_interval_s = seconds}, {}, "usage_interval_s",
                  "above 0, at most 86400");
  }
}

TEST(ClientSettingsTest, TheEnvironmentSpeaksWhereTheProgramDoesNot) {
  const std::string digest(64, 'a');
  const Variables variables = {{"WAVETUNE_ENDPOINT", "/a.sock,node2:7000"},
                               {"WAVETUNE_MODE", "offline"},
                               {"WAVETUNE_TABLE_FILE", "/tmp"},
                               {"WAVETUNE_PIN", "gemm=" + digest}};
  const auto settings = Resolve({}, variables);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_THAT(settings->endpoints, ElementsAre("unix:/a.sock", "node2:7000"));
  EXPECT_EQ(settings->mode, ClientMode::kOffline);
  EXPECT_EQ(settings->table_file, "/tmp");
  EXPECT_EQ(settings->table_file_given_as, "WAVETUNE_TABLE_FILE");
  EXPECT_EQ(settings->pinned_set->tables().at("gemm"), digest);

  const auto said = Resolve({.endpoint = "unix:/b.sock",
                             .mode = ClientMode::kOff,
                             .table_file = "/",
                             .pin = digest},
                            variables);
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_THAT(said->endpoints, ElementsAre("unix:/b.sock"));
  EXPECT_EQ(said->mode, ClientMode::kOff);
  EXPECT_EQ(said->table_file, "/");
  EXPECT_FALSE(said->pinned_set);
  EXPECT_EQ(said->pinned_set_digest, digest);
}

TEST(ClientSettingsTest, AnIllegalModeNamesTheLegalOnes) {
  ExpectIllegal({}, {{"WAVETUNE_MODE", "fast"}}, "WAVETUNE_MODE is \"fast\"",
                "auto, offline or off");
  ExpectIllegal({}, {{"WAVETUNE_MODE", "AUTO"}}, "WAVETUNE_MODE", "auto");
}

TEST(ClientSettingsTest, AnIllegalEndpointIsNamed) {
  for (const std::string& endpoint :
       {std::string("localhost"), std::string("unix:"), std::string("/a,"),
        std::string(":80"), std::string("tcp://node2:7000"),
        std::string("http://node2:7000"), std::string("dns:///node2:7000"),
        std::string("::1:7000"), std::string("[::1]"),
        "/" + std::string(108, 'x')}) {
    ExpectIllegal({}, {{"WAVETUNE_ENDPOINT", endpoint}}, "WAVETUNE_ENDPOINT",
                  "host:port");
    ExpectIllegal({.endpoint = endpoint}, {}, "the option endpoint",
                  "host:port");
  }
}

TEST(ClientSettingsTest, AnAddressOfIpv6StandsInBrackets) {
  const auto settings = Resolve({.endpoint = "[::1]:7000"}, {});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_THAT(settings->endpoints, ElementsAre("[::1]:7000"));
}

TEST(ClientSettingsTest, AnIllegalPinIsNamed) {
  for (const std::string& pin :
       {std::string("abc"), std::string(63, 'a'), std::string("gemm=abc")}) {
    ExpectIllegal({}, {{"WAVETUNE_PIN", pin}}, "WAVETUNE_PIN", "kernel=digest");
    ExpectIllegal({.pin = pin}, {}, "the option pin", "64 lower-case");
  }
}

TEST(ClientSettingsTest, ATableFileThatIsNotThereIsNamed) {
  ExpectIllegal({}, {{"WAVETUNE_TABLE_FILE", "/no/such"}},
                "WAVETUNE_TABLE_FILE is \"/no/such\"", "nothing at this path");
}

TEST(ClientSettingsTest, AnIllegalTimeoutIsNamed) {
  for (const double timeout_s : {0.0, -1.0, 3601.0}) {
    ExpectIllegal({.timeout_s = timeout_s}, {}, "timeout_s", "at most 3600");
  }
}

}  // namespace
}  // namespace wavetune
