#include "model/decide/lane_program.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "model/decide/exact_quotient.h"

namespace wavetune {
namespace {

using Kind = Expression::Kind;

int64_t LimitedProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return kOverLimit;
  return std::min(product, kOverLimit);
}

std::vector<const Expression*> Children(
    const std::vector<const Expression*>& lanes, size_t child) {
  std::vector<const Expression*> children;
  children.reserve(lanes.size());
  for (const Expression* lane : lanes)
    children.push_back(&lane->children[child]);
  return children;
}

// Returns each lane's divisor of a kCeilDiv.
std::vector<int64_t> Divisors(const std::vector<const Expression*>& lanes) {
  std::vector<int64_t> divisors;
  for (const Expression* lane : lanes) {
    int64_t divisor = 1;
    for (size_t i = static_cast<size_t>(lane->split); i < lane->children.size();
         ++i) {
      divisor = LimitedProduct(divisor, lane->children[i].value);
    }
    // Of a divisor above the limit the quotients are the same.
    divisors.push_back(std::clamp<int64_t>(divisor, 1, kExpressionLimit));
  }
  return divisors;
}

// Appends the factors of a product of products.
void Flatten(const std::vector<const Expression*>& lanes,
             std::vector<std::vector<const Expression*>>& factors) {
  if (lanes[0]->kind != Kind::kProduct) {
    factors.push_back(lanes);
    return;
  }
  for (size_t i = 0; i < lanes[0]->children.size(); ++i) {
    Flatten(Children(lanes, i), factors);
  }
}

}  // namespace

std::vector<LaneBlock> ToLanes(const std::vector<double>& lanes) {
  const size_t count = (lanes.size() + kBlockLanes - 1) / kBlockLanes;
  std::vector<LaneBlock> blocks(count);
  for (size_t i = 0; i < count * kBlockLanes; ++i) {
    blocks[i / kBlockLanes].lane[i % kBlockLanes] =
        lanes[i < lanes.size() ? i : 0];
  }
  return blocks;
}

const double* LaneProgram::Keep(const std::vector<double>& lanes) {
  return kept_.emplace_back(ToLanes(lanes)).data()->lane;
}

bool LaneProgram::MentionsRepeated(const Expression& expression) const {
  if (expression.kind == Kind::kDimension &&
      expression.value == repeated_dimension_) {
    return true;
  }
  return std::any_of(
      expression.children.begin(), expression.children.end(),
      [this](const Expression& child) { return MentionsRepeated(child); });
}

LaneProduct LaneProgram::Add(const std::vector<Expression>& lanes) {
  Lanes pointers;
  for (const Expression& lane : lanes) pointers.push_back(&lane);
  lanes_ = static_cast<int>((lanes.size() + kBlockLanes - 1) / kBlockLanes) *
           kBlockLanes;
  Parts parts;
  parts.constants.assign(lanes.size(), 1);
  if (Fits(pointers)) {
    Collect(pointers, parts);
  } else {
    CollectSlots(pointers, parts);
  }
  if (!parts.value.dimensions.empty()) {
    parts.factors.push_back(
        {.source = AddValue(parts.value),
         .inverse = Keep(std::vector<double>(lanes.size(), 1))});
  }
  LaneProduct product;
  product.factor_count = static_cast<int>(parts.factors.size());
  std::copy(parts.factors.begin(), parts.factors.end(), product.factors);
  product.constants = Keep({parts.constants.begin(), parts.constants.end()});
  return product;
}

bool LaneProgram::Fits(const Lanes& lanes) const {
  LaneProgram trial(dimensions_, repeated_dimension_);
  Parts parts;
  parts.constants.assign(lanes.size(), 1);
  trial.Collect(lanes, parts);
  // The product of the plain extents is one factor and value more.
  return parts.factors.size() < LaneProduct::kMaxFactors &&
         trial.values_.size() < LaneScratch::kMaxOwnValues &&
         trial.sources_.size() <= LaneScratch::kMaxOwnSources;
}

void LaneProgram::Collect(const Lanes& lanes, Parts& parts) {
  switch (lanes[0]->kind) {
    case Kind::kConstant:
      for (size_t i = 0; i < lanes.size(); ++i) {
        parts.constants[i] =
            LimitedProduct(parts.constants[i], lanes[i]->value);
      }
      return;
    case Kind::kDimension:
      parts.value.dimensions.push_back(static_cast<int32_t>(lanes[0]->value));
      return;
    case Kind::kProduct:
      for (size_t i = 0; i < lanes[0]->children.size(); ++i) {
        Collect(Children(lanes, i), parts);
      }
      return;
    case Kind::kCeilDiv:
      return CollectQuotient(lanes, parts);
    case Kind::kSumOver:
      return CollectSum(lanes, parts);
    default:
      return CollectSlots(lanes, parts);
  }
}

// Only what is over the same number in all lanes becomes a quotient.
void LaneProgram::CollectQuotient(const Lanes& lanes, Parts& parts) {
  std::vector<Lanes> numerator;
  for (size_t i = 0; i < static_cast<size_t>(lanes[0]->split); ++i) {
    Flatten(Children(lanes, i), numerator);
  }
  Value value;
  for (const Lanes& factor : numerator) {
    const bool same = std::all_of(
        factor.begin(), factor.end(),
        [&](const Expression* lane) { return *lane == *factor[0]; });
    if (factor[0]->kind == Kind::kDimension) {
      value.dimensions.push_back(static_cast<int32_t>(factor[0]->value));
    } else if (factor[0]->kind == Kind::kConstant && same) {
      value.factor = LimitedProduct(value.factor, factor[0]->value);
    } else {
      return CollectSlots(lanes, parts);
    }
  }
  std::vector<double> inverses;
  for (const int64_t divisor : Divisors(lanes)) {
    inverses.push_back(InverseBelow(divisor));
  }
  parts.factors.push_back(
      {.source = AddValue(value), .inverse = Keep(inverses)});
}

void LaneProgram::CollectSum(const Lanes& lanes, Parts& parts) {
  std::vector<Lanes> factors;
  Flatten(Children(lanes, 0), factors);
  std::vector<Lanes> inner;
  for (const Lanes& factor : factors) {
    if (MentionsRepeated(*factor[0])) {
      inner.push_back(factor);
    } else {
      Collect(factor, parts);
    }
  }
  if (inner.size() == 1 && inner[0][0]->kind == Kind::kCeilDiv &&
      inner[0][0]->split == 1 &&
      inner[0][0]->children[0].kind == Kind::kDimension) {
    LaneSource source;
    source.from_sums = true;
    for (const int64_t divisor : Divisors(inner[0])) {
      source.indices.push_back(AddSum(divisor));
    }
    return AddSource(std::move(source), parts);
  }
  std::vector<Expression> sums;
  Lanes pointers;
  for (size_t i = 0; i < lanes.size(); ++i) {
    std::vector<Expression> term;
    for (const Lanes& factor : inner) term.push_back(*factor[i]);
    // A sum of ones counts the elements.
    if (term.empty()) term.push_back(Expression::Constant(1));
    sums.push_back(Expression::SumOver(static_cast<int>(lanes[i]->value),
                                       Expression::Product(term)));
  }
  for (const Expression& sum : sums) pointers.push_back(&sum);
  CollectSlots(pointers, parts);
}

void LaneProgram::CollectSlots(const Lanes& lanes, Parts& parts) {
  LaneSource source;
  for (const Expression* lane : lanes) {
    source.indices.push_back(coordinates_.Add(*lane));
  }
  any_slots_ = true;
  AddSource(std::move(source), parts);
}

void LaneProgram::AddSource(LaneSource source, Parts& parts) {
  parts.factors.push_back(
      {.from_lanes = true,
       .source = static_cast<int>(sources_.size()),
       .inverse = Keep(std::vector<double>(source.indices.size(), 1))});
  source.indices.resize(static_cast<size_t>(lanes_), source.indices[0]);
  sources_.push_back(std::move(source));
}

int LaneProgram::AddValue(const Value& value) {
  const auto same = std::find(values_.begin(), values_.end(), value);
  const auto index = static_cast<int>(same - values_.begin());
  if (same != values_.end()) return index;
  values_.push_back(value);
  return index;
}

int LaneProgram::AddSum(int64_t divisor) {
  const auto same = std::find(divisors_.begin(), divisors_.end(), divisor);
  const auto index = static_cast<int>(same - divisors_.begin());
  if (same != divisors_.end()) return index;
  divisors_.push_back(divisor);
  inverses_.push_back(InverseBelow(divisor));
  return index;
}

void LaneProgram::Seal() {
  coordinates_.Seal();
  for (const Value& value : values_) {
    if (value.factor != 1 || value.dimensions.size() != 1) break;
    plain_.push_back(value.dimensions[0]);
  }
  all_plain_ =
      plain_.size() == values_.size() && sources_.empty() && inverses_.empty();
}

bool LaneProgram::RunOthers(const ProblemView& problem,
                            const LaneKernel& kernel,
                            LaneScratch& scratch) const noexcept {
  double largest = 0;
  for (size_t i = plain_.size(); i < values_.size(); ++i) {
    auto value = static_cast<double>(values_[i].factor);
    for (const int32_t dimension : values_[i].dimensions) {
      value *=
          static_cast<double>(problem.extents[static_cast<size_t>(dimension)]);
    }
    scratch.values[i] = value;
    largest = value > largest ? value : largest;
  }
  if (!inverses_.empty()) {
    kernel.sum_quotients(problem.repeated.data(), problem.repeated.size(),
                         inverses_.data(), static_cast<int>(inverses_.size()),
                         scratch.sums);
    for (size_t i = 0; i < inverses_.size(); ++i) {
      largest = scratch.sums[i] > largest ? scratch.sums[i] : largest;
    }
  }
  if (!sources_.empty()) RunSources(problem, scratch);
  return largest <= kLaneLimit;
}

void LaneProgram::RunSources(const ProblemView& problem,
                             LaneScratch& scratch) const noexcept {
  int64_t slots[CoordinateProgram::kMaxSlots];
  if (any_slots_) coordinates_.Run(problem, slots);
  const auto lanes = static_cast<size_t>(lanes_);
  double* out = scratch.lane_values;
  for (const LaneSource& source : sources_) {
    const int* const indices = source.indices.data();
    if (source.from_sums) {
      for (size_t i = 0; i < lanes; ++i) out[i] = scratch.sums[indices[i]];
    } else {
      for (size_t i = 0; i < lanes; ++i) {
        out[i] = static_cast<double>(slots[indices[i]]);
      }
    }
    out += lanes;
  }
}

}  // namespace wavetune
