#include "server/catalog/table_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"

namespace wavetune {
namespace {

std::string Digest(int i) { return Sha256Hex(std::to_string(i)); }

TEST(TableSetsTest, FindsWhatWasAnnounced) {
  TableSets sets;
  const TableSets::Set set = {{"gemm", Digest(1)}, {"add", Digest(2)}};
  const auto digest = sets.Announce(set);
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_EQ(*digest, TableSetDigest(set));
  EXPECT_EQ(sets.Find(*digest), set);
  EXPECT_EQ(sets.Find(Digest(3)), std::nullopt);
}

TEST(TableSetsTest, ForgetsWhatWasAnnouncedLongestAgo) {
  TableSets sets;
  const std::string first = sets.Announce({{"gemm", Digest(0)}}).value();
  const std::string second = sets.Announce({{"gemm", Digest(1)}}).value();
  for (int i = 2; i < static_cast<int>(TableSets::kMaxSets); ++i) {
    ASSERT_TRUE(sets.Announce({{"gemm", Digest(i)}}).ok());
  }
  ASSERT_TRUE(sets.Announce({{"gemm", Digest(0)}}).ok()) << "again";
  EXPECT_TRUE(sets.Find(second));
  ASSERT_TRUE(sets.Announce({{"gemm", Digest(-1)}}).ok());
  EXPECT_TRUE(sets.Find(first));
  EXPECT_FALSE(sets.Find(second));
}

TEST(TableSetsTest, LargeSetsMakeRoomForEachOther) {
  TableSets sets;
  const auto large = [](int i) {
    TableSets::Set set;
    for (int k = 0; k < static_cast<int>(TableSets::kMaxEntries); ++k) {
      std::string name = absl::StrCat("kernel", k, "of", i, "_");
      name.resize(TableSets::kMaxNameLength, 'x');
      set[name] = Digest(i);
    }
    return set;
  };
  const size_t size = TableSets::kMaxEntries * (TableSets::kMaxNameLength + 64);
  const int most = static_cast<int>(TableSets::kMaxBytes / size);
  std::vector<std::string> digests;
  for (int i = 0; i < most + 3; ++i) {
    digests.push_back(sets.Announce(large(i)).value());
    ASSERT_EQ(sets.Announce(large(i)).value(), digests.back()) << "again";
  }
  for (int i = 0; i < most + 3; ++i) {
    EXPECT_EQ(sets.Find(digests[static_cast<size_t>(i)]).has_value(), i >= 3)
        << i;
  }
}

TEST(TableSetsTest, RefusesWhatIsNoSet) {
  TableSets sets;
  TableSets::Set large;
  for (int i = 0; i <= static_cast<int>(TableSets::kMaxEntries); ++i) {
    large["kernel" + std::to_string(i)] = Digest(i);
  }
  const std::vector<TableSets::Set> wrong = {
      {},
      large,
      {{"gemm", "abc"}},
      {{"", Digest(1)}},
      {{"two words", Digest(1)}},
      {{"add " + Digest(1) + "\ngemm", Digest(2)}},
      {{std::string(300, 'k'), Digest(1)}}};
  for (const TableSets::Set& set : wrong) {
    EXPECT_TRUE(absl::IsInvalidArgument(sets.Announce(set).status()));
  }
}

}  // namespace
}  // namespace wavetune
