#include "base/library_log.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "base/repeated_lines.h"
#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"

namespace wavetune {
namespace {

int64_t NowUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Never destroyed: libraries log until the very end.
class LibraryLog {
 public:
  static LibraryLog& Get() {
    static LibraryLog* const log = new LibraryLog;
    return *log;
  }

  void Route(LibraryLogWriter write) {
    std::lock_guard lock(mutex_);
    write_ = std::move(write);
  }

  void Add(LibraryLogLevel level, absl::string_view library,
           absl::string_view place, absl::string_view text) {
    std::lock_guard lock(mutex_);
    Write(level, lines_.Admit(absl::StrCat(library, place),
                              absl::StrCat(library, ": ", PrintableText(text)),
                              NowUs()));
    if (!lines_.pending()) return;
    if (!summing_up_) {
      summing_up_ = true;
      std::thread([this] { SumUp(); }).detach();
    }
    changed_.notify_all();
  }

  void Flush() {
    std::lock_guard lock(mutex_);
    Write(LibraryLogLevel::kWarning, lines_.Rest(NowUs()));
  }

 private:
  // Holds mutex_.
  void Write(LibraryLogLevel level, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      if (write_) write_(level, line);
    }
  }

  // Started with the first repetition: most processes never see one.
  [[noreturn]] void SumUp() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return lines_.pending(); });
      changed_.wait_for(lock, std::chrono::seconds(1));
      Write(LibraryLogLevel::kWarning, lines_.Due(NowUs()));
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  LibraryLogWriter write_;
  RepeatedLines lines_;
  bool summing_up_ = false;
};

void OnProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                const std::string& text) {
  LibraryLogLevel ours = LibraryLogLevel::kError;
  if (level == google::protobuf::LOGLEVEL_INFO) ours = LibraryLogLevel::kInfo;
  if (level == google::protobuf::LOGLEVEL_WARNING) {
    ours = LibraryLogLevel::kWarning;
  }
  LibraryLog::Get().Add(ours, "protobuf", absl::StrCat(file, ":", line), text);
}

void OnGrpc(gpr_log_func_args* args) {
  LibraryLogLevel level = LibraryLogLevel::kError;
  if (args->severity != GPR_LOG_SEVERITY_ERROR) level = LibraryLogLevel::kInfo;
  LibraryLog::Get().Add(
      level, "grpc", absl::StrCat(args->file, ":", args->line), args->message);
}

}  // namespace

void RouteLibraryLogs(LibraryLogWriter write) {
  LibraryLog::Get().Route(std::move(write));
  google::protobuf::SetLogHandler(OnProtobuf);
  gpr_set_log_function(OnGrpc);
}

void FlushLibraryLogs() { LibraryLog::Get().Flush(); }

}  // namespace wavetune
