// ReportSchedule: when a report of use is due, and when old use is dropped:
// pure arithmetic.
//
// A report is due every send interval; after a failure the distance doubles, up
// to kLongestBackoff intervals. Distances are spread by a random fifth, so that
// a thousand clients of one daemon do not report at once. What could not be
// sent for kLongestAge seconds is dropped: use of an hour ago told as of now
// would mislead more than help.
//
// Thread safety: none.
#ifndef WAVETUNE_CLIENT_USAGE_REPORT_SCHEDULE_H_
#define WAVETUNE_CLIENT_USAGE_REPORT_SCHEDULE_H_

#include <cstdint>

namespace wavetune {

class ReportSchedule {
 public:
  static constexpr double kLongestAgeS = 600;
  static constexpr double kLongestBackoff = 16;
  static constexpr double kJitter = 0.2;

  // Times are seconds of any monotonic clock; `seed` differs between clients.
  ReportSchedule(double interval_s, double now_s, uint64_t seed);

  // Returns whether to send now.
  bool Due(double now_s) const { return now_s >= next_s_; }
  // What came of a report. Cannot fail.
  void Sent(double now_s);
  void Failed(double now_s);
  // Returns whether the collected decisions are too old; then they count as
  // dropped, and collecting starts anew.
  bool DropNow(double now_s);
  // Seconds in which the unsent decisions were collected.
  double CollectedS(double now_s) const { return now_s - collecting_since_s_; }

 private:
  void SetNext(double now_s);

  const double interval_s_;
  double backoff_ = 1;
  double next_s_ = 0;
  double collecting_since_s_;
  uint64_t random_;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_USAGE_REPORT_SCHEDULE_H_
