#include "server/rpc/store_admin.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

const char* WorkName(StoreAdmin::Work work) {
  switch (work) {
    case StoreAdmin::Work::kBackUp:
      return "backup";
    case StoreAdmin::Work::kCheck:
      return "check";
    case StoreAdmin::Work::kCompact:
      return "compaction";
  }
  return "";
}

v1::StoreProgress ResultToProto(const StoreMaintenance::Result& result) {
  v1::StoreProgress progress;
  for (const std::string& line : result.lines) progress.add_lines(line);
  progress.set_done(true);
  progress.set_faults(result.faults);
  progress.set_bytes(result.size_bytes);
  return progress;
}

}  // namespace

StoreAdmin::StoreAdmin(Options options) : options_(std::move(options)) {}

StoreAdmin::~StoreAdmin() { Stop(); }

absl::Status StoreAdmin::CheckMayStart(Work work) const {
  if (options_.maintenance == nullptr || stop_) {
    return absl::FailedPreconditionError(
        "this daemon's store cannot be maintained, or the daemon stops");
  }
  if (!running_.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a ", running_, " is running: one at a time, so try again later"));
  }
  if (work == Work::kBackUp && options_.backup_folder.empty()) {
    return absl::FailedPreconditionError(
        "the daemon has no folder for backups: start it with --backup-dir");
  }
  return absl::OkStatus();
}

absl::Status StoreAdmin::Start(Work work, const std::string& by, Sink sink) {
  std::lock_guard lock(mutex_);
  if (absl::Status status = CheckMayStart(work); !status.ok()) return status;
  if (thread_.joinable()) thread_.join();  // It has nothing left to do.
  running_ = absl::StrCat(WorkName(work), " that user ", by, " asked for");
  thread_ = std::thread(
      [this, work, by, sink = std::move(sink)] { Run(work, by, sink); });
  return absl::OkStatus();
}

absl::StatusOr<StoreMaintenance::Result> StoreAdmin::Check(
    const StoreMaintenance::Control& control) {
  absl::StatusOr<StoreMaintenance::Result> result =
      options_.maintenance->Check(control);
  if (!result.ok() || !options_.what_would_go) return result;
  for (const std::string& line : options_.what_would_go()) {
    result->lines.push_back(absl::StrCat("the daily look ", line));
  }
  return result;
}

absl::StatusOr<StoreMaintenance::Result> StoreAdmin::Do(
    Work work, const StoreMaintenance::Control& control) {
  switch (work) {
    case Work::kBackUp:
      return options_.maintenance->BackUp(options_.backup_folder, control);
    case Work::kCheck:
      return Check(control);
    case Work::kCompact:
      return options_.maintenance->Compact(control);
  }
  return absl::UnimplementedError("no such work");
}

void StoreAdmin::Run(Work work, const std::string& by, const Sink& sink) {
  int64_t told_us = options_.clock->NowUs() - kProgressIntervalUs;
  const auto tell = [&](const std::string& line) {
    const int64_t now_us = options_.clock->NowUs();
    // A clock that was set back must not silence it.
    if (now_us >= told_us && now_us - told_us < kProgressIntervalUs) return;
    told_us = now_us;
    v1::StoreProgress progress;
    progress.add_lines(line);
    sink.progress(std::move(progress));
  };
  const absl::StatusOr<StoreMaintenance::Result> result =
      Do(work, {.tell = tell, .stop = &stop_});
  options_.log(absl::StrCat(
      "the ", WorkName(work), " of the store that user ", by, " asked for ",
      !result.ok()         ? absl::StrCat("failed: ", result.status().message())
      : result->faults > 0 ? absl::StrCat("found ", result->faults, " faults")
                           : "is done"));
  if (result.ok()) sink.progress(ResultToProto(*result));
  {
    // Whoever hears of the end may start the next.
    std::lock_guard lock(mutex_);
    running_.clear();
    if (work == Work::kBackUp && result.ok())
      newest_backup_s_ = options_.clock->NowUs() / 1'000'000;
  }
  sink.end(result.status());
}

std::optional<int64_t> StoreAdmin::NewestBackupS() {
  if (options_.maintenance == nullptr || options_.backup_folder.empty())
    return std::nullopt;
  {
    std::lock_guard lock(mutex_);
    if (newest_backup_s_) return newest_backup_s_;
  }
  const absl::StatusOr<int64_t> newest =
      options_.maintenance->NewestBackupS(options_.backup_folder);
  std::lock_guard lock(mutex_);
  // One that was made meanwhile is newer.
  if (newest.ok() && !newest_backup_s_) newest_backup_s_ = *newest;
  return newest_backup_s_;
}

void StoreAdmin::Stop() {
  std::thread thread;
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

}  // namespace wavetune
