// NumberIn checks what an option of a program is given. Includes CLI11.
//
//   command->add_option("--rounds", ...)->check(NumberIn(1, 100));
#ifndef WAVETUNE_BASE_OPTION_CHECKS_H_
#define WAVETUNE_BASE_OPTION_CHECKS_H_

#include "CLI/CLI.hpp"
#include "base/number_range.h"

namespace wavetune {

// A number in the range, which --help names.
inline CLI::Validator NumberIn(const NumberRange& range) {
  return CLI::Validator(range, range.Text());
}
inline CLI::Validator NumberIn(double low, double high) {
  return NumberIn(NumberRange{low, high});
}

}  // namespace wavetune

#endif  // WAVETUNE_BASE_OPTION_CHECKS_H_
