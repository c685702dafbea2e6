#include "model/kernel/specialisation_spaces.h"

#include <algorithm>
#include <set>

#include "model/kernel/kernel_spec.h"

namespace wavetune {

std::vector<SpecialisationSpace> EnumerateSpaces(const KernelSpec& spec) {
  std::vector<SpecialisationSpace> spaces;
  for (const std::string& name : spec.SpecialisationNames()) {
    const KernelSpec& own = spec.Of(name);
    // Parameters and lists of configurations name no constants.
    const auto same = std::find_if(
        spaces.begin(), spaces.end(), [&own](const SpecialisationSpace& other) {
          return other.spec == &own ||
                 other.spec->constraints == own.constraints;
        });
    if (same != spaces.end()) {
      same->specialisations.push_back(name);
    } else {
      spaces.push_back({.specialisations = {name},
                        .spec = &own,
                        .space = EnumerateSpace(own)});
    }
  }
  return spaces;
}

int64_t CountCandidates(const std::vector<SpecialisationSpace>& spaces) {
  int64_t candidates = 0;
  for (const SpecialisationSpace& space : spaces) {
    candidates += space.Candidates();
  }
  return candidates;
}

int64_t CountConfigurations(const std::vector<SpecialisationSpace>& spaces) {
  if (spaces.size() == 1) return spaces.front().space.count;
  std::set<Configuration> distinct;
  for (const SpecialisationSpace& space : spaces) {
    distinct.insert(space.space.configurations.begin(),
                    space.space.configurations.end());
  }
  return static_cast<int64_t>(distinct.size());
}

const SpecialisationSpace& SpaceOf(
    const std::vector<SpecialisationSpace>& spaces,
    const std::string& specialisation) {
  return *std::find_if(spaces.begin(), spaces.end(),
                       [&specialisation](const SpecialisationSpace& space) {
                         const std::vector<std::string>& names =
                             space.specialisations;
                         return std::find(names.begin(), names.end(),
                                          specialisation) != names.end();
                       });
}

}  // namespace wavetune
