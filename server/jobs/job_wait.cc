#include "server/jobs/job_wait.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace wavetune {

void JobWait::Show(const std::string& why) {
  if (why == shown_) return;
  const bool first = shown_.empty();
  if (first) {
    before_ = control_->record();
    since_ = clock_->SteadyNow();
  }
  shown_ = why;
  control_->Update(
      [&](JobRecord& job) {
        if (first) job.waits_since_us = clock_->NowUs();
        job.phase = JobPhase::kWaiting;
        job.seconds_left = -1;
        job.message = job.waits_for = why;
      },
      first ? JobControl::Persist::kLazily : JobControl::Persist::kNo);
}

void JobWait::End() {
  if (shown_.empty()) return;
  shown_.clear();
  control_->Update([&](JobRecord& job) {
    job.phase = before_.phase;
    job.message = before_.message;
    job.waits_for.clear();
    job.waits_since_us = 0;
  });
}

double JobWait::WaitedS() const {
  return waits() ? ToSeconds(clock_->SteadyNow() - since_) : 0;
}

absl::StatusOr<DeviceLease> AwaitLease(const JobServices& services,
                                       JobControl* control,
                                       const std::string& device_uuid) {
  JobWait wait(control, services.clock);
  return services.leases->Take(
      device_uuid, control->record().id, [&](uint64_t holder) {
        if (holder != 0) {
          wait.Show(absl::StrCat("waits for job ", holder, ", which uses ",
                                 device_uuid));
        }
        return control->CheckGoOn();
      });
}

std::string DurationText(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(seconds, 0.0));
  if (whole < 60) return absl::StrCat(whole, " s");
  return absl::StrCat(whole / 60, " min ", whole % 60, " s");
}

}  // namespace wavetune
