#include "wavetune/table_set.h"

#include "base/digest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using Tables = TableSet::Tables;

const std::string kA(64, 'a');
const std::string kB(64, 'b');

TEST(TableSetTest, ReadsBackWhatItWrites) {
  const TableSet set(Tables{{"gemm", kB}, {"add", kA}});
  EXPECT_EQ(set.ToString(), "add=" + kA + ",gemm=" + kB);
  const auto same = TableSet::Parse(set.ToString());
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(*same, set);
}

TEST(TableSetTest, HasTheDaemonsDigest) {
  EXPECT_EQ(TableSet(Tables{{"gemm", kB}, {"add", kA}}).Digest(),
            Sha256Hex("add " + kA + "\ngemm " + kB + "\n"));
  EXPECT_NE(TableSet(Tables{{"add", kA}}).Digest(),
            TableSet(Tables{{"add", ""}}).Digest());
}

TEST(TableSetTest, RefusesWhatIsNoSet) {
  for (const std::string& text :
       {std::string(), std::string("add"), "add=" + kA.substr(1), "=" + kA,
        "add=" + kA + ",", "add=" + kA + ",add=" + kB}) {
    const absl::Status status = TableSet::Parse(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("kernel=digest"));
  }
}

}  // namespace
}  // namespace wavetune
