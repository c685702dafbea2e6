#include "server/catalog/rollback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace wavetune {
namespace {

using ::testing::HasSubstr;

// A promotion of the table whose digest is 64 times `digit`.
TableRecord Entry(uint64_t epoch, char digit,
                  const std::string& environment = "driver=580") {
  TableRecord record;
  record.key = {.kernel = "gemm",
                .fingerprint = std::string(64, 'f'),
                .silicon_key = "mp=132",
                .environment_key = environment};
  record.digest = std::string(64, digit);
  record.epoch = epoch;
  record.how = PromotionKind::kProfiled;
  return record;
}

TableRecord RolledBack(uint64_t epoch, char digit) {
  TableRecord record = Entry(epoch, digit);
  record.how = PromotionKind::kRolledBack;
  return record;
}

TableRecord Withdrawal(uint64_t epoch, char digit) {
  TableRecord record = Entry(epoch, digit);
  record.withdrawn = "BM=64 computes wrong results";
  return record;
}

TEST(RollbackTargetTest, IsWhatServedBefore) {
  const TableRecord current = Entry(2, 'b');
  const auto target = RollbackTarget({current, Entry(1, 'a')}, {current}, "");
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(*target, Entry(1, 'a'));
}

TEST(RollbackTargetTest, IsNothingWhoseRolloutWasHalted) {
  const TableRecord current = Entry(3, 'a');
  const std::vector<TableRecord> history = {current, Entry(2, 'b'),
                                            Entry(1, 'c')};
  const WhyHalted why_halted = [](const TableRecord& table) {
    return table.digest[0] == 'b' ? "3 times as long" : "";
  };
  const auto target = RollbackTarget(history, {current}, "", why_halted);
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(*target, Entry(1, 'c'));
  const absl::Status refused =
      RollbackTarget(history, {current}, std::string(16, 'b'), why_halted)
          .status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("its rollout was halted (3 times as long)"));
}

TEST(RollbackTargetTest, MayBeOfAnotherEnvironment) {
  const TableRecord current = Entry(2, 'b', "driver=590");
  const auto target =
      RollbackTarget({current, Entry(1, 'a')}, {Entry(1, 'a'), current}, "");
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(*target, Entry(1, 'a'));
}

TEST(RollbackTargetTest, WhatWasFoundWrongUnderAnotherDriverServesNoMore) {
  TableRecord wrong = Withdrawal(2, 'a');
  wrong.key.environment_key = "driver=590";
  const TableRecord current = Entry(3, 'b', "driver=590");
  const std::vector<TableRecord> history = {current, wrong, Entry(1, 'a')};
  EXPECT_EQ(RollbackTarget(history, {current}, "").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(RollbackTarget(history, {current}, std::string(16, 'a'))
                  .status()
                  .message(),
              HasSubstr("computes wrong results"));
}

TEST(RollbackTargetTest, WhatServedOnTrialAloneIsNothingToGoBackTo) {
  TableRecord trial = Entry(2, 'b');
  trial.how = PromotionKind::kTrial;
  const TableRecord current = Entry(3, 'c');
  const auto target =
      RollbackTarget({current, trial, Entry(1, 'a')}, {current}, "");
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(*target, Entry(1, 'a'));
}

TEST(RollbackTargetTest, RollingBackAgainGoesFurtherBack) {
  const TableRecord current = RolledBack(4, 'b');
  const auto target = RollbackTarget(
      {current, Entry(3, 'c'), Entry(2, 'b'), Entry(1, 'a')}, {current}, "");
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(*target, Entry(1, 'a'));
}

TEST(RollbackTargetTest, SkipsWhatWasFoundWrongAndWhatIsTheSameTable) {
  const TableRecord current = Entry(6, 'd');
  const auto target =
      RollbackTarget({current, Entry(5, 'd'), Withdrawal(4, 'c'), Entry(3, 'c'),
                      Entry(2, 'b'), Entry(1, 'a')},
                     {current}, "");
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(*target, Entry(2, 'b'));
}

TEST(RollbackTargetTest, IsTheLastGoodOneWhereNothingServes) {
  const auto target = RollbackTarget(
      {Withdrawal(3, 'b'), Entry(2, 'b'), Entry(1, 'a')}, {}, "");
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(*target, Entry(1, 'a'));
}

TEST(RollbackTargetTest, ThereMayBeNone) {
  const TableRecord current = Entry(1, 'a');
  const absl::Status status = RollbackTarget({current}, {current}, "").status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("wavetune tables history"));
}

TEST(RollbackTargetTest, TakesTheBeginningOfADigest) {
  const std::vector<TableRecord> history = {Entry(3, 'c'), Entry(2, 'b'),
                                            Entry(1, 'a')};
  const auto target =
      RollbackTarget(history, {history[0]}, std::string(8, 'a'));
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(*target, Entry(1, 'a'));
  // Forward again, too.
  EXPECT_EQ(RollbackTarget(history, {history[2]}, std::string(64, 'c'))->epoch,
            3u);
}

TEST(RollbackTargetTest, PrefersATablesOwnPromotion) {
  const std::vector<TableRecord> history = {Entry(4, 'c'), RolledBack(3, 'a'),
                                            Entry(2, 'b'), Entry(1, 'a')};
  EXPECT_EQ(RollbackTarget(history, {history[0]}, std::string(8, 'a'))->epoch,
            1u);
}

TEST(RollbackTargetTest, RefusesADigestThatSaysTooLittle) {
  TableRecord alike = Entry(2, 'a');
  alike.digest = std::string(32, 'a') + std::string(32, 'b');
  const std::vector<TableRecord> history = {alike, Entry(1, 'a')};
  EXPECT_TRUE(absl::IsInvalidArgument(
      RollbackTarget(history, {alike}, "aaaaaaa").status()));
  const absl::Status several =
      RollbackTarget(history, {alike}, "aaaaaaaa").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(several)) << several;
  EXPECT_THAT(std::string(several.message()), HasSubstr(alike.digest));
  EXPECT_TRUE(
      absl::IsNotFound(RollbackTarget(history, {alike}, "bbbbbbbb").status()));
}

TEST(RollbackTargetTest, RefusesATableThatWasFoundWrong) {
  const TableRecord current = Entry(3, 'c');
  const absl::Status status =
      RollbackTarget({current, Withdrawal(2, 'b'), Entry(1, 'b')}, {current},
                     std::string(64, 'b'))
          .status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("BM=64 computes wrong results"));
}

}  // namespace
}  // namespace wavetune
