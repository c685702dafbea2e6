// wavetune.h: the launch path.
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "absl/types/span.h"
#include "client/c/api_error.h"
#include "client/c/handles.h"
#include "wavetune/decision.h"
#include "wavetune/wavetune.h"

namespace {

using wavetune::Decision;
using wavetune::DecisionSource;
using wavetune::DefaultReason;
using wavetune::TableOrigin;

// The ABI. These numbers are promises: a change needs a new major version.
static_assert(sizeof(wavetune_decision) == 136);
static_assert(alignof(wavetune_decision) == 8);
static_assert(offsetof(wavetune_decision, values) == 0);
static_assert(offsetof(wavetune_decision, value_count) == 96);
static_assert(offsetof(wavetune_decision, reserved) == 100);
static_assert(offsetof(wavetune_decision, latency_us) == 104);
static_assert(offsetof(wavetune_decision, relative_bound) == 112);
static_assert(offsetof(wavetune_decision, digest_prefix) == 120);
static_assert(offsetof(wavetune_decision, source) == 128);
static_assert(offsetof(wavetune_decision, reason) == 129);
static_assert(offsetof(wavetune_decision, candidate) == 130);
static_assert(offsetof(wavetune_decision, origin) == 131);
static_assert(offsetof(wavetune_decision, reserved_tail) == 132);

template <typename Enum>
constexpr bool Same(int ours, Enum theirs) {
  return ours == static_cast<int>(theirs);
}
static_assert(Same(WAVETUNE_SOURCE_FITTED, DecisionSource::kFitted) &&
              Same(WAVETUNE_SOURCE_EXTRAPOLATED,
                   DecisionSource::kExtrapolated) &&
              Same(WAVETUNE_SOURCE_STALE, DecisionSource::kStale) &&
              Same(WAVETUNE_SOURCE_DEFAULT, DecisionSource::kDefault));
static_assert(Same(WAVETUNE_REASON_NONE, DefaultReason::kNone) &&
              Same(WAVETUNE_REASON_NO_TABLE, DefaultReason::kNoTable) &&
              Same(WAVETUNE_REASON_WRONG_DIMENSION_COUNT,
                   DefaultReason::kWrongDimensionCount) &&
              Same(WAVETUNE_REASON_EXTENT_OUT_OF_RANGE,
                   DefaultReason::kExtentOutOfRange) &&
              Same(WAVETUNE_REASON_NO_LEGAL_CANDIDATE,
                   DefaultReason::kNoLegalCandidate) &&
              Same(WAVETUNE_REASON_UNKNOWN_SPECIALISATION,
                   DefaultReason::kUnknownSpecialisation) &&
              Same(WAVETUNE_REASON_TABLE_WITHDRAWN,
                   DefaultReason::kTableWithdrawn) &&
              Same(WAVETUNE_REASON_DEFAULT_UNUSABLE,
                   DefaultReason::kDefaultUnusable) &&
              Same(WAVETUNE_REASON_PRECONDITION_BROKEN,
                   DefaultReason::kPreconditionBroken));

static_assert(Same(WAVETUNE_ORIGIN_DEFAULTS, TableOrigin::kDefaults) &&
              Same(WAVETUNE_ORIGIN_DAEMON, TableOrigin::kDaemon) &&
              Same(WAVETUNE_ORIGIN_CACHE, TableOrigin::kCache) &&
              Same(WAVETUNE_ORIGIN_FILE, TableOrigin::kFile));

// The C++ Decision has the same layout today, so that it is made right in the
// caller's memory: a copy of 136 bytes would cost about as much as the call.
// Where a Decision comes to differ, copy the members here instead; the ABI
// above stays. Values and their count have no names to take the offset of:
// c_api_test compares them.
static_assert(WAVETUNE_MAX_PARAMETERS == wavetune::kMaxParameters);
static_assert(std::is_standard_layout_v<Decision>);
static_assert(std::is_trivially_copyable_v<Decision>);
static_assert(sizeof(Decision) == sizeof(wavetune_decision));
static_assert(alignof(Decision) == alignof(wavetune_decision));
static_assert(sizeof(wavetune::Configuration) == 104);
static_assert(offsetof(Decision, configuration) ==
              offsetof(wavetune_decision, values));
static_assert(offsetof(Decision, latency_us) ==
              offsetof(wavetune_decision, latency_us));
static_assert(offsetof(Decision, relative_bound) ==
              offsetof(wavetune_decision, relative_bound));
static_assert(offsetof(Decision, digest_prefix) ==
              offsetof(wavetune_decision, digest_prefix));
static_assert(offsetof(Decision, source) ==
              offsetof(wavetune_decision, source));
static_assert(offsetof(Decision, reason) ==
              offsetof(wavetune_decision, reason));
static_assert(offsetof(Decision, candidate) ==
              offsetof(wavetune_decision, candidate));
static_assert(offsetof(Decision, origin) ==
              offsetof(wavetune_decision, origin));

// Out of line, so that the launch path sets up nothing for it.
[[gnu::cold, gnu::noinline]] wavetune_status Refuse(const char* argument) {
  return wavetune::c_api::Guarded(
      [argument] { return wavetune::c_api::IsNull(argument); });
}

// Clears what a Decision leaves as padding. By bytes: there are no members.
inline void ClearPadding(wavetune_decision* decision) {
  char* bytes = reinterpret_cast<char*>(decision);
  std::memset(bytes + offsetof(wavetune_decision, reserved), 0,
              sizeof(decision->reserved));
  std::memset(bytes + offsetof(wavetune_decision, reserved_tail), 0,
              sizeof(decision->reserved_tail));
}

inline wavetune_status Resolve(const wavetune_tuner& tuner,
                               const wavetune::ProblemView& problem,
                               wavetune_decision* decision) {
  new (decision) Decision(tuner.tuner.Resolve(problem));
  ClearPadding(decision);
  return WAVETUNE_OK;
}

}  // namespace

wavetune_status wavetune_tuner_resolve(const wavetune_tuner* tuner,
                                       const int64_t* extents, size_t count,
                                       wavetune_decision* decision) {
  if (tuner == nullptr) [[unlikely]]
    return Refuse("tuner");
  if (extents == nullptr && count > 0) [[unlikely]]
    return Refuse("extents");
  if (decision == nullptr) [[unlikely]]
    return Refuse("decision");
  return Resolve(*tuner, absl::MakeConstSpan(extents, count), decision);
}

wavetune_status wavetune_tuner_resolve_repeated(const wavetune_tuner* tuner,
                                                const int64_t* extents,
                                                size_t count,
                                                const int64_t* repeated,
                                                size_t repeated_count,
                                                wavetune_decision* decision) {
  if (tuner == nullptr) [[unlikely]]
    return Refuse("tuner");
  if (extents == nullptr && count > 0) [[unlikely]]
    return Refuse("extents");
  if (repeated == nullptr && repeated_count > 0) [[unlikely]]
    return Refuse("repeated");
  if (decision == nullptr) [[unlikely]]
    return Refuse("decision");
  return Resolve(*tuner,
                 {absl::MakeConstSpan(extents, count),
                  absl::MakeConstSpan(repeated, repeated_count)},
                 decision);
}
