#include "client/http2/http2_call.h"

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Http2CallTlsTest : public ::testing::Test {
 protected:
  Http2CallTlsTest() {
    for (const char* name : kVariables) ::setenv(name, "/nowhere", 1);
  }
  ~Http2CallTlsTest() override {
    for (const char* name : kVariables) ::unsetenv(name);
  }

  static absl::Status Run(const std::string& endpoint) {
    Http2Call call(endpoint);
    return call.Run("/wavetune.v1.TableService/GetTable", "", 1'000'000,
                    [](absl::string_view) { return true; });
  }

  static constexpr const char* kVariables[] = {
      "WAVETUNE_TLS_CERT", "WAVETUNE_TLS_KEY", "WAVETUNE_TLS_CA"};
};

TEST_F(Http2CallTlsTest, RefusesToSpeakPlaintextWhereTlsIsAskedFor) {
  const absl::Status status = Run("127.0.0.1:9");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("127.0.0.1:9"), HasSubstr("forked"),
                    HasSubstr("unix socket")));
}

TEST_F(Http2CallTlsTest, AUnixSocketNeedsNone) {
  const absl::Status status = Run("unix:/nowhere/reader.sock");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

}  // namespace
}  // namespace wavetune
