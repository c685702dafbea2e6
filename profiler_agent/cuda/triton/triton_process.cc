#include "profiler_agent/cuda/triton/triton_process.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "profiler_agent/cuda/triton/triton_scripts.h"
#include "profiler_agent/measure/environment_error.h"
#include "profiler_agent/worker/frame.h"
#include "profiler_agent/worker/starved_time.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr absl::string_view kPrefix = "wavetune-triton-";

fs::path TemporaryFolder() {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  return error ? fs::path("/tmp") : folder;
}

// In a folder where everybody may make theirs, names prove nothing.
bool IsOurs(const fs::path& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == geteuid();
}

bool IsDead(pid_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

// Removes the scratch folders of workers that were killed: these could not.
void RemoveAbandoned(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    absl::string_view rest = name;
    if (!absl::ConsumePrefix(&rest, kPrefix)) continue;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(rest, absl::MaxSplits('-', 1));
    pid_t owner = 0;
    if (!absl::SimpleAtoi(parts.first, &owner) || !IsDead(owner)) continue;
    if (!IsOurs(it->path())) continue;
    std::error_code ignored;  // Another worker was faster.
    fs::remove_all(it->path(), ignored);
  }
}

absl::StatusOr<std::string> MakeScratch() {
  const fs::path folder = TemporaryFolder();
  RemoveAbandoned(folder);
  std::string path =
      (folder / absl::StrCat(kPrefix, getpid(), "-XXXXXX")).string();
  if (mkdtemp(path.data()) != nullptr) return path;
  return absl::UnavailableError(
      absl::StrCat("no folder for Triton's files can be made as ", path, ": ",
                   std::strerror(errno), "; set TMPDIR to one that can"));
}

// An operator, or the kernel for want of memory, killed it: no fault of what it
// compiled.
absl::Status WhyItDied(PipedProcess& process) {
  absl::Status died = process.Died();
  if (!absl::IsCancelled(died)) return died;
  return ExhaustedError(Resource::kKilled, died.message());
}

void RemoveScratch(const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

}  // namespace

std::vector<std::string> TritonEnvironment() {
  // What Python and Triton need to be found and to run, and nothing that
  // changes machine code, but which ptxas compiles: that is a part of the
  // compiler's name. What else the agent was given (a key, a password) is not a
  // kernel's business.
  constexpr const char* kKept[] = {"PATH",
                                   "LD_LIBRARY_PATH",
                                   "HOME",
                                   "TMPDIR",
                                   "LANG",
                                   "LC_ALL",
                                   "LC_CTYPE",
                                   "TZ",
                                   "PYTHONHOME",
                                   "PYTHONPATH",
                                   "TRITON_PTXAS_PATH",
                                   "TRITON_PTXAS_BLACKWELL_PATH"};
  std::vector<std::string> variables;
  for (const char* const name : kKept) {
    if (const char* const value = getenv(name)) {
      variables.push_back(absl::StrCat(name, "=", value));
    }
  }
  return variables;
}

absl::StatusOr<std::unique_ptr<TritonProcess>> TritonProcess::Start(
    const std::string& python) {
  ASSIGN_OR_RETURN(std::string scratch, MakeScratch());
  const std::vector<std::string> environment = TritonEnvironment();
  absl::StatusOr<std::unique_ptr<PipedProcess>> process = PipedProcess::Start(
      {python, "-c", std::string(triton_scripts::kServer), scratch},
      "Triton compiler", &environment);
  if (!process.ok()) {
    RemoveScratch(scratch);
    return process.status();
  }
  return std::unique_ptr<TritonProcess>(
      new TritonProcess(std::move(scratch), *std::move(process)));
}

TritonProcess::TritonProcess(std::string scratch,
                             std::unique_ptr<PipedProcess> process)
    : scratch_(std::move(scratch)), process_(std::move(process)) {}

TritonProcess::~TritonProcess() {
  if (process_->running()) process_->End();
  RemoveScratch(scratch_);
}

absl::StatusOr<Json> TritonProcess::Call(const Json& request,
                                         std::chrono::milliseconds timeout) {
  // It is a worker's child, which is nice to others (starved_time.h).
  StarvedTime starved(process_->pid(), kMostStarvedTimeouts * timeout);
  Clock::Duration deadline = SystemClock().SteadyNow() + timeout;
  absl::Status status = WriteFrame(process_->input(), request.dump(), deadline);
  if (status.ok()) {
    status = AwaitInput(process_->output(), deadline, starved);
  }
  absl::StatusOr<std::string> frame =
      status.ok() ? ReadFrame(process_->output(), deadline)
                  : absl::StatusOr<std::string>(std::move(status));
  if (absl::IsDeadlineExceeded(frame.status())) {
    process_->End();
    return absl::DeadlineExceededError(absl::StrCat(
        "no answer within ", static_cast<double>(timeout.count()) / 1000,
        " s; the Triton compiler was killed"));
  }
  if (absl::IsOutOfRange(frame.status()) ||
      absl::IsUnavailable(frame.status())) {
    return WhyItDied(*process_);
  }
  const Json answer =
      frame.ok() ? Json::parse(*frame, nullptr, /*allow_exceptions=*/false)
                 : Json(Json::value_t::discarded);
  if (!answer.is_object()) {
    process_->End();
    return absl::DataLossError(
        "the Triton compiler does not speak the protocol");
  }
  if (answer.contains("error")) {
    return absl::InvalidArgumentError(answer.value("error", ""));
  }
  return answer;
}

}  // namespace wavetune
