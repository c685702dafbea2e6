#include "model/kernel/kernel_spec.h"

#include <cstddef>

namespace wavetune {
namespace {

// Named is a vector of things with a `name`. Lists are short: no index needed.
template <typename Named>
int IndexByName(const Named& items, const std::string& name) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

std::vector<std::string> KernelSpec::SpecialisationNames() const {
  if (specialisations.empty()) return {""};
  std::vector<std::string> names;
  names.reserve(specialisations.size());
  for (const Specialisation& specialisation : specialisations) {
    names.push_back(specialisation.name);
  }
  return names;
}

const KernelSpec& KernelSpec::Of(const std::string& specialisation) const {
  const auto found = own.find(specialisation);
  return found == own.end() ? *this : *found->second;
}

const Mapping& KernelSpec::MappingOf(const std::string& specialisation) const {
  const KernelSpec& spec = Of(specialisation);
  for (const Specialisation& candidate : spec.specialisations) {
    if (candidate.name == specialisation && candidate.mapping.has_value()) {
      return *candidate.mapping;
    }
  }
  return spec.mapping;
}

WaveForm KernelSpec::WaveFormOf(const std::string& specialisation) const {
  const int index = IndexByName(specialisations, specialisation);
  if (index < 0) return wave_form;
  return specialisations[static_cast<size_t>(index)].wave_form.value_or(
      wave_form);
}

const Implementation* KernelSpec::ImplementationOf(
    const std::string& backend) const {
  for (const Implementation& implementation : implementations) {
    if (implementation.backend == backend) return &implementation;
  }
  return nullptr;
}

int KernelSpec::DimensionIndex(const std::string& wanted) const {
  return IndexByName(dimensions, wanted);
}

int KernelSpec::ParameterIndex(const std::string& wanted) const {
  return IndexByName(parameters, wanted);
}

int KernelSpec::ArgumentIndex(const std::string& wanted) const {
  return IndexByName(arguments, wanted);
}

int KernelSpec::RepeatedDimensionOf(const Argument& argument) const {
  if (argument.role != ArgumentRole::kInput || !IsInteger(argument.type)) {
    return -1;
  }
  const int dimension = DimensionIndex(argument.name);
  return dimension >= 0 && dimensions[static_cast<size_t>(dimension)].repeated
             ? dimension
             : -1;
}

}  // namespace wavetune
