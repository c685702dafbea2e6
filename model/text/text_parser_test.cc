#include "model/text/text_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using Op = Relation::Operator;
using TextScope = ManifestNames::Scope;

// Dimensions m, n, rows (repeated by its use); parameters BLOCK_M, BLOCK_N,
// HOPPER; the device's compute_capability.
ManifestNames TextNames() {
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

Expression DimensionM() { return Expression::OfDimension(0); }
Expression DimensionN() { return Expression::OfDimension(1); }
Expression ParameterBlockM() { return Expression::OfParameter(0); }
Expression ParameterBlockN() { return Expression::OfParameter(1); }
Expression ParameterHopper() { return Expression::OfParameter(2); }
Expression Whole(int64_t value) { return Expression::Constant(value); }

Expression ParsedExpression(absl::string_view text) {
  const ManifestNames names = TextNames();
  Lexer lexer(text);
  Expression result =
      TextParser(lexer, names, TextScope::kDimensions).ParseExpression();
  EXPECT_TRUE(lexer.ok()) << text << ": " << lexer.fault()->what;
  return result;
}

Condition ParsedRelation(absl::string_view text,
                         TextScope scope = TextScope::kDimensions) {
  const ManifestNames names = TextNames();
  Lexer lexer(text);
  Condition result = TextParser(lexer, names, scope).ParseRelation();
  EXPECT_TRUE(lexer.ok()) << text << ": " << lexer.fault()->what;
  return result;
}

// "column 3: what".
std::string TextFaultOf(absl::string_view text,
                        TextScope scope = TextScope::kDimensions) {
  const ManifestNames names = TextNames();
  Lexer lexer(text);
  TextParser(lexer, names, scope).ParseRelation();
  if (lexer.ok()) return "none";
  return absl::StrCat("column ", lexer.fault()->at + 1, ": ",
                      lexer.fault()->what);
}

TEST(TextParserTest, ProductsBindBeforeSumsAndBothFromTheLeft) {
  EXPECT_EQ(
      ParsedExpression("m + BLOCK_M * n"),
      Expression::Sum({DimensionM(), Expression::Product(
                                         {ParameterBlockM(), DimensionN()})}));
  EXPECT_EQ(
      ParsedExpression("(m + BLOCK_M) * n"),
      Expression::Product(
          {Expression::Sum({DimensionM(), ParameterBlockM()}), DimensionN()}));
  EXPECT_EQ(
      ParsedExpression("m * n * BLOCK_M"),
      Expression::Product({DimensionM(), DimensionN(), ParameterBlockM()}));
}

TEST(TextParserTest, SubtractionAddsTheNegative) {
  EXPECT_EQ(ParsedExpression("m - 1"),
            Expression::Sum({DimensionM(), Whole(-1)}));
  EXPECT_EQ(
      ParsedExpression("m - n"),
      Expression::Sum({DimensionM(), Expression::Of(Expression::Kind::kNegative,
                                                    {DimensionN()})}));
  EXPECT_EQ(ParsedExpression("-3"), Whole(-3));
}

TEST(TextParserTest, NumbersAreComputedAtOnceAndHaveUnits) {
  EXPECT_EQ(ParsedExpression("2 * (3 + 4) * 1 KiB"), Whole(14 * 1024));
  EXPECT_EQ(ParsedExpression("228 KiB - 1"), Whole(228 * 1024 - 1));
  EXPECT_EQ(ParsedExpression("1 MiB / 4"), Whole(256 * 1024));
  EXPECT_EQ(ParsedExpression("ceil_div(7, 2) + floor_div(7, 2) + 7 % 4"),
            Whole(4 + 3 + 3));
  EXPECT_EQ(ParsedExpression("min(4, 2, 3) + max(1, 5)"), Whole(7));
}

TEST(TextParserTest, CeilDivKeepsItsFactorsApart) {
  EXPECT_EQ(ParsedExpression("ceil_div(m * n, BLOCK_M * BLOCK_N)"),
            Expression::CeilDiv({DimensionM(), DimensionN()},
                                {ParameterBlockM(), ParameterBlockN()}));
}

TEST(TextParserTest, FunctionsOfMappings) {
  EXPECT_EQ(
      ParsedExpression("sum_over(rows, ceil_div(rows, BLOCK_M))"),
      Expression::SumOver(2, Expression::CeilDiv({Expression::OfDimension(2)},
                                                 {ParameterBlockM()})));
  EXPECT_EQ(ParsedExpression("causal_blocks(m, n, BLOCK_M, BLOCK_N)"),
            Expression::CausalBlocks(0, 1, 0, 1));
}

TEST(TextParserTest, ComparisonsAndTheirChains) {
  EXPECT_EQ(ParsedRelation("BLOCK_M <= 64"),
            Condition(ParameterBlockM(), Op::kLessOrEqual, Whole(64)));
  EXPECT_EQ(ParsedRelation("64 <= BLOCK_M * BLOCK_N < 256"),
            Condition::All(
                {{Whole(64), Op::kLessOrEqual,
                  Expression::Product({ParameterBlockM(), ParameterBlockN()})},
                 {Expression::Product({ParameterBlockM(), ParameterBlockN()}),
                  Op::kLess, Whole(256)}}));
}

TEST(TextParserTest, ARemainderOfZeroIsAMultiple) {
  EXPECT_EQ(ParsedRelation("m % BLOCK_M == 0"),
            Condition(DimensionM(), Op::kMultipleOf, ParameterBlockM()));
  EXPECT_EQ(ParsedRelation("m % BLOCK_M != 0"),
            Condition(Expression::Of(Expression::Kind::kRemainder,
                                     {DimensionM(), ParameterBlockM()}),
                      Op::kNotEqual, Whole(0)));
}

TEST(TextParserTest, AndBindsBeforeOrAndNotBeforeBoth) {
  const Condition a(ParameterBlockM(), Op::kEqual, Whole(1));
  const Condition b(ParameterBlockN(), Op::kEqual, Whole(2));
  const Condition c(ParameterHopper(), Op::kEqual, Whole(1));
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
            When({ParameterBlockM(), Op::kLessOrEqual, Whole(64)},
                 {ParameterHopper(), Op::kEqual, Whole(0)}));
}

TEST(TextParserTest, ParenthesesHoldNumbersOrConditions) {
  EXPECT_EQ(ParsedRelation("((BLOCK_M)) + 1 <= (64)"),
            ParsedRelation("BLOCK_M + 1 <= 64"));
  EXPECT_EQ(ParsedRelation("((BLOCK_M <= 64))"),
            ParsedRelation("BLOCK_M <= 64"));
}

TEST(TextParserTest, OnlyDevicePredicatesNameFactsOfADevice) {
  EXPECT_EQ(ParsedRelation("compute_capability >= 80", TextScope::kDevice),
            Condition(DimensionM(), Op::kGreaterOrEqual, Whole(80)));
  EXPECT_THAT(
      TextFaultOf("compute_capability >= 80"),
      HasSubstr("column 1: 'compute_capability' is a fact of a device"));
}

TEST(TextParserTest, ScopesSayWhichNamesAreLegal) {
  EXPECT_THAT(TextFaultOf("BLOCK_M <= m", TextScope::kParameters),
              HasSubstr("column 12: 'm' is a dimension; this is for "
                        "configurations alone"));
  EXPECT_THAT(TextFaultOf("m % BLOCK_M == 0", TextScope::kProblem),
              HasSubstr("column 5: 'BLOCK_M' is a parameter; this is for "
                        "problems alone"));
}

struct BadText {
  const char* text;
  const char* fault;
};

class TextParserFaultTest : public ::testing::TestWithParam<BadText> {};

TEST_P(TextParserFaultTest, SaysWhereWhyAndWhatToWrite) {
  EXPECT_THAT(TextFaultOf(GetParam().text), HasSubstr(GetParam().fault))
      << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Texts, TextParserFaultTest,
    ::testing::Values(
        BadText{"",
                "column 1: the text ends here; write a number, a name or '('"},
        BadText{"  ", "column 3: the text ends here"},
        BadText{
            "BLOK_M <= 64",
            "column 1: nothing is declared as 'BLOK_M'; did you mean BLOCK_M?"},
        BadText{"block_m <= 64", "did you mean BLOCK_M?"},
        BadText{"q <= 64",
                "nothing is declared as 'q'; known are: m, n, rows, "
                "BLOCK_M, BLOCK_N, HOPPER"},
        BadText{"BLOCK_M <= 64 KB",
                "column 15: 'KB' stands where an operator or "
                "the end belongs"},
        BadText{"(BLOCK_M <= 64",
                "column 15: the '(' of column 1 is not closed"},
        BadText{"BLOCK_M <= 64)", "column 14: ')' stands where an operator"},
        BadText{"BLOCK_M <= ", "column 12: the text ends here"},
        BadText{"BLOCK_M = 64",
                "column 9: '=' is not of this language; write =="},
        BadText{"BLOCK_M",
                "column 1: a number stands where a comparison belongs"},
        BadText{"BLOCK_M + (BLOCK_N <= 2) <= 3",
                "column 11: a comparison stands where a number belongs"},
        BadText{"BLOCK_M and BLOCK_N == 1",
                "column 1: a number stands where a comparison belongs"},
        BadText{"BLOCK_M <= 64 && HOPPER == 1",
                "column 15: '&&' is not of this language; write and"},
        BadText{"!BLOCK_M", "column 1: '!' is not of this language; write not"},
        BadText{"BLOCK_M ** 2 == 4", "write a product"},
        BadText{"m // BLOCK_M == 1", "write floor_div(a, b)"},
        BadText{"BLOCK_M \xe2\x89\xa4 64",
                "column 9: '\xe2\x89\xa4' is not of this language; write <="},
        BadText{"BL\xc3\x96"
                "CK <= 4",
                "column 3: '\xc3\x96' is not of this "
                "language"},
        BadText{"BLOCK_M <= 64 $", "column 15: '$' is not of this language"},
        BadText{"BLOCK_M <= 4503599627370496",
                "column 12: the number is above 2^51"},
        BadText{"BLOCK_M <= 99999999999999999999", "above 2^51"},
        BadText{"BLOCK_M <= 8589934592 MiB",
                "column 12: the number is above 2^51"},
        BadText{"BLOCK_M <= 1.5", "column 12: '1.5' is not whole"},
        BadText{"BLOCK_M <= 010", "'010' begins with 0; numbers are decimal"},
        BadText{"BLOCK_M <= 64x", "column 14: a name begins with a letter"},
        BadText{"BLOCK_M / 0 <= 1", "column 9: '/' by 0 has no value"},
        BadText{"BLOCK_M % 0 == 1", "column 9: '%' by 0 has no value"},
        BadText{"7 / 2 <= BLOCK_M",
                "column 3: the division leaves a remainder"},
        BadText{"ceil_div(BLOCK_M, 0) == 1",
                "column 1: ceil_div by 0 has no value"},
        BadText{"ceil_div(BLOCK_M) == 1",
                "column 1: ceil_div has 1 argument; write ceil_div(a, b)"},
        BadText{"ceil_div(BLOCK_M, 2, 3) == 1", "ceil_div has 3 arguments"},
        BadText{
            "ceildiv(m, 2) == 1",
            "column 1: there is no function 'ceildiv'; did you mean ceil_div?"},
        BadText{"log2(m) == 1",
                "there is no function 'log2'; known are: ceil_div"},
        BadText{"min == 1", "a function needs its arguments in parentheses"},
        BadText{"BLOCK_M <= 64 when", "column 19: the text ends here"},
        BadText{
            "BLOCK_M <= 64 when HOPPER == 1 when m == 1",
            "column 32: 'when' stands where an operator or the end belongs"},
        BadText{"BLOCK_M <=> 64", "'>' stands where a number, a name or '('"}));

TEST(TextParserTest, AMegabyteOfParenthesesIsRefusedAtTheLimit) {
  const std::string deep(1 << 20, '(');
  EXPECT_THAT(TextFaultOf(deep), HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(TextFaultOf(std::string(1 << 20, '-')),
              HasSubstr("nested deeper than 64 levels"));
  std::string no;
  for (int i = 0; i < 1 << 18; ++i) no += "not ";
  EXPECT_THAT(TextFaultOf(no), HasSubstr("nested deeper than 64 levels"));
}

TEST(TextParserTest, ManyTermsOfOneSumAreNotNested) {
  std::string text = "BLOCK_M";
  for (int i = 0; i < 1000; ++i) text += " + BLOCK_N";
  EXPECT_EQ(ParsedExpression(text).children.size(), 1001u);
}

}  // namespace
}  // namespace wavetune
