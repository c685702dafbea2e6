// TextParser: expressions and conditions of a manifest as infix text
// (docs/manifest.md has the grammar), parsed to the model's structures.
//
//   Lexer lexer("BLOCK_M * BLOCK_N <= 64 KiB when HOPPER == 1");
//   TextParser parser(lexer, names, ManifestNames::Scope::kParameters);
//   Condition condition = parser.ParseRelation();
//   if (!lexer.ok()) …lexer.fault()…
//
// Why by hand and not by a parser generator: a fault names the word that stands
// there, what belongs there, and the nearest name.
//
// Thread safety: used by one thread.
#ifndef WAVETUNE_MODEL_TEXT_TEXT_PARSER_H_
#define WAVETUNE_MODEL_TEXT_TEXT_PARSER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/kernel/condition.h"
#include "model/kernel/mapping.h"
#include "model/text/lexer.h"
#include "model/text/names.h"

namespace wavetune {

class TextParser {
 public:
  // Both must outlive this.
  TextParser(Lexer& lexer, const ManifestNames& names,
             ManifestNames::Scope scope)
      : lexer_(lexer), names_(names), scope_(scope) {}

  // Parse the whole text: a fault where anything is left over. After a fault
  // (Lexer::fault) the result says nothing.
  Condition ParseRelation();
  Expression ParseExpression();

  // Parses an expression and leaves what follows.
  Expression ParseSum();

 private:
  // A part that is either a number or true or false.
  struct Value {
    size_t at = 0;
    std::optional<Expression> number;
    std::optional<Condition> truth;
  };

  Value ParseOr();
  Value ParseAnd();
  Value ParseNot();
  Value ParseComparison();
  Value ParseTerms();
  Value ParseProduct();
  Value ParseFactor();
  Value ParseNumber();
  Value ParseName();
  Value ParseParentheses();
  Value ParseCall(const Token& function);

  Expression Apply(const Token& function, std::vector<Expression> arguments);
  Value Multiply(Value left, const Token& operation, Value right);

  Expression Number(Value value);
  Condition Truth(Value value);
  Value OfNumber(size_t at, Expression expression) {
    return {.at = at, .number = std::move(expression), .truth = {}};
  }
  // A value of whichever kind, after a fault.
  Value Nothing(size_t at) { return OfNumber(at, Expression::Constant(1)); }

  // Returns the value of an expression without names; records a fault at `at`
  // where it has none.
  Expression Folded(size_t at, Expression expression);
  bool Enter(size_t at);

  Lexer& lexer_;
  const ManifestNames& names_;
  const ManifestNames::Scope scope_;
  int depth_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TEXT_TEXT_PARSER_H_
