#include "model/table/table_check_mapping.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/table/table_check.h"

namespace wavetune {
namespace {

using Kind = Expression::Kind;

// Walks the trees of one mapping; keeps the first fault.
class MappingChecker {
 public:
  MappingChecker(const std::vector<Dimension>& dimensions, size_t parameters)
      : dimensions_(static_cast<int64_t>(dimensions.size())),
        parameters_(static_cast<int64_t>(parameters)) {
    for (size_t i = 0; i < dimensions.size(); ++i) {
      if (dimensions[i].repeated) repeated_ = static_cast<int64_t>(i);
    }
  }

  void Check(const Expression& expression, const char* field) {
    field_ = field;
    Visit(expression, /*depth=*/1, /*in_sum=*/false);
  }

  // What follows from the problem alone.
  void CheckOfProblem(const Expression& expression, const char* field) {
    const bool others_sum = std::exchange(sums_, false);
    of_problem_ = true;
    Check(expression, field);
    if (!sums_) Fail("needs a sum over the repeated dimension");
    of_problem_ = false;
    sums_ = others_sum;
  }

  void CheckRows(const RowAxis& rows) {
    field_ = "rows";
    if (!IsDimension(rows.dimension)) Fail("dimension out of range");
    if (!IsParameter(rows.tile)) Fail("tile parameter out of range");
    if (rows.dimension == repeated_ && !sums_) {
      Fail("the repeated dimension needs a sum over it");
    }
  }

  const std::string& fault() const { return fault_; }

 private:
  void Fail(absl::string_view what) {
    if (fault_.empty()) fault_ = absl::StrCat(field_, ": ", what);
  }

  bool IsDimension(int64_t index) const {
    return index >= 0 && index < dimensions_;
  }
  bool IsParameter(int64_t index) const {
    return index >= 0 && index < parameters_;
  }

  void Visit(const Expression& e, int depth, bool in_sum) {
    if (!fault_.empty()) return;
    if (depth > kMaxExpressionDepth) return Fail("nested too deeply");
    CheckLeaf(e);
    switch (e.kind) {
      case Kind::kConstant:
        if (e.value < 1 || e.value > kExpressionLimit) {
          Fail("constant out of range");
        }
        break;
      case Kind::kDimension:
        VisitDimension(e, in_sum);
        break;
      case Kind::kParameter:
        if (!IsParameter(e.value)) Fail("parameter out of range");
        if (of_problem_) Fail("a parameter in what problems alone give");
        break;
      case Kind::kCeilDiv:
        VisitCeilDiv(e);
        break;
      case Kind::kProduct:
        if (e.children.empty()) Fail("product without factors");
        break;
      case Kind::kSum:
        if (e.children.empty()) Fail("sum without terms");
        break;
      case Kind::kSumOver:
        VisitSumOver(e, in_sum);
        in_sum = true;
        break;
      case Kind::kCausalBlocks:
        VisitCausalBlocks(e);
        break;
      default:
        Fail("unknown kind of expression");
    }
    for (const Expression& child : e.children) Visit(child, depth + 1, in_sum);
  }

  void CheckLeaf(const Expression& e) {
    const bool leaf = e.kind == Kind::kConstant || e.kind == Kind::kDimension ||
                      e.kind == Kind::kParameter;
    if (leaf && !e.children.empty()) Fail("a leaf has children");
  }

  void VisitDimension(const Expression& e, bool in_sum) {
    if (!IsDimension(e.value)) return Fail("dimension out of range");
    if (e.value == repeated_ && !in_sum) {
      Fail("the repeated dimension is used outside of a sum over it");
    }
  }

  void VisitCeilDiv(const Expression& e) {
    const auto count = static_cast<int32_t>(e.children.size());
    if (e.split < 1 || e.split >= count) {
      return Fail("ceil_div without numerator or denominator");
    }
    for (int32_t i = e.split; i < count; ++i) {
      const Kind kind = e.children[static_cast<size_t>(i)].kind;
      if (kind != Kind::kConstant && kind != Kind::kParameter) {
        Fail("a denominator is neither a parameter nor a constant");
      }
    }
  }

  void VisitSumOver(const Expression& e, bool in_sum) {
    if (repeated_ < 0 || e.value != repeated_) {
      Fail("sum over a dimension that is not the repeated one");
    }
    if (in_sum) Fail("sum within a sum");
    sums_ = true;
    if (e.children.size() != 1) Fail("sum without exactly one term");
  }

  static bool IsBlock(const Expression& e) {
    return e.kind == Kind::kParameter || e.kind == Kind::kConstant;
  }

  void VisitCausalBlocks(const Expression& e) {
    if (e.children.size() != 4 || e.children[0].kind != Kind::kDimension ||
        e.children[1].kind != Kind::kDimension || !IsBlock(e.children[2]) ||
        !IsBlock(e.children[3])) {
      Fail(
          "causal_blocks takes two dimensions and two parameters or constants");
    }
  }

  const int64_t dimensions_;
  const int64_t parameters_;
  int64_t repeated_ = -1;
  bool sums_ = false;  // Some tree sums over the repeated dimension.
  bool of_problem_ = false;
  const char* field_ = "";
  std::string fault_;
};

int CountTree(const Expression& expression) {
  int nodes = 1;
  for (const Expression& child : expression.children) {
    nodes += CountTree(child);
  }
  return nodes;
}

}  // namespace

int CountNodes(const Mapping& mapping) {
  int nodes = CountTree(mapping.tiles) + (mapping.rows ? 1 : 0);
  for (const OptionalExpression& part : kOptionalExpressions) {
    const auto& expression = mapping.*part.value;
    if (expression.has_value()) nodes += CountTree(*expression);
  }
  return nodes;
}

size_t CountDecisionNodes(const Mapping& mapping, size_t groups) {
  size_t once = 0;
  for (const OptionalExpression& part : kOptionalExpressions) {
    const auto& expression = mapping.*part.value;
    if (part.of_problem && expression.has_value()) {
      once += static_cast<size_t>(CountTree(*expression));
    }
  }
  return groups * (static_cast<size_t>(CountNodes(mapping)) - once) + once;
}

bool IsOfProblem(const std::vector<Dimension>& dimensions,
                 const Expression& expression) {
  MappingChecker checker(dimensions, /*parameters=*/0);
  checker.CheckOfProblem(expression, "");
  return checker.fault().empty();
}

absl::Status CheckMapping(const Table& table, const Mapping& mapping,
                          const std::string& where) {
  MappingChecker checker(table.dimensions, table.parameters.size());
  checker.Check(mapping.tiles, "tiles");
  for (const OptionalExpression& part : kOptionalExpressions) {
    const auto& expression = mapping.*part.value;
    if (!expression.has_value()) continue;
    if (part.of_problem) {
      checker.CheckOfProblem(*expression, part.name);
    } else {
      checker.Check(*expression, part.name);
    }
  }
  if (mapping.rows) checker.CheckRows(*mapping.rows);
  std::string fault = checker.fault();
  if (fault.empty() && mapping.iterations_per_tile.has_value() ==
                           mapping.total_iterations.has_value()) {
    fault = "needs one of iterations_per_tile and total_iterations";
  }
  if (fault.empty() && CountNodes(mapping) > kMaxMappingNodes) {
    fault = absl::StrCat("more than ", kMaxMappingNodes, " nodes");
  }
  if (fault.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("table: ", where, ".mapping: ", fault));
}

}  // namespace wavetune
