// Progress: how far long work is, on standard error.
//
// On a terminal one line is redrawn; elsewhere a plain line is printed at most
// every ten seconds, so that a log stays readable.
//
// Thread safety: one thread at a time.
#ifndef WAVETUNE_CLI_PROGRESS_H_
#define WAVETUNE_CLI_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/output.h"

namespace wavetune::cli {

class Progress {
 public:
  // Seconds of a monotonic clock.
  using NowFunction = std::function<double()>;

  Progress(Output& err, bool terminal);
  Progress(Output& err, bool terminal, NowFunction now);
  // As Finish.
  ~Progress();

  // For `seconds_left`: whatever is counted takes the same time each, so that
  // the rate in this phase says it; nobody knows yet.
  static constexpr double kByRate = -1;
  static constexpr double kUnknown = -2;

  // `label` names the phase; a new label starts rates anew. `total` 0: unknown.
  // The time left that is shown never rises in a phase: where more is left than
  // was shown, it stands still and says so.
  void Update(const std::string& label, int64_t done, int64_t total,
              double seconds_left = kByRate);

  // Leaves the last state on a line of its own.
  void Finish();

 private:
  std::string Line(double now_s);

  Output& err_;
  const bool terminal_;
  NowFunction now_;
  std::string label_;
  int64_t done_ = 0;
  int64_t total_ = 0;
  double seconds_left_ = kByRate;
  std::optional<double> shown_left_;  // The least in this phase.
  int64_t first_done_ = 0;
  double first_s_ = 0;
  double printed_s_ = 0;
  bool printed_ = false;    // Something was printed at all.
  bool up_to_date_ = true;  // The last state was printed.
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_PROGRESS_H_
