#include "profiler_agent/measure/program_trim.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace wavetune {
namespace {

namespace fs = std::filesystem;

// PoCL writes it with each use of a program.
constexpr char kPoclLastAccess[] = "last_accessed";

struct ProgramEntry {
  fs::path path;
  int64_t bytes = 0;
  int64_t used_us = 0;
};

int64_t MicrosecondsOf(fs::file_time_type time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::file_clock::to_sys(time).time_since_epoch())
      .count();
}

// Adds a file to its entry; not what a link leads to.
void Add(const fs::path& path, ProgramEntry& entry) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error))) return;
  const auto bytes = static_cast<int64_t>(fs::file_size(path, error));
  if (error) return;
  const fs::file_time_type used = fs::last_write_time(path, error);
  if (error) return;
  entry.bytes += bytes;
  entry.used_us = std::max(entry.used_us, MicrosecondsOf(used));
}

// Calls `take` with everything in `folder`; with what is deeper, too, unless
// `take` returns that it has taken that. A folder that cannot be read, or goes
// away meanwhile, hides nothing beside it.
template <typename Take>
void Walk(const fs::path& folder, const Take& take) {
  std::vector<fs::path> folders = {folder};
  while (!folders.empty()) {
    const fs::path next = std::move(folders.back());
    folders.pop_back();
    std::error_code error;
    for (fs::directory_iterator it(next, error), end; !error && it != end;
         it.increment(error)) {
      std::error_code ignored;
      if (!take(*it) && !it->is_symlink(ignored) && it->is_directory(ignored)) {
        folders.push_back(it->path());
      }
    }
  }
}

ProgramEntry PoclProgram(const fs::path& folder) {
  ProgramEntry program{.path = folder};
  Walk(folder, [&program](const fs::directory_entry& file) {
    Add(file.path(), program);
    return false;
  });
  return program;
}

std::vector<ProgramEntry> ProgramEntries(const fs::path& folder) {
  std::vector<ProgramEntry> entries;
  const fs::path pocl = folder / "pocl";
  Walk(folder, [&](const fs::directory_entry& found) {
    if (found.path() == pocl) return true;
    if (found.path().extension() == ".program") {
      ProgramEntry program{.path = found.path()};
      Add(found.path(), program);
      if (program.bytes > 0) entries.push_back(program);
    }
    return false;
  });
  Walk(pocl, [&entries](const fs::directory_entry& found) {
    std::error_code ignored;
    if (!fs::is_regular_file(found.path() / kPoclLastAccess, ignored) ||
        found.is_symlink(ignored)) {
      return false;
    }
    entries.push_back(PoclProgram(found.path()));
    return true;
  });
  return entries;
}

}  // namespace

TrimmedPrograms TrimPrograms(const std::string& folder, int64_t most_bytes,
                             int64_t now_us, const std::stop_token& stop) {
  std::vector<ProgramEntry> entries = ProgramEntries(folder);
  TrimmedPrograms trimmed;
  for (const ProgramEntry& entry : entries) trimmed.bytes += entry.bytes;
  std::sort(entries.begin(), entries.end(),
            [](const ProgramEntry& a, const ProgramEntry& b) {
              return a.used_us < b.used_us;
            });
  for (const ProgramEntry& entry : entries) {
    const bool in_use = now_us - entry.used_us < kProgramInUseUs;
    if (stop.stop_requested() || in_use ||
        trimmed.bytes - trimmed.removed_bytes <= most_bytes)
      break;
    std::error_code error;
    fs::remove_all(entry.path, error);
    if (error) continue;
    trimmed.removed_bytes += entry.bytes;
    ++trimmed.removed;
  }
  return trimmed;
}

}  // namespace wavetune
