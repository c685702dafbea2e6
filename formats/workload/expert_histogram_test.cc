#include "formats/workload/expert_histogram.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int64_t> Parsed(absl::string_view text) {
  const auto counts = ParseExpertHistogram(text);
  EXPECT_TRUE(counts.ok()) << counts.status();
  return counts.value_or(std::vector<int64_t>{});
}

std::string Refusal(absl::string_view text) {
  const absl::Status status = ParseExpertHistogram(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(status.message());
}

TEST(ExpertHistogramTest, CountsByExpertAreReadInEachForm) {
  for (const char* text :
       {"[1, 30, 2]", "1,30,2\n", " 1 , 30.0, 2 ", "1\n30\n2\n",
        "1\r\n\r\n30\r\n2", R"({"rank": 0, "logical_count": [1, 30, 2]})"}) {
    EXPECT_THAT(Parsed(text), ElementsAre(30, 2, 1)) << text;
  }
}

// Expert by expert they would be 11, 11, 0, 0: even, where no layer is.
TEST(ExpertHistogramTest, LayersWantOtherExpertsEach) {
  for (const char* text :
       {"[[10, 1, 0, 0], [1, 10, 0, 0]]", "10,1,0,0\n1,10,0,0\n"}) {
    EXPECT_THAT(Parsed(text), ElementsAre(20, 2, 0, 0)) << text;
  }
}

// The first layers of some models are dense, and recorders count them, too.
TEST(ExpertHistogramTest, ALayerOfZerosDoesNotCount) {
  EXPECT_THAT(Parsed("[[0, 0], [1, 3]]"), ElementsAre(3, 1));
}

// SGLang's recorder keeps the steps of its buffer.
TEST(ExpertHistogramTest, StepsOfALayerAddUpExpertByExpert) {
  EXPECT_THAT(
      Parsed(R"({"logical_count": [[[5, 0], [0, 1]], [[0, 5], [0, 1]]]})"),
      ElementsAre(7, 5));
}

TEST(ExpertHistogramTest, CountsOfManyTokensDoNotOverflow) {
  // A thousand million tokens, eight experts of each, hundred layers.
  std::string text;
  for (int layer = 0; layer < 100; ++layer) text += "8000000000,0\n";
  EXPECT_THAT(Parsed(text), ElementsAre(800'000'000'000, 0));
  EXPECT_THAT(Parsed("[9007199254740992]"), ElementsAre(9007199254740992));
  for (const char* large :
       {"[9007199254740993e1]", "[18446744073709551615]", "1e30,0", "inf,1"}) {
    EXPECT_THAT(Refusal(large), HasSubstr("whole numbers from 0 to 2^53"));
  }
  EXPECT_THAT(Refusal("[[9007199254740992], [1]]"),
              HasSubstr("adds up to more than 2^53: divide all counts"));
}

TEST(ExpertHistogramTest, WhatIsNoCountIsNamed) {
  EXPECT_THAT(Refusal("[3, -5]"), HasSubstr("has a count of -5: counts are"));
  EXPECT_THAT(Refusal("3,-5"), HasSubstr("has a count of -5: counts are"));
  EXPECT_THAT(Refusal("[0.25, 0.75]"), HasSubstr("has a count of 0.25"));
  EXPECT_THAT(Refusal("nan,1"), HasSubstr("has a count of nan"));
  EXPECT_THAT(Refusal("[1, null]"), HasSubstr("has a count of null"));
  EXPECT_THAT(Refusal("[1, [2]]"), HasSubstr("has a count of a list or an"));
  const std::string deep =
      "[1, " + std::string(200'000, '[') + std::string(200'000, ']') + "]";
  EXPECT_THAT(Refusal(deep), HasSubstr("has a count of a list or an"));
  EXPECT_THAT(
      Refusal("expert,count\n0,5\n"),
      AllOf(HasSubstr("has 'expert' where a count should be"),
            HasSubstr("give JSON or CSV with the counts of one layer")));
}

TEST(ExpertHistogramTest, LayersHaveAsManyExpertsEach) {
  for (const char* text : {"[[1, 2], [3]]", "1,2\n3\n"}) {
    EXPECT_THAT(Refusal(text),
                HasSubstr("a layer of 1 experts behind one of 2"));
  }
  EXPECT_THAT(Refusal("[[[1]], [[1], [2]]]"),
              HasSubstr("steps of different numbers of layers"));
}

TEST(ExpertHistogramTest, OtherFilesAreRefusedWithWhatToDo) {
  for (const char* text : {"[]", "{}", "[[]]", "[[[]]]", "[[[[1]]]]", "[1,",
                           R"({"physical_to_logical_map": [[0]]})"}) {
    EXPECT_THAT(Refusal(text), HasSubstr("is no list of counts: give JSON"));
  }
  EXPECT_THAT(Refusal(" \n"), HasSubstr("is empty: give JSON or CSV"));
  for (const char* text : {"PK\x03\x04 zip", "\x80\x02 pickle"}) {
    EXPECT_THAT(Refusal(text),
                HasSubstr("python3 -m wavetune.recorded_routing FILE.pt"));
  }
}

}  // namespace
}  // namespace wavetune
