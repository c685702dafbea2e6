#include "server/store/stored_usage.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/copy_fields.h"
#include "base/status_macros.h"
#include "server/store/stored_format.h"

namespace wavetune {
namespace {

v1::StoredUsageWeights WeightsToStored(const UsageWeights& weights) {
  v1::StoredUsageWeights stored;
  GIVE_FIELDS(weights, stored, fitted, wide_bound, extrapolated, stale,
              default_configuration);
  return stored;
}

absl::StatusOr<UsageWeights> WeightsFromStored(
    const v1::StoredUsageWeights& stored) {
  for (const double weight :
       {stored.fitted(), stored.wide_bound(), stored.extrapolated(),
        stored.stale(), stored.default_configuration()}) {
    if (!std::isfinite(weight) || weight < 0) {
      return absl::DataLossError(
          absl::StrCat("a count of decisions is ", weight));
    }
  }
  UsageWeights weights;
  TAKE_FIELDS(stored, weights, fitted, wide_bound, extrapolated, stale,
              default_configuration);
  return weights;
}

}  // namespace

v1::StoredUsedProblem UsedProblemToStored(const HeavyHitters::Entry& used) {
  v1::StoredUsedProblem stored;
  SetStoredProblem(used.problem, stored);
  stored.set_weight(used.weight);
  stored.set_error(used.error);
  return stored;
}

absl::StatusOr<HeavyHitters::Entry> UsedProblemFromStored(
    const v1::StoredUsedProblem& stored) {
  if (!std::isfinite(stored.weight()) || !(stored.weight() > 0) ||
      !(stored.error() >= 0 && stored.error() <= stored.weight())) {
    return absl::DataLossError(absl::StrCat("a used problem has weight ",
                                            stored.weight(), " and error ",
                                            stored.error()));
  }
  return HeavyHitters::Entry{.problem = ProblemFromStored(stored),
                             .weight = stored.weight(),
                             .error = stored.error()};
}

std::string EncodeStoredUsage(const UsageRecord& record) {
  v1::StoredUsage stored;
  stored.set_format(kStoredFormat);
  GIVE_FIELDS(record, stored, kernel, silicon_key, updated_at_us, digest,
              reported_at_us);
  for (const auto& [name, weights] : record.specialisations) {
    (*stored.mutable_specialisations())[name] = WeightsToStored(weights);
  }
  for (const HeavyHitters::Entry& used : record.problems) {
    *stored.add_problems() = UsedProblemToStored(used);
  }
  *stored.mutable_with_table() = WeightsToStored(record.with_table);
  stored.set_refined_at_us(record.refined.at_us);
  stored.set_refined_uncertain_share(record.refined.uncertain_share);
  stored.set_refined_in_vain(record.refined.in_vain);
  return SerializeStored(stored);
}

absl::StatusOr<UsageRecord> DecodeStoredUsage(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::StoredUsage stored,
                   ParseStored<v1::StoredUsage>(bytes));
  UsageRecord record;
  TAKE_FIELDS(stored, record, kernel, silicon_key, updated_at_us, digest,
              reported_at_us);
  for (const auto& [name, weights] : stored.specialisations()) {
    ASSIGN_OR_RETURN(record.specialisations[name], WeightsFromStored(weights));
  }
  for (const v1::StoredUsedProblem& used : stored.problems()) {
    ASSIGN_OR_RETURN(HeavyHitters::Entry entry, UsedProblemFromStored(used));
    record.problems.push_back(std::move(entry));
  }
  ASSIGN_OR_RETURN(record.with_table, WeightsFromStored(stored.with_table()));
  record.refined = {.at_us = stored.refined_at_us(),
                    .uncertain_share = stored.refined_uncertain_share(),
                    .in_vain = std::clamp(stored.refined_in_vain(), 0, 64)};
  return record;
}

}  // namespace wavetune
