#include "client/http2/http2_call.h"

#include <string>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Http2CallTest, OnlyUnixSocketsAreReached) {
  for (const char* endpoint :
       {"127.0.0.1:9", "localhost", "unix:/nowhere/reader.sock"}) {
    Http2Call call(endpoint);
    const absl::Status status =
        call.Run("/wavetune.v1.TableService/GetTable", "", 1'000'000,
                 [](absl::string_view) { return true; });
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    const bool is_unix = absl::StartsWith(endpoint, "unix:");
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(endpoint),
                      HasSubstr(is_unix ? "connect: No such file"
                                        : "forked while its parent")));
  }
}

}  // namespace
}  // namespace wavetune
