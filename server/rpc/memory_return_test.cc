#include "server/rpc/memory_return.h"

#include <gtest/gtest.h>

namespace wavetune {
namespace {

class MemoryReturnTest : public ::testing::Test {
 protected:
  // Returns how often memory was given back in so many quiet looks.
  int QuietLooks(int looks) {
    given_back_ = 0;
    for (int i = 0; i < looks; ++i) memory_.Look(0, 0);
    return given_back_;
  }

  int given_back_ = 0;
  MemoryReturn memory_{[this] { ++given_back_; }};
};

TEST_F(MemoryReturnTest, AFewStreamsAreWorthNothing) {
  memory_.Look(MemoryReturn::kBurst - 1, 0);
  EXPECT_EQ(QuietLooks(1000), 0);
}

TEST_F(MemoryReturnTest, AfterABurstItIsGivenBackForAWhile) {
  for (size_t i = 0; i < MemoryReturn::kBurst; ++i) memory_.Look(1, 0);
  EXPECT_EQ(QuietLooks(1000), MemoryReturn::kLooks / MemoryReturn::kEvery);
  EXPECT_EQ(QuietLooks(1000), 0);
}

TEST_F(MemoryReturnTest, AfterAJobToo) {
  memory_.Look(0, 1);
  EXPECT_EQ(QuietLooks(1000), MemoryReturn::kLooks / MemoryReturn::kEvery);
  EXPECT_EQ(QuietLooks(1000), 0);
}

TEST_F(MemoryReturnTest, StreamsThatComeAndGoForEverCostLittle) {
  for (int i = 0; i < 10 * MemoryReturn::kLooks; ++i) {
    memory_.Look(MemoryReturn::kBurst, 1);
  }
  EXPECT_EQ(given_back_, 10 * MemoryReturn::kLooks / MemoryReturn::kEvery);
}

}  // namespace
}  // namespace wavetune
