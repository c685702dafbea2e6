#include "base/tls_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/test_authority.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TestAuthority;

class TlsFilesTest : public ::testing::Test {
 protected:
  TlsFilesTest() {
    Write(files_.cert, identity_.cert);
    Write(files_.key, identity_.key);
    Write(files_.ca, authority_.cert());
  }
  ~TlsFilesTest() override {
    if (folder_ != "/tmp") std::filesystem::remove_all(folder_);
  }

  static std::string MakeFolder() {
    char pattern[] = "/tmp/wavetune_tls_XXXXXX";
    const char* const made = ::mkdtemp(pattern);
    EXPECT_NE(made, nullptr);
    return made == nullptr ? "/tmp" : made;
  }
  void Write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  }
  std::string Refusal() const {
    return std::string(ReadTlsFiles(files_).status().message());
  }

  const TestAuthority authority_{"an authority"};
  const TestAuthority::Identity identity_ = authority_.Issue({"DNS:localhost"});
  const std::string folder_ = MakeFolder();
  const TlsFiles files_{.cert = folder_ + "/cert.pem",
                        .key = folder_ + "/key.pem",
                        .ca = folder_ + "/ca.pem"};
};

TEST_F(TlsFilesTest, ReadsWhatBelongsTogether) {
  const auto material = ReadTlsFiles(files_);
  ASSERT_TRUE(material.ok()) << material.status();
  EXPECT_EQ(material->cert, identity_.cert);
  EXPECT_EQ(material->key, identity_.key);
  EXPECT_EQ(material->ca, authority_.cert());
  EXPECT_LT(material->valid_from, absl::Now());
  EXPECT_GT(material->valid_until, absl::Now() + absl::Hours(29 * 24));
  EXPECT_LT(material->valid_until, absl::Now() + absl::Hours(31 * 24));
}

TEST_F(TlsFilesTest, RefusesAKeyOfAnotherCertificate) {
  Write(files_.key, authority_.Issue({"DNS:localhost"}).key);
  EXPECT_THAT(Refusal(), AllOf(HasSubstr(files_.key + " is not the key"),
                               HasSubstr(files_.cert)));
}

TEST_F(TlsFilesTest, RefusesWhatIsNoPem) {
  for (const std::string& path : {files_.cert, files_.key, files_.ca}) {
    std::ifstream in(path);
    const std::string good((std::istreambuf_iterator<char>(in)), {});
    for (const char* const bad : {"", "no PEM at all"}) {
      Write(path, bad);
      EXPECT_THAT(Refusal(), HasSubstr(path + " holds no ")) << bad;
    }
    for (size_t size = 1; size + 1 < good.size(); ++size) {
      Write(path, good.substr(0, size));
      EXPECT_THAT(Refusal(), HasSubstr(path)) << size;
    }
    Write(path, good);
  }
  EXPECT_TRUE(ReadTlsFiles(files_).ok());
}

TEST_F(TlsFilesTest, ReadsAChainUpToItsAuthority) {
  const TestAuthority between("between", authority_);
  const TestAuthority::Identity identity = between.Issue({"DNS:localhost"});
  Write(files_.cert, identity.cert + "a comment\n" + between.cert());
  Write(files_.key, identity.key);
  EXPECT_TRUE(ReadTlsFiles(files_).ok()) << Refusal();
  // In the other order it is the authority's certificate, with another key.
  Write(files_.cert, between.cert() + identity.cert);
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("certificate 2 (CN=wavetune test) has "
                                         "not signed the one before it"),
                               HasSubstr(files_.cert)));
}

TEST_F(TlsFilesTest, RefusesHalfABundle) {
  const TestAuthority between("between", authority_);
  const TestAuthority::Identity identity = between.Issue({"DNS:localhost"});
  Write(files_.key, identity.key);
  const std::string bundle = identity.cert + between.cert();
  for (size_t size = identity.cert.size() + 1; size + 1 < bundle.size();
       ++size) {
    Write(files_.cert, bundle.substr(0, size));
    EXPECT_THAT(Refusal(), HasSubstr(files_.cert + " is cut in the middle"))
        << size;
  }
  Write(files_.cert, bundle);
  const std::string authorities = authority_.cert() + between.cert();
  Write(files_.ca, authorities.substr(0, authorities.size() - 40));
  EXPECT_THAT(Refusal(), HasSubstr(files_.ca + " is cut in the middle"));
  Write(files_.ca, authorities);
  EXPECT_TRUE(ReadTlsFiles(files_).ok()) << Refusal();
}

TEST_F(TlsFilesTest, RefusesAChainOfWhichALinkIsMissingOrAnothers) {
  const TestAuthority between("between", authority_);
  const TestAuthority namesake("between", authority_);
  const TestAuthority::Identity identity = between.Issue({"DNS:localhost"});
  Write(files_.key, identity.key);
  for (const std::string& wrong : {authority_.cert(), namesake.cert()}) {
    Write(files_.cert, identity.cert + wrong);
    EXPECT_THAT(Refusal(), HasSubstr("has not signed the one before it"));
  }
}

TEST_F(TlsFilesTest, IsValidWhileTheWholeChainIs) {
  const auto valid = ReadTlsFiles(files_);
  ASSERT_TRUE(valid.ok());
  EXPECT_TRUE(CheckValid(*valid, files_.cert, absl::Now()).ok());
  const auto late =
      CheckValid(*valid, files_.cert, absl::Now() + absl::Hours(31 * 24));
  EXPECT_THAT(std::string(late.message()),
              AllOf(HasSubstr(files_.cert), HasSubstr("has expired at")));
  const auto early =
      CheckValid(*valid, files_.cert, absl::Now() - absl::Hours(2));
  EXPECT_THAT(std::string(early.message()),
              AllOf(HasSubstr("is not valid before"), HasSubstr("clock")));
}

TEST_F(TlsFilesTest, RefusesAFolderInWhichOthersCouldPutAnotherFile) {
  std::filesystem::create_directories(folder_ + "/a/b");
  const TlsFiles moved{
      .cert = folder_ + "/a/b/cert.pem", .key = files_.key, .ca = files_.ca};
  std::filesystem::rename(files_.cert, moved.cert);
  ASSERT_TRUE(ReadTlsFiles(moved).ok()) << ReadTlsFiles(moved).status();
  ASSERT_EQ(::chmod((folder_ + "/a").c_str(), 0777), 0);
  const auto open = ReadTlsFiles(moved);
  EXPECT_TRUE(absl::IsPermissionDenied(open.status())) << open.status();
  EXPECT_THAT(std::string(open.status().message()),
              HasSubstr("chmod go-w " + folder_ + "/a"));
  // As secrets are mounted: nobody can replace what others put there.
  ASSERT_EQ(::chmod((folder_ + "/a").c_str(), 01777), 0);
  EXPECT_TRUE(ReadTlsFiles(moved).ok());
}

TEST_F(TlsFilesTest, NamesAFileThatIsNotThere) {
  std::filesystem::remove(files_.ca);
  EXPECT_TRUE(absl::IsNotFound(ReadTlsFiles(files_).status()));
  EXPECT_THAT(Refusal(), HasSubstr(files_.ca));
}

TEST_F(TlsFilesTest, RefusesAKeyThatEverybodyMayRead) {
  ASSERT_EQ(::chmod(files_.key.c_str(), 0644), 0);
  EXPECT_THAT(Refusal(), HasSubstr("chmod o-r " + files_.key));
  ASSERT_EQ(::chmod(files_.key.c_str(), 0640), 0);
  EXPECT_TRUE(ReadTlsFiles(files_).ok());
}

TEST_F(TlsFilesTest, RefusesAFileThatOthersMayWrite) {
  ASSERT_EQ(::chmod(files_.ca.c_str(), 0666), 0);
  EXPECT_THAT(Refusal(), HasSubstr("chmod go-w " + files_.ca));
}

TEST_F(TlsFilesTest, FollowsTheLinksThatSecretsAreMountedBy) {
  std::filesystem::create_directory(folder_ + "/data");
  std::filesystem::rename(files_.key, folder_ + "/data/key.pem");
  std::filesystem::create_symlink("data/key.pem", files_.key);
  EXPECT_TRUE(ReadTlsFiles(files_).ok());
}

TEST_F(TlsFilesTest, AnExpiredCertificateIsReadAllTheSame) {
  const TestAuthority::Identity expired = authority_.Issue(
      {"DNS:localhost"},
      {.from = std::chrono::hours(-48), .until = std::chrono::hours(-24)});
  Write(files_.cert, expired.cert);
  Write(files_.key, expired.key);
  const auto material = ReadTlsFiles(files_);
  ASSERT_TRUE(material.ok()) << material.status();
  EXPECT_LT(material->valid_until, absl::Now());
}

TEST(TlsEnvironmentTest, TakesAllThreeVariablesOrNone) {
  std::map<std::string, std::string> set;
  const auto environment = [&](const char* name) { return set[name]; };
  EXPECT_EQ(TlsFilesFromEnvironment(environment)->has_value(), false);
  set = {{"WAVETUNE_TLS_CERT", "c"}, {"WAVETUNE_TLS_CA", "a"}};
  const auto partly = TlsFilesFromEnvironment(environment);
  EXPECT_TRUE(absl::IsInvalidArgument(partly.status()));
  EXPECT_THAT(std::string(partly.status().message()),
              AllOf(HasSubstr("missing: WAVETUNE_TLS_KEY"),
                    Not(HasSubstr("missing: WAVETUNE_TLS_CERT"))));
  set["WAVETUNE_TLS_KEY"] = "k";
  const auto files = TlsFilesFromEnvironment(environment);
  ASSERT_TRUE(files.ok() && files->has_value());
  EXPECT_EQ((*files)->cert + (*files)->key + (*files)->ca, "cka");
}

}  // namespace
}  // namespace wavetune
