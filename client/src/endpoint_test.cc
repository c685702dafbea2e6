#include "client/src/endpoint.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

class EndpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"WAVETUNE_ENDPOINT", "WAVETUNE_CACHE_DIR",
                             "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"})
      unsetenv(name);
  }
};

TEST_F(EndpointTest, PrefersTheExplicitEndpoint) {
  setenv("WAVETUNE_ENDPOINT", "unix:/b/reader.sock", 1);
  EXPECT_EQ(ReaderEndpoint("unix:/a/reader.sock"), "unix:/a/reader.sock");
}

TEST_F(EndpointTest, ThenTakesTheEnvironment) {
  setenv("WAVETUNE_ENDPOINT", "unix:/b/reader.sock", 1);
  EXPECT_EQ(ReaderEndpoint(""), "unix:/b/reader.sock");
}

TEST_F(EndpointTest, ThenADefaultSocket) {
  const std::string endpoint = ReaderEndpoint("");
  EXPECT_EQ(endpoint.rfind("unix:/", 0), 0u) << endpoint;
  EXPECT_NE(endpoint.find("/reader.sock"), std::string::npos) << endpoint;
}

TEST_F(EndpointTest, MakesATargetOfAPath) {
  EXPECT_EQ(ReaderEndpoint("/run/x/reader.sock"), "unix:/run/x/reader.sock");
  EXPECT_EQ(ReaderEndpoint("./reader.sock"), "unix:./reader.sock");
  EXPECT_EQ(ReaderEndpoint("host:1234"), "host:1234");
}

TEST_F(EndpointTest, FindsTheSocketOfAnotherRoleBeside) {
  EXPECT_EQ(SiblingEndpoint("unix:/x/reader.sock", "admin"),
            "unix:/x/admin.sock");
  EXPECT_EQ(SiblingEndpoint("unix:///x/reader.sock", "agent"),
            "unix:///x/agent.sock");
}

TEST_F(EndpointTest, KeepsAnEndpointThatServesAllRoles) {
  EXPECT_EQ(SiblingEndpoint("host:1234", "admin"), "host:1234");
  EXPECT_EQ(SiblingEndpoint("unix:/x/all.sock", "admin"), "unix:/x/all.sock");
}

TEST_F(EndpointTest, FindsTheCacheFolder) {
  setenv("XDG_CACHE_HOME", "/c", 1);
  EXPECT_EQ(DefaultCacheDir().path, "/c/wavetune");
  setenv("WAVETUNE_CACHE_DIR", "/d", 1);
  EXPECT_EQ(DefaultCacheDir().path, "/d");
}

}  // namespace
}  // namespace wavetune
