#include "model/decide/compiled_table.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "absl/base/optimization.h"
#include "base/digest.h"
#include "model/decide/compiled_sub_table.h"
#include "model/decide/gemm_fast_path.h"
#include "model/decide/joint_offers.h"
#include "model/decide/layer_index.h"
#include "model/decide/simd/lane_kernel.h"
#include "model/table/table_codec.h"

namespace wavetune {

absl::StatusOr<std::unique_ptr<const CompiledTable>> CompiledTable::Create(
    absl::string_view payload, SimdPath path) {
  absl::StatusOr<Table> table = DecodeTable(payload);
  if (!table.ok()) return table.status();
  // Not make_unique: the constructor is private.
  return std::unique_ptr<const CompiledTable>(
      new CompiledTable(*std::move(table), Sha256Hex(payload),
                        std::string(payload.data(), payload.size()), path));
}

CompiledTable::CompiledTable(Table table, std::string digest,
                             std::string payload, SimdPath path)
    : table_(std::move(table)),
      digest_(std::move(digest)),
      payload_(std::move(payload)),
      kernel_(FindLaneKernel(path)),
      dimensions_(static_cast<int>(table_.dimensions.size())) {
  for (size_t i = 0; i < table_.dimensions.size(); ++i) {
    const Dimension& dimension = table_.dimensions[i];
    if (dimension.repeated) {
      repeated_dimension_ = static_cast<int>(i);
      min_element_ = dimension.min;
      max_element_ = dimension.max;
    } else {
      ranges_[i] = {static_cast<uint64_t>(dimension.min),
                    static_cast<uint64_t>(dimension.max - dimension.min)};
    }
  }
  for (size_t i = 0; i < table_.sub_tables.size(); ++i) {
    sub_tables_.push_back(
        std::make_unique<const CompiledSubTable>(table_, i, path));
  }
  if (repeated_dimension_ < 0 &&
      table_.dimensions.size() <= MemoKey::kMaxExtents) {
    remembered_dimensions_ = table_.dimensions.size();
  }
  default_answer_.configuration = table_.default_configuration;
  default_answer_.digest_prefix = DigestPrefix(digest_);
  for (const SubTable& sub : table_.sub_tables) {
    std::vector<Decision>& answers = answers_.emplace_back();
    for (const TableCandidate& candidate : sub.portfolio) {
      Decision& answer = answers.emplace_back(default_answer_);
      answer.configuration = candidate.configuration;
      answer.candidate = static_cast<uint8_t>(answers.size() - 1);
    }
  }
  const uint64_t number = NewTableNumber();
  plan_count_ = sub_tables_.size();
  plans_ = std::make_unique<SubTablePlan[]>(plan_count_);
  for (size_t i = 0; i < plan_count_; ++i) {
    plans_[i] = {.number = MemoKey::TableOf(number, i),
                 .fast_path = &sub_tables_[i]->fast_path(),
                 .layers = sub_tables_[i]->layers().empty()
                               ? nullptr
                               : &sub_tables_[i]->layers(),
                 .answers = answers_[i].data(),
                 .table = this,
                 .power_limit = table_.sub_tables[i].power_limit};
  }
}

CompiledTable::~CompiledTable() = default;

int CompiledTable::SubTableIndex(absl::string_view specialisation) const {
  for (size_t i = 0; i < table_.sub_tables.size(); ++i) {
    if (table_.sub_tables[i].specialisation == specialisation) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

DefaultReason CompiledTable::CheckProblem(
    int sub_table, const ProblemView& problem) const noexcept {
  if (sub_table < 0 || sub_table >= static_cast<int>(sub_tables_.size())) {
    return DefaultReason::kUnknownSpecialisation;
  }
  const bool has_repeated = repeated_dimension_ >= 0;
  if (problem.extents.size() != static_cast<size_t>(dimensions_) ||
      has_repeated == problem.repeated.empty()) {
    return DefaultReason::kWrongDimensionCount;
  }
  bool outside = false;
  for (size_t i = 0; i < static_cast<size_t>(dimensions_); ++i) {
    // What is below the minimum wraps around to above the span.
    outside |= static_cast<uint64_t>(problem.extents[i]) - ranges_[i].min >
               ranges_[i].span;
  }
  if (outside) return DefaultReason::kExtentOutOfRange;
  if (!has_repeated) return DefaultReason::kNone;
  return kernel_->all_in_range(problem.repeated.data(), problem.repeated.size(),
                               min_element_, max_element_)
             ? DefaultReason::kNone
             : DefaultReason::kExtentOutOfRange;
}

DefaultReason CompiledTable::WhyNone(
    size_t index, const ProblemView& problem) const noexcept {
  const SubTable& sub = table_.sub_tables[index];
  for (int32_t i = 0; i < sub.preconditions; ++i) {
    if (!Holds(sub.predicates[static_cast<size_t>(i)], problem,
               repeated_dimension_)) {
      return DefaultReason::kPreconditionBroken;
    }
  }
  return DefaultReason::kNoLegalCandidate;
}

DefaultReason CompiledTable::Decide(int sub_table, const ProblemView& problem,
                                    GroupAnswer& answer) const noexcept {
  const DefaultReason reason = CheckProblem(sub_table, problem);
  if (reason != DefaultReason::kNone) return reason;
  const auto index = static_cast<size_t>(sub_table);
  sub_tables_[index]->Choose(problem, answer);
  answer.latency_us =
      PowerLimitedUs(plans_[index].power_limit, answer.latency_us);
  return answer.pick.none() ? WhyNone(index, problem) : DefaultReason::kNone;
}

Decision CompiledTable::Default(DefaultReason reason,
                                TableOrigin origin) const noexcept {
  Decision decision = default_answer_;
  decision.reason = reason;
  decision.origin = origin;
  return decision;
}

namespace {

// Returns the answer in full. `answers` is what its candidates always say.
inline Decision MakeDecision(const Decision* answers, const GroupAnswer& answer,
                             bool stale, TableOrigin origin) {
  static_assert(static_cast<int>(DecisionSource::kFitted) + 1 ==
                static_cast<int>(DecisionSource::kExtrapolated));
  const int source = static_cast<int>(DecisionSource::kFitted) +
                     static_cast<int>(answer.pick.extrapolated());
  Decision decision = answers[answer.pick.candidate()];
  decision.latency_us = answer.latency_us;
  decision.relative_bound = answer.relative_bound;
  decision.source =
      stale ? DecisionSource::kStale : static_cast<DecisionSource>(source);
  decision.origin = origin;
  return decision;
}

}  // namespace

Decision CompiledTable::ResolveUncached(int sub_table,
                                        const ProblemView& problem, bool stale,
                                        TableOrigin origin) const noexcept {
  GroupAnswer answer;
  const DefaultReason reason = Decide(sub_table, problem, answer);
  if (reason != DefaultReason::kNone) return Default(reason, origin);
  return MakeDecision(plans_[static_cast<size_t>(sub_table)].answers, answer,
                      stale, origin);
}

Decision CompiledTable::ResolveFastPath(const SubTablePlan& plan,
                                        const ProblemView& problem,
                                        MemoEntry& entry, bool stale,
                                        TableOrigin origin) noexcept {
  const int64_t* const extents = problem.extents.data();
  if (plan.layers != nullptr && plan.layers->GroupAt(extents) >= 0) {
    return ResolveGeneral(plan, problem, entry, stale, origin);
  }
  double latency_us = 0;
  const FastPathAnswer fast_path = plan.fast_path->Choose(extents, latency_us);
  if (ABSL_PREDICT_FALSE(fast_path.pick.none())) {
    return ResolveGeneral(plan, problem, entry, stale, origin);
  }
  const GroupAnswer answer = {
      .latency_us = PowerLimitedUs(plan.power_limit, latency_us),
      .pick = fast_path.pick,
      .relative_bound = fast_path.relative_bound};
  entry.Keep(MemoKey(plan.number, extents, GemmFastPath::kExtents), answer);
  return MakeDecision(plan.answers, answer, stale, origin);
}

Decision CompiledTable::ResolveGeneral(const SubTablePlan& plan,
                                       const ProblemView& problem,
                                       MemoEntry& entry, bool stale,
                                       TableOrigin origin) noexcept {
  const CompiledTable& table = *plan.table;
  GroupAnswer answer;
  const DefaultReason reason = table.Decide(
      static_cast<int>(&plan - table.plans_.get()), problem, answer);
  // Not kept: it is found out about as quickly.
  if (reason != DefaultReason::kNone) return table.Default(reason, origin);
  entry.Keep(
      MemoKey(plan.number, problem.extents.data(), problem.extents.size()),
      answer);
  return MakeDecision(plan.answers, answer, stale, origin);
}

Decision CompiledTable::Resolve(int sub_table, const ProblemView& problem,
                                bool stale, TableOrigin origin) const noexcept {
  const size_t count = problem.extents.size();
  if (ABSL_PREDICT_FALSE(!problem.repeated.empty() ||
                         count != remembered_dimensions_ ||
                         static_cast<size_t>(sub_table) >= plan_count_)) {
    return ResolveUncached(sub_table, problem, stale, origin);
  }
  const SubTablePlan& plan = plans_[static_cast<size_t>(sub_table)];
  const MemoKey key(plan.number, problem.extents.data(), count);
  MemoEntry& entry = DecisionMemo::OfThread().EntryFor(key);
  if (!entry.Holds(key)) {
    return ResolveFastPath(plan, problem, entry, stale, origin);
  }
  return MakeDecision(plan.answers, entry.answer, stale, origin);
}

namespace {

using OfferList =
    std::array<std::optional<JointOffers>, CompiledTable::kMaxTogether>;

// Returns the sum of what an offer of the first problem and those of the others
// that agree with it are ranked at; infinite where one has none.
double SumOfRanks(const OfferList& lists, size_t count,
                  const JointOffer& first) {
  double sum_us = first.rank_us;
  for (size_t i = 1; i < count; ++i) {
    const JointOffer* const same = lists[i]->Find(*lists[0], first);
    if (same == nullptr) return std::numeric_limits<double>::infinity();
    sum_us += same->rank_us;
  }
  return sum_us;
}

// Returns the first problem's offer that is in the lowest sum, or nullptr where
// nothing agrees.
const JointOffer* BestOffer(const OfferList& lists, size_t count,
                            double near_tie) {
  std::array<double, kMaxPortfolio> sums;
  const JointOffers& first = *lists[0];
  double best_us = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < first.size(); ++i) {
    sums[i] = SumOfRanks(lists, count, first.at(i));
    best_us = std::min(best_us, sums[i]);
  }
  if (best_us == std::numeric_limits<double>::infinity()) return nullptr;
  const double limit_us = best_us * (1 + near_tie);
  const JointOffer* chosen = nullptr;
  for (size_t i = 0; i < first.size(); ++i) {
    const JointOffer& offer = first.at(i);
    if (sums[i] <= limit_us &&
        (chosen == nullptr || offer.order < chosen->order))
      chosen = &offer;
  }
  return chosen;
}

}  // namespace

DefaultReason CompiledTable::DecideTogether(
    absl::Span<const TableProblem> problems, uint32_t shared,
    const Configuration* incumbent, GroupAnswer* answers) const noexcept {
  OfferList lists;
  for (size_t i = 0; i < problems.size(); ++i) {
    const auto& [sub_table, problem] = problems[i];
    const DefaultReason reason = CheckProblem(sub_table, problem);
    if (reason != DefaultReason::kNone) return reason;
    const auto index = static_cast<size_t>(sub_table);
    lists[i].emplace(*sub_tables_[index], table_.sub_tables[index], problem,
                     shared);
    if (lists[i]->size() == 0) return WhyNone(index, problem);
  }
  const JointOffer* const first =
      BestOffer(lists, problems.size(), table_.near_tie);
  if (first == nullptr) return DefaultReason::kNoLegalCandidate;
  const auto answer = [&](const JointOffer& offer) {
    double bound = 0;
    for (size_t i = 0; i < problems.size(); ++i) {
      answers[i] = lists[i]->AnswerOf(*lists[i]->Find(*lists[0], offer));
      bound = std::max(bound, double{answers[i].relative_bound});
    }
    return bound;
  };
  const double bound = answer(*first);
  if (incumbent == nullptr) return DefaultReason::kNone;
  const JointOffer* const kept = lists[0]->Find(*incumbent);
  if (kept == nullptr) return DefaultReason::kNone;
  const double sum_us = SumOfRanks(lists, problems.size(), *kept);
  // Where one problem does not offer it the sum is infinite.
  if (sum_us * (1 - kIncumbentShare * bound) <=
      SumOfRanks(lists, problems.size(), *first)) {
    answer(*kept);
  }
  return DefaultReason::kNone;
}

void CompiledTable::ResolveTogether(
    absl::Span<const TableProblem> problems, uint32_t shared,
    absl::Span<Decision> decisions, bool stale, TableOrigin origin,
    const Configuration* incumbent) const noexcept {
  std::array<GroupAnswer, kMaxTogether> answers;
  const bool countable = !problems.empty() && problems.size() <= kMaxTogether &&
                         problems.size() == decisions.size();
  const DefaultReason reason =
      countable ? DecideTogether(problems, shared, incumbent, answers.data())
                : DefaultReason::kWrongDimensionCount;
  for (size_t i = 0; i < decisions.size(); ++i) {
    decisions[i] =
        reason != DefaultReason::kNone
            ? Default(reason, origin)
            : MakeDecision(
                  plans_[static_cast<size_t>(problems[i].sub_table)].answers,
                  answers[i], stale, origin);
  }
}

}  // namespace wavetune
