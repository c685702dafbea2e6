#include "server/store/stored_drift.h"

namespace wavetune {
namespace {

DriftAction ActionFromStored(int32_t action) {
  // Of a daemon that refitted with some of the samples: the table did not hold.
  constexpr int32_t kRefit = 2;
  switch (action) {
    case static_cast<int32_t>(DriftAction::kCarryOver):
      return DriftAction::kCarryOver;
    case kRefit:
    case static_cast<int32_t>(DriftAction::kProfile):
      return DriftAction::kProfile;
    default:
      return DriftAction::kUndecided;
  }
}

}  // namespace

v1::StoredDrift DriftToStored(const DriftReport& report) {
  v1::StoredDrift stored;
  stored.set_from_environment(report.from_environment);
  stored.set_to_environment(report.to_environment);
  stored.set_digest(report.digest);
  stored.set_samples(report.samples);
  stored.set_seconds(report.seconds);
  for (const DriftRegime& regime : report.regimes) {
    v1::StoredDriftRegime* const entry = stored.add_regimes();
    entry->set_specialisation(regime.specialisation);
    entry->set_name(regime.name);
    entry->set_pairs(regime.pairs);
    entry->set_median_ratio(regime.median_ratio);
    entry->set_worst_ratio(regime.worst_ratio);
    entry->set_drifted(regime.drifted);
  }
  stored.set_action(static_cast<int32_t>(report.action));
  stored.set_reason(report.reason);
  return stored;
}

DriftReport DriftFromStored(const v1::StoredDrift& stored) {
  DriftReport report{.from_environment = stored.from_environment(),
                     .to_environment = stored.to_environment(),
                     .digest = stored.digest(),
                     .samples = stored.samples(),
                     .seconds = stored.seconds()};
  for (const v1::StoredDriftRegime& entry : stored.regimes()) {
    report.regimes.push_back({.specialisation = entry.specialisation(),
                              .name = entry.name(),
                              .pairs = entry.pairs(),
                              .median_ratio = entry.median_ratio(),
                              .worst_ratio = entry.worst_ratio(),
                              .drifted = entry.drifted()});
  }
  report.action = ActionFromStored(stored.action());
  report.reason = stored.reason();
  return report;
}

}  // namespace wavetune
