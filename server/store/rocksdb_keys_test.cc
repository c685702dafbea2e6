#include "server/store/rocksdb_keys.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/store/store_contract_test_records.h"

namespace wavetune::testing {
namespace {

TEST(RocksDbKeysTest, NumbersSortAsBytes) {
  std::vector<std::string> keys;
  for (const uint64_t number :
       {uint64_t{0}, uint64_t{1}, uint64_t{255}, uint64_t{256},
        std::numeric_limits<uint64_t>::max()}) {
    keys.push_back(BigEndian(number));
    EXPECT_EQ(TrailingNumber("prefix" + keys.back()), number);
  }
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_FALSE(TrailingNumber("short").has_value());
}

TEST(RocksDbKeysTest, PartsCannotRunIntoEachOther) {
  const ProfileKey a = {.kernel = "ab", .fingerprint = "c"};
  const ProfileKey b = {.kernel = "a", .fingerprint = "bc"};
  const ProfileKey zeros = {.kernel = std::string("a\0\0\0\1b", 6)};
  EXPECT_NE(ProfileKeyPart(a), ProfileKeyPart(b));
  EXPECT_NE(ProfileKeyPart(zeros),
            ProfileKeyPart({.kernel = "a", .fingerprint = "b"}));
}

TEST(RocksDbKeysTest, SaysWhoseAGenerationIs) {
  const ProfileKey key{"gemm", std::string("a\0b", 3), "", "driver=580"};
  EXPECT_EQ(KeyOfGeneration(GenerationKey(key, 7)), key);
  const std::string whole = GenerationKey(key, 7);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(KeyOfGeneration(whole.substr(0, size)), std::nullopt) << size;
  }
  EXPECT_EQ(KeyOfGeneration(EntryPrefix(key, 7)), std::nullopt);
}

TEST(RocksDbKeysTest, EntriesOfAGenerationShareItsPrefixOnly) {
  const std::string prefix = EntryPrefix(TestKey(), 1);
  EXPECT_EQ(EntryPrefixOfGenerationKey(GenerationKey(TestKey(), 1)), prefix);
  EXPECT_FALSE(EntryPrefix(TestKey(), 2).starts_with(prefix));
  for (const SampleEntry kind :
       {SampleEntry::kCandidate, SampleEntry::kSample}) {
    const std::string key = EntryPrefix(TestKey(), 1, kind) + BigEndian(5);
    EXPECT_TRUE(key.starts_with(prefix));
    EXPECT_LT(key, prefix + "\xff");
    EXPECT_EQ(EntryKind(key), kind);
  }
  EXPECT_FALSE(EntryKind("e").has_value());
}

}  // namespace
}  // namespace wavetune::testing
