// Fuzz target: a text of a manifest, read as each of the things that a text
// may be. Any bytes must be refused with a place within them, or give a
// condition that can be negated, folded and evaluated, or declarations.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/manifest_text/declarations.h"
#include "formats/manifest_text/places.h"
#include "model/kernel/condition.h"
#include "model/kernel/relation.h"
#include "model/text/lexer.h"
#include "model/text/names.h"
#include "model/text/text_parser.h"
#include "tests/fuzz/require.h"

namespace wavetune {
namespace {

const ManifestNames& Names() {
  static const auto* const names = [] {
    auto* const all = new ManifestNames;
    all->Add("m", Expression::OfDimension(0));
    all->Add("n", Expression::OfDimension(1));
    all->Add("rows", Expression::OfDimension(2));
    all->Add("BLOCK_M", Expression::OfParameter(0));
    all->Add("BLOCK_N", Expression::OfParameter(1));
    all->Add("HEAD_DIM", Expression::Constant(64));
    all->AddDeviceFact("compute_capability", Expression::OfDimension(0));
    return all;
  }();
  return *names;
}

// Whether a value on the way is so large that sums in another order may
// saturate elsewhere.
bool Saturates(const Expression& expression, const ProblemView& problem,
               const Configuration& configuration, int repeated) {
  constexpr int64_t kLarge = int64_t{1} << 40;
  const int64_t value =
      EvaluateSigned(expression, problem, configuration, repeated, 16)
          .value_or(0);
  if (value > kLarge || value < -kLarge) return true;
  return std::any_of(expression.children.begin(), expression.children.end(),
                     [&](const Expression& child) {
                       return Saturates(child, problem, configuration,
                                        repeated);
                     });
}

bool Saturates(const Condition& condition, const ProblemView& problem,
               const Configuration& configuration, int repeated) {
  const auto saturates = [&](const auto& part) {
    return Saturates(part, problem, configuration, repeated);
  };
  return std::any_of(condition.sides.begin(), condition.sides.end(),
                     saturates) ||
         std::any_of(condition.children.begin(), condition.children.end(),
                     saturates);
}

// Where a condition folds, the relations say what it says.
void CheckCondition(const Condition& condition) {
  const Configuration configuration({16, 0});
  const std::vector<int64_t> elements = {3, 16};
  const std::vector<int64_t> extents = {32, 7, 2};
  const ProblemView problem(extents, elements);
  constexpr int kRepeated = 2;
  const bool holds = Holds(condition, problem, configuration, kRepeated);
  std::vector<int32_t> mentioned;
  CollectDimensions(condition, mentioned);
  const bool every_element = std::find(mentioned.begin(), mentioned.end(),
                                       kRepeated) != mentioned.end();
  // "Each element is below" and "each is not" may both be false.
  if (holds && !every_element) {
    Require(!Holds(Negated(condition), problem, configuration, kRepeated),
            "a condition and its negation hold");
  }
  Require(every_element ||
              holds != Holds(Complement(condition), problem, configuration,
                             kRepeated) ||
              Saturates(condition, problem, configuration, kRepeated),
          "a condition and its complement hold, or neither does");
  const auto folded = FoldCondition(condition, configuration);
  if (!folded.has_value()) return;
  bool all = true;
  for (const Relation& relation : *folded) {
    all = all && Holds(relation, problem, kRepeated);
  }
  Require(
      all == holds || Saturates(condition, problem, configuration, kRepeated),
      "folding changes a condition");
}

void ReadAsRelation(absl::string_view text) {
  for (const auto scope :
       {ManifestNames::Scope::kParameters, ManifestNames::Scope::kDimensions,
        ManifestNames::Scope::kDevice, ManifestNames::Scope::kProblem}) {
    Lexer lexer(text);
    const Condition condition =
        TextParser(lexer, Names(), scope).ParseRelation();
    if (!lexer.ok()) {
      Require(lexer.fault()->at <= text.size(), "a fault is outside");
      Require(!lexer.fault()->what.empty(), "a fault says nothing");
    } else if (scope == ManifestNames::Scope::kDimensions) {
      CheckCondition(condition);
    }
  }
}

void ReadAsExpression(absl::string_view text) {
  Lexer lexer(text);
  const Expression expression =
      TextParser(lexer, Names(), ManifestNames::Scope::kDimensions)
          .ParseExpression();
  if (!lexer.ok()) return;
  const std::vector<int64_t> elements = {3, 16};
  const int64_t value =
      Evaluate(expression, ProblemView({32, 7, 2}, elements), {16, 0});
  Require(value >= 0 && value <= kExpressionLimit, "a value is out of range");
}

void ReadAsDeclarations(const std::string& text) {
  v1::KernelSpec spec;
  spec.add_dimensions()->mutable_text()->set_text(text);
  spec.add_parameters()->mutable_text()->set_text(text);
  spec.add_specialisations()->mutable_text()->set_text(text);
  spec.add_configurations()->mutable_text()->set_text(text);
  spec.add_arguments()->mutable_text()->set_text(text);
  spec.add_representative_problems()->mutable_text()->set_text(text);
  const std::vector<std::string> faults =
      ExpandDeclarations(ManifestPlaces(), spec);
  for (const v1::Dimension& dimension : spec.dimensions()) {
    Require(!dimension.has_text() && !dimension.name().empty(),
            "a dimension without a name");
  }
  Require(faults.size() <= 6, "more faults than texts");
}

}  // namespace
}  // namespace wavetune

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  wavetune::ReadAsRelation(text);
  wavetune::ReadAsExpression(text);
  wavetune::ReadAsDeclarations(text);
  return 0;
}
