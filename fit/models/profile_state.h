// ProfileState: a ProfileInput in canonical order, with everything that
// planning and fitting both need, derived once per call.
//
// Canonical: candidates by configuration, observations and representative
// problems by problem. From here on nothing depends on the order of the input.
//
// Thread safety: plain values that point into the ProfileInput.
#ifndef WAVETUNE_FIT_MODELS_PROFILE_STATE_H_
#define WAVETUNE_FIT_MODELS_PROFILE_STATE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fit/profile.h"
#include "fit/samples/earlier_samples.h"
#include "fit/samples/observation.h"
#include "fit/samples/sample_selection.h"
#include "model/table/table.h"

namespace wavetune {

// Held out: representative problems that no fit sees, so that a new table can
// be verified on them; so many at most.
inline constexpr int kVerificationPoints = 12;

// Returns whether representative problem number `index` of `count` is never
// measured by refinement, so that verification has problems that no fit has
// seen. They are twelve, evenly spread, of 24 or more; a quarter of 8 or more;
// else none.
bool IsHeldOut(size_t index, size_t count);

// A compiled candidate of one specialisation.
struct CandidateState {
  const Candidate* candidate = nullptr;
  std::vector<Observation> observations;
  // Problems with any sample, usable or not, sorted: never measured again.
  std::vector<Problem> measured;
  std::vector<Coordinates> at;  // At each representative problem.
  std::vector<bool> legal;      // For each representative problem.
  int macro_class = 0;          // Equal for equal macro parameters.
  bool universal = false;       // Legal for every problem.
};

// One specialisation.
struct SpecialisationState {
  std::string name;
  const Mapping* mapping = nullptr;
  std::vector<CandidateState> candidates;
  std::vector<Problem> representatives;
  std::vector<double> weights;  // The representatives'; > 0, sum 1.
  // False where nobody named representative problems and a spread along the
  // wave structure stands in for them.
  bool representatives_given = false;
  // Form, power-limit slowdown, row regimes, wave regimes and loop anchors;
  // nothing else is set.
  SubTable axes;
};

struct ProfileState {
  const ProfileInput* input = nullptr;
  std::vector<SpecialisationState> specialisations;  // Sorted by name.
  SelectionCounts counts;
  int64_t unmatched_samples = 0;  // Samples of unknown or excluded candidates,
                                  // or of problems that are not the kernel's.
  int64_t compiled = 0;           // Candidates over all specialisations.
  EarlierAgreement earlier;
  int64_t earlier_samples = 0;  // Taken.
  double device_time_us = 0;
};

// Returns the state. Without representative problems those of the spec are
// taken; where neither has any, a spread of problems along the wave structure.
// Errors: INVALID_ARGUMENT for an inconsistent input: no spec, not one list of
// candidates per specialisation, a configuration with the wrong number of
// values, tiles_per_wave below 1, options out of range.
absl::StatusOr<ProfileState> MakeProfileState(const ProfileInput& input);

// Appends to every candidate how the representatives from `first` on map to it
// and whether it is legal for them.
void PlaceRepresentatives(const ProfileInput& input, size_t first,
                          SpecialisationState& specialisation);

// Returns whether `candidate` has a sample of `problem`.
bool IsMeasured(const CandidateState& candidate, const Problem& problem);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_PROFILE_STATE_H_
