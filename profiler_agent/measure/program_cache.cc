#include "profiler_agent/measure/program_cache.h"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/digest.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDigestDigits = 64;
// An entry that is used all the time is not written to all the time.
constexpr std::chrono::hours kMarkInterval(1);

// The same words for each program, so that a log need not repeat them.
absl::Status CannotKeep(const std::string& directory,
                        absl::string_view reason) {
  return absl::InternalError(absl::StrCat(
      "compiled programs cannot be kept in ", directory, " (", reason,
      "), and are compiled again next time: free space there, or start the "
      "agent with another --cache-dir"));
}

// Where that fails the entry is only taken for an older one.
void MarkUsed(const std::string& path) {
  std::error_code ignored;
  const fs::file_time_type now = fs::file_time_type::clock::now();
  if (now - fs::last_write_time(path, ignored) > kMarkInterval) {
    fs::last_write_time(path, now, ignored);
  }
}

}  // namespace

ProgramCache::ProgramCache(std::string directory)
    : directory_(std::move(directory)) {}

std::string ProgramCache::Key(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) {
    absl::StrAppend(&all, part.size(), ":", part);
  }
  return Sha256Hex(all);
}

std::optional<std::string> ProgramCache::Find(const std::string& key) const {
  if (directory_.empty()) return std::nullopt;
  // Opening a pipe would wait for who writes to it; a link may lead anywhere.
  std::error_code ignored;
  if (!fs::is_regular_file(fs::symlink_status(PathOf(key), ignored))) {
    return std::nullopt;
  }
  std::ifstream file(PathOf(key), std::ios::binary);
  if (!file) return std::nullopt;
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() < kDigestDigits) {
    Remove(key);
    return std::nullopt;
  }
  std::string program = bytes.substr(kDigestDigits);
  if (bytes.compare(0, kDigestDigits, Sha256Hex(program)) != 0) {
    Remove(key);
    return std::nullopt;
  }
  MarkUsed(PathOf(key));
  return program;
}

absl::Status ProgramCache::Store(const std::string& key,
                                 absl::string_view program) const {
  if (directory_.empty()) return absl::OkStatus();
  std::error_code error;
  fs::create_directories(directory_, error);
  error = WriteFileAtomically(PathOf(key),
                              absl::StrCat(Sha256Hex(program), program));
  return error ? CannotKeep(directory_, error.message()) : absl::OkStatus();
}

void ProgramCache::Remove(const std::string& key) const {
  if (directory_.empty()) return;
  std::error_code ignored;
  fs::remove(PathOf(key), ignored);
}

std::string ProgramCache::PathOf(const std::string& key) const {
  return absl::StrCat(directory_, "/", key, ".program");
}

}  // namespace wavetune
