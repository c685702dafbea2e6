#include "profiler_agent/measure/compile_options.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {

std::vector<std::string> CompileOptions(
    const KernelSpec& spec, const Configuration* configuration,
    const std::string& specialisation,
    const std::vector<std::string>& options) {
  std::vector<std::string> all;
  for (int i = 0; configuration != nullptr && i < configuration->size(); ++i) {
    all.push_back(absl::StrCat("-D",
                               spec.parameters[static_cast<size_t>(i)].name,
                               "=", (*configuration)[i]));
  }
  for (const Specialisation& candidate : spec.specialisations) {
    if (candidate.name != specialisation) continue;
    for (const auto& [name, value] : candidate.defines) {
      all.push_back(absl::StrCat("-D", name, "=", value));
    }
  }
  all.insert(all.end(), options.begin(), options.end());
  return all;
}

}  // namespace wavetune
