#include "formats/manifest_text/text_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using Op = Relation::Operator;
using Scope = ManifestNames::Scope;

// Dimensions m, n, rows (repeated by its use); parameters BLOCK_M, BLOCK_N,
// HOPPER; the device's compute_capability.
ManifestNames Names() {
  ManifestNames names;
  names.Add("m", Expression::OfDimension(0));
  names.Add("n", Expression::OfDimension(1));
  names.Add("rows", Expression::OfDimension(2));
  names.Add("BLOCK_M", Expression::OfParameter(0));
  names.Add("BLOCK_N", Expression::OfParameter(1));
  names.Add("HOPPER", Expression::OfParameter(2));
  names.AddDeviceFact("compute_capability", Expression::OfDimension(0));
  return names;
}

Expression M() { return Expression::OfDimension(0); }
Expression N() { return Expression::OfDimension(1); }
Expression BlockM() { return Expression::OfParameter(0); }
Expression BlockN() { return Expression::OfParameter(1); }
Expression Hopper() { return Expression::OfParameter(2); }
Expression Number(int64_t value) { return Expression::Constant(value); }

Expression ParsedExpression(absl::string_view text) {
  const ManifestNames names = Names();
  Lexer lexer(text);
  Expression result =
      TextParser(lexer, names, Scope::kDimensions).ParseExpression();
  EXPECT_TRUE(lexer.ok()) << text << ": " << lexer.fault()->what;
  return result;
}

Condition ParsedRelation(absl::string_view text,
                         Scope scope = Scope::kDimensions) {
  const ManifestNames names = Names();
  Lexer lexer(text);
  Condition result = TextParser(lexer, names, scope).ParseRelation();
  EXPECT_TRUE(lexer.ok()) << text << ": " << lexer.fault()->what;
  return result;
}

// "column 3: what".
std::string FaultOf(absl::string_view text, Scope scope = Scope::kDimensions) {
  const ManifestNames names = Names();
  Lexer lexer(text);
  TextParser(lexer, names, scope).ParseRelation();
  if (lexer.ok()) return "none";
  return absl::StrCat("column ", lexer.fault()->at + 1, ": ",
                      lexer.fault()->what);
}

TEST(TextParserTest, ProductsBindBeforeSumsAndBothFromTheLeft) {
  EXPECT_EQ(ParsedExpression("m + BLOCK_M * n"),
            Expression::Sum({M(), Expression::Product({BlockM(), N()})}));
  EXPECT_EQ(ParsedExpression("(m + BLOCK_M) * n"),
            Expression::Product({Expression::Sum({M(), BlockM()}), N()}));
  EXPECT_EQ(ParsedExpression("m * n * BLOCK_M"),
            Expression::Product({M(), N(), BlockM()}));
}

TEST(TextParserTest, SubtractionAddsTheNegative) {
  EXPECT_EQ(ParsedExpression("m - 1"), Expression::Sum({M(), Number(-1)}));
  EXPECT_EQ(ParsedExpression("m - n"),
            Expression::Sum(
                {M(), Expression::Of(Expression::Kind::kNegative, {N()})}));
  EXPECT_EQ(ParsedExpression("-3"), Number(-3));
}

TEST(TextParserTest, NumbersAreComputedAtOnceAndHaveUnits) {
  EXPECT_EQ(ParsedExpression("2 * (3 + 4) * 1 KiB"), Number(14 * 1024));
  EXPECT_EQ(ParsedExpression("228 KiB - 1"), Number(228 * 1024 - 1));
  EXPECT_EQ(ParsedExpression("1 MiB / 4"), Number(256 * 1024));
  EXPECT_EQ(ParsedExpression("ceil_div(7, 2) + floor_div(7, 2) + 7 % 4"),
            Number(4 + 3 + 3));
  EXPECT_EQ(ParsedExpression("min(4, 2, 3) + max(1, 5)"), Number(7));
}

TEST(TextParserTest, CeilDivKeepsItsFactorsApart) {
  EXPECT_EQ(ParsedExpression("ceil_div(m * n, BLOCK_M * BLOCK_N)"),
            Expression::CeilDiv({M(), N()}, {BlockM(), BlockN()}));
}

TEST(TextParserTest, FunctionsOfMappings) {
  EXPECT_EQ(
      ParsedExpression("sum_over(rows, ceil_div(rows, BLOCK_M))"),
      Expression::SumOver(
          2, Expression::CeilDiv({Expression::OfDimension(2)}, {BlockM()})));
  EXPECT_EQ(ParsedExpression("causal_blocks(m, n, BLOCK_M, BLOCK_N)"),
            Expression::CausalBlocks(0, 1, 0, 1));
}

TEST(TextParserTest, ComparisonsAndTheirChains) {
  EXPECT_EQ(ParsedRelation("BLOCK_M <= 64"),
            Condition(BlockM(), Op::kLessOrEqual, Number(64)));
  EXPECT_EQ(ParsedRelation("64 <= BLOCK_M * BLOCK_N < 256"),
            Condition::All({{Number(64), Op::kLessOrEqual,
                             Expression::Product({BlockM(), BlockN()})},
                            {Expression::Product({BlockM(), BlockN()}),
                             Op::kLess, Number(256)}}));
}

TEST(TextParserTest, ARemainderOfZeroIsAMultiple) {
  EXPECT_EQ(ParsedRelation("m % BLOCK_M == 0"),
            Condition(M(), Op::kMultipleOf, BlockM()));
  EXPECT_EQ(
      ParsedRelation("m % BLOCK_M != 0"),
      Condition(Expression::Of(Expression::Kind::kRemainder, {M(), BlockM()}),
                Op::kNotEqual, Number(0)));
}

TEST(TextParserTest, AndBindsBeforeOrAndNotBeforeBoth) {
  const Condition a(BlockM(), Op::kEqual, Number(1));
  const Condition b(BlockN(), Op::kEqual, Number(2));
  const Condition c(Hopper(), Op::kEqual, Number(1));
  EXPECT_EQ(ParsedRelation("BLOCK_M == 1 or BLOCK_N == 2 and HOPPER == 1"),
            Condition::Any({a, Condition::All({b, c})}));
  EXPECT_EQ(ParsedRelation("(BLOCK_M == 1 or BLOCK_N == 2) and HOPPER == 1"),
            Condition::All({Condition::Any({a, b}), c}));
  EXPECT_EQ(ParsedRelation("not BLOCK_M == 1 and BLOCK_N == 2"),
            Condition::All({Negated(a), b}));
  EXPECT_EQ(ParsedRelation("not (BLOCK_M == 1 or BLOCK_N == 2)"),
            Condition::All({Negated(a), Negated(b)}));
}

TEST(TextParserTest, WhenHoldsWhereItsConditionDoesNot) {
  EXPECT_EQ(ParsedRelation("BLOCK_M <= 64 when HOPPER == 0"),
            Condition::Any({{Hopper(), Op::kNotEqual, Number(0)},
                            {BlockM(), Op::kLessOrEqual, Number(64)}}));
}

TEST(TextParserTest, ParenthesesHoldNumbersOrConditions) {
  EXPECT_EQ(ParsedRelation("((BLOCK_M)) + 1 <= (64)"),
            ParsedRelation("BLOCK_M + 1 <= 64"));
  EXPECT_EQ(ParsedRelation("((BLOCK_M <= 64))"),
            ParsedRelation("BLOCK_M <= 64"));
}

TEST(TextParserTest, OnlyDevicePredicatesNameFactsOfADevice) {
  EXPECT_EQ(ParsedRelation("compute_capability >= 80", Scope::kDevice),
            Condition(M(), Op::kGreaterOrEqual, Number(80)));
  EXPECT_THAT(
      FaultOf("compute_capability >= 80"),
      HasSubstr("column 1: 'compute_capability' is a fact of a device"));
}

TEST(TextParserTest, ScopesSayWhichNamesAreLegal) {
  EXPECT_THAT(FaultOf("BLOCK_M <= m", Scope::kParameters),
              HasSubstr("column 12: 'm' is a dimension; this is for "
                        "configurations alone"));
  EXPECT_THAT(FaultOf("m % BLOCK_M == 0", Scope::kProblem),
              HasSubstr("column 5: 'BLOCK_M' is a parameter; this is for "
                        "problems alone"));
}

struct Bad {
  const char* text;
  const char* fault;
};

class TextParserFaultTest : public ::testing::TestWithParam<Bad> {};

TEST_P(TextParserFaultTest, SaysWhereWhyAndWhatToWrite) {
  EXPECT_THAT(FaultOf(GetParam().text), HasSubstr(GetParam().fault))
      << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Texts, TextParserFaultTest,
    ::testing::Values(
        Bad{"", "column 1: the text ends here; write a number, a name or '('"},
        Bad{"  ", "column 3: the text ends here"},
        Bad{"BLOK_M <= 64",
            "column 1: nothing is declared as 'BLOK_M'; did you mean BLOCK_M?"},
        Bad{"block_m <= 64", "did you mean BLOCK_M?"},
        Bad{"q <= 64",
            "nothing is declared as 'q'; known are: m, n, rows, "
            "BLOCK_M, BLOCK_N, HOPPER"},
        Bad{"BLOCK_M <= 64 KB",
            "column 15: 'KB' stands where an operator or "
            "the end belongs"},
        Bad{"(BLOCK_M <= 64", "column 15: the '(' of column 1 is not closed"},
        Bad{"BLOCK_M <= 64)", "column 14: ')' stands where an operator"},
        Bad{"BLOCK_M <= ", "column 12: the text ends here"},
        Bad{"BLOCK_M = 64", "column 9: '=' is not of this language; write =="},
        Bad{"BLOCK_M", "column 1: a number stands where a comparison belongs"},
        Bad{"BLOCK_M + (BLOCK_N <= 2) <= 3",
            "column 11: a comparison stands where a number belongs"},
        Bad{"BLOCK_M and BLOCK_N == 1",
            "column 1: a number stands where a comparison belongs"},
        Bad{"BLOCK_M <= 64 && HOPPER == 1",
            "column 15: '&&' is not of this language; write and"},
        Bad{"!BLOCK_M", "column 1: '!' is not of this language; write not"},
        Bad{"BLOCK_M ** 2 == 4", "write a product"},
        Bad{"m // BLOCK_M == 1", "write floor_div(a, b)"},
        Bad{"BLOCK_M \xe2\x89\xa4 64",
            "column 9: '\xe2\x89\xa4' is not of this language; write <="},
        Bad{"BL\xc3\x96"
            "CK <= 4",
            "column 3: '\xc3\x96' is not of this "
            "language"},
        Bad{"BLOCK_M <= 64 $", "column 15: '$' is not of this language"},
        Bad{"BLOCK_M <= 4503599627370496",
            "column 12: the number is above 2^51"},
        Bad{"BLOCK_M <= 99999999999999999999", "above 2^51"},
        Bad{"BLOCK_M <= 8589934592 MiB", "column 12: the number is above 2^51"},
        Bad{"BLOCK_M <= 1.5", "column 12: '1.5' is not whole"},
        Bad{"BLOCK_M <= 010", "'010' begins with 0; numbers are decimal"},
        Bad{"BLOCK_M <= 64x", "column 14: a name begins with a letter"},
        Bad{"BLOCK_M / 0 <= 1", "column 9: '/' by 0 has no value"},
        Bad{"BLOCK_M % 0 == 1", "column 9: '%' by 0 has no value"},
        Bad{"7 / 2 <= BLOCK_M", "column 3: the division leaves a remainder"},
        Bad{"ceil_div(BLOCK_M, 0) == 1",
            "column 1: ceil_div by 0 has no value"},
        Bad{"ceil_div(BLOCK_M) == 1",
            "column 1: ceil_div has 1 argument; write ceil_div(a, b)"},
        Bad{"ceil_div(BLOCK_M, 2, 3) == 1", "ceil_div has 3 arguments"},
        Bad{"ceildiv(m, 2) == 1",
            "column 1: there is no function 'ceildiv'; did you mean ceil_div?"},
        Bad{"log2(m) == 1", "there is no function 'log2'; known are: ceil_div"},
        Bad{"min == 1", "a function needs its arguments in parentheses"},
        Bad{"BLOCK_M <= 64 when", "column 19: the text ends here"},
        Bad{"BLOCK_M <= 64 when HOPPER == 1 when m == 1",
            "column 32: 'when' stands where an operator or the end belongs"},
        Bad{"BLOCK_M <=> 64", "'>' stands where a number, a name or '('"}));

TEST(TextParserTest, AMegabyteOfParenthesesIsRefusedAtTheLimit) {
  const std::string deep(1 << 20, '(');
  EXPECT_THAT(FaultOf(deep), HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(FaultOf(std::string(1 << 20, '-')),
              HasSubstr("nested deeper than 64 levels"));
  std::string no;
  for (int i = 0; i < 1 << 18; ++i) no += "not ";
  EXPECT_THAT(FaultOf(no), HasSubstr("nested deeper than 64 levels"));
}

TEST(TextParserTest, ManyTermsOfOneSumAreNotNested) {
  std::string text = "BLOCK_M";
  for (int i = 0; i < 1000; ++i) text += " + BLOCK_N";
  EXPECT_EQ(ParsedExpression(text).children.size(), 1001u);
}

}  // namespace
}  // namespace wavetune
