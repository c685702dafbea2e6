#include "base/csv_text.h"

#include <cstdint>
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
  CsvReader csv(line, "text");
  return csv.ReadHeader().ok() ? csv.header()
                               : std::vector<absl::string_view>{};
}

std::string HeaderFault(absl::string_view text) {
  const absl::Status status = CsvReader(text, "trace").ReadHeader();
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(CsvTextTest, AByteOrderMarkIsNoPartOfTheFirstName) {
  EXPECT_THAT(Cells("\xef\xbb\xbfm,n"), ElementsAre("m", "n"));
  EXPECT_THAT(Cells("m,n"), ElementsAre("m", "n"));
  EXPECT_THAT(Cells("\xef\xbb\xbf"), IsEmpty());
}

TEST(CsvTextTest, QuotedCellsMayHoldCommas) {
  EXPECT_THAT(Cells("a, b ,,c"), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(Cells("\"5,0,7\",512"), ElementsAre("5,0,7", "512"));
  EXPECT_THAT(Cells("x, \" y, z \" "), ElementsAre("x", "y, z"));
  EXPECT_THAT(Cells("a,"), ElementsAre("a", ""));
}

TEST(CsvTextTest, AQuoteThatDoesNotEndIsACharacter) {
  EXPECT_THAT(Cells("\"a,b"), ElementsAre("\"a", "b"));
  EXPECT_THAT(Cells("3\" pipe,b"), ElementsAre("3\" pipe", "b"));
}

TEST(CsvTextTest, AColumnNamedTwiceIsRefused) {
  EXPECT_EQ(HeaderFault("m,n,,"), "");
  EXPECT_THAT(HeaderFault("\nm,n,M"),
              HasSubstr("trace line 2: columns 1 and 3 are both named 'M'"));
}

TEST(CsvTextTest, ATextWithoutLinesHasNoHeader) {
  for (const char* text : {"", "\n \r\n"}) {
    EXPECT_THAT(HeaderFault(text), HasSubstr("no line with column names"));
  }
}

TEST(CsvTextTest, LinesAreCountedWithThoseThatAreSkipped) {
  CsvReader csv("# shapes\n\nM,n\r\n#1,2\n3,4", "shapes",
                /*has_comments=*/true);
  ASSERT_TRUE(csv.ReadHeader().ok());
  EXPECT_EQ(csv.Find("m"), 0);
  EXPECT_EQ(csv.Find("k"), CsvReader::kAbsent);
  ASSERT_TRUE(csv.Next());
  EXPECT_EQ(csv.line(), 5);
  EXPECT_EQ(csv.cell(1), "4");
  EXPECT_FALSE(csv.Next());
}

TEST(CsvTextTest, FaultsNameLineAndColumn) {
  CsvReader csv("m,us\n1,x\n1\n", "trace");
  ASSERT_TRUE(csv.ReadHeader().ok());
  ASSERT_TRUE(csv.Next());
  EXPECT_TRUE(csv.CheckWidth().ok());
  int64_t m = 0;
  EXPECT_TRUE(csv.ReadInteger(0, m).ok());
  EXPECT_EQ(m, 1);
  double us = 0;
  EXPECT_EQ(csv.ReadMicroseconds(1, us).message(),
            "trace line 2: column 'us': 'x' is no latency; give microseconds "
            "above 0");
  ASSERT_TRUE(csv.Next());
  EXPECT_EQ(csv.CheckWidth().message(),
            "trace line 3: has 1 cells where the first line names 2 columns; "
            "give one cell a column");
}

TEST(CsvTextTest, WhatIsWrittenIsRead) {
  CsvWriter out;
  out.Add("m", "us").AddAll(std::vector<std::string>{"note"}).EndLine();
  out.Add(128, 3.5,
          CsvCell("too slow, \x01"
                  "by\n\tfar"))
      .EndLine();
  EXPECT_EQ(out.text(), "m,us,note\n128,3.5,too slow; by far\n");
  CsvReader in(out.text(), "text");
  ASSERT_TRUE(in.ReadHeader().ok());
  ASSERT_TRUE(in.Next());
  EXPECT_EQ(in.cell(2), "too slow; by far");
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
