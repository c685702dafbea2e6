#include "server/store/stored_usage.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "server/store/store_contract_test_records.h"
#include "server/store/stored_records.h"

namespace wavetune::testing {
namespace {

TEST(StoredUsageTest, IsWhatItWas) {
  EXPECT_EQ(DecodeStoredUsage(EncodeStoredUsage(TestUsage())).value(),
            TestUsage());
  EXPECT_EQ(DecodeStoredUsage(EncodeStoredUsage({})).value(), UsageRecord());
}

// Found by the fuzz target: protobuf writes a map's entries in any order.
TEST(StoredUsageTest, TheSameUseIsTheSameBytes) {
  UsageRecord record = TestUsage();
  for (int i = 0; i < 20; ++i)
    record.specialisations[std::string(1, static_cast<char>('a' + i))] = {};
  const std::string bytes = EncodeStoredUsage(record);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(EncodeStoredUsage(DecodeStoredUsage(bytes).value()), bytes);
}

TEST(StoredUsageTest, RefusesGarbageAndOtherFormats) {
  for (const std::string& bytes :
       {std::string(), std::string("garbage"), std::string(100, '\xff')}) {
    EXPECT_TRUE(absl::IsDataLoss(DecodeStoredUsage(bytes).status()));
  }
  v1::StoredUsage usage;
  usage.set_format(kStoredFormat + 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      DecodeStoredUsage(usage.SerializeAsString()).status()));
}

TEST(StoredUsageTest, RefusesWeightsThatAreNone) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double weight : {-1.0, infinity, nan}) {
    UsageRecord record = TestUsage();
    record.with_table.fitted = weight;
    EXPECT_TRUE(absl::IsDataLoss(
        DecodeStoredUsage(EncodeStoredUsage(record)).status()));
    record = TestUsage();
    record.specialisations[""].stale = weight;
    EXPECT_TRUE(absl::IsDataLoss(
        DecodeStoredUsage(EncodeStoredUsage(record)).status()));
    record = TestUsage();
    record.problems[0].weight = weight;
    EXPECT_TRUE(absl::IsDataLoss(
        DecodeStoredUsage(EncodeStoredUsage(record)).status()));
  }
  UsageRecord record = TestUsage();
  record.problems[0].error = record.problems[0].weight + 1;
  EXPECT_TRUE(
      absl::IsDataLoss(DecodeStoredUsage(EncodeStoredUsage(record)).status()));
}

TEST(StoredUsageTest, AnyPrefixIsHandled) {
  const std::string bytes = EncodeStoredUsage(TestUsage());
  for (size_t size = 0; size < bytes.size(); ++size) {
    DecodeStoredUsage(absl::string_view(bytes).substr(0, size)).IgnoreError();
  }
}

}  // namespace
}  // namespace wavetune::testing
