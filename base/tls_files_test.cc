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
    for (const std::string& bad :
         {std::string(), std::string("no PEM at all"), good.substr(0, 90)}) {
      Write(path, bad);
      EXPECT_THAT(Refusal(), HasSubstr(path + " holds no ")) << bad;
    }
    Write(path, good);
  }
  EXPECT_TRUE(ReadTlsFiles(files_).ok());
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
