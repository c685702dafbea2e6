// UsageReporter: the background thread that drains a client's recorders and
// sends what they hold.
//
//   UsageReporter reporter(std::move(sender), {});
//   table_state.usage = reporter.Recorder(identity);
//
// The decision path never meets it: it reads the recorders' atomics, and where
// the daemon is down or slow, memory stays what it is and old use is dropped.
//
// Thread safety: thread-safe. Destruction waits at most `farewell_timeout_s`
// for a report in progress, then cuts it off, and as long for a last one with
// the rest.
#ifndef WAVETUNE_CLIENT_USAGE_USAGE_REPORTER_H_
#define WAVETUNE_CLIENT_USAGE_USAGE_REPORTER_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/strings/string_view.h"
#include "client/usage/report_schedule.h"
#include "client/usage/usage_collector.h"
#include "client/usage/usage_sender.h"

namespace wavetune {

class UsageReporter {
 public:
  struct Options {
    double drain_interval_s = 2;
    double send_interval_s = 30;
    double timeout_s = 2;              // One report's.
    double farewell_timeout_s = 0.25;  // The last one's.
  };

  UsageReporter(std::unique_ptr<UsageSender> sender, const Options& options);
  ~UsageReporter();
  UsageReporter(const UsageReporter&) = delete;
  UsageReporter& operator=(const UsageReporter&) = delete;

  // As UsageCollector::Recorder. The thread starts with the first recorder.
  std::shared_ptr<UsageRecorder> Recorder(const UsageIdentity& identity);

 private:
  void Run();
  void Report(double timeout_s);
  bool AwaitStop(double seconds);
  // Returns whether a report is in progress now: not where it is to stop.
  bool SetReporting(bool reporting);

  const std::unique_ptr<UsageSender> sender_;
  const Options options_;
  UsageCollector collector_;
  ReportSchedule schedule_;  // The thread's.
  bool supported_ = true;    // The thread's; false: by an older daemon, not.
  std::mutex mutex_;
  std::condition_variable stop_changed_;
  // Guarded by mutex_.
  bool stop_ = false;
  bool reporting_ = false;  // Any report but the last.
  std::thread thread_;      // Guarded by mutex_ until destruction.
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_USAGE_USAGE_REPORTER_H_
