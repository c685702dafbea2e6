#include "model/kernel/mapping.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace wavetune {
namespace {

// One element of the repeated dimension, standing for that dimension under a
// kSumOver.
struct Element {
  int64_t dimension = -1;
  int64_t extent = 0;
  bool leaves_out_zeros = false;  // Of sums over the elements.
};

// What has no value; so has nothing that it is part of.
constexpr int64_t kUndefined = std::numeric_limits<int64_t>::min();

int64_t Clamp(int64_t value) {
  return std::clamp<int64_t>(value, 0, kExpressionLimit);
}

int64_t Saturate(int64_t value) {
  return std::clamp(value, -kOverLimit, kOverLimit);
}

// Values of expressions are kUndefined or in [-kOverLimit, kOverLimit], and
// kOverLimit stays what it is through products, quotients and sums.
int64_t Multiply(int64_t a, int64_t b) {
  if (a == kUndefined || b == kUndefined) return kUndefined;
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    return (a < 0) == (b < 0) ? kOverLimit : -kOverLimit;
  }
  return Saturate(product);
}

// A denominator of 0 counts as 1.
int64_t CeilQuotient(int64_t numerator, int64_t denominator) {
  if (numerator == kUndefined || denominator == kUndefined) return kUndefined;
  if (denominator <= 1 || numerator > kExpressionLimit) return numerator;
  if (numerator <= 0) return numerator / denominator;
  return (numerator + denominator - 1) / denominator;
}

// kExactDiv, kFloorDiv, kRemainder.
int64_t Divide(Expression::Kind kind, int64_t numerator, int64_t denominator) {
  if (numerator == kUndefined || denominator < 1) return kUndefined;
  int64_t quotient = numerator / denominator;
  int64_t remainder = numerator % denominator;
  if (remainder < 0) {
    --quotient;
    remainder += denominator;
  }
  if (kind == Expression::Kind::kRemainder) return remainder;
  if (kind == Expression::Kind::kExactDiv && remainder != 0) return kUndefined;
  return quotient;
}

// Returns sum over i in [0, n) of floor((a * i + b) / m) by Euclid's scheme:
// O(log m) steps, where a loop would visit every query tile. All partial sums
// are at most the result, which must fit T; so must a * n + b.
template <typename T>
T FloorSum(T n, T m, T a, T b) {
  T sum = 0;
  while (true) {
    if (a >= m) {
      sum += n * (n - 1) / 2 * (a / m);
      a %= m;
    }
    if (b >= m) {
      sum += n * (b / m);
      b %= m;
    }
    const T last = a * n + b;
    if (last < m) return sum;
    n = last / m;
    b = last % m;
    std::swap(m, a);
  }
}

// Extents and tile sizes in [1, kExpressionLimit].
int64_t SumOfCausalBlocks(int64_t seq_q, int64_t seq_kv, int64_t block_q,
                          int64_t block_kv) {
  const int64_t query_tiles = CeilQuotient(seq_q, block_q);
  // The last tile ends at the last query, which sees every key.
  const int64_t last = CeilQuotient(seq_kv, block_kv);
  // Tile number u (from 1) before the last sees offset + u * block_q keys, but
  // at least one; tiles before `first` see that minimum only.
  const int64_t offset = seq_kv - seq_q;
  const int64_t hidden = offset >= 0 ? 0 : -offset / block_q;
  const int64_t first = std::min(query_tiles, hidden + 1);
  const int64_t partial_tiles = query_tiles - first;
  int64_t sum = (first - 1) + last;
  if (partial_tiles > 0) {
    const int64_t start = offset + first * block_q + block_kv - 1;
    constexpr int64_t kSmall = int64_t{1} << 31;
    if (seq_q < kSmall && seq_kv < kSmall && block_kv < kSmall) {
      // 64 bits hold it: at most 2^31 tiles of at most 2^31 blocks.
      sum += static_cast<int64_t>(FloorSum<uint64_t>(
          static_cast<uint64_t>(partial_tiles), static_cast<uint64_t>(block_kv),
          static_cast<uint64_t>(block_q), static_cast<uint64_t>(start)));
    } else {
      using Wide = unsigned __int128;
      const Wide wide = FloorSum<Wide>(
          static_cast<Wide>(partial_tiles), static_cast<Wide>(block_kv),
          static_cast<Wide>(block_q), static_cast<Wide>(start));
      if (wide >= static_cast<Wide>(kExpressionLimit)) return kOverLimit;
      sum += static_cast<int64_t>(wide);
    }
  }
  return std::min(sum, kOverLimit);
}

int64_t EvaluateAt(const Expression& expression, const ProblemView& problem,
                   const Configuration& configuration, const Element& element);

int64_t EvaluateProduct(const std::vector<Expression>& factors, size_t begin,
                        size_t end, const ProblemView& problem,
                        const Configuration& configuration,
                        const Element& element) {
  int64_t product = 1;
  for (size_t i = begin; i < end; ++i) {
    product = Multiply(product,
                       EvaluateAt(factors[i], problem, configuration, element));
  }
  return product;
}

int64_t EvaluateSum(const Expression& expression, const ProblemView& problem,
                    const Configuration& configuration,
                    const Element& element) {
  int64_t sum = 0;
  for (const Expression& term : expression.children) {
    const int64_t value = EvaluateAt(term, problem, configuration, element);
    if (value == kUndefined) return kUndefined;
    sum = Saturate(sum + value);
  }
  return sum;
}

int64_t EvaluateExtreme(const Expression& expression,
                        const ProblemView& problem,
                        const Configuration& configuration,
                        const Element& element) {
  const bool least = expression.kind == Expression::Kind::kMin;
  int64_t extreme = least ? kOverLimit : -kOverLimit;
  for (const Expression& child : expression.children) {
    const int64_t value = EvaluateAt(child, problem, configuration, element);
    if (value == kUndefined) return kUndefined;
    extreme = least ? std::min(extreme, value) : std::max(extreme, value);
  }
  return extreme;
}

int64_t EvaluateSumOver(const Expression& expression,
                        const ProblemView& problem,
                        const Configuration& configuration,
                        bool leaves_out_zeros) {
  const Expression& term = expression.children[0];
  if (term.kind == Expression::Kind::kConstant) {
    // The usual one, and decisions may ask for hundreds of elements.
    const auto zeros = leaves_out_zeros ? std::count(problem.repeated.begin(),
                                                     problem.repeated.end(), 0)
                                        : 0;
    return Multiply(
        EvaluateAt(term, problem, configuration, Element{}),
        Saturate(static_cast<int64_t>(problem.repeated.size()) - zeros));
  }
  int64_t sum = 0;
  for (const int64_t extent : problem.repeated) {
    if (leaves_out_zeros && extent == 0) continue;
    const int64_t value =
        EvaluateAt(term, problem, configuration, {expression.value, extent});
    if (value == kUndefined) return kUndefined;
    sum = Saturate(sum + value);
  }
  return sum;
}

int64_t EvaluateCausal(const Expression& expression, const ProblemView& problem,
                       const Configuration& configuration,
                       const Element& element) {
  const auto child = [&](size_t index) {
    return std::max<int64_t>(1, EvaluateAt(expression.children[index], problem,
                                           configuration, element));
  };
  return SumOfCausalBlocks(child(0), child(1), child(2), child(3));
}

int64_t EvaluateAt(const Expression& expression, const ProblemView& problem,
                   const Configuration& configuration, const Element& element) {
  switch (expression.kind) {
    case Expression::Kind::kConstant:
      return std::clamp(expression.value, -kExpressionLimit, kExpressionLimit);
    case Expression::Kind::kDimension:
      if (expression.value == element.dimension) return Clamp(element.extent);
      return Clamp(problem.extents[static_cast<size_t>(expression.value)]);
    case Expression::Kind::kParameter:
      return std::clamp(configuration[static_cast<int>(expression.value)],
                        -kExpressionLimit, kExpressionLimit);
    case Expression::Kind::kCeilDiv: {
      const auto split = static_cast<size_t>(expression.split);
      return CeilQuotient(EvaluateProduct(expression.children, 0, split,
                                          problem, configuration, element),
                          EvaluateProduct(expression.children, split,
                                          expression.children.size(), problem,
                                          configuration, element));
    }
    case Expression::Kind::kProduct:
      return EvaluateProduct(expression.children, 0, expression.children.size(),
                             problem, configuration, element);
    case Expression::Kind::kSumOver:
      return EvaluateSumOver(expression, problem, configuration,
                             element.leaves_out_zeros);
    case Expression::Kind::kCausalBlocks:
      return EvaluateCausal(expression, problem, configuration, element);
    case Expression::Kind::kSum:
      return EvaluateSum(expression, problem, configuration, element);
    case Expression::Kind::kNegative:
      return Multiply(-1, EvaluateAt(expression.children[0], problem,
                                     configuration, element));
    case Expression::Kind::kExactDiv:
    case Expression::Kind::kFloorDiv:
    case Expression::Kind::kRemainder:
      return Divide(
          expression.kind,
          EvaluateAt(expression.children[0], problem, configuration, element),
          EvaluateAt(expression.children[1], problem, configuration, element));
    case Expression::Kind::kMin:
    case Expression::Kind::kMax:
      return EvaluateExtreme(expression, problem, configuration, element);
  }
  return 0;
}

bool SumsOver(const Expression& expression, int32_t dimension) {
  if (expression.kind == Expression::Kind::kSumOver &&
      expression.value == dimension) {
    return true;
  }
  return std::any_of(expression.children.begin(), expression.children.end(),
                     [dimension](const Expression& child) {
                       return SumsOver(child, dimension);
                     });
}

// Whether the rows' dimension is the repeated one: the mapping then sums over
// it somewhere.
bool RowsAreRepeated(const Mapping& mapping, const ProblemView& problem) {
  if (problem.repeated.empty()) return false;
  const int32_t dimension = mapping.rows->dimension;
  const auto sums = [dimension](const std::optional<Expression>& expression) {
    return expression.has_value() && SumsOver(*expression, dimension);
  };
  return SumsOver(mapping.tiles, dimension) ||
         sums(mapping.iterations_per_tile) || sums(mapping.total_iterations);
}

void MapRows(const Mapping& mapping, const ProblemView& problem,
             const Configuration& configuration, Coordinates& coordinates) {
  const int64_t tile = std::max<int64_t>(
      1, Clamp(configuration[static_cast<int>(mapping.rows->tile)]));
  const bool repeated = RowsAreRepeated(mapping, problem);
  const auto extents =
      repeated ? problem.repeated
               : problem.extents.subspan(
                     static_cast<size_t>(mapping.rows->dimension), 1);
  int64_t rows = 0;
  int64_t filled = 0;
  double fill = 0;
  for (const int64_t raw : extents) {
    const int64_t extent = Clamp(raw);
    if (extent == 0) continue;  // An expert without tokens has no rows.
    const int64_t own = CeilQuotient(extent, tile);
    rows = std::min(rows + own, kExpressionLimit);
    fill += static_cast<double>(extent - (own - 1) * tile) /
            static_cast<double>(tile);
    ++filled;
  }
  if (filled == 0) return;
  coordinates.rows = rows;
  coordinates.row_fill = fill / static_cast<double>(filled);
  if (!repeated) coordinates.row_share = RowShare(rows, coordinates.row_fill);
}

}  // namespace

Expression Expression::Constant(int64_t value) {
  return {.kind = Kind::kConstant, .value = value, .split = 0, .children = {}};
}

Expression Expression::OfDimension(int index) {
  return {.kind = Kind::kDimension, .value = index, .split = 0, .children = {}};
}

Expression Expression::OfParameter(int index) {
  return {.kind = Kind::kParameter, .value = index, .split = 0, .children = {}};
}

Expression Expression::CeilDiv(std::vector<Expression> numerator,
                               std::vector<Expression> denominator) {
  const auto split = static_cast<int32_t>(numerator.size());
  Expression result{.kind = Kind::kCeilDiv,
                    .value = 0,
                    .split = split,
                    .children = std::move(numerator)};
  for (Expression& factor : denominator) {
    result.children.push_back(std::move(factor));
  }
  return result;
}

Expression Expression::Product(std::vector<Expression> factors) {
  return {.kind = Kind::kProduct,
          .value = 0,
          .split = 0,
          .children = std::move(factors)};
}

Expression Expression::SumOver(int dimension, Expression term) {
  Expression result{
      .kind = Kind::kSumOver, .value = dimension, .split = 0, .children = {}};
  result.children.push_back(std::move(term));
  return result;
}

Expression Expression::CausalBlocks(int seq_q, int seq_kv, int block_q,
                                    int block_kv) {
  return {.kind = Kind::kCausalBlocks,
          .value = 0,
          .split = 0,
          .children = {OfDimension(seq_q), OfDimension(seq_kv),
                       OfParameter(block_q), OfParameter(block_kv)}};
}

Expression Expression::Sum(std::vector<Expression> terms) {
  return {
      .kind = Kind::kSum, .value = 0, .split = 0, .children = std::move(terms)};
}

Expression Expression::Of(Kind kind, std::vector<Expression> children) {
  return {
      .kind = kind, .value = 0, .split = 0, .children = std::move(children)};
}

int64_t EvaluateOrOver(const Expression& expression, const ProblemView& problem,
                       const Configuration& configuration) {
  return std::max<int64_t>(
      0, EvaluateAt(expression, problem, configuration, Element{}));
}

std::optional<int64_t> EvaluateSigned(const Expression& expression,
                                      const ProblemView& problem,
                                      const Configuration& configuration,
                                      int repeated_dimension, int64_t element) {
  const int64_t value = EvaluateAt(expression, problem, configuration,
                                   {repeated_dimension, element});
  if (value == kUndefined) return std::nullopt;
  return std::clamp(value, -kExpressionLimit, kExpressionLimit);
}

int64_t Evaluate(const Expression& expression, const ProblemView& problem,
                 const Configuration& configuration) {
  return std::min(EvaluateOrOver(expression, problem, configuration),
                  kExpressionLimit);
}

double ColdMib(const Mapping& mapping, const ProblemView& problem) {
  if (!mapping.cold_bytes.has_value()) return 0;
  const int64_t bytes = EvaluateAt(*mapping.cold_bytes, problem,
                                   Configuration(), {.leaves_out_zeros = true});
  return static_cast<double>(std::max<int64_t>(0, bytes)) * 0x1p-20;
}

Coordinates MapProblem(const Mapping& mapping, const ProblemView& problem,
                       const Configuration& configuration) {
  Coordinates result;
  const auto at_least_one = [&](const Expression& expression) {
    const int64_t value = EvaluateOrOver(expression, problem, configuration);
    result.saturated |= value > kExpressionLimit;
    return std::clamp<int64_t>(value, 1, kExpressionLimit);
  };
  result.tiles = at_least_one(mapping.tiles);
  if (mapping.iterations_per_tile.has_value()) {
    result.longest_loop = at_least_one(*mapping.iterations_per_tile);
    result.iterations = static_cast<double>(result.longest_loop);
    result.total_iterations =
        std::min(Multiply(result.tiles, result.longest_loop), kExpressionLimit);
  } else {
    // With neither, one iteration a tile.
    result.total_iterations = mapping.total_iterations.has_value()
                                  ? at_least_one(*mapping.total_iterations)
                                  : result.tiles;
    result.iterations = static_cast<double>(result.total_iterations) /
                        static_cast<double>(result.tiles);
    result.longest_loop = CeilQuotient(result.total_iterations, result.tiles);
  }
  if (mapping.longest_loop.has_value()) {
    result.longest_loop = at_least_one(*mapping.longest_loop);
  }
  if (mapping.rows.has_value()) {
    MapRows(mapping, problem, configuration, result);
  }
  result.cold_mib = ColdMib(mapping, problem);
  result.saturated |= result.cold_mib > kMaxColdMib;
  return result;
}

}  // namespace wavetune
