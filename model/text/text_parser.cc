#include "model/text/text_parser.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/suggestion.h"
#include "model/kernel/condition_text.h"
#include "model/kernel/expression_faults.h"

namespace wavetune {
namespace {

using Kind = Expression::Kind;
using Operator = Relation::Operator;

// Deeper than anybody writes; a text must not exhaust the stack.
constexpr int kMaxDepth = 64;

std::optional<Operator> ComparisonOf(const Token& token) {
  for (const Operator op : {Operator::kEqual, Operator::kNotEqual,
                            Operator::kLess, Operator::kLessOrEqual,
                            Operator::kGreater, Operator::kGreaterOrEqual}) {
    if (token.Is(OperatorText(op))) return op;
  }
  return std::nullopt;
}

// `most` of 0: any number from `least` on.
struct Function {
  absl::string_view name;
  size_t least;
  size_t most;
  absl::string_view form;
};
constexpr std::array<Function, 6> kFunctions = {{
    {"ceil_div", 2, 2, "ceil_div(a, b)"},
    {"floor_div", 2, 2, "floor_div(a, b)"},
    {"min", 1, 0, "min(a, b, ...)"},
    {"max", 1, 0, "max(a, b, ...)"},
    {"sum_over", 2, 2, "sum_over(dimension, term)"},
    {"causal_blocks", 4, 4, "causal_blocks(seq_q, seq_kv, BLOCK_Q, BLOCK_KV)"},
}};

std::vector<std::string> FunctionNames() {
  std::vector<std::string> names;
  for (const Function& function : kFunctions) {
    names.emplace_back(function.name);
  }
  return names;
}

const Function* FunctionOf(absl::string_view name) {
  const auto* const found = std::find_if(
      kFunctions.begin(), kFunctions.end(),
      [name](const Function& known) { return known.name == name; });
  return found == kFunctions.end() ? nullptr : found;
}

// The factors of a product, else the expression alone.
std::vector<Expression> FactorsOf(Expression expression) {
  if (expression.kind == Kind::kProduct) return std::move(expression.children);
  std::vector<Expression> one;
  one.push_back(std::move(expression));
  return one;
}

bool IsNumber(const Expression& expression) {
  std::vector<int32_t> mentioned;
  CollectDimensions(expression, mentioned);
  CollectParameters(expression, mentioned);
  return mentioned.empty();
}

bool IsZeroOrLess(const Expression& expression) {
  return expression.kind == Kind::kConstant && expression.value <= 0;
}

bool IsWord(const Token& token) {
  return token.Is("and") || token.Is("or") || token.Is("not") ||
         token.Is("when");
}

}  // namespace

Condition TextParser::ParseRelation() {
  Condition condition = Truth(ParseOr());
  if (lexer_.TakeIf("when")) {
    condition = When(std::move(condition), Truth(ParseOr()));
  }
  if (lexer_.ok() && lexer_.Peek().kind != Token::Kind::kEnd) {
    lexer_.FailHere("an operator or the end");
  }
  return condition;
}

Expression TextParser::ParseExpression() {
  Expression expression = ParseSum();
  if (lexer_.ok() && lexer_.Peek().kind != Token::Kind::kEnd) {
    lexer_.FailHere("an operator or the end");
  }
  return expression;
}

Expression TextParser::ParseSum() { return Number(ParseOr()); }

Expression TextParser::Number(Value value) {
  if (value.number.has_value()) return *std::move(value.number);
  lexer_.Fail(value.at, "a comparison stands where a number belongs");
  return Expression::Constant(1);
}

Condition TextParser::Truth(Value value) {
  if (value.truth.has_value()) return *std::move(value.truth);
  lexer_.Fail(value.at,
              "a number stands where a comparison belongs; compare it, for "
              "example with >= 1");
  return {};
}

bool TextParser::Enter(size_t at) {
  if (++depth_ <= kMaxDepth) return true;
  return lexer_.Fail(at, "nested deeper than ", kMaxDepth,
                     " levels; write it as several relations");
}

TextParser::Value TextParser::ParseOr() {
  Value value = ParseAnd();
  if (!lexer_.Peek().Is("or")) return value;
  std::vector<Condition> any;
  const auto at = value.at;
  any.push_back(Truth(std::move(value)));
  while (lexer_.TakeIf("or")) any.push_back(Truth(ParseAnd()));
  return {.at = at, .number = {}, .truth = Condition::Any(std::move(any))};
}

TextParser::Value TextParser::ParseAnd() {
  Value value = ParseNot();
  if (!lexer_.Peek().Is("and")) return value;
  std::vector<Condition> all;
  const auto at = value.at;
  all.push_back(Truth(std::move(value)));
  while (lexer_.TakeIf("and")) all.push_back(Truth(ParseNot()));
  return {.at = at, .number = {}, .truth = Condition::All(std::move(all))};
}

TextParser::Value TextParser::ParseNot() {
  if (!lexer_.Peek().Is("not")) return ParseComparison();
  const size_t at = lexer_.Take().at;
  if (!Enter(at)) return Nothing(at);
  Condition negated = Negated(Truth(ParseNot()));
  --depth_;
  return {.at = at, .number = {}, .truth = std::move(negated)};
}

TextParser::Value TextParser::ParseComparison() {
  Value left = ParseTerms();
  if (lexer_.Peek().Is("=")) {
    lexer_.Fail(lexer_.Peek().at, "'=' is not of this language; write ==");
  }
  if (!ComparisonOf(lexer_.Peek())) return left;
  const size_t at = left.at;
  std::vector<Condition> chain;
  Expression side = Number(std::move(left));
  while (const auto comparison = ComparisonOf(lexer_.Peek())) {
    lexer_.Take();
    Expression next = Number(ParseTerms());
    chain.emplace_back(std::move(side), *comparison, next);
    side = std::move(next);
  }
  return {.at = at,
          .number = {},
          .truth = chain.size() == 1 ? std::move(chain[0])
                                     : Condition::All(std::move(chain))};
}

TextParser::Value TextParser::ParseTerms() {
  Value value = ParseProduct();
  if (!lexer_.Peek().Is("+") && !lexer_.Peek().Is("-")) return value;
  const size_t at = value.at;
  std::vector<Expression> terms;
  terms.push_back(Number(std::move(value)));
  while (lexer_.Peek().Is("+") || lexer_.Peek().Is("-")) {
    const Token sign = lexer_.Take();
    Expression term = Number(ParseProduct());
    if (sign.Is("-")) {
      term = Folded(sign.at, Expression::Of(Kind::kNegative, {term}));
    }
    terms.push_back(std::move(term));
  }
  return OfNumber(at, Folded(at, Expression::Sum(std::move(terms))));
}

TextParser::Value TextParser::ParseProduct() {
  Value value = ParseFactor();
  while (lexer_.Peek().Is("*") || lexer_.Peek().Is("/") ||
         lexer_.Peek().Is("%")) {
    const Token operation = lexer_.Take();
    value = Multiply(std::move(value), operation, ParseFactor());
  }
  return value;
}

TextParser::Value TextParser::Multiply(Value left, const Token& operation,
                                       Value right) {
  const size_t at = left.at;
  Expression a = Number(std::move(left));
  Expression b = Number(std::move(right));
  if (operation.Is("*")) {
    std::vector<Expression> factors = FactorsOf(std::move(a));
    factors.push_back(std::move(b));
    return OfNumber(at, Folded(at, Expression::Product(std::move(factors))));
  }
  if (IsZeroOrLess(b)) {
    lexer_.Fail(operation.at, "'", operation.text, "' by ", b.value,
                " has no value; divide by 1 or more");
  }
  const Kind kind = operation.Is("%") ? Kind::kRemainder : Kind::kExactDiv;
  return OfNumber(at, Folded(operation.at, Expression::Of(kind, {a, b})));
}

TextParser::Value TextParser::ParseFactor() {
  const Token& next = lexer_.Peek();
  const size_t at = next.at;
  if (next.kind == Token::Kind::kNumber) return ParseNumber();
  if (next.kind == Token::Kind::kName && !IsWord(next)) return ParseName();
  if (next.Is("(")) return ParseParentheses();
  if (next.Is("-")) {
    lexer_.Take();
    if (!Enter(at)) return Nothing(at);
    Expression factor = Number(ParseFactor());
    --depth_;
    return OfNumber(at, Folded(at, Expression::Of(Kind::kNegative, {factor})));
  }
  if (next.kind == Token::Kind::kReal) {
    lexer_.Fail(at, "'", next.text, "' is not whole; numbers are whole here");
  } else {
    lexer_.FailHere("a number, a name or '('");
  }
  return Nothing(at);
}

TextParser::Value TextParser::ParseNumber() {
  const Token number = lexer_.Take();
  int64_t unit = 1;
  if (lexer_.TakeIf("KiB")) {
    unit = int64_t{1} << 10;
  } else if (lexer_.TakeIf("MiB")) {
    unit = int64_t{1} << 20;
  }
  if (number.number > kExpressionLimit / unit) {
    lexer_.Fail(number.at, "the number is above 2^51");
  }
  return OfNumber(number.at, Expression::Constant(number.number * unit));
}

TextParser::Value TextParser::ParseParentheses() {
  const size_t at = lexer_.Take().at;
  if (!Enter(at)) return Nothing(at);
  Value value = ParseOr();
  --depth_;
  if (lexer_.ok() && !lexer_.Peek().Is(")")) {
    lexer_.Fail(lexer_.Peek().at, "the '(' of column ", at + 1,
                " is not closed before '", lexer_.Peek().text,
                "'; write ')' or an operator");
  }
  lexer_.Take();
  value.at = at;
  return value;
}

TextParser::Value TextParser::ParseName() {
  const Token name = lexer_.Take();
  if (lexer_.Peek().Is("(")) return ParseCall(name);
  const Expression* meaning = names_.Find(name.text);
  const Expression* fact = names_.FindDeviceFact(name.text);
  if (scope_ == ManifestNames::Scope::kDevice && fact != nullptr) {
    return OfNumber(name.at, *fact);
  }
  const std::vector<std::string> known = names_.Of(scope_);
  if (meaning == nullptr && fact != nullptr) {
    lexer_.Fail(name.at, "'", name.text,
                "' is a fact of a device; only device_predicates may name it");
  } else if (meaning == nullptr) {
    lexer_.Fail(name.at, "nothing is declared as '", name.text, "'",
                FunctionOf(name.text) == nullptr
                    ? Suggestion(name.text, known)
                    : "; a function needs its arguments in parentheses");
  } else if (std::find(known.begin(), known.end(), name.text) == known.end()) {
    const bool parameter = meaning->kind == Kind::kParameter;
    lexer_.Fail(name.at, "'", name.text, "' is a ",
                parameter ? "parameter" : "dimension",
                parameter ? "; this is for problems alone: name dimensions, or "
                            "write it as a require"
                          : "; this is for configurations alone: name "
                            "parameters, or write it as a require");
  } else {
    return OfNumber(name.at, *meaning);
  }
  return Nothing(name.at);
}

TextParser::Value TextParser::ParseCall(const Token& function) {
  const Function* known = FunctionOf(function.text);
  if (known == nullptr) {
    lexer_.Fail(function.at, "there is no function '", function.text, "'",
                Suggestion(function.text, FunctionNames()));
    return Nothing(function.at);
  }
  lexer_.Take();
  if (!Enter(function.at)) return Nothing(function.at);
  std::vector<Expression> arguments;
  do {
    arguments.push_back(Number(ParseOr()));
  } while (lexer_.TakeIf(","));
  --depth_;
  if (!lexer_.ok()) return Nothing(function.at);
  lexer_.Expect(")");
  if (arguments.size() < known->least ||
      (known->most > 0 && arguments.size() > known->most)) {
    lexer_.Fail(function.at, function.text, " has ", arguments.size(),
                arguments.size() == 1 ? " argument" : " arguments", "; write ",
                known->form);
  }
  if (!lexer_.ok()) return Nothing(function.at);
  return OfNumber(function.at,
                  Folded(function.at, Apply(function, std::move(arguments))));
}

Expression TextParser::Apply(const Token& function,
                             std::vector<Expression> arguments) {
  if (function.Is("min")) return Expression::Of(Kind::kMin, arguments);
  if (function.Is("max")) return Expression::Of(Kind::kMax, arguments);
  if (function.Is("sum_over")) {
    if (arguments[0].kind != Kind::kDimension) {
      lexer_.Fail(function.at,
                  "sum_over sums over a dimension; write sum_over(dimension, "
                  "term)");
    }
    return Expression::SumOver(static_cast<int>(arguments[0].value),
                               std::move(arguments[1]));
  }
  if (function.Is("causal_blocks")) {
    return Expression::Of(Kind::kCausalBlocks, std::move(arguments));
  }
  if (IsZeroOrLess(arguments[1])) {
    lexer_.Fail(function.at, function.text, " by ", arguments[1].value,
                " has no value; divide by 1 or more");
  }
  if (function.Is("floor_div")) {
    return Expression::Of(Kind::kFloorDiv, std::move(arguments));
  }
  return Expression::CeilDiv(FactorsOf(std::move(arguments[0])),
                             FactorsOf(std::move(arguments[1])));
}

Expression TextParser::Folded(size_t at, Expression expression) {
  if (!lexer_.ok() || !IsNumber(expression)) return expression;
  const std::optional<int64_t> value =
      EvaluateSigned(expression, ProblemView(), Configuration());
  if (value.has_value()) return Expression::Constant(*value);
  lexer_.Fail(at,
              "the division leaves a remainder; write floor_div or ceil_div");
  return expression;
}

}  // namespace wavetune
