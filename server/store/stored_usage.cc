#include "server/store/stored_usage.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/store/stored_format.h"

namespace wavetune {
namespace {

v1::StoredUsageWeights WeightsToStored(const UsageWeights& weights) {
  v1::StoredUsageWeights stored;
  stored.set_fitted(weights.fitted);
  stored.set_wide_bound(weights.wide_bound);
  stored.set_extrapolated(weights.extrapolated);
  stored.set_stale(weights.stale);
  stored.set_default_configuration(weights.default_configuration);
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
  return UsageWeights{.fitted = stored.fitted(),
                      .wide_bound = stored.wide_bound(),
                      .extrapolated = stored.extrapolated(),
                      .stale = stored.stale(),
                      .default_configuration = stored.default_configuration()};
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
  stored.set_kernel(record.kernel);
  stored.set_silicon_key(record.silicon_key);
  stored.set_updated_at_us(record.updated_at_us);
  for (const auto& [name, weights] : record.specialisations) {
    (*stored.mutable_specialisations())[name] = WeightsToStored(weights);
  }
  for (const HeavyHitters::Entry& used : record.problems) {
    *stored.add_problems() = UsedProblemToStored(used);
  }
  stored.set_digest(record.digest);
  *stored.mutable_with_table() = WeightsToStored(record.with_table);
  stored.set_refined_at_us(record.refined.at_us);
  stored.set_refined_uncertain_share(record.refined.uncertain_share);
  stored.set_refined_in_vain(record.refined.in_vain);
  stored.set_reported_at_us(record.reported_at_us);
  return SerializeStored(stored);
}

absl::StatusOr<UsageRecord> DecodeStoredUsage(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::StoredUsage stored,
                   ParseStored<v1::StoredUsage>(bytes));
  UsageRecord record;
  record.kernel = stored.kernel();
  record.silicon_key = stored.silicon_key();
  record.updated_at_us = stored.updated_at_us();
  for (const auto& [name, weights] : stored.specialisations()) {
    ASSIGN_OR_RETURN(record.specialisations[name], WeightsFromStored(weights));
  }
  for (const v1::StoredUsedProblem& used : stored.problems()) {
    ASSIGN_OR_RETURN(HeavyHitters::Entry entry, UsedProblemFromStored(used));
    record.problems.push_back(std::move(entry));
  }
  record.digest = stored.digest();
  ASSIGN_OR_RETURN(record.with_table, WeightsFromStored(stored.with_table()));
  record.refined = {.at_us = stored.refined_at_us(),
                    .uncertain_share = stored.refined_uncertain_share(),
                    .in_vain = std::clamp(stored.refined_in_vain(), 0, 64)};
  record.reported_at_us = stored.reported_at_us();
  return record;
}

}  // namespace wavetune
