#include "formats/api_version.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

TEST(ApiVersionTest, AgentAndDaemonMayBeAMinorApart) {
  EXPECT_TRUE(CheckApiVersion(1003, "agent", "daemon", 1003).ok());
  EXPECT_TRUE(CheckApiVersion(1002, "agent", "daemon", 1003).ok());
  EXPECT_TRUE(CheckApiVersion(1004, "agent", "daemon", 1003).ok());
  EXPECT_THAT(
      CheckApiVersion(1001, "agent", "daemon", 1003).ToString(),
      HasSubstr("the agent speaks API 1.1, the daemon API 1.3: upgrade the "
                "agent"));
  EXPECT_THAT(CheckApiVersion(1005, "agent", "daemon", 1003).ToString(),
              HasSubstr("upgrade the daemon"));
  EXPECT_FALSE(CheckApiVersion(0, "agent", "daemon", 1003).ok());
}

TEST(ApiVersionTest, AClientMayBeAnyMinorApart) {
  for (const int32_t theirs : {0, 1000, 1003, 1009}) {
    EXPECT_TRUE(CheckClientApiVersion(theirs, "client", "daemon", 1003).ok());
  }
  EXPECT_THAT(CheckClientApiVersion(2000, "client", "daemon", 1003).ToString(),
              HasSubstr("upgrade the daemon (majors must be equal)"));
}

}  // namespace
}  // namespace wavetune
