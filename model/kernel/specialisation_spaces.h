// The spaces of a kernel's specialisations, each enumerated once: they differ
// where constraints name constants of a specialisation.
//
// Thread safety: plain values and pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_SPECIALISATION_SPACES_H_
#define WAVETUNE_MODEL_KERNEL_SPECIALISATION_SPACES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/kernel/kernel_space.h"

namespace wavetune {

struct KernelSpec;

struct SpecialisationSpace {
  std::vector<std::string> specialisations;  // One empty name where none.
  const KernelSpec* spec = nullptr;  // As the first of these has it; borrowed.
  KernelSpace space;

  // Configurations, of each specialisation.
  int64_t Candidates() const {
    return space.count * static_cast<int64_t>(specialisations.size());
  }
};

// Returns one space for all specialisations with the same constraints, in the
// order of the manifest. `spec` must outlive them. Cannot fail. Cost: one
// EnumerateSpace each.
std::vector<SpecialisationSpace> EnumerateSpaces(const KernelSpec& spec);

// Returns the configurations of all specialisations together: what profiling
// compiles.
int64_t CountCandidates(const std::vector<SpecialisationSpace>& spaces);

// Returns the distinct configurations of all specialisations. Cost: a copy of
// all where there are several spaces.
int64_t CountConfigurations(const std::vector<SpecialisationSpace>& spaces);

// Returns the space that has a specialisation. It must be there.
const SpecialisationSpace& SpaceOf(
    const std::vector<SpecialisationSpace>& spaces,
    const std::string& specialisation);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_SPECIALISATION_SPACES_H_
