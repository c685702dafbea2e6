#include "wavetune/decision.h"

namespace wavetune {

absl::string_view ToString(DecisionSource source) {
  switch (source) {
    case DecisionSource::kFitted:
      return "FITTED";
    case DecisionSource::kExtrapolated:
      return "EXTRAPOLATED";
    case DecisionSource::kStale:
      return "STALE";
    case DecisionSource::kDefault:
      return "DEFAULT";
  }
  return "UNKNOWN";
}

absl::string_view ToString(DefaultReason reason) {
  switch (reason) {
    case DefaultReason::kNone:
      return "NONE";
    case DefaultReason::kNoTable:
      return "NO_TABLE";
    case DefaultReason::kWrongDimensionCount:
      return "WRONG_DIMENSION_COUNT";
    case DefaultReason::kExtentOutOfRange:
      return "EXTENT_OUT_OF_RANGE";
    case DefaultReason::kNoLegalCandidate:
      return "NO_LEGAL_CANDIDATE";
    case DefaultReason::kUnknownSpecialisation:
      return "UNKNOWN_SPECIALISATION";
    case DefaultReason::kTableWithdrawn:
      return "TABLE_WITHDRAWN";
    case DefaultReason::kPreconditionBroken:
      return "PRECONDITION_BROKEN";
    case DefaultReason::kDefaultUnusable:
      return "DEFAULT_UNUSABLE";
  }
  return "UNKNOWN";
}

absl::string_view ToString(TableOrigin origin) {
  switch (origin) {
    case TableOrigin::kDefaults:
      return "DEFAULTS";
    case TableOrigin::kDaemon:
      return "DAEMON";
    case TableOrigin::kCache:
      return "CACHE";
    case TableOrigin::kFile:
      return "FILE";
  }
  return "UNKNOWN";
}

}  // namespace wavetune
