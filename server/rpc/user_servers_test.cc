#include "server/rpc/user_servers.h"

#include <gtest/gtest.h>

#include <set>

namespace wavetune {
namespace {

constexpr uid_t kOwnerId = 100;

TEST(UserPlacesTest, RootAndTheDaemonsUserShareTheFirst) {
  UserPlaces places(4, kOwnerId);
  EXPECT_EQ(places.Of(0), 0U);
  EXPECT_EQ(places.Of(kOwnerId), 0U);
}

TEST(UserPlacesTest, UsersHaveAServerOfTheirOwnWhileThereAreEnough) {
  UserPlaces places(4, kOwnerId);
  std::set<size_t> used;
  for (const uid_t user : {1000, 1001, 1002}) used.insert(places.Of(user));
  EXPECT_EQ(used, (std::set<size_t>{1, 2, 3}));
  EXPECT_EQ(places.Of(1001), places.Of(1001));
}

TEST(UserPlacesTest, ManyUsersNeverReachTheOwnersServer) {
  UserPlaces places(4, kOwnerId);
  for (uid_t user = 1000; user < 11000; ++user) {
    const size_t place = places.Of(user);
    EXPECT_GE(place, 1U);
    EXPECT_LT(place, 4U);
  }
}

TEST(UserPlacesTest, OneServerIsEverybodys) {
  UserPlaces places(1, kOwnerId);
  EXPECT_EQ(places.Of(1000), 0U);
}

}  // namespace
}  // namespace wavetune
