#include "server/fleet/fleet_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/wavetune/v1/fleet.pb.h"
#include "server/fleet/fleet_orders.h"
#include "server/fleet/fleet_rollout.h"
#include "server/fleet/fleet_test_support.h"
#include "server/fleet/fleet_trust.h"
#include "server/fleet/signed_content.h"

namespace wavetune::testing {
namespace {

using ::testing::HasSubstr;

class FleetHeadTest : public ::testing::Test {
 protected:
  absl::Status Refusal(const std::string& bytes) const {
    return ReadHead(HeadKey(head_.key), bytes).status();
  }

  const FleetHead head_ = TestHead();
  const SigningKey key_ = TestSigningKey(1);
  const std::string bytes_ = SignHead(head_, key_);
};

TEST_F(FleetHeadTest, IsReadAsItWasSigned) {
  const auto read = ReadHead(HeadKey(head_.key), bytes_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->head, head_);
  EXPECT_EQ(read->public_key, key_.public_key());
}

TEST_F(FleetHeadTest, WhatIsSignedTakesNoMoreMemoryThanWhatIsNot) {
  std::string many;  // Empty fields: two bytes each, and a hundred in memory.
  for (int i = 0; i < 5000; ++i) many += std::string("\x7a\0", 2);
  EXPECT_THAT(Refusal(bytes_ + many).message(), HasSubstr("is no head"));
  const std::string content =
      ReadSignedContent("head", HeadKey(head_.key), bytes_)->content;
  EXPECT_TRUE(Refusal(SignContent("head", content, key_)).ok());
  EXPECT_THAT(Refusal(SignContent("head", content + many, key_)).message(),
              HasSubstr("is no head"));

  const FleetWithdrawal withdrawal{.key = head_.key, .digest = head_.digest};
  const std::string place = WithdrawalKey(head_.key, head_.digest);
  const std::string found_wrong =
      ReadSignedContent("withdrawal", place, SignWithdrawal(withdrawal, key_))
          ->content;
  EXPECT_FALSE(
      ReadWithdrawal(place, SignContent("withdrawal", found_wrong + many, key_))
          .ok());

  FleetRollout rollout{.head = head_, .plan = {{100}, 30}};
  const std::string trial = SignRollout(rollout, key_);
  const std::string at = RolloutPlace(head_.key);
  EXPECT_TRUE(ReadRollout(at, trial).ok());
  EXPECT_FALSE(ReadRollout(at, trial + many).ok());
  v1::FleetRollout planned;
  planned.ParseFromString(trial);
  planned.set_plan(SignContent(
      "rollout",
      ReadSignedContent("rollout", at, planned.plan())->content + many, key_));
  EXPECT_FALSE(ReadRollout(at, planned.SerializeAsString()).ok());
}

TEST_F(FleetHeadTest, KeysAreOfClassAndKernel) {
  EXPECT_EQ(HeadKey(head_.key),
            HeadsPrefix(
                FleetClass(head_.key.silicon_key, head_.key.environment_key)) +
                "gemm");
  EXPECT_NE(FleetClass("a", "bc"), FleetClass("ab", "c"));
  EXPECT_EQ(FleetClass("a", "b").size(), 16u);
  EXPECT_EQ(BlobKey(head_.key, "12"),
            "blobs/" + HeadKey(head_.key).substr(6) + "/12");
}

TEST_F(FleetHeadTest, SaysWhatTheClassHadBefore) {
  FleetHead last = head_;
  for (char digit = '1'; digit < '8'; ++digit) {
    FleetHead next = head_;
    next.digest = std::string(64, digit);
    next.epoch = last.epoch + 1;
    next.why = std::string(199, 'w') + "\u00e9";
    next.before = BeforeOf(last, next.digest);
    last = next;
  }
  ASSERT_EQ(last.before.size(), kMostHeadsBefore);
  EXPECT_EQ(last.before[0].digest, std::string(64, '6'));
  EXPECT_EQ(last.before[0].epoch, last.epoch - 1);
  EXPECT_EQ(last.before[0].why, std::string(199, 'w'));
  EXPECT_TRUE(last.before[0].before.empty());
  const auto read = ReadHead(HeadKey(last.key), SignHead(last, key_));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->head, last);
  // What it goes back to is not before it.
  const std::vector<FleetHead> back = BeforeOf(last, last.before[1].digest);
  EXPECT_EQ(back[0].digest, last.digest);
  EXPECT_EQ(back[1].digest, last.before[0].digest);
  EXPECT_EQ(back[2].digest, last.before[2].digest);
}

TEST_F(FleetHeadTest, AnyChangeIsRefused) {
  for (size_t size = 0; size < bytes_.size(); ++size)
    EXPECT_FALSE(Refusal(bytes_.substr(0, size)).ok()) << size;
  for (size_t i = 0; i < bytes_.size(); ++i) {
    std::string changed = bytes_;
    changed[i] ^= 1;
    const auto read = ReadHead(HeadKey(head_.key), changed);
    EXPECT_FALSE(read.ok()) << i;
  }
}

TEST_F(FleetHeadTest, OneThatIsUnsignedOrOfAnotherPlaceIsRefused) {
  v1::FleetEnvelope message;
  ASSERT_TRUE(message.ParseFromString(bytes_));
  v1::FleetEnvelope unsigned_head = message;
  unsigned_head.clear_signature();
  EXPECT_TRUE(
      absl::IsPermissionDenied(Refusal(unsigned_head.SerializeAsString())));
  unsigned_head.clear_public_key();
  EXPECT_FALSE(Refusal(unsigned_head.SerializeAsString()).ok());
  // Signed for something else.
  message.set_signature(key_.Sign(message.content()));
  EXPECT_TRUE(absl::IsPermissionDenied(Refusal(message.SerializeAsString())));
  // Another class's, another kernel's.
  const absl::Status moved = ReadHead("heads/0/gemm", bytes_).status();
  EXPECT_TRUE(absl::IsDataLoss(moved));
  EXPECT_THAT(std::string(moved.message()), HasSubstr("belongs at"));
  // Signed well, and nonsense.
  FleetHead wrong = head_;
  wrong.digest = "no digest";
  EXPECT_TRUE(absl::IsDataLoss(Refusal(SignHead(wrong, key_))));
  wrong = head_;
  for (const uint64_t epoch :
       {uint64_t{0}, kMostFleetEpoch + 1, ~uint64_t{0}}) {
    wrong.epoch = epoch;
    EXPECT_TRUE(absl::IsDataLoss(Refusal(SignHead(wrong, key_))));
  }
}

TEST_F(FleetHeadTest, ALaterFormatSaysWhatToUpgrade) {
  v1::FleetEnvelope message;
  ASSERT_TRUE(message.ParseFromString(bytes_));
  message.set_format(2);
  const absl::Status later = Refusal(message.SerializeAsString());
  EXPECT_TRUE(absl::IsFailedPrecondition(later));
  EXPECT_THAT(std::string(later.message()), HasSubstr("upgrade"));
}

TEST_F(FleetHeadTest, TrustIsByKeyAndClass) {
  const SignedHead one = ReadHead(HeadKey(head_.key), bytes_).value();
  const std::string key = key_.public_key();
  const std::string other = TestSigningKey(2).public_key();
  const auto check = [&](const std::string& list) {
    const auto trust = FleetTrust::Parse(list);
    EXPECT_TRUE(trust.ok()) << trust.status();
    return trust.ok() ? trust->Check(one).status() : trust.status();
  };
  EXPECT_TRUE(check(absl::StrCat("# who\n", key, " * node-1  # all\n\n")).ok());
  EXPECT_TRUE(check(key + "\tbackend=cuda;*\r\n").ok());
  EXPECT_TRUE(check(absl::StrCat(key, " ", head_.key.silicon_key)).ok());
  EXPECT_TRUE(check(absl::StrCat(key, " backend=opencl;*\n", key, " *")).ok());
  for (const std::string& list :
       {other + " * node-2", key + " backend=opencl;* node-1",
        absl::StrCat(key, " * node-1\nrevoked ", key),
        absl::StrCat("revoked ", key, "\n", key, " *\n", other, " *")}) {
    EXPECT_TRUE(absl::IsPermissionDenied(check(list))) << list;
  }
  EXPECT_THAT(std::string(check(key + " x node-1").message()),
              HasSubstr("node-1"));
}

TEST_F(FleetHeadTest, AListThatIsWrongSaysWhere) {
  const std::string key = key_.public_key();
  for (const std::string& list :
       {std::string(), std::string("# nobody\n"), "revoked " + key}) {
    const auto empty = FleetTrust::Parse(list);
    EXPECT_TRUE(absl::IsInvalidArgument(empty.status())) << list;
  }
  for (const std::string& line :
       {key, std::string("abc * node"), key.substr(1) + " *",
        std::string("revoked"), std::string("revoked abc"),
        absl::StrCat("revoked ", key_.public_key(), " missused")}) {
    const auto wrong = FleetTrust::Parse(absl::StrCat(key, " *\n", line));
    EXPECT_TRUE(absl::IsInvalidArgument(wrong.status())) << line;
    EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("line 2"));
  }
  EXPECT_TRUE(absl::IsNotFound(FleetTrust::Read("/no/such/list").status()));
}

}  // namespace
}  // namespace wavetune::testing
