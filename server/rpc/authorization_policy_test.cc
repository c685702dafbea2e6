#include "server/rpc/authorization_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace wavetune {
namespace {

using ::testing::HasSubstr;

constexpr char kPolicy[] = R"({
  "name": "test",
  "deny_rules": [
    {"name": "lost key", "source": {"principals": ["spiffe://wavetune/admin/eve"]}}
  ],
  "allow_rules": [
    {"name": "readers",
     "source": {"principals": ["spiffe://wavetune/reader", "spiffe://wavetune/admin*"]},
     "request": {"paths": ["/wavetune.v1.TableService/*"]}},
    {"name": "one method", "source": {"principals": ["*.example.org", "CN=old"]},
     "request": {"paths": ["/wavetune.v1.AdminService/Reprofile"]}},
    {"name": "health", "request": {"paths": ["*/Check"]}}
  ]})";

AuthorizationPolicy Policy() {
  auto policy = AuthorizationPolicy::Parse(kPolicy);
  EXPECT_TRUE(policy.ok()) << policy.status();
  return *std::move(policy);
}

CertificateNames Uri(const std::string& uri) { return {.uris = {uri}}; }

TEST(AuthorizationPolicyTest, AllowsWhatARuleAllowsAndNothingElse) {
  const AuthorizationPolicy policy = Policy();
  const CertificateNames reader = Uri("spiffe://wavetune/reader");
  EXPECT_TRUE(policy.Allows(reader, "/wavetune.v1.TableService/GetTable"));
  EXPECT_FALSE(policy.Allows(reader, "/wavetune.v1.AdminService/Reprofile"));
  EXPECT_FALSE(policy.Allows(reader, "/wavetune.v1.TableServiceX/GetTable"));
  const CertificateNames other = Uri("spiffe://wavetune/reader2");
  EXPECT_FALSE(policy.Allows(other, "/wavetune.v1.TableService/GetTable"));
  EXPECT_FALSE(policy.Allows({}, "/wavetune.v1.TableService/GetTable"));
}

TEST(AuthorizationPolicyTest, ADenyingRuleWins) {
  const std::string path = "/wavetune.v1.TableService/GetTable";
  const AuthorizationPolicy policy = Policy();
  EXPECT_TRUE(policy.Allows(Uri("spiffe://wavetune/admin/alice"), path));
  EXPECT_FALSE(policy.Allows(Uri("spiffe://wavetune/admin/eve"), path));
}

TEST(AuthorizationPolicyTest, ARefusalSaysWhoMayNotAndWhy) {
  const std::string path = "/wavetune.v1.TableService/GetTable";
  const AuthorizationPolicy policy = Policy();
  EXPECT_EQ(policy.WhyNot(Uri("spiffe://wavetune/reader"), path), "");
  EXPECT_THAT(policy.WhyNot(Uri("spiffe://wavetune/admin/eve"), path),
              HasSubstr("spiffe://wavetune/admin/eve may not call " + path +
                        ": the rule \"lost key\" of the daemon's policy "
                        "(--authz-policy), of deny_rules, denies it"));
  EXPECT_THAT(policy.WhyNot(Uri("spiffe://x"), path),
              HasSubstr("no rule of the daemon's policy (--authz-policy) "
                        "allows it"));
}

// As SPIFFE has it: else the history would name one and the policy another.
TEST(AuthorizationPolicyTest, SeveralUrisAndAuthoritiesAreNobody) {
  const std::string path = "/grpc.health.v1.Health/Check";
  const AuthorizationPolicy policy = Policy();
  EXPECT_THAT(policy.WhyNot({.uris = {"spiffe://wavetune/reader",
                                      "spiffe://wavetune/admin"}},
                            path),
              HasSubstr("its certificate has several URIs"));
  EXPECT_THAT(
      policy.WhyNot({.uris = {"spiffe://wavetune/admin"}, .of_authority = true},
                    path),
      HasSubstr("is an authority's"));
  EXPECT_EQ(policy.WhyNot({.uris = {"spiffe://wavetune/reader"}}, path), "");
}

TEST(AuthorizationPolicyTest, NamesMayBeDnsNamesAndSubjects) {
  const std::string path = "/wavetune.v1.AdminService/Reprofile";
  const AuthorizationPolicy policy = Policy();
  EXPECT_TRUE(policy.Allows({.dns_names = {"a.b", "ops.example.org"}}, path));
  EXPECT_FALSE(policy.Allows({.dns_names = {"ops.example.net"}}, path));
  EXPECT_TRUE(policy.Allows({.subject = "CN=old"}, path));
  EXPECT_FALSE(policy.Allows({.subject = "CN=older"}, path));
}

TEST(AuthorizationPolicyTest, WithoutPrincipalsAnyVerifiedCertificateMay) {
  EXPECT_TRUE(Policy().Allows({}, "/grpc.health.v1.Health/Check"));
}

TEST(AuthorizationPolicyTest, SaysWhatIsWrongAndWhere) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {"", "is no JSON"},
      {"{ bad", "is no JSON"},
      {"[]", "the policy is no object"},
      {R"({"allow_rules": [{"name": "a"}]})", "the policy has no \"name\""},
      {R"({"name": "p"})", "has no \"allow_rules\""},
      {R"({"name": "p", "allow_rules": []})", "has no \"allow_rules\""},
      {R"({"name": "p", "allow_rule": []})",
       R"(has a field "allow_rule"; legal are name, deny_rules, allow_rules)"},
      {R"({"name": "p", "allow_rules": {}})", "allow_rules is no list"},
      {R"({"name": "p", "allow_rules": [{}]})",
       "allow_rules[0] has no \"name\""},
      {R"({"name": "p", "allow_rules": [{"name": "a", "request":
          {"headers": []}}]})",
       R"(allow_rules[0] ("a") request has a field "headers")"},
      {R"({"name": "p", "allow_rules": [{"name": "a", "source":
          {"principals": "x"}}]})",
       R"(allow_rules[0] ("a") principals is no list of texts)"},
      {R"({"name": "p", "allow_rules": [{"name": "a", "request":
          {"paths": [1]}}]})",
       R"(allow_rules[0] ("a") paths is no list of texts)"},
      {R"({"name": "p", "deny_rules": [{"name": "d", "source": 1}],
          "allow_rules": [{"name": "a"}]})",
       R"(deny_rules[0] ("d") source is no object)"},
      // One list would be gone, and who it names be allowed.
      {R"({"name": "p", "deny_rules": [{"name": "d"}], "deny_rules": [],
          "allow_rules": [{"name": "a"}]})",
       R"(has "deny_rules" twice)"},
      // A denying rule that would deny nothing.
      {R"({"name": "p", "deny_rules": [{"name": "d", "request":
          {"paths": ["/wavetune.v1.*/Reprofile"]}}],
          "allow_rules": [{"name": "a"}]})",
       R"(has "/wavetune.v1.*/Reprofile": a text with at most one *)"},
      {R"({"name": "p", "allow_rules": [{"name": "a", "source":
          {"principals": ["*Admin*"]}}]})",
       R"(has "*Admin*": a text with at most one *)"},
      {R"({"name": "p", "allow_rules": [{"name": "a", "source":
          {"principals": [""]}}]})",
       R"(has "": a text with at most one *)"},
  };
  for (const auto& [json, message] : wrong) {
    const auto policy = AuthorizationPolicy::Parse(json);
    EXPECT_TRUE(absl::IsInvalidArgument(policy.status())) << json;
    EXPECT_THAT(std::string(policy.status().message()), HasSubstr(message));
  }
}

TEST(AuthorizationPolicyTest, AnEmptyListOfPrincipalsIsNoWildcard) {
  const auto policy = AuthorizationPolicy::Parse(
      R"({"name": "p", "allow_rules": [{"name": "a", "source":
          {"principals": []}}]})");
  EXPECT_TRUE(absl::IsInvalidArgument(policy.status()));
}

}  // namespace
}  // namespace wavetune
