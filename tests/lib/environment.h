// Numbers that make a test longer than CI has time for: WAVETUNE_KILLS=1000.
#ifndef WAVETUNE_TESTS_LIB_ENVIRONMENT_H_
#define WAVETUNE_TESTS_LIB_ENVIRONMENT_H_

#include <cstdint>
#include <cstdlib>

namespace wavetune::testing {

// Returns the number that the environment variable says, `otherwise` where it
// is not set. Text that is no number counts as 0.
inline int64_t NumberFrom(const char* variable, int64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atoll(text) : otherwise;
}

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_ENVIRONMENT_H_
