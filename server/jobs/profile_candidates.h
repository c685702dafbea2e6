// The candidates of a profile, by specialisation in the order of
// KernelSpec::SpecialisationNames (ProfileInput::candidates).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_JOBS_PROFILE_CANDIDATES_H_
#define WAVETUNE_SERVER_JOBS_PROFILE_CANDIDATES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "model/kernel/sample.h"
#include "server/store/records.h"
#include "wavetune/configuration.h"

namespace wavetune {

struct KernelSpec;

using ProfileCandidates = std::vector<std::vector<Candidate>>;

// Takes a record in place of an earlier one of the same configuration. Returns
// false, taking nothing, for a specialisation that the kernel does not have
// (any more).
bool TakeCandidate(const KernelSpec& spec, const CandidateRecord& record,
                   ProfileCandidates& candidates);

// Returns the configurations of the kernel's space that nothing is known of,
// for each specialisation.
std::vector<std::vector<Configuration>> MissingConfigurations(
    const KernelSpec& spec, const ProfileCandidates& candidates);

// Returns how many are not excluded.
int64_t CountUsable(const ProfileCandidates& candidates);

// How many were compared with the reference, and with what result.
struct CheckedCandidates {
  int64_t right = 0;
  int64_t wrong = 0;
  std::string first_wrong;  // "BM=64 BN=64: wrong result: ..."; for people.

  // Beyond this the others may be right by luck: a race that most lose is no
  // less one where it was won.
  bool many_wrong() const { return 3 * wrong > right; }
};

CheckedCandidates CountChecked(const KernelSpec& spec,
                               const ProfileCandidates& candidates);

// Returns that the default configuration cannot be used, and why: "; the
// default configuration BM=64 cannot be used on this device: does not compile:
// ..."; nothing where it can.
std::string DefaultText(const KernelSpec& spec,
                        const ProfileCandidates& candidates);

// Returns OK unless more than a quarter of the checked candidates are wrong.
// Errors: FAILED_PRECONDITION saying how many, the first, and what to do.
absl::Status CheckFewWrong(const KernelSpec& spec,
                           const ProfileCandidates& candidates);

// Returns OK where at least one is not excluded. Errors: FAILED_PRECONDITION
// with how many are wrong, the first reason and what to do next.
absl::Status CheckAnyUsable(const KernelSpec& spec,
                            const std::string& device_uuid,
                            const ProfileCandidates& candidates);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_PROFILE_CANDIDATES_H_
