#include "client/usage/report_schedule.h"

#include <algorithm>

namespace wavetune {

ReportSchedule::ReportSchedule(double interval_s, double now_s, uint64_t seed)
    : interval_s_(interval_s), collecting_since_s_(now_s), random_(seed) {
  SetNext(now_s);
}

void ReportSchedule::Sent(double now_s) {
  backoff_ = 1;
  collecting_since_s_ = now_s;
  SetNext(now_s);
}

void ReportSchedule::Failed(double now_s) {
  backoff_ = std::min(2 * backoff_, kLongestBackoff);
  SetNext(now_s);
}

bool ReportSchedule::DropNow(double now_s) {
  // A report that never was due is not late.
  if (backoff_ == 1 || CollectedS(now_s) < kLongestAgeS) return false;
  collecting_since_s_ = now_s;
  return true;
}

void ReportSchedule::SetNext(double now_s) {
  // Knuth's MMIX; the high half is used.
  random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
  const double fraction = static_cast<double>(random_ >> 32) / 4294967296.0;
  next_s_ = now_s + interval_s_ * backoff_ * (1 + kJitter * (fraction - 0.5));
}

}  // namespace wavetune
