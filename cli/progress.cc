#include "cli/progress.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "cli/format.h"

namespace wavetune::cli {
namespace {

constexpr double kTerminalIntervalS = 0.1;
constexpr double kPlainIntervalS = 10;
constexpr int kBarWidth = 24;

double MonotonicSeconds() { return ToSeconds(SystemClock().SteadyNow()); }

std::string Bar(double fraction) {
  const int filled = static_cast<int>(fraction * kBarWidth);
  return absl::StrCat("[", std::string(static_cast<size_t>(filled), '#'),
                      std::string(static_cast<size_t>(kBarWidth - filled), '.'),
                      "]");
}

}  // namespace

Progress::Progress(Output& err, bool terminal)
    : Progress(err, terminal, MonotonicSeconds) {}

Progress::Progress(Output& err, bool terminal, NowFunction now)
    : err_(err), terminal_(terminal), now_(std::move(now)) {}

Progress::~Progress() { Finish(); }

void Progress::Update(const std::string& label, int64_t done, int64_t total,
                      double seconds_left) {
  const double now_s = now_();
  if (label != label_ || done < done_) {
    label_ = label;
    first_done_ = done;
    first_s_ = now_s;
    shown_left_.reset();
  }
  done_ = done;
  total_ = total;
  seconds_left_ = seconds_left;
  up_to_date_ = false;
  const double interval = terminal_ ? kTerminalIntervalS : kPlainIntervalS;
  if (printed_ && now_s - printed_s_ < interval) return;
  // Back to the start of the line, and clear what a longer line left.
  err_ << (terminal_ ? "\r\x1b[K" : "") << Line(now_s)
       << (terminal_ ? "" : "\n");
  err_.Flush();
  printed_ = true;
  printed_s_ = now_s;
  up_to_date_ = true;
}

void Progress::Finish() {
  if (terminal_) {
    if (printed_) err_ << "\r\x1b[K" << Line(now_()) << "\n";
  } else if (!up_to_date_) {
    err_ << Line(now_()) << "\n";
  }
  err_.Flush();
  printed_ = false;
  up_to_date_ = true;
}

std::string Progress::Line(double now_s) {
  std::string line = label_;
  if (total_ > 0) {
    const double fraction = std::clamp(
        static_cast<double>(done_) / static_cast<double>(total_), 0.0, 1.0);
    absl::StrAppend(&line, " ", Bar(fraction), " ", done_, "/", total_);
  } else if (done_ > 0) {
    absl::StrAppend(&line, " ", done_);
  }
  const double elapsed = now_s - first_s_;
  const double rate =
      elapsed > 0 ? static_cast<double>(done_ - first_done_) / elapsed : 0;
  if (rate > 0) absl::StrAppendFormat(&line, ", %.3g/s", rate);
  double left = seconds_left_;
  if (left == kByRate && rate > 0)
    left = static_cast<double>(total_ - done_) / rate;
  if (left < 0 || done_ >= total_) return line;
  const bool more = left >= shown_left_.value_or(left) + 1;
  shown_left_ = std::min(left, shown_left_.value_or(left));
  absl::StrAppend(&line, ", ", more ? "more than " : "",
                  FormatSeconds(*shown_left_), " left");
  return line;
}

}  // namespace wavetune::cli
