#include "client/usage/usage_reporter.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/clock.h"

namespace wavetune {
namespace {

double NowS() { return ToSeconds(SystemClock().SteadyNow()); }

uint64_t Seed(const void* client) {
  // Differs between processes (time, layout) and between clients of one.
  return static_cast<uint64_t>(NowS() * 1e9) ^
         static_cast<uint64_t>(reinterpret_cast<uintptr_t>(client));
}

}  // namespace

UsageReporter::UsageReporter(std::unique_ptr<UsageSender> sender,
                             const Options& options)
    : sender_(std::move(sender)),
      options_(options),
      schedule_(options.send_interval_s, NowS(), Seed(this)) {}

UsageReporter::~UsageReporter() {
  {
    std::unique_lock lock(mutex_);
    stop_ = true;
    stop_changed_.notify_all();
    // What is cut off may have arrived, and would be counted twice: a daemon
    // that answers is given the time. With the lock, so that it is not the last
    // report that is cut off.
    const std::chrono::duration<double> patience(options_.farewell_timeout_s);
    if (!stop_changed_.wait_for(lock, patience, [this] { return !reporting_; }))
      sender_->CutOff();
  }
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<UsageRecorder> UsageReporter::Recorder(
    const UsageIdentity& identity) {
  std::shared_ptr<UsageRecorder> recorder = collector_.Recorder(identity);
  std::lock_guard lock(mutex_);
  if (recorder != nullptr && !thread_.joinable() && !stop_)
    thread_ = std::thread([this] { Run(); });
  return recorder;
}

bool UsageReporter::AwaitStop(double seconds) {
  std::unique_lock lock(mutex_);
  return stop_changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                                [this] { return stop_; });
}

bool UsageReporter::SetReporting(bool reporting) {
  std::lock_guard lock(mutex_);
  reporting_ = reporting && !stop_;
  stop_changed_.notify_all();
  return reporting_;
}

void UsageReporter::Run() {
  while (!AwaitStop(options_.drain_interval_s)) {
    collector_.Drain();
    if (schedule_.DropNow(NowS())) collector_.Clear();
    if (!schedule_.Due(NowS())) continue;
    if (!SetReporting(true)) break;
    Report(options_.timeout_s);
    SetReporting(false);
  }
  collector_.Drain();
  Report(options_.farewell_timeout_s);
}

void UsageReporter::Report(double timeout_s) {
  UsageBatch batch = collector_.Collected();
  batch.interval_s = schedule_.CollectedS(NowS());
  absl::Status status;
  if (!batch.kernels.empty() && supported_)
    status = sender_->Send(batch, timeout_s);
  if (absl::IsUnimplemented(status)) supported_ = false;
  // What the daemon refuses now it would refuse again.
  if (status.ok() || !supported_ || absl::IsInvalidArgument(status)) {
    collector_.Clear();
    schedule_.Sent(NowS());
  } else {
    schedule_.Failed(NowS());
  }
}

}  // namespace wavetune
