#include "model/compiled_table.h"

#include <cstddef>
#include <utility>

#include "absl/base/optimization.h"
#include "model/compiled_sub_table.h"
#include "model/digest.h"
#include "model/row_kernel.h"
#include "model/table_codec.h"

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
      number_(NewTableNumber()),
      kernel_(FindRowKernel(path)),
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

void CompiledTable::Decide(int sub_table, const ProblemView& problem,
                           Choice& choice) const noexcept {
  choice.reason = CheckProblem(sub_table, problem);
  if (choice.reason != DefaultReason::kNone) return;
  sub_tables_[static_cast<size_t>(sub_table)]->Choose(problem, choice);
  if (choice.group < 0) choice.reason = DefaultReason::kNoLegalCandidate;
}

inline Decision CompiledTable::Spell(int sub_table, const Choice& choice,
                                     bool stale) const noexcept {
  if (ABSL_PREDICT_FALSE(choice.reason != DefaultReason::kNone)) {
    Decision decision = default_answer_;
    decision.reason = choice.reason;
    return decision;
  }
  Decision decision =
      answers_[static_cast<size_t>(sub_table)][choice.candidate];
  decision.latency_us = choice.latency_us;
  decision.relative_bound = choice.relative_bound;
  decision.source = stale                 ? DecisionSource::kStale
                    : choice.extrapolated ? DecisionSource::kExtrapolated
                                          : DecisionSource::kFitted;
  return decision;
}

Decision CompiledTable::ResolveAnew(int sub_table, const ProblemView& problem,
                                    bool stale) const noexcept {
  Choice choice;
  Decide(sub_table, problem, choice);
  return Spell(sub_table, choice, stale);
}

Decision CompiledTable::Resolve(int sub_table, const ProblemView& problem,
                                bool stale) const noexcept {
  const size_t count = problem.extents.size();
  if (ABSL_PREDICT_FALSE(!problem.repeated.empty() ||
                         count != remembered_dimensions_ ||
                         static_cast<size_t>(sub_table) >= answers_.size())) {
    return ResolveAnew(sub_table, problem, stale);
  }
  const MemoKey key(number_ << 8 | static_cast<uint64_t>(sub_table),
                    problem.extents);
  MemoEntry& entry = DecisionMemo::OfThread().EntryFor(key);
  if (!entry.Holds(key)) {
    Decide(sub_table, problem, entry.choice);
    entry.key = key;
  }
  return Spell(sub_table, entry.choice, stale);
}

}  // namespace wavetune
