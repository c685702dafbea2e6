// Configurations and their parameters' names, for people.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_CONFIGURATION_TEXT_H_
#define WAVETUNE_MODEL_KERNEL_CONFIGURATION_TEXT_H_

#include <string>
#include <vector>

#include "model/kernel/kernel_spec.h"
#include "wavetune/configuration.h"

namespace wavetune {

// Returns "BLOCK_M=64 BLOCK_N=32". Where names lack there is a "?". Equal
// configurations of a kernel have equal texts. Cannot fail.
std::string FormatConfiguration(const std::vector<std::string>& parameters,
                                const Configuration& configuration);

// Returns the names of a kernel's parameters, in the order of a configuration.
std::vector<std::string> ParameterNames(const KernelSpec& spec);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_CONFIGURATION_TEXT_H_
