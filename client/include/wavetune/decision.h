// Decision: the answer to "which configuration for this problem".
//
// Trivially copyable and pointing into nothing, so that it outlives every table
// swap.
#ifndef WAVETUNE_DECISION_H_
#define WAVETUNE_DECISION_H_

#include <cstdint>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "wavetune/configuration.h"

namespace wavetune {

// How good an answer is.
enum class DecisionSource : uint8_t {
  kFitted = 1,        // Inside the measured range of a fitted model.
  kExtrapolated = 2,  // Beyond it.
  kStale = 3,         // For another environment, kernel version or compiler.
  kDefault = 4,       // No model, or not a legal problem; `reason` says which.
};

// Why the source is kDefault.
enum class DefaultReason : uint8_t {
  kNone = 0,
  kNoTable = 1,              // No table is loaded.
  kWrongDimensionCount = 2,  // Too few or too many extents.
  kExtentOutOfRange =
      3,  // An extent below its dimension's minimum or above its maximum.
  kNoLegalCandidate = 4,  // Predicates exclude every candidate of the table, or
                          // their tiles or iterations cannot be counted.
  kUnknownSpecialisation = 5,
  // The table's choices were shown to compute wrong results, and none has
  // replaced it.
  kTableWithdrawn = 6,
  // The default is known not to work on the device (does not compile, computes
  // wrong results, ...): there is nothing to launch. Whatever else is the
  // reason for a default, this counts more.
  kDefaultUnusable = 7,
  // The problem breaks a precondition of the kernel (its manifest's
  // `precondition`): no configuration is made for it.
  kPreconditionBroken = 8,
};

// Where the table behind an answer came from.
enum class TableOrigin : uint8_t {
  kDefaults = 0,  // No table: every answer is the kernel's default.
  kDaemon = 1,    // Fetched from a daemon by this process.
  kCache = 2,     // The local table cache had it.
  kFile = 3,      // A table file that the user named.
};

struct Decision {
  Configuration configuration;
  double latency_us = 0;      // Predicted device time; 0 with kDefault.
  double relative_bound = 0;  // Half-width of the error bound, relative to
                              // latency_us; 0 with kDefault.
  // First 8 bytes of the table's digest; 0 with no table.
  uint64_t digest_prefix = 0;
  DecisionSource source = DecisionSource::kDefault;
  DefaultReason reason = DefaultReason::kNone;
  uint8_t candidate = 0xff;  // Index into the portfolio; 0xff with kDefault.
  TableOrigin origin = TableOrigin::kDefaults;  // Set by the client library.

  friend bool operator==(const Decision&, const Decision&) = default;
};
static_assert(std::is_trivially_copyable_v<Decision>);

// Return the words that people read: "FITTED", "NO_TABLE", ... Cannot fail.
absl::string_view ToString(DecisionSource source);
absl::string_view ToString(DefaultReason reason);
absl::string_view ToString(TableOrigin origin);

}  // namespace wavetune

#endif  // WAVETUNE_DECISION_H_
