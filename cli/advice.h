// Advice: what to do about an error, beside what is wrong.
#ifndef WAVETUNE_CLI_ADVICE_H_
#define WAVETUNE_CLI_ADVICE_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

namespace wavetune::cli {

// The payload of a status that holds it.
inline constexpr char kAdviceMark[] = "wavetune.advice";

inline absl::Status WithAdvice(absl::Status status, absl::string_view advice) {
  status.SetPayload(kAdviceMark, absl::Cord(advice));
  return status;
}

// Returns the advice; empty where there is none.
inline std::string AdviceOf(const absl::Status& status) {
  return std::string(status.GetPayload(kAdviceMark).value_or(absl::Cord()));
}

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_ADVICE_H_
