#include "model/kernel/mapping_structure.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/kernel/expression_faults.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

using Kind = Expression::Kind;

bool Contains(const std::vector<int32_t>& values, int32_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

template <typename... Parts>
absl::Status Fault(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("mapping.", parts...));
}

class Analyser {
 public:
  Analyser(const KernelSpec& spec, const Mapping& mapping)
      : spec_(spec), mapping_(mapping) {}

  absl::StatusOr<MappingStructure> Run() {
    for (const auto step :
         {&Analyser::CheckForm, &Analyser::FindAxes, &Analyser::ChooseDrivers,
          &Analyser::FindRows, &Analyser::FindLoop, &Analyser::FindPassive}) {
      if (absl::Status status = (this->*step)(); !status.ok()) return status;
    }
    return std::move(result_);
  }

 private:
  const std::string& Name(int32_t dimension) const {
    return spec_.dimensions[static_cast<size_t>(dimension)].name;
  }

  const Expression& Loop() const {
    return mapping_.iterations_per_tile.has_value()
               ? *mapping_.iterations_per_tile
               : *mapping_.total_iterations;
  }

  absl::Status CheckForm() {
    if (mapping_.iterations_per_tile.has_value() ==
        mapping_.total_iterations.has_value()) {
      return Fault(
          "iterations_per_tile, mapping.total_iterations: give exactly one of "
          "them (iterations_per_tile = 1 where there is no loop)");
    }
    std::vector<std::string> faults;
    FindExpressionFaults(spec_, mapping_.tiles, "mapping.tiles", faults);
    FindExpressionFaults(spec_, Loop(),
                         mapping_.iterations_per_tile.has_value()
                             ? "mapping.iterations_per_tile"
                             : "mapping.total_iterations",
                         faults);
    if (mapping_.longest_loop.has_value()) {
      FindExpressionFaults(spec_, *mapping_.longest_loop,
                           "mapping.longest_loop", faults);
    }
    RefuseOthers(mapping_.tiles, "tiles", faults);
    RefuseOthers(mapping_.iterations_per_tile, "iterations_per_tile", faults);
    RefuseOthers(mapping_.total_iterations, "total_iterations", faults);
    RefuseOthers(mapping_.longest_loop, "longest_loop", faults);
    if (faults.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
  }

  // What may fall while an extent grows cannot be searched, and a table has no
  // place for it.
  static void RefuseOthers(const std::optional<Expression>& expression,
                           absl::string_view field,
                           std::vector<std::string>& faults) {
    if (!expression.has_value() || !HasOthers(*expression)) return;
    faults.push_back(absl::StrCat(
        "mapping.", field,
        ": has a minus, '/', '%', floor_div, min or max, which cannot be "
        "inverted; use sums, products, ceil_div and sum_over here"));
  }

  static bool HasOthers(const Expression& expression) {
    return expression.kind > Kind::kSum ||
           std::any_of(expression.children.begin(), expression.children.end(),
                       HasOthers);
  }

  absl::Status FindAxes() {
    if (absl::Status status = AddFactor(mapping_.tiles, nullptr);
        !status.ok()) {
      return status;
    }
    if (result_.axes.empty()) {
      return Fault(
          "tiles: no dimension drives the tiles; give a ceil_div of one");
    }
    return absl::OkStatus();
  }

  // `sum` is the sum_over around the factor, or nullptr.
  absl::Status AddFactor(const Expression& factor, const Expression* sum) {
    if (factor.kind == Kind::kProduct) {
      for (const Expression& child : factor.children) {
        if (absl::Status status = AddFactor(child, sum); !status.ok()) {
          return status;
        }
      }
      return absl::OkStatus();
    }
    if (factor.kind == Kind::kSumOver) return AddSum(factor);
    std::vector<int32_t> dimensions;
    CollectDimensions(factor, dimensions);
    if (dimensions.empty()) {
      result_.fixed.push_back(&factor);
      return absl::OkStatus();
    }
    if (absl::Status status = CheckCount(factor); !status.ok()) return status;
    return AddToAxis(factor, sum, dimensions);
  }

  absl::Status AddSum(const Expression& sum) {
    const auto dimension = static_cast<int32_t>(sum.value);
    absl::Status status = AddFactor(sum.children[0], &sum);
    if (!status.ok()) return status;
    if (!Contains(tile_dimensions_, dimension)) {
      return Fault("tiles: the term of sum_over does not depend on '",
                   Name(dimension), "'; multiply with a ceil_div of it");
    }
    return absl::OkStatus();
  }

  // Whether a factor's tiles grow with its extents in a way that can be
  // searched.
  absl::Status CheckCount(const Expression& factor) const {
    switch (factor.kind) {
      case Kind::kCausalBlocks:
        return Fault(
            "tiles: causal_blocks counts loop iterations, not tiles; use it in "
            "total_iterations");
      case Kind::kCeilDiv:
        for (int32_t i = 0; i < factor.split; ++i) {
          const auto index = static_cast<size_t>(i);
          absl::Status status = CheckNumerator(factor.children[index]);
          if (!status.ok()) return status;
        }
        return absl::OkStatus();
      case Kind::kProduct:
        if (std::count_if(factor.children.begin(), factor.children.end(),
                          HasSumOver) > 1) {
          return Fault(
              "tiles: a product of two sum_over cannot be inverted; sum over "
              "the product once");
        }
        [[fallthrough]];
      default:
        for (const Expression& child : factor.children) {
          if (absl::Status status = CheckCount(child); !status.ok()) {
            return status;
          }
        }
        return absl::OkStatus();
    }
  }

  static bool HasSumOver(const Expression& expression) {
    return expression.kind == Kind::kSumOver ||
           std::any_of(expression.children.begin(), expression.children.end(),
                       HasSumOver);
  }

  absl::Status CheckNumerator(const Expression& factor) const {
    if (factor.kind == Kind::kProduct || factor.kind == Kind::kSum) {
      for (const Expression& child : factor.children) {
        if (absl::Status status = CheckNumerator(child); !status.ok()) {
          return status;
        }
      }
      return absl::OkStatus();
    }
    if (factor.kind == Kind::kDimension || factor.kind == Kind::kConstant ||
        factor.kind == Kind::kParameter) {
      return absl::OkStatus();
    }
    return Fault(
        "tiles: a numerator of ceil_div is neither dimension, parameter nor "
        "constant; write nested divisions as one");
  }

  // Adds a factor to the axes that share a dimension with it, which become one,
  // or makes one. Its dimensions are all companions until ChooseDrivers.
  absl::Status AddToAxis(const Expression& factor, const Expression* sum,
                         const std::vector<int32_t>& dimensions) {
    TileAxis axis;
    for (auto other = result_.axes.begin(); other != result_.axes.end();) {
      const auto shared = std::find_if(
          dimensions.begin(), dimensions.end(), [&other](int32_t dimension) {
            return Contains(other->companions, dimension);
          });
      if (shared == dimensions.end()) {
        ++other;
        continue;
      }
      if (IsRepeated(*shared) && (sum == nullptr || other->sum != sum)) {
        return Fault("tiles: '", Name(*shared),
                     "' is summed over in two factors; sum over their product "
                     "once");
      }
      axis.factors.insert(axis.factors.end(), other->factors.begin(),
                          other->factors.end());
      Append(other->companions, axis.companions);
      if (other->sum != nullptr) axis.sum = other->sum;
      other = result_.axes.erase(other);
    }
    axis.factors.push_back(&factor);
    Append(dimensions, axis.companions);
    Append(dimensions, tile_dimensions_);
    if (sum != nullptr &&
        Contains(dimensions, static_cast<int32_t>(sum->value))) {
      axis.sum = sum;
    }
    result_.axes.push_back(std::move(axis));
    return absl::OkStatus();
  }

  bool IsRepeated(int32_t dimension) const {
    return spec_.dimensions[static_cast<size_t>(dimension)].repeated;
  }

  static void Append(const std::vector<int32_t>& more,
                     std::vector<int32_t>& dimensions) {
    for (const int32_t dimension : more) {
      if (!Contains(dimensions, dimension)) dimensions.push_back(dimension);
    }
  }

  absl::Status ChooseDrivers() {
    for (TileAxis& axis : result_.axes) {
      axis.dimension = DriverOf(axis.companions);
      std::erase(axis.companions, axis.dimension);
      // The order of factors must not matter.
      std::sort(axis.companions.begin(), axis.companions.end());
    }
    return absl::OkStatus();
  }

  // Returns the one to search (mapping_structure.h).
  int32_t DriverOf(const std::vector<int32_t>& dimensions) const {
    int32_t driver = dimensions[0];
    for (const int32_t dimension : dimensions) {
      if (IsBetterDriver(dimension, driver)) driver = dimension;
    }
    return driver;
  }

  bool IsBetterDriver(int32_t a, int32_t b) const {
    if (IsRepeated(a) != IsRepeated(b)) return IsRepeated(a);
    const int32_t rows = mapping_.rows ? mapping_.rows->dimension : -1;
    if ((a == rows) != (b == rows)) return a == rows;
    const Spread of_a = SpreadOf(a);
    const Spread of_b = SpreadOf(b);
    using Wide = __int128;
    const Wide differs_a = Wide{of_a.most} * of_b.least;
    const Wide differs_b = Wide{of_b.most} * of_a.least;
    return differs_a != differs_b ? differs_a > differs_b : a < b;
  }

  struct Spread {
    int64_t least = 1;
    int64_t most = 1;
  };

  // Returns the extents that representative problems give a dimension.
  Spread SpreadOf(int32_t dimension) const {
    std::optional<Spread> spread;
    for (const WeightedProblem& weighted : spec_.representative_problems) {
      const std::vector<int64_t>& extents = weighted.problem.extents;
      if (extents.size() != spec_.dimensions.size()) continue;
      const int64_t extent = std::clamp<int64_t>(
          extents[static_cast<size_t>(dimension)], 1, kExpressionLimit);
      if (!spread.has_value()) spread = {extent, extent};
      spread->least = std::min(spread->least, extent);
      spread->most = std::max(spread->most, extent);
    }
    return spread.value_or(Spread());
  }

  absl::Status FindRows() {
    if (!mapping_.rows.has_value()) return absl::OkStatus();
    const RowAxis& rows = *mapping_.rows;
    if (rows.dimension < 0 ||
        rows.dimension >= static_cast<int32_t>(spec_.dimensions.size())) {
      return Fault("rows.dimension: number ", rows.dimension,
                   " does not exist; declare it");
    }
    if (rows.tile < 0 ||
        rows.tile >= static_cast<int32_t>(spec_.parameters.size())) {
      return Fault("rows.tile: parameter number ", rows.tile,
                   " does not exist; declare it");
    }
    for (size_t i = 0; i < result_.axes.size(); ++i) {
      for (const Expression* factor : result_.axes[i].factors) {
        if (!HasRows(*factor, rows)) continue;
        result_.rows_axis = static_cast<int>(i);
        return absl::OkStatus();
      }
    }
    return Fault("rows: ceil(", Name(rows.dimension), " / ",
                 spec_.parameters[static_cast<size_t>(rows.tile)].name,
                 ") is no factor of mapping.tiles; name the axis that forms "
                 "the rows, or leave rows out");
  }

  // Whether a factor counts rows, or a term of it does.
  bool HasRows(const Expression& factor, const RowAxis& rows) const {
    if (factor.kind == Kind::kCeilDiv) return FormsRows(factor, rows);
    return std::any_of(
        factor.children.begin(), factor.children.end(),
        [&](const Expression& child) { return HasRows(child, rows); });
  }

  // Whether an axis counts ceil(dimension / tile), or that in whole clusters:
  // ceil(dimension / (tile * rows of a cluster)). Clusters over a repeated
  // dimension would leave the rows of an element open.
  bool FormsRows(const Expression& factor, const RowAxis& rows) const {
    const Expression tile = Expression::OfParameter(rows.tile);
    if (factor.kind != Kind::kCeilDiv || factor.split != 1 ||
        factor.children[0] != Expression::OfDimension(rows.dimension)) {
      return false;
    }
    if (factor.children.size() > 2 &&
        spec_.dimensions[static_cast<size_t>(rows.dimension)].repeated) {
      return false;
    }
    return std::count(factor.children.begin() + 1, factor.children.end(),
                      tile) == 1;
  }

  absl::Status FindLoop() {
    std::vector<int32_t> dimensions;
    // Better drivers first: queries without keys are no use to anyone, and what
    // only multiplies iterations makes them all longer.
    CollectKeys(Loop(), dimensions);
    if (!FindLoopDriver(dimensions)) {
      CollectDivided(Loop(), dimensions);
      if (!FindLoopDriver(dimensions)) {
        CollectDimensions(Loop(), dimensions);
        FindLoopDriver(dimensions);
      }
    }
    CollectDivided(Loop(), dimensions);
    CollectDimensions(Loop(), dimensions);
    const bool found = result_.loop_dimension >= 0;
    for (const int32_t dimension : dimensions) {
      if (IsFree(dimension) && dimension != result_.loop_dimension) {
        result_.loop_others.push_back(dimension);
      }
    }
    std::sort(result_.loop_others.begin(), result_.loop_others.end());
    if (found) FindLoopFloor(Loop());
    if (found || dimensions.empty() || FollowsTiles(dimensions)) {
      return absl::OkStatus();
    }
    return Fault(mapping_.iterations_per_tile.has_value()
                     ? "iterations_per_tile"
                     : "total_iterations",
                 ": no dimension drives the loop; use one that is not "
                 "repeated, or one of the tiles'");
  }

  // Whether a dimension has neither tiles nor elements.
  bool IsFree(int32_t dimension) const {
    return !Contains(tile_dimensions_, dimension) && !IsRepeated(dimension);
  }

  // Takes the best driver of the loop among `dimensions`; returns whether there
  // is one.
  bool FindLoopDriver(const std::vector<int32_t>& dimensions) {
    std::vector<int32_t> free;
    std::copy_if(dimensions.begin(), dimensions.end(), std::back_inserter(free),
                 [this](int32_t dimension) { return IsFree(dimension); });
    if (free.empty()) return false;
    result_.loop_dimension = DriverOf(free);
    return true;
  }

  // Appends the keys of causal_blocks.
  static void CollectKeys(const Expression& expression,
                          std::vector<int32_t>& dimensions) {
    if (expression.kind == Kind::kCausalBlocks) {
      CollectDimensions(expression.children[1], dimensions);
      return;
    }
    for (const Expression& child : expression.children) {
      CollectKeys(child, dimensions);
    }
  }

  // Whether the loop follows extents that the tiles have, too; then notes
  // which axis of theirs.
  bool FollowsTiles(const std::vector<int32_t>& dimensions) {
    for (const int32_t dimension : dimensions) {
      for (size_t i = 0; i < result_.axes.size(); ++i) {
        if (result_.axes[i].dimension != dimension) continue;
        result_.loop_axis = static_cast<int>(i);
        return true;
      }
    }
    return std::all_of(dimensions.begin(), dimensions.end(),
                       [this](int32_t dimension) {
                         return Contains(tile_dimensions_, dimension);
                       });
  }

  void FindLoopFloor(const Expression& expression) {
    if (expression.kind == Kind::kCausalBlocks &&
        expression.children[1].value == result_.loop_dimension &&
        expression.children[0].value != result_.loop_dimension) {
      const auto queries = static_cast<int32_t>(expression.children[0].value);
      if (!spec_.dimensions[static_cast<size_t>(queries)].repeated) {
        result_.loop_floor = queries;
      }
    }
    for (const Expression& child : expression.children) FindLoopFloor(child);
  }

  // Appends the dimensions that are divided into iterations.
  static void CollectDivided(const Expression& expression,
                             std::vector<int32_t>& dimensions) {
    if (expression.kind == Kind::kCeilDiv ||
        expression.kind == Kind::kCausalBlocks) {
      CollectDimensions(expression, dimensions);
      return;
    }
    for (const Expression& child : expression.children) {
      CollectDivided(child, dimensions);
    }
  }

  absl::Status FindPassive() {
    std::vector<int32_t> used;
    if (mapping_.longest_loop) CollectDimensions(*mapping_.longest_loop, used);
    for (const Argument& argument : spec_.arguments) {
      CollectDimensions(argument.size, used);
    }
    for (const auto* conditions :
         {&spec_.preconditions, &spec_.problem_predicates}) {
      for (const Condition& condition : *conditions) {
        CollectDimensions(condition, used);
      }
    }
    for (int32_t i = 0; i < static_cast<int32_t>(spec_.dimensions.size());
         ++i) {
      if (Contains(tile_dimensions_, i) || i == result_.loop_dimension ||
          Contains(result_.loop_others, i)) {
        continue;
      }
      if (spec_.dimensions[static_cast<size_t>(i)].repeated) {
        return Fault("tiles: the repeated dimension '", Name(i),
                     "' drives no tile axis; sum a ceil_div over it");
      }
      if (!Contains(used, i)) {
        return Fault("tiles: dimension '", Name(i),
                     "' is used by neither mapping, argument nor predicate; "
                     "use it or remove it");
      }
      result_.passive.push_back(i);
    }
    return absl::OkStatus();
  }

  const KernelSpec& spec_;
  const Mapping& mapping_;
  std::vector<int32_t> tile_dimensions_;
  MappingStructure result_;
};

// Whether the expression is a product of constants, parameters and dimensions,
// each of these once.
bool IsPlainProduct(const std::vector<Expression>& factors, size_t end,
                    std::vector<int32_t>& seen) {
  for (size_t i = 0; i < end; ++i) {
    const Expression& factor = factors[i];
    if (factor.kind == Kind::kProduct) {
      if (!IsPlainProduct(factor.children, factor.children.size(), seen)) {
        return false;
      }
    } else if (factor.kind == Kind::kDimension) {
      const auto dimension = static_cast<int32_t>(factor.value);
      if (Contains(seen, dimension)) return false;
      seen.push_back(dimension);
    } else if (factor.kind != Kind::kConstant &&
               factor.kind != Kind::kParameter) {
      return false;
    }
  }
  return true;
}

}  // namespace

const Expression* TileAxis::Quotient() const {
  if (factors.size() != 1) return nullptr;
  const Expression& factor = *factors[0];
  if (factor.kind == Kind::kDimension) return &factor;
  std::vector<int32_t> seen;
  const bool plain =
      factor.kind == Kind::kCeilDiv &&
      IsPlainProduct(factor.children, static_cast<size_t>(factor.split), seen);
  return plain ? &factor : nullptr;
}

bool LoopFollowsTiles(const Mapping& mapping) {
  std::vector<int32_t> tiles;
  std::vector<int32_t> loop;
  CollectDimensions(mapping.tiles, tiles);
  for (const auto* part :
       {&mapping.iterations_per_tile, &mapping.total_iterations}) {
    if (part->has_value()) CollectDimensions(**part, loop);
  }
  return !loop.empty() &&
         std::all_of(loop.begin(), loop.end(), [&tiles](int32_t dimension) {
           return Contains(tiles, dimension);
         });
}

absl::StatusOr<MappingStructure> AnalyseMapping(const KernelSpec& spec,
                                                const Mapping& mapping) {
  return Analyser(spec, mapping).Run();
}

}  // namespace wavetune
