#include "base/signing_key.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/signing_keys.h"
#include "tests/lib/test_authority.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

class SigningKeyTest : public ::testing::Test {
 protected:
  SigningKeyTest() {
    std::string name =
        (std::filesystem::temp_directory_path() / "key-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    path_ = folder_ + "/node.key";
  }
  ~SigningKeyTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& text) const {
    std::ofstream(path_) << text;
    ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  }

  std::string folder_;
  std::string path_;
};

TEST_F(SigningKeyTest, SignsWhatOthersVerify) {
  Write(testing::kSigningKeyPem);
  const auto key = SigningKey::Read(path_);
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(key->public_key(), testing::kSigningPublicKey);
  // Of the byte 72.
  EXPECT_EQ(absl::BytesToHexString(key->Sign("r")),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  const std::string signature = key->Sign("text");
  EXPECT_TRUE(CheckSignature(key->public_key(), "text", signature).ok());
  for (const std::string& wrong : {std::string(), signature.substr(1),
                                   signature + "x", std::string(64, 'x')}) {
    EXPECT_TRUE(absl::IsPermissionDenied(
        CheckSignature(key->public_key(), "text", wrong)));
  }
  EXPECT_TRUE(absl::IsPermissionDenied(
      CheckSignature(key->public_key(), "texts", signature)));
  EXPECT_TRUE(absl::IsPermissionDenied(
      CheckSignature(std::string(64, '1'), "text", signature)));
  EXPECT_TRUE(
      absl::IsInvalidArgument(CheckSignature("abc", "text", signature)));
}

TEST_F(SigningKeyTest, RefusesOtherKeysAndOpenFiles) {
  EXPECT_TRUE(absl::IsNotFound(SigningKey::Read(path_).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(SigningKey::FromSecret("x").status()));
  Write("nonsense");
  EXPECT_TRUE(absl::IsInvalidArgument(SigningKey::Read(path_).status()));
  Write(testing::TestAuthority("a").Issue({"DNS:a"}).key);
  const auto other = SigningKey::Read(path_).status();
  EXPECT_TRUE(absl::IsInvalidArgument(other));
  EXPECT_THAT(std::string(other.message()), HasSubstr("openssl genpkey"));
  Write(testing::kSigningKeyPem);
  ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  const auto open = SigningKey::Read(path_).status();
  EXPECT_TRUE(absl::IsPermissionDenied(open));
  EXPECT_THAT(std::string(open.message()), HasSubstr("chmod o-r"));
}

}  // namespace
}  // namespace wavetune
