// NumberIn: the range of a numeric option.
//
//   command->add_option("--rounds", ...)->check(NumberIn(1, 100));
#ifndef WAVETUNE_CLI_NUMBER_OPTION_H_
#define WAVETUNE_CLI_NUMBER_OPTION_H_

#include "CLI/Validators.hpp"
#include "base/number_range.h"

namespace wavetune::cli {

inline CLI::Validator NumberIn(const NumberRange& range) {
  return CLI::Validator(range, range.Text());
}

inline CLI::Validator NumberIn(double low, double high) {
  return NumberIn(NumberRange{low, high});
}

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_NUMBER_OPTION_H_
