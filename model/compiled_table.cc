#include "model/compiled_table.h"

#include <cstddef>
#include <utility>

#include "absl/base/optimization.h"
#include "model/compiled_sub_table.h"
#include "model/digest.h"
#include "model/quick_rows.h"
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
  const uint64_t number = NewTableNumber();
  launch_count_ = sub_tables_.size();
  launches_ = std::make_unique<Launch[]>(launch_count_);
  for (size_t i = 0; i < launch_count_; ++i) {
    launches_[i] = {.number = MemoKey::TableOf(number, i),
                    .quick = &sub_tables_[i]->quick(),
                    .answers = answers_[i].data(),
                    .sub_table = sub_tables_[i].get()};
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

DefaultReason CompiledTable::Decide(int sub_table, const ProblemView& problem,
                                    RowAnswer& answer) const noexcept {
  const DefaultReason reason = CheckProblem(sub_table, problem);
  if (reason != DefaultReason::kNone) return reason;
  launches_[static_cast<size_t>(sub_table)].sub_table->Choose(problem, answer);
  return answer.group < 0 ? DefaultReason::kNoLegalCandidate
                          : DefaultReason::kNone;
}

Decision CompiledTable::Default(DefaultReason reason,
                                TableOrigin origin) const noexcept {
  Decision decision = default_answer_;
  decision.reason = reason;
  decision.origin = origin;
  return decision;
}

namespace {

// Returns the answer in full; `standard` is what its candidate always says.
inline Decision Spell(const Decision& standard, const RowAnswer& answer,
                      bool stale, TableOrigin origin) {
  static_assert(static_cast<int>(DecisionSource::kFitted) + 1 ==
                static_cast<int>(DecisionSource::kExtrapolated));
  const int source = static_cast<int>(DecisionSource::kFitted) +
                     static_cast<int>(answer.extrapolated);
  Decision decision = standard;
  decision.latency_us = answer.latency_us;
  decision.relative_bound = answer.relative_bound;
  decision.source =
      stale ? DecisionSource::kStale : static_cast<DecisionSource>(source);
  decision.origin = origin;
  return decision;
}

}  // namespace

Decision CompiledTable::ResolveAnew(int sub_table, const ProblemView& problem,
                                    bool stale,
                                    TableOrigin origin) const noexcept {
  RowAnswer answer;
  const DefaultReason reason = Decide(sub_table, problem, answer);
  if (reason != DefaultReason::kNone) return Default(reason, origin);
  return Spell(
      launches_[static_cast<size_t>(sub_table)].answers[answer.candidate],
      answer, stale, origin);
}

Decision CompiledTable::Resolve(int sub_table, const ProblemView& problem,
                                bool stale, TableOrigin origin) const noexcept {
  if (ABSL_PREDICT_FALSE(!problem.repeated.empty() ||
                         problem.extents.size() != remembered_dimensions_ ||
                         static_cast<size_t>(sub_table) >= launch_count_)) {
    return ResolveAnew(sub_table, problem, stale, origin);
  }
  const Launch& launch = launches_[static_cast<size_t>(sub_table)];
  const MemoKey key(launch.number, problem.extents);
  MemoEntry& entry = DecisionMemo::OfThread().EntryFor(key);
  if (!entry.Holds(key)) {
    entry.Begin(key);
    if (ABSL_PREDICT_FALSE(!launch.quick->Choose(key.extents, entry.key.extents,
                                                 entry.answer))) {
      const DefaultReason reason = Decide(sub_table, problem, entry.answer);
      // Not kept: it is found out about as quickly.
      if (reason != DefaultReason::kNone) return Default(reason, origin);
    }
    entry.key.table = key.table;
  }
  return Spell(launch.answers[entry.answer.candidate], entry.answer, stale,
               origin);
}

}  // namespace wavetune
