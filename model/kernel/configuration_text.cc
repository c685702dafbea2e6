#include "model/kernel/configuration_text.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace wavetune {

std::string FormatConfiguration(const std::vector<std::string>& parameters,
                                const Configuration& configuration) {
  std::vector<std::string> parts;
  for (int i = 0; i < configuration.size(); ++i) {
    const auto index = static_cast<size_t>(i);
    parts.push_back(
        absl::StrCat(index < parameters.size() ? parameters[index] : "?", "=",
                     configuration[i]));
  }
  return absl::StrJoin(parts, " ");
}

std::vector<std::string> ParameterNames(const KernelSpec& spec) {
  std::vector<std::string> names;
  for (const Parameter& parameter : spec.parameters) {
    names.push_back(parameter.name);
  }
  return names;
}

}  // namespace wavetune
