// NumberRange: what a numeric option of a program may be, with a message that
// says so. Shared by the programs; works as the function of a CLI11 validator,
// for which not-a-number is within every range.
//
//   const NumberRange seconds{0.001, 86400};
//   option->check(CLI::Validator(seconds, seconds.Text()));
//
// Thread safety: a plain value.
#ifndef WAVETUNE_BASE_NUMBER_RANGE_H_
#define WAVETUNE_BASE_NUMBER_RANGE_H_

#include <string>

namespace wavetune {

struct NumberRange {
  double low = 0;  // Both finite.
  double high = 0;

  // Returns why `text` is no number in the range, or nothing. Cannot fail.
  std::string operator()(const std::string& text) const;

  // Returns "0.001 to 86400". Cannot fail.
  std::string Text() const;
};

// Device time of a job, in seconds, wherever it is given.
inline constexpr NumberRange kBudgetRange{0.001, 1e6};

}  // namespace wavetune

#endif  // WAVETUNE_BASE_NUMBER_RANGE_H_
