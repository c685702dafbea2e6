#include "base/suggestion.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

const std::vector<std::string> kWords = {"BLOCK_M", "BLOCK_N", "rows", "m"};

TEST(SuggestionTest, NamesTheNearestWordInEitherCase) {
  EXPECT_EQ(Suggestion("BLOCKM", kWords), "; did you mean BLOCK_M?");
  EXPECT_EQ(Suggestion("block_n", kWords), "; did you mean BLOCK_N?");
  EXPECT_EQ(Suggestion("rosw", kWords), "; did you mean rows?");
}

TEST(SuggestionTest, ListsWhatIsKnownWhereNothingIsNear) {
  EXPECT_EQ(Suggestion("columns", kWords),
            "; known are: BLOCK_M, BLOCK_N, rows, m");
}

TEST(SuggestionTest, TakesNoWordOfOneOrTwoLettersForAnother) {
  EXPECT_EQ(Suggestion("q", {"m"}), "; known are: m");
  EXPECT_EQ(Suggestion("M", {"m"}), "; did you mean m?");
}

TEST(SuggestionTest, SaysNothingWhereNothingIsKnown) {
  EXPECT_EQ(Suggestion("rows", {}), "");
}

}  // namespace
}  // namespace wavetune
