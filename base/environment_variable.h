#ifndef WAVETUNE_BASE_ENVIRONMENT_VARIABLE_H_
#define WAVETUNE_BASE_ENVIRONMENT_VARIABLE_H_

#include <string>

namespace wavetune {

// Returns the value of a variable of the process's environment; empty where it
// is not set.
std::string EnvironmentVariable(const char* name);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_ENVIRONMENT_VARIABLE_H_
