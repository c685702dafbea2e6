#include "model/compiled_table.h"

#include <cstddef>
#include <utility>

#include "model/compiled_sub_table.h"
#include "model/digest.h"
#include "model/table_codec.h"

namespace wavetune {

absl::StatusOr<std::unique_ptr<const CompiledTable>> CompiledTable::Create(
    absl::string_view payload) {
  absl::StatusOr<Table> table = DecodeTable(payload);
  if (!table.ok()) return table.status();
  // Not make_unique: the constructor is private.
  return std::unique_ptr<const CompiledTable>(
      new CompiledTable(*std::move(table), Sha256Hex(payload),
                        std::string(payload.data(), payload.size())));
}

CompiledTable::CompiledTable(Table table, std::string digest,
                             std::string payload)
    : table_(std::move(table)),
      digest_(std::move(digest)),
      payload_(std::move(payload)),
      digest_prefix_(DigestPrefix(digest_)),
      dimensions_(static_cast<int>(table_.dimensions.size())) {
  for (size_t i = 0; i < table_.dimensions.size(); ++i) {
    const Dimension& dimension = table_.dimensions[i];
    ranges_[i] = {dimension.min, dimension.max};
    if (dimension.repeated) repeated_dimension_ = static_cast<int>(i);
  }
  for (size_t i = 0; i < table_.sub_tables.size(); ++i) {
    sub_tables_.push_back(std::make_unique<const CompiledSubTable>(table_, i));
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

bool CompiledTable::InRange(int dimension, int64_t extent) const noexcept {
  const Range& range = ranges_[static_cast<size_t>(dimension)];
  return extent >= range.min && extent <= range.max;
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
  for (int i = 0; i < dimensions_; ++i) {
    if (i != repeated_dimension_ &&
        !InRange(i, problem.extents[static_cast<size_t>(i)])) {
      return DefaultReason::kExtentOutOfRange;
    }
  }
  for (const int64_t extent : problem.repeated) {
    if (!InRange(repeated_dimension_, extent)) {
      return DefaultReason::kExtentOutOfRange;
    }
  }
  return DefaultReason::kNone;
}

Decision CompiledTable::Resolve(int sub_table, const ProblemView& problem,
                                bool stale) const noexcept {
  Decision decision;
  decision.digest_prefix = digest_prefix_;
  decision.reason = CheckProblem(sub_table, problem);
  Choice choice;
  if (decision.reason == DefaultReason::kNone) {
    choice = sub_tables_[static_cast<size_t>(sub_table)]->Choose(problem);
    if (choice.group < 0) decision.reason = DefaultReason::kNoLegalCandidate;
  }
  if (decision.reason != DefaultReason::kNone) {
    decision.configuration = table_.default_configuration;
    return decision;
  }
  decision.configuration = table_.sub_tables[static_cast<size_t>(sub_table)]
                               .portfolio[choice.candidate]
                               .configuration;
  decision.latency_us = choice.latency_us;
  decision.relative_bound = choice.relative_bound;
  decision.candidate = choice.candidate;
  decision.source = stale                 ? DecisionSource::kStale
                    : choice.extrapolated ? DecisionSource::kExtrapolated
                                          : DecisionSource::kFitted;
  return decision;
}

}  // namespace wavetune
