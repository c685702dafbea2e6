#include "server/connection_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wavetune {
namespace {

using ::testing::HasSubstr;

constexpr uid_t kOwner = 100;
constexpr uid_t kAlice = 1000;
constexpr uid_t kBob = 1001;

TEST(ConnectionBoundsTest, AThousandWatchersOfOneUserFit) {
  EXPECT_GE(BoundsFor(1 << 16).reader.per_user, 1000U);
  EXPECT_GE(BoundsFor(4096).reader.per_user, 800U);
}

TEST(ConnectionBoundsTest, FewDescriptorsAreSharedAmongTheSockets) {
  for (const uint64_t descriptors : {64, 256, 1024, 4096}) {
    const SocketBounds bounds = BoundsFor(descriptors);
    const size_t connections =
        bounds.reader.in_all + bounds.agent.in_all + bounds.admin.in_all;
    EXPECT_LT(2 * connections, descriptors) << descriptors;
    EXPECT_GE(bounds.admin.in_all, 4U);
    EXPECT_GE(bounds.agent.in_all, 4U);
    EXPECT_GE(bounds.reader.in_all, bounds.reader.per_user);
  }
}

TEST(ConnectionCountsTest, OneUserDoesNotTakeTheOthersPlaces) {
  ConnectionCounts counts({.in_all = 4, .per_user = 2}, kOwner);
  EXPECT_TRUE(counts.Admit(kAlice).ok());
  EXPECT_TRUE(counts.Admit(kAlice).ok());
  const absl::Status refused = counts.Admit(kAlice);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("user 1000 has 2 connections"));
  EXPECT_TRUE(counts.Admit(kBob).ok());
  counts.Release(kAlice);
  EXPECT_TRUE(counts.Admit(kAlice).ok());
}

TEST(ConnectionCountsTest, WhoLooksAfterTheDaemonAlwaysGetsIn) {
  ConnectionCounts counts({.in_all = 1, .per_user = 8}, kOwner);
  EXPECT_TRUE(counts.Admit(kAlice).ok());
  EXPECT_FALSE(counts.Admit(kBob).ok());
  EXPECT_TRUE(counts.Admit(kOwner).ok());
  EXPECT_TRUE(counts.Admit(0).ok());
  EXPECT_EQ(counts.in_all(), 3U);
}

TEST(ConnectionCountsTest, WhatEndsIsCountedNoLonger) {
  ConnectionCounts counts({.in_all = 1, .per_user = 1}, kOwner);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(counts.Admit(kAlice).ok());
    EXPECT_FALSE(counts.Admit(kAlice).ok());
    counts.Release(kAlice);
  }
  EXPECT_EQ(counts.in_all(), 0U);
  EXPECT_EQ(counts.Of(kAlice), 0U);
}

}  // namespace
}  // namespace wavetune
