#include "fit/build/tile_fills.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/legal_extents.h"

namespace wavetune {
namespace {

// Calls `visit` with every part of `expression` of the kind.
template <typename Visit>
void ForEachOf(Expression::Kind kind, const Expression& expression,
               const Visit& visit) {
  if (expression.kind == kind) visit(expression);
  for (const Expression& child : expression.children) {
    ForEachOf(kind, child, visit);
  }
}

void AddAxis(const KernelSpec& spec, const Expression& ceil_div,
             std::vector<TileFill>& fills) {
  const int repeated = RepeatedDimensionOf(spec);
  const auto split = ceil_div.children.begin() + ceil_div.split;
  std::vector<std::string> names;
  bool repeats = false;
  for (auto factor = ceil_div.children.begin(); factor != split; ++factor) {
    if (factor->kind != Expression::Kind::kDimension) continue;
    names.push_back(spec.dimensions[static_cast<size_t>(factor->value)].name);
    repeats = repeats || factor->value == repeated;
  }
  if (names.empty()) return;
  Expression there = Expression::Product({ceil_div.children.begin(), split});
  std::vector<Expression> factors(split, ceil_div.children.end());
  factors.push_back(ceil_div);
  Expression room = Expression::Product(std::move(factors));
  if (repeats) {
    there = Expression::SumOver(repeated, std::move(there));
    room = Expression::SumOver(repeated, std::move(room));
  }
  const std::string along = absl::StrJoin(names, " * ");
  fills.push_back(
      {.name = absl::StrCat("how full tiles are along ", along),
       .advice = absl::StrCat("a kernel that does less for part tiles counts "
                              "in total_iterations what it does: ",
                              along, " itself, not whole tiles"),
       .there = std::move(there),
       .room = std::move(room)});
}

// The blocks of keys that queries visit, which may be absent or unseen.
void AddCausalBlocks(const Expression& blocks, std::vector<TileFill>& fills) {
  const Expression one = Expression::Constant(1);
  const Expression &block_q = blocks.children[2],
                   &block_kv = blocks.children[3];
  if (block_q == one && block_kv == one) return;
  Expression pairs = blocks;
  pairs.children[2] = pairs.children[3] = one;
  fills.push_back(
      {.name = "how full its causal blocks are",
       .advice =
           "a kernel that skips queries and keys that are not there, or not "
           "seen, counts them one by one in total_iterations: causal_blocks "
           "with blocks of 1",
       .there = std::move(pairs),
       .room = Expression::Product({blocks, block_q, block_kv})});
}

}  // namespace

double TileFill::At(const Problem& problem,
                    const Configuration& configuration) const {
  const int64_t all = Evaluate(room, problem.View(), configuration);
  if (all <= 0) return 1;
  return static_cast<double>(Evaluate(there, problem.View(), configuration)) /
         static_cast<double>(all);
}

std::vector<TileFill> TileFillsOf(const KernelSpec& spec,
                                  const Mapping& mapping) {
  std::vector<Expression> seen;
  std::vector<TileFill> fills;
  const auto add = [&](const Expression& ceil_div) {
    if (std::find(seen.begin(), seen.end(), ceil_div) != seen.end()) return;
    seen.push_back(ceil_div);
    AddAxis(spec, ceil_div, fills);
  };
  ForEachOf(Expression::Kind::kCeilDiv, mapping.tiles, add);
  for (const auto* loop :
       {&mapping.iterations_per_tile, &mapping.total_iterations}) {
    if (loop->has_value()) ForEachOf(Expression::Kind::kCeilDiv, **loop, add);
  }
  if (mapping.total_iterations.has_value()) {
    ForEachOf(
        Expression::Kind::kCausalBlocks, *mapping.total_iterations,
        [&](const Expression& blocks) { AddCausalBlocks(blocks, fills); });
  }
  return fills;
}

}  // namespace wavetune
