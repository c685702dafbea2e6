#include "server/catalog/default_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/store/fake_stores.h"
#include "server/store/faulty_stores.h"
#include "server/store/store_contract_test_records.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class DefaultFaultsTest : public ::testing::Test {
 protected:
  void Store(uint64_t generation, const std::string& reason,
             const std::string& specialisation = "") {
    ASSERT_TRUE(
        samples_
            .Append(key_, generation, {},
                    {testing::TestCandidate(64, reason, specialisation)})
            .ok());
  }

  const ProfileKey key_ = testing::TestKey();
  const Configuration default_ = Configuration({64, 4});
  FakeSampleStore base_;
  FaultySampleStore samples_{&base_};
  DefaultFaults faults_{&samples_};
};

TEST_F(DefaultFaultsTest, NothingIsKnownOfAKernelThatWasNeverProfiled) {
  EXPECT_THAT(faults_.Of(key_, default_), IsEmpty());
}

TEST_F(DefaultFaultsTest, SaysWhyByTheSpecialisation) {
  Store(1, "", "full");
  Store(1, "does not compile: line 3", "causal");
  EXPECT_THAT(faults_.Of(key_, default_),
              ElementsAre(Pair("causal", "does not compile: line 3")));
  EXPECT_THAT(faults_.Of(key_, Configuration({128, 4})), IsEmpty());
}

TEST_F(DefaultFaultsTest, TheNewestProfileCountsOnceAJobHasSaidSo) {
  Store(1, "wrong result: error 0.5");
  EXPECT_THAT(faults_.Of(key_, default_),
              ElementsAre(Pair("", "wrong result: error 0.5")));
  Store(2, "");
  faults_.Reload(key_);
  EXPECT_THAT(faults_.Of(key_, default_), IsEmpty());
}

TEST_F(DefaultFaultsTest, AProfileThatEndedEarlyMakesNoFaultForgotten) {
  Store(1, "hung", "causal");
  Store(2, "", "full");  // Cancelled before it came to the other.
  EXPECT_THAT(faults_.Of(key_, default_), ElementsAre(Pair("causal", "hung")));
}

TEST_F(DefaultFaultsTest, WhatCannotBeReadIsReadAgainWhenItIsTime) {
  Store(1, "hung");
  samples_.reads().Fail(absl::InternalError("disk"));
  EXPECT_THAT(faults_.Of(key_, default_), IsEmpty());
  samples_.reads().Heal();
  EXPECT_THAT(faults_.Of(key_, default_), IsEmpty());
  faults_.RetryFailed();
  EXPECT_THAT(faults_.Of(key_, default_), ElementsAre(Pair("", "hung")));
}

TEST_F(DefaultFaultsTest, WhatIsKnownHoldsWhereItCannotBeReadAgain) {
  Store(1, "hung");
  faults_.Load(key_, default_);
  samples_.reads().Fail(absl::InternalError("disk"));
  faults_.Reload(key_);
  EXPECT_THAT(faults_.Of(key_, default_), ElementsAre(Pair("", "hung")));
}

TEST_F(DefaultFaultsTest, WhatNobodyHasReadIsReadLaterAndOnce) {
  Store(1, "hung");
  std::vector<std::function<void()>> waiting;
  DefaultFaults faults(&samples_, [&](std::function<void()> work) {
    waiting.push_back(std::move(work));
  });
  EXPECT_THAT(faults.Of(key_, default_), IsEmpty());
  EXPECT_THAT(faults.Of(key_, default_), IsEmpty());
  ASSERT_EQ(waiting.size(), 1u);
  waiting[0]();
  EXPECT_THAT(faults.Of(key_, default_), ElementsAre(Pair("", "hung")));
  EXPECT_EQ(waiting.size(), 1u);
}

TEST_F(DefaultFaultsTest, TheOnesAskedForLongestAgoAreForgotten) {
  Store(1, "hung");
  int readings = 0;
  DefaultFaults faults(&samples_, [&](const std::function<void()>& work) {
    ++readings;
    work();
  });
  ProfileKey other = key_;
  for (size_t i = 0; i < DefaultFaults::kMostKept + 10; ++i) {
    other.fingerprint = std::to_string(i);
    faults.Of(other, default_);
    EXPECT_THAT(faults.Of(key_, default_), ElementsAre(Pair("", "hung")));
  }
  const int before = readings;
  faults.Of(key_, default_);
  faults.Of(other, default_);
  EXPECT_EQ(readings, before);
  other.fingerprint = "0";
  faults.Of(other, default_);
  EXPECT_EQ(readings, before + 1);
}

}  // namespace
}  // namespace wavetune
