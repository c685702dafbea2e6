#include "server/jobs/job_control.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace wavetune {

JobControl::JobControl(JobRecord record, JobStore* store,
                       std::function<void(const std::string&)> warn)
    : store_(store), warn_(std::move(warn)), record_(std::move(record)) {}

JobRecord JobControl::record() const {
  std::lock_guard lock(mutex_);
  return record_;
}

void JobControl::Update(const std::function<void(JobRecord&)>& change,
                        Persist persist) {
  std::lock_guard update_lock(update_mutex_);
  JobRecord record;
  std::vector<Handle> listeners;
  {
    std::lock_guard lock(mutex_);
    change(record_);
    record = record_;
    listeners = listeners_.Current();
  }
  if (persist != Persist::kNo) {
    const absl::Status status = Store(record, persist == Persist::kSynced);
    if (!status.ok()) {
      warn_(absl::StrCat("job ", record.id,
                         " is not on disk as it stands, and written when it "
                         "can be: ",
                         status.message()));
    }
  }
  for (const Handle& listener : listeners) (*listener)(record);
}

absl::Status JobControl::Store(const JobRecord& record, bool sync) {
  // What could not be written is not lost again in a crash.
  const absl::Status status =
      store_->Update(Stored(record), sync || unsaved_.load());
  unsaved_.store(!status.ok());
  return status;
}

absl::Status JobControl::Save() {
  std::lock_guard update_lock(update_mutex_);
  return unsaved_.load() ? Store(record(), /*sync=*/true) : absl::OkStatus();
}

JobControl::Watch JobControl::Subscribe(Listener listener) {
  std::lock_guard lock(mutex_);
  return {record_, listeners_.Add(std::move(listener))};
}

JobRecord JobControl::Stored(JobRecord record) const {
  if (!cancelled() || record.finished()) return record;
  record.state = JobState::kCancelled;
  record.message = "cancelled; what was measured is kept";
  record.finished_at_us = cancelled_at_us_.load();
  return record;
}

void JobControl::Cancel(int64_t now_us) {
  cancelled_at_us_.store(now_us);
  cancelled_.store(true);
  Interrupt();
}

void JobControl::Stop() {
  stopping_.store(true);
  Interrupt();
}

absl::Status JobControl::CheckGoOn() const {
  if (cancelled()) return absl::CancelledError("cancelled on request");
  if (stopping()) return absl::CancelledError("the daemon stops");
  return absl::OkStatus();
}

void JobControl::SetInterrupt(const void* owner,
                              std::function<void()> interrupt) {
  std::lock_guard lock(interrupt_mutex_);
  if (interrupt) {
    interrupts_[owner] = std::move(interrupt);
  } else {
    interrupts_.erase(owner);
  }
}

void JobControl::Interrupt() {
  std::lock_guard lock(interrupt_mutex_);
  for (const auto& [owner, interrupt] : interrupts_) interrupt();
}

}  // namespace wavetune
