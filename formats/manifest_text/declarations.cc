#include "formats/manifest_text/declarations.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/suggestion.h"
#include "model/kernel/mapping.h"
#include "model/text/lexer.h"

namespace wavetune {
namespace {

template <typename Message>
using Repeated = google::protobuf::RepeatedPtrField<Message>;

// Values of one set; more are a mistake.
constexpr size_t kMaxValues = 10000;

// The part of a declaration's text that its first bytes, up to one of `ends`
// outside of parentheses, make up: an expression that is parsed later.
v1::ManifestText TakePart(const v1::ManifestText& whole, Lexer& lexer,
                          const std::vector<absl::string_view>& ends) {
  const size_t begin = lexer.Peek().at;
  size_t end = begin;
  int depth = 0;
  const auto at_end = [&] {
    const Token& next = lexer.Peek();
    if (next.kind == Token::Kind::kEnd) return true;
    for (const absl::string_view word : ends) {
      if (depth == 0 && next.Is(word)) return true;
    }
    return false;
  };
  while (!at_end()) {
    const Token token = lexer.Take();
    if (token.Is("(")) ++depth;
    if (token.Is(")")) --depth;
    end = token.at + token.text.size();
  }
  if (end == begin) lexer.FailHere("an expression");
  v1::ManifestText part;
  part.set_text(std::string(lexer.text().substr(begin, end - begin)));
  part.set_at(whole.at());
  part.set_skip(whole.skip() + static_cast<int32_t>(begin));
  return part;
}

std::string TakeName(Lexer& lexer, absl::string_view what) {
  if (lexer.Peek().kind == Token::Kind::kName) {
    return std::string(lexer.Take().text);
  }
  lexer.FailHere(what);
  return "";
}

int64_t TakeNumber(Lexer& lexer) {
  const bool negative = lexer.TakeIf("-");
  if (lexer.Peek().kind != Token::Kind::kNumber) {
    lexer.FailHere("a whole number");
    return 0;
  }
  int64_t number = lexer.Take().number;
  for (const auto& [unit, bits] :
       {std::pair("KiB", 10), std::pair("MiB", 20)}) {
    if (!lexer.TakeIf(unit)) continue;
    if (number > kExpressionLimit >> bits) {
      lexer.Fail(lexer.Peek().at, "the number is above 2^51");
    }
    number = static_cast<int64_t>(static_cast<uint64_t>(number) << bits);
  }
  return negative ? -number : number;
}

double TakeReal(Lexer& lexer) {
  const bool negative = lexer.TakeIf("-");
  const Token token = lexer.Peek();
  double number = 0;
  if ((token.kind != Token::Kind::kReal &&
       token.kind != Token::Kind::kNumber) ||
      !absl::SimpleAtod(token.text, &number)) {
    lexer.FailHere("a number, as in 0.125,");
  }
  lexer.Take();
  return negative ? -number : number;
}

void ExpectEnd(Lexer& lexer) {
  if (lexer.ok() && lexer.Peek().kind != Token::Kind::kEnd) {
    lexer.FailHere("',' or the end");
  }
}

// One number, or `4..64`, `16..256 step 16`, `1..64 times 2`.
void TakeValues(Lexer& lexer, std::vector<int64_t>& values) {
  const size_t at = lexer.Peek().at;
  const int64_t first = TakeNumber(lexer);
  if (!lexer.TakeIf("..")) {
    values.push_back(first);
    return;
  }
  const int64_t last = TakeNumber(lexer);
  const bool times = lexer.Peek().Is("times");
  int64_t step = 1;
  if (lexer.TakeIf("step") || lexer.TakeIf("times")) step = TakeNumber(lexer);
  if (!lexer.ok()) return;
  if (first > last || step < (times ? 2 : 1) || (times && first < 1)) {
    lexer.Fail(at,
               "no range ascends so; write 16..256 step 16, or 1..64 times 2");
    return;
  }
  for (int64_t value = first; value <= last;
       value = times ? value * step : value + step) {
    values.push_back(value);
    if (values.size() > kMaxValues) {
      lexer.Fail(at, "more than ", kMaxValues, " values; give fewer");
      return;
    }
  }
}

// `{` values `}` or `[` values `]`.
std::vector<int64_t> TakeList(Lexer& lexer, absl::string_view open,
                              absl::string_view close) {
  std::vector<int64_t> values;
  if (!lexer.Expect(open)) return values;
  do {
    TakeValues(lexer, values);
  } while (lexer.TakeIf(","));
  lexer.Expect(close);
  return values;
}

// `m`, `n <= 65536`, `8 <= k <= 65536`, `tokens[]`.
v1::Dimension TakeDimension(Lexer& lexer) {
  v1::Dimension dimension;
  if (lexer.Peek().kind == Token::Kind::kNumber) {
    dimension.set_min(TakeNumber(lexer));
    lexer.Expect("<=");
  }
  dimension.set_name(TakeName(lexer, "the name of a dimension"));
  if (lexer.TakeIf("[")) {
    lexer.Expect("]");
    dimension.set_repeated(true);
  }
  if (lexer.TakeIf("<=")) {
    dimension.set_max(TakeNumber(lexer));
  } else if (lexer.TakeIf(">=")) {
    dimension.set_min(TakeNumber(lexer));
  }
  return dimension;
}

void ParseDimensions(const v1::ManifestText&, Lexer& lexer,
                     Repeated<v1::Dimension>& out) {
  do {
    *out.Add() = TakeDimension(lexer);
  } while (lexer.TakeIf(","));
  ExpectEnd(lexer);
}

// `BLOCK_M in {16, 32, 64} macro default 32`.
void ParseParameters(const v1::ManifestText&, Lexer& lexer,
                     Repeated<v1::Parameter>& out) {
  do {
    v1::Parameter& parameter = *out.Add();
    parameter.set_name(TakeName(lexer, "the name of a parameter"));
    lexer.Expect("in");
    for (const int64_t value : TakeList(lexer, "{", "}")) {
      parameter.add_values(value);
    }
    if (lexer.TakeIf("macro")) parameter.set_role(v1::Parameter::MACRO);
    if (lexer.TakeIf("micro")) parameter.set_role(v1::Parameter::MICRO);
    if (lexer.TakeIf("default")) parameter.set_default_(TakeNumber(lexer));
  } while (lexer.TakeIf(","));
  ExpectEnd(lexer);
}

// `NAME = 1, NAME = 2`.
template <typename Map>
void TakeAssignments(Lexer& lexer, Map& values) {
  do {
    const size_t at = lexer.Peek().at;
    const std::string name = TakeName(lexer, "a name");
    lexer.Expect("=");
    const int64_t value = TakeNumber(lexer);
    if (!values.insert({name, value}).second) {
      lexer.Fail(at, "'", name, "' has a value already; give it once");
    }
  } while (lexer.TakeIf(","));
  ExpectEnd(lexer);
}

// `causal_64: CAUSAL = 1, HEAD_DIM = 64`.
void ParseSpecialisation(const v1::ManifestText&, Lexer& lexer,
                         Repeated<v1::Specialisation>& out) {
  v1::Specialisation& specialisation = *out.Add();
  specialisation.set_name(TakeName(lexer, "the name of a specialisation"));
  lexer.Expect(":");
  if (lexer.ok()) TakeAssignments(lexer, *specialisation.mutable_constants());
}

void ParseConfiguration(const v1::ManifestText&, Lexer& lexer,
                        Repeated<v1::ListedConfiguration>& out) {
  TakeAssignments(lexer, *out.Add()->mutable_values());
}

std::vector<std::string> TypeNames() {
  std::vector<std::string> names;
  for (int i = v1::Argument::Type_MIN + 1; i <= v1::Argument::Type_MAX; ++i) {
    if (v1::Argument::Type_IsValid(i)) {
      names.push_back(absl::AsciiStrToLower(
          v1::Argument::Type_Name(static_cast<v1::Argument::Type>(i))));
    }
  }
  return names;
}

// One argument of a kernel.
class ArgumentText {
 public:
  ArgumentText(const v1::ManifestText& whole, Lexer& lexer,
               v1::Argument& argument)
      : whole_(whole), lexer_(lexer), argument_(argument) {}

  void Parse() {
    const bool buffer = TakeKind();
    const size_t at = lexer_.Peek().at;
    argument_.set_name(TakeName(lexer_, "the name of an argument"));
    const bool extents = lexer_.Peek().Is("[");
    if (extents) TakeExtents();
    if (lexer_.ok() && buffer != extents) {
      lexer_.Fail(at, buffer ? "a buffer has its extents in brackets, as "
                               "in a[m, k] float32"
                             : "what has extents is a buffer; say in, out, "
                               "inout or workspace before its name");
    }
    TakeType();
    if (!buffer) TakeValue();
    TakeFloats();
    if (lexer_.TakeIf("aligned")) TakeAlignment();
    if (lexer_.TakeIf("below"))
      *argument_.mutable_below()->mutable_text() = Part();
    TakeBlocks();
    if (lexer_.TakeIf("zeroed")) TakeZeroed();
  }

 private:
  v1::ManifestText Part() {
    return TakePart(whole_, lexer_,
                    {",", "]", ")", "below", "padded_order", "block_element",
                     "padded_total", "zeroed"});
  }

  // Returns whether it is a buffer.
  bool TakeKind() {
    constexpr std::pair<absl::string_view, v1::Argument::Role> kKinds[] = {
        {"in", v1::Argument::INPUT},
        {"out", v1::Argument::OUTPUT},
        {"inout", v1::Argument::INOUT},
        {"workspace", v1::Argument::WORKSPACE}};
    argument_.set_role(v1::Argument::SCALAR);
    for (const auto& [word, role] : kKinds) {
      if (!lexer_.TakeIf(word)) continue;
      argument_.set_role(role);
      if (lexer_.TakeIf("cold")) argument_.set_cold(true);
      return true;
    }
    if (lexer_.Peek().Is("cold")) {
      lexer_.Fail(lexer_.Peek().at, "what is cold is a buffer; write in cold");
    }
    return false;
  }

  // Factors in the order of the extents: the last one is contiguous.
  void TakeExtents() {
    lexer_.Take();
    v1::Product product;
    do {
      *product.add_factors()->mutable_text() = Part();
    } while (lexer_.TakeIf(","));
    lexer_.Expect("]");
    if (product.factors_size() == 1) {
      *argument_.mutable_elements() = product.factors(0);
    } else {
      *argument_.mutable_elements()->mutable_product() = std::move(product);
    }
  }

  void TakeType() {
    const Token type = lexer_.Take();
    v1::Argument::Type value = v1::Argument::TYPE_UNSPECIFIED;
    if (lexer_.ok() &&
        !v1::Argument::Type_Parse(absl::AsciiStrToUpper(type.text), &value)) {
      lexer_.Fail(type.at, "'", type.text, "' is no type of an element",
                  Suggestion(type.text, TypeNames()));
    }
    argument_.set_type(value);
  }

  // Of a scalar: a number, an expression, or what its name means.
  void TakeValue() {
    v1::ManifestText& value = *argument_.mutable_value()->mutable_text();
    if (lexer_.TakeIf("=")) {
      value = Part();
      double number = 0;
      if (value.text().find('.') == std::string::npos ||
          !absl::SimpleAtod(value.text(), &number)) {
        return;
      }
      argument_.clear_value();
      argument_.set_number(number);
      return;
    }
    value.set_text(argument_.name());
    value.set_at(whole_.at());
    value.set_skip(whole_.skip());
  }

  // Two numbers between brackets.
  std::pair<double, double> TakePair(absl::string_view open,
                                     absl::string_view close) {
    lexer_.Expect(open);
    const double first = TakeReal(lexer_);
    lexer_.Expect(",");
    const double second = TakeReal(lexer_);
    lexer_.Expect(close);
    return {first, second};
  }

  // `in [-100, 100]` or `normal(0, 10)`.
  void TakeFloats() {
    if (lexer_.TakeIf("in")) {
      const auto [low, high] = TakePair("[", "]");
      argument_.mutable_uniform()->set_low(low);
      argument_.mutable_uniform()->set_high(high);
    } else if (lexer_.TakeIf("normal")) {
      const auto [mean, deviation] = TakePair("(", ")");
      argument_.mutable_normal()->set_mean(mean);
      argument_.mutable_normal()->set_deviation(deviation);
    }
  }

  void TakeAlignment() {
    const size_t at = lexer_.Peek().at;
    const int64_t bytes = TakeNumber(lexer_);
    if (lexer_.ok() && (bytes < 1 || bytes > 128)) {
      lexer_.Fail(at, "give the bytes of an alignment, 128 at most");
    }
    argument_.set_aligned(static_cast<int32_t>(bytes));
  }

  // `padded_order(tokens, BLOCK_M)`.
  void TakeBlocks() {
    const absl::string_view word = lexer_.Peek().text;
    v1::ElementBlocks* blocks = nullptr;
    if (lexer_.Peek().Is("padded_order")) {
      blocks = argument_.mutable_padded_order();
    } else if (lexer_.Peek().Is("block_element")) {
      blocks = argument_.mutable_block_element();
    } else if (lexer_.Peek().Is("padded_total")) {
      blocks = argument_.mutable_padded_total();
    } else {
      return;
    }
    lexer_.Take();
    lexer_.Expect("(");
    blocks->set_dimension(
        TakeName(lexer_, absl::StrCat("the repeated dimension of ", word)));
    lexer_.Expect(",");
    *blocks->mutable_block()->mutable_text() = Part();
    lexer_.Expect(")");
  }

  void TakeZeroed() {
    const Token when = lexer_.Take();
    v1::Argument::Zeroed value = v1::Argument::ZEROED_UNSPECIFIED;
    if (lexer_.ok() &&
        !v1::Argument::Zeroed_Parse(absl::AsciiStrToUpper(when.text), &value)) {
      lexer_.Fail(when.at, "'", when.text,
                  "' is no time; write every_launch, once or never");
    }
    argument_.set_zeroed(value);
  }

  const v1::ManifestText& whole_;
  Lexer& lexer_;
  v1::Argument& argument_;
};

void ParseArguments(const v1::ManifestText& text, Lexer& lexer,
                    Repeated<v1::Argument>& out) {
  do {
    ArgumentText(text, lexer, *out.Add()).Parse();
  } while (lexer.TakeIf(","));
  ExpectEnd(lexer);
}

// One grid of problems, or several: dimensions of one value, and lists of the
// repeated dimension, go through their alternatives together.
class GridText {
 public:
  explicit GridText(Lexer& lexer) : lexer_(lexer) {}

  void Parse(Repeated<v1::ProblemGrid>& out) {
    do {
      TakeAxis();
    } while (lexer_.TakeIf(","));
    if (lexer_.TakeIf("for")) TakeSpecialisations();
    if (lexer_.TakeIf("weight")) weight_ = TakeReal(lexer_);
    ExpectEnd(lexer_);
    if (!lexer_.ok()) return;
    std::vector<v1::ProblemGrid> grids = Grids();
    for (v1::ProblemGrid& grid : grids) {
      if (weight_.has_value()) {
        grid.set_weight(*weight_ / static_cast<double>(grids.size()));
      } else if (grids.size() > 1) {
        grid.set_weight(1 / static_cast<double>(grids.size()));
      }
      *out.Add() = std::move(grid);
    }
  }

 private:
  struct Axis {
    std::vector<std::string> dimensions;
    std::vector<std::vector<int64_t>> lists;  // Alternatives.
  };

  // `m in {1, 2}`, `h = w = 7`, `tokens = [64, 0]`, `tokens in {[1, 2], [3]}`.
  void TakeAxis() {
    Axis axis;
    axis.dimensions.push_back(TakeName(lexer_, "the name of a dimension"));
    while (lexer_.TakeIf("=")) {
      if (lexer_.Peek().kind == Token::Kind::kName) {
        axis.dimensions.emplace_back(lexer_.Take().text);
        continue;
      }
      axis.lists.push_back(lexer_.Peek().Is("[")
                               ? TakeList(lexer_, "[", "]")
                               : std::vector<int64_t>{TakeNumber(lexer_)});
      axes_.push_back(std::move(axis));
      return;
    }
    if (!lexer_.TakeIf("in")) {
      lexer_.FailHere("'=' or 'in'");
      return;
    }
    TakeAlternatives(axis);
    axes_.push_back(std::move(axis));
  }

  void TakeAlternatives(Axis& axis) {
    if (!lexer_.Expect("{")) return;
    std::vector<int64_t> values;
    do {
      if (lexer_.Peek().Is("[")) {
        axis.lists.push_back(TakeList(lexer_, "[", "]"));
      } else {
        TakeValues(lexer_, values);
      }
    } while (lexer_.TakeIf(","));
    lexer_.Expect("}");
    if (values.empty()) return;
    if (axis.dimensions.size() == 1) {
      axis.lists.push_back(std::move(values));
      return;
    }
    for (const int64_t value : values) axis.lists.push_back({value});
  }

  void TakeSpecialisations() {
    do {
      specialisations_.push_back(
          TakeName(lexer_, "the name of a specialisation"));
    } while (lexer_.TakeIf(","));
  }

  // One grid for each combination of alternatives.
  std::vector<v1::ProblemGrid> Grids() {
    std::vector<v1::ProblemGrid> grids(1);
    for (const Axis& axis : axes_) {
      std::vector<v1::ProblemGrid> next;
      for (const v1::ProblemGrid& grid : grids) {
        for (const std::vector<int64_t>& values : axis.lists) {
          v1::ProblemGrid& extended = next.emplace_back(grid);
          for (const std::string& dimension : axis.dimensions) {
            v1::ProblemGrid::Axis& added = *extended.add_axes();
            added.set_dimension(dimension);
            added.mutable_values()->Add(values.begin(), values.end());
          }
        }
      }
      grids = std::move(next);
      if (grids.size() > kMaxValues) {
        lexer_.Fail(0, "more than ", kMaxValues, " combinations; give fewer");
        return {};
      }
    }
    for (v1::ProblemGrid& grid : grids) {
      for (const std::string& name : specialisations_) {
        grid.add_specialisation(name);
      }
    }
    return grids;
  }

  Lexer& lexer_;
  std::vector<Axis> axes_;
  std::vector<std::string> specialisations_;
  std::optional<double> weight_;
};

void ParseGrid(const v1::ManifestText&, Lexer& lexer,
               Repeated<v1::ProblemGrid>& out) {
  GridText(lexer).Parse(out);
}

// Puts what `parse` makes of each text into its place.
template <typename Message>
void Expand(absl::string_view path, const ManifestPlaces& places,
            void (*parse)(const v1::ManifestText&, Lexer&, Repeated<Message>&),
            Repeated<Message>& declarations, std::vector<std::string>& faults) {
  Repeated<Message> expanded;
  for (int i = 0; i < declarations.size(); ++i) {
    Message& declaration = declarations[i];
    if (!declaration.has_text()) {
      *expanded.Add() = std::move(declaration);
      continue;
    }
    Repeated<Message> own;
    Lexer lexer(declaration.text().text());
    parse(declaration.text(), lexer, own);
    if (lexer.ok()) {
      expanded.MergeFrom(own);
      continue;
    }
    faults.push_back(absl::StrCat(
        path, "[", i, "], ", places.Of(declaration.text(), lexer.fault()->at),
        ": ", lexer.fault()->what));
  }
  declarations = std::move(expanded);
}

}  // namespace

std::vector<std::string> ExpandDeclarations(const ManifestPlaces& places,
                                            v1::KernelSpec& spec) {
  std::vector<std::string> faults;
  Expand("dimensions", places, &ParseDimensions, *spec.mutable_dimensions(),
         faults);
  Expand("specialisations", places, &ParseSpecialisation,
         *spec.mutable_specialisations(), faults);
  Expand("parameters", places, &ParseParameters, *spec.mutable_parameters(),
         faults);
  Expand("configurations", places, &ParseConfiguration,
         *spec.mutable_configurations(), faults);
  Expand("arguments", places, &ParseArguments, *spec.mutable_arguments(),
         faults);
  Expand("representative_problems", places, &ParseGrid,
         *spec.mutable_representative_problems(), faults);
  Expand("correctness_problems", places, &ParseGrid,
         *spec.mutable_correctness_problems(), faults);
  for (v1::Parameter& parameter : *spec.mutable_parameters()) {
    if (!parameter.has_default_()) continue;
    spec.mutable_default_configuration()->insert(
        {parameter.name(), parameter.default_()});
    parameter.clear_default_();
  }
  return faults;
}

}  // namespace wavetune
