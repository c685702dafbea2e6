#include "server/rpc/tls_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/test_folder.h"
#include "tests/lib/test_authority.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TestAuthority;
using Identity = TestAuthority::Identity;

constexpr char kForReaders[] = R"({"name": "p", "allow_rules": [
    {"name": "r", "source": {"principals": ["spiffe://wavetune/reader"]}}]})";
constexpr char kForNobody[] = R"({"name": "p", "allow_rules": [
    {"name": "r", "source": {"principals": ["nobody"]}}]})";

class TlsAccessTest : public ::testing::Test {
 protected:
  TlsAccessTest() {
    WriteIdentity(first_);
    Write("ca", authority_.cert());
    Write("policy", kForReaders);
    auto access = TlsAccess::Open(
        {.tls = {.cert = folder_ / "cert",
                 .key = folder_ / "key",
                 .ca = folder_ / "ca"},
         .policy = folder_ / "policy"},
        [this](LogLevel level, const std::string& text) {
          said_.push_back(
              absl::StrCat(level == LogLevel::kInfo ? "" : "problem: ", text));
        });
    EXPECT_TRUE(access.ok()) << access.status();
    access_ = *std::move(access);
  }

  void Write(const std::string& name, const std::string& text) const {
    folder_.Write(name, text);
    ASSERT_EQ(::chmod((folder_ / name).c_str(), 0600), 0);
  }
  void WriteIdentity(const Identity& identity) const {
    Write("cert", identity.cert);
    Write("key", identity.key);
  }
  void Look() { access_->Look(absl::Now()); }
  std::string Key() const { return access_->material().material->key; }
  bool ReaderMay() const {
    return access_->policy()->Allows({.uris = {"spiffe://wavetune/reader"}},
                                     "/x/y");
  }

  const TestAuthority authority_{"an authority"};
  const Identity first_ = authority_.Issue({"DNS:localhost"});
  const Identity second_ = authority_.Issue({"DNS:localhost"});
  const TestFolder folder_;
  std::vector<std::string> said_;
  std::unique_ptr<TlsAccess> access_;
};

TEST_F(TlsAccessTest, ALookAtTheSameFilesChangesAndSaysNothing) {
  const uint64_t generation = access_->material().generation;
  Look();
  EXPECT_EQ(access_->material().generation, generation);
  EXPECT_EQ(Key(), first_.key);
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(TlsAccessTest, ANewPairIsUsedFromTheNextLookOn) {
  const uint64_t generation = access_->material().generation;
  WriteIdentity(second_);
  EXPECT_EQ(Key(), first_.key);
  Look();
  EXPECT_EQ(Key(), second_.key);
  EXPECT_NE(access_->material().generation, generation);
  EXPECT_THAT(said_, ElementsAre(HasSubstr("valid until")));
}

TEST_F(TlsAccessTest, HalfAPairNeverTakesThePlaceOfAGoodOne) {
  Write("key", second_.key);
  Look();
  Look();
  EXPECT_EQ(Key(), first_.key);
  // Said once, however often it is seen.
  EXPECT_THAT(said_, ElementsAre(AllOf(HasSubstr("problem: "),
                                       HasSubstr("is not the key of"),
                                       HasSubstr("stays in use"))));
  Write("cert", second_.cert);
  Look();
  EXPECT_EQ(Key(), second_.key);
}

TEST_F(TlsAccessTest, WhatIsNotValidNowNeverTakesThePlaceOfWhatIs) {
  using std::chrono::hours;
  const Identity expired =
      authority_.Issue({"DNS:localhost"}, {hours(-48), hours(-24)});
  const Identity early =
      authority_.Issue({"DNS:localhost"}, {hours(24), hours(48)});
  WriteIdentity(expired);
  Look();
  Look();
  EXPECT_EQ(Key(), first_.key);
  EXPECT_THAT(said_, ElementsAre(AllOf(HasSubstr("has expired at"),
                                       HasSubstr("stays in use"))));
  WriteIdentity(early);
  Look();
  EXPECT_EQ(Key(), first_.key);
  EXPECT_THAT(said_.back(), HasSubstr("is not valid before"));
  // It is used as soon as it is valid.
  access_->Look(absl::Now() + absl::Hours(25));
  EXPECT_EQ(Key(), early.key);
}

TEST_F(TlsAccessTest, WhereNothingIsValidTheNewerPairIsUsed) {
  using std::chrono::hours;
  const absl::Time later =
      access_->material().material->valid_until + absl::Hours(1);
  WriteIdentity(second_);
  access_->Look(later);
  EXPECT_EQ(Key(), second_.key);
}

TEST_F(TlsAccessTest, WhatWasReadStaysWhereAFileIsGone) {
  for (const char* name : {"cert", "key", "ca", "policy"}) {
    std::filesystem::rename(folder_ / name, folder_ / "away");
    Look();
    EXPECT_EQ(Key(), first_.key);
    EXPECT_TRUE(ReaderMay());
    EXPECT_THAT(said_.back(), HasSubstr(folder_ / name)) << name;
    std::filesystem::rename(folder_ / "away", folder_ / name);
  }
  EXPECT_EQ(said_.size(), 4u);
}

TEST_F(TlsAccessTest, ANewPolicyJudgesFromTheNextLookOn) {
  EXPECT_TRUE(ReaderMay());
  Write("policy", kForNobody);
  Look();
  EXPECT_FALSE(ReaderMay());
}

TEST_F(TlsAccessTest, ALookTellsWhetherOtherCallersMayBeAllowed) {
  EXPECT_FALSE(access_->Look(absl::Now()));
  WriteIdentity(second_);
  access_->Look(absl::Now());
  EXPECT_FALSE(access_->Look(absl::Now()));
  Write("policy", kForNobody);
  EXPECT_TRUE(access_->Look(absl::Now()));
  EXPECT_FALSE(access_->Look(absl::Now()));
  Write("policy", "{");
  EXPECT_FALSE(access_->Look(absl::Now()));
}

TEST_F(TlsAccessTest, APolicyThatDoesNotParseLeavesTheOldOne) {
  Write("policy", R"({"name": "p", "allow_rules": [{"nam": "r"}]})");
  Look();
  Look();
  EXPECT_TRUE(ReaderMay());
  EXPECT_THAT(said_, ElementsAre(AllOf(HasSubstr(folder_ / "policy"),
                                       HasSubstr("\"nam\""),
                                       HasSubstr("stays in use"))));
}

TEST_F(TlsAccessTest, SaysOnceADayThatItsCertificateExpires) {
  const absl::Time until = access_->material().material->valid_until;
  access_->Look(until - absl::Hours(24 * 7));
  EXPECT_THAT(said_, IsEmpty());  // A fifth of 30 days is less than a week.
  access_->Look(until - absl::Hours(24 * 5));
  access_->Look(until - absl::Hours(24 * 5 - 1));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("expires at")));
  access_->Look(until + absl::Hours(1));
  EXPECT_EQ(said_.size(), 2u);
  EXPECT_THAT(said_.back(), AllOf(HasSubstr("expired at"),
                                  HasSubstr("no restart is needed")));
}

TEST_F(TlsAccessTest, DoesNotBeginWithWhatIsWrong) {
  Write("policy", "{}");
  const auto access = TlsAccess::Open({.tls = {.cert = folder_ / "cert",
                                               .key = folder_ / "key",
                                               .ca = folder_ / "ca"},
                                       .policy = folder_ / "policy"},
                                      nullptr);
  EXPECT_THAT(std::string(access.status().message()),
              HasSubstr(folder_ / "policy"));
}

}  // namespace
}  // namespace wavetune
