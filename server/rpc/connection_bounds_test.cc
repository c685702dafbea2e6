#include "server/rpc/connection_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wavetune {
namespace {

using ::testing::HasSubstr;

constexpr uid_t kOwnUser = 100;
const ConnectionPeer kOwner{kOwnUser, 1, ""};
const ConnectionPeer kRoot{0, 2, ""};
const ConnectionPeer kAlice{1000, 3, ""};
const ConnectionPeer kBob{1001, 4, ""};

TEST(ConnectionBoundsTest, AThousandWatchersOfOneUserFit) {
  EXPECT_GE(BoundsFor(1 << 16, true).reader.per_user, 1000U);
  EXPECT_GE(BoundsFor(4096, false).reader.per_user, 550U);
}

TEST(ConnectionBoundsTest, FewDescriptorsAreSharedAmongTheSockets) {
  for (const uint64_t descriptors : {64, 256, 1024, 4096}) {
    const SocketBounds bounds = BoundsFor(descriptors, /*over_tcp=*/true);
    const size_t connections = bounds.reader.in_all + bounds.agent.in_all +
                               bounds.admin.in_all + bounds.tcp.in_all;
    EXPECT_LT(3 * connections, descriptors) << descriptors;
    EXPECT_GE(bounds.admin.in_all, 4U);
    EXPECT_GE(bounds.agent.in_all, 4U);
    EXPECT_GE(bounds.tcp.in_all, 4U);
    EXPECT_EQ(BoundsFor(descriptors, /*over_tcp=*/false).tcp.in_all, 0U);
    EXPECT_GE(bounds.reader.in_all, bounds.reader.per_user);
  }
}

TEST(ConnectionCountsTest, OneUserDoesNotTakeTheOthersPlaces) {
  ConnectionCounts counts({.in_all = 4, .per_user = 2}, kOwnUser);
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

TEST(ConnectionCountsTest, OverTcpAnAddressIsAUser) {
  ConnectionCounts counts({.in_all = 4, .per_user = 1}, kOwnUser);
  const ConnectionPeer peer{7, 0, "192.0.2.1"};
  EXPECT_TRUE(counts.Admit(peer).ok());
  EXPECT_THAT(std::string(counts.Admit(peer).message()),
              HasSubstr("address 192.0.2.1 has 1 connections, the most that "
                        "one address may have"));
}

TEST(ConnectionCountsTest, WhoLooksAfterTheDaemonAlwaysGetsIn) {
  ConnectionCounts counts({.in_all = 1, .per_user = 8}, kOwnUser);
  EXPECT_TRUE(counts.Admit(kAlice).ok());
  EXPECT_FALSE(counts.Admit(kBob).ok());
  EXPECT_TRUE(counts.Admit(kOwner).ok());
  EXPECT_TRUE(counts.Admit(kRoot).ok());
  EXPECT_EQ(counts.in_all(), 3U);
}

// The serving processes of a node may all run as root.
TEST(ConnectionCountsTest, AnOperatorGetsInWhereServingProcessesOfRootHaveAll) {
  for (const uid_t user : {uid_t{0}, kOwnUser}) {
    ConnectionCounts counts({.in_all = 8, .per_user = 4}, kOwnUser);
    const ConnectionPeer serving{user, 100};
    // It has the kept place of a process, too, and no more of them.
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(counts.Admit(serving).ok());
    EXPECT_THAT(std::string(counts.Admit(serving).message()),
                HasSubstr("the most that one user may have"));
    for (pid_t process = 200; process < 215; ++process) {
      EXPECT_TRUE(counts.Admit({user, process}).ok()) << process;
    }
    EXPECT_FALSE(counts.Admit({user, 300}).ok());
    EXPECT_EQ(counts.in_all(), 4 + ConnectionCounts::kKeptForOwners);
    counts.Release({user, 200});
    EXPECT_TRUE(counts.Admit({user, 300}).ok());
    for (int i = 0; i < 5; ++i) counts.Release(serving);
    for (pid_t process = 201; process < 215; ++process) {
      counts.Release({user, process});
    }
    counts.Release({user, 300});
    EXPECT_EQ(counts.in_all(), 0U);
  }
}

TEST(ConnectionCountsTest, KeptPlacesAreForOwnersOnly) {
  ConnectionCounts counts({.in_all = 4, .per_user = 1}, kOwnUser);
  EXPECT_TRUE(counts.Admit(kAlice).ok());
  EXPECT_FALSE(counts.Admit({kAlice.user, 99}).ok());
}

TEST(ConnectionCountsTest, WhatEndsIsCountedNoLonger) {
  ConnectionCounts counts({.in_all = 1, .per_user = 1}, kOwnUser);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(counts.Admit(kAlice).ok());
    EXPECT_FALSE(counts.Admit(kAlice).ok());
    counts.Release(kAlice);
  }
  EXPECT_EQ(counts.in_all(), 0U);
  EXPECT_EQ(counts.Of(kAlice.user), 0U);
}

}  // namespace
}  // namespace wavetune
