#include "profiler_agent/worker/program_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "profiler_agent/measure/environment_error.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

// What a compilation writes, with room to spare: PoCL's takes a few hundred KiB
// a kernel.
constexpr size_t kProbeBytes = size_t{1} << 20;

// Writes a file of that size and removes it. Returns an errno.
int Probe(const std::string& folder) {
  std::string path = absl::StrCat(folder, "/.probe.XXXXXX");
  const int file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) return errno;
  unlink(path.c_str());
  const std::string bytes(64 << 10, '\0');
  int error = 0;
  for (size_t done = 0; done < kProbeBytes && error == 0;) {
    const ssize_t wrote = write(file, bytes.data(), bytes.size());
    if (wrote < 0) {
      error = errno == EINTR ? 0 : errno;
    } else {
      done += static_cast<size_t>(wrote);
    }
  }
  close(file);
  return error;
}

int CreateAndProbe(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return error.value();
  return Probe(folder);
}

// A folder below one that all may write to must be ours alone: what is loaded
// from it runs as us.
bool CreatePrivate(const std::string& folder) {
  if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return false;
  struct stat found = {};
  return lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == geteuid() &&
         (found.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

}  // namespace

ProgramFolder::ProgramFolder(std::string path) : path_(std::move(path)) {}

std::vector<std::string> ProgramFolder::Others() {
  std::vector<std::string> folders;
  const char* const temporary = std::getenv("TMPDIR");
  if (temporary != nullptr && *temporary == '/')
    folders.emplace_back(temporary);
  folders.insert(folders.end(), {"/tmp", "/var/tmp", "/dev/shm"});
  for (std::string& folder : folders) {
    absl::StrAppend(&folder, "/wavetune-", geteuid(), "/pocl");
  }
  return folders;
}

ProgramFolder ProgramFolder::Find(const std::string& wanted,
                                  const std::vector<std::string>& others) {
  const int error = CreateAndProbe(wanted);
  if (error == 0) return ProgramFolder(wanted);
  const std::string problem =
      absl::StrCat("compiled programs cannot be kept in ", wanted, " (",
                   std::strerror(error), "): ");
  for (const std::string& other : others) {
    if (!CreatePrivate(fs::path(other).parent_path().string())) continue;
    if (CreateAndProbe(other) != 0) continue;
    LogOnce(
        LogLevel::kWarning, "programs",
        absl::StrCat(problem, "they go to ", other, " until there is space"));
    return ProgramFolder(other);
  }
  LogOnce(LogLevel::kWarning, "programs",
          absl::StrCat(problem, "nor in any folder for temporary files; ",
                       ExhaustedAdvice(Resource::kDisk)));
  return ProgramFolder(wanted);
}

absl::Status ProgramFolder::Check() const {
  const int error = Probe(path_);
  if (error == 0) return absl::OkStatus();
  return ExhaustedError(Resource::kDisk,
                        absl::StrCat("compiled programs cannot be written to ",
                                     path_, " (", std::strerror(error), ")"));
}

}  // namespace wavetune
