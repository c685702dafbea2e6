// Exit codes of the command line; part of its interface.
#ifndef WAVETUNE_CLI_EXIT_CODE_H_
#define WAVETUNE_CLI_EXIT_CODE_H_

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

namespace wavetune::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;  // Wrong arguments or input.
// The daemon does not answer, or there is no device to compile on.
inline constexpr int kExitUnreachable = 3;

// 128 and the number of the signal that ended it (InterruptExitCode).

// Asked for with --fail-stale: the answer was printed, but a table is stale.
inline constexpr int kExitStale = 4;

// Marks a status that ends as kExitStale.
inline constexpr char kStaleMark[] = "wavetune.stale";

// Returns the status for kExitStale; `reason` says what differs.
inline absl::Status StaleStatus(absl::string_view reason) {
  absl::Status status = absl::FailedPreconditionError(reason);
  status.SetPayload(kStaleMark, absl::Cord("1"));
  return status;
}

// INVALID_ARGUMENT is usage, UNAVAILABLE and DEADLINE_EXCEEDED unreachable,
// every other error a failure.
inline int ExitCode(const absl::Status& status) {
  if (status.GetPayload(kStaleMark).has_value()) return kExitStale;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
      return kExitUsage;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnreachable;
    default:
      return kExitFailed;
  }
}

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EXIT_CODE_H_
