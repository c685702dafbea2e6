// UsageRecord: the use of one kernel on one kind of device.
//
// By kernel name and silicon key, not by fingerprint and environment. Clients'
// problems do not change when a kernel is edited or a driver upgraded, and it
// is just then that a profile needs to know.
#ifndef WAVETUNE_SERVER_USAGE_USAGE_RECORD_H_
#define WAVETUNE_SERVER_USAGE_USAGE_RECORD_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "usage/heavy_hitters.h"

namespace wavetune {

// Decisions by how good they were, decayed; each decision is in one field.
struct UsageWeights {
  double fitted = 0;
  double wide_bound = 0;  // FITTED or STALE, bound above kWideBound.
  double extrapolated = 0;
  double stale = 0;
  double default_configuration = 0;  // DEFAULT.

  double total() const {
    return fitted + wide_bound + extrapolated + stale + default_configuration;
  }
  // Share of the decisions that a top-up could make surer; 0 without any.
  double uncertain_share() const {
    return total() > 0 ? (wide_bound + extrapolated) / total() : 0;
  }
  UsageWeights& operator+=(const UsageWeights& other) {
    fitted += other.fitted;
    wide_bound += other.wide_bound;
    extrapolated += other.extrapolated;
    stale += other.stale;
    default_configuration += other.default_configuration;
    return *this;
  }
  UsageWeights& operator*=(double factor) {
    fitted *= factor;
    wide_bound *= factor;
    extrapolated *= factor;
    stale *= factor;
    default_configuration *= factor;
    return *this;
  }

  friend bool operator==(const UsageWeights&, const UsageWeights&) = default;
};

// The last top-up that was queued.
struct TopUp {
  int64_t at_us = 0;           // 0: none yet.
  double uncertain_share = 0;  // Share of decisions when it was queued.
  int32_t in_vain = 0;         // In a row, before it, that did not help.

  friend bool operator==(const TopUp&, const TopUp&) = default;
};

struct UsageRecord {
  std::string kernel;
  std::string silicon_key;
  int64_t updated_at_us = 0;   // All weights are as of then.
  int64_t reported_at_us = 0;  // The last report.
  std::map<std::string, UsageWeights> specialisations;
  std::vector<HeavyHitters::Entry> problems;  // Most asked for first.
  // Decisions made with the table that served last, and only those: another
  // table starts anew.
  std::string digest;
  UsageWeights with_table;
  TopUp refined;

  UsageWeights total() const {
    UsageWeights sum;
    for (const auto& [name, weights] : specialisations) sum += weights;
    return sum;
  }

  friend bool operator==(const UsageRecord&, const UsageRecord&) = default;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_USAGE_USAGE_RECORD_H_
