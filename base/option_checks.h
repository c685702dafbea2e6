// Checks of what an option of a program is given. Includes CLI11.
#ifndef WAVETUNE_BASE_OPTION_CHECKS_H_
#define WAVETUNE_BASE_OPTION_CHECKS_H_

#include "CLI/CLI.hpp"
#include "base/number_range.h"

namespace wavetune {

// A number in the range, which --help names.
inline CLI::Validator NumberIn(const NumberRange& range) {
  return CLI::Validator(range, range.Text());
}

}  // namespace wavetune

#endif  // WAVETUNE_BASE_OPTION_CHECKS_H_
