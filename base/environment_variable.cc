#include "base/environment_variable.h"

#include <cstdlib>

namespace wavetune {

std::string EnvironmentVariable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace wavetune
