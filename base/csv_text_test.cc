#include "base/csv_text.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<absl::string_view> Cells(absl::string_view line) {
  std::vector<absl::string_view> cells;
  SplitCells(line, cells);
  return cells;
}

TEST(CsvTextTest, AByteOrderMarkIsNoPartOfTheFirstName) {
  EXPECT_EQ(WithoutByteOrderMark("\xef\xbb\xbfm,n"), "m,n");
  EXPECT_EQ(WithoutByteOrderMark("m,n"), "m,n");
  EXPECT_EQ(WithoutByteOrderMark(""), "");
}

TEST(CsvTextTest, QuotedCellsMayHoldCommas) {
  EXPECT_THAT(Cells("a, b ,,c"), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(Cells("\"5,0,7\",512"), ElementsAre("5,0,7", "512"));
  EXPECT_THAT(Cells("x, \" y, z \" "), ElementsAre("x", "y, z"));
  EXPECT_THAT(Cells("a,"), ElementsAre("a", ""));
  EXPECT_THAT(Cells(""), ElementsAre(""));
}

TEST(CsvTextTest, AQuoteThatDoesNotEndIsACharacter) {
  EXPECT_THAT(Cells("\"a,b"), ElementsAre("\"a", "b"));
  EXPECT_THAT(Cells("3\" pipe,b"), ElementsAre("3\" pipe", "b"));
}

TEST(CsvTextTest, AColumnNamedTwiceIsRefused) {
  EXPECT_TRUE(CheckColumnNames({"m", "n", "", ""}).ok());
  const absl::Status twice = CheckColumnNames({"m", "n", "M"});
  EXPECT_TRUE(absl::IsInvalidArgument(twice));
  EXPECT_THAT(std::string(twice.message()),
              HasSubstr("columns 1 and 3 are both named 'M'"));
}

TEST(CsvTextTest, ExtentsAreSeparatedBySpacesCommasOrSemicolons) {
  for (const char* text : {"5 0 7", "5,0,7", "5;0;7", " 5, 0;  7 "}) {
    EXPECT_THAT(SplitExtents(text), ElementsAre("5", "0", "7")) << text;
  }
  EXPECT_THAT(SplitExtents("  "), IsEmpty());
  EXPECT_THAT(SplitExtents("5,,7"), ElementsAre("5", "", "7"));
  EXPECT_THAT(SplitExtents("5,"), ElementsAre("5", ""));
}

TEST(CsvTextTest, TenFaultsAreToldAndTheOthersCounted) {
  EXPECT_EQ(JoinFaults({"a", "b"}, "; "), "a; b");
  const std::vector<std::string> many(10000, "line");
  EXPECT_THAT(JoinFaults(many, "\n"), HasSubstr("line\nand 9990 more"));
}

}  // namespace
}  // namespace wavetune
