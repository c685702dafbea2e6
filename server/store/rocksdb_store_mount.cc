#include "server/store/rocksdb_store_mount.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

std::string TextOf(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The field number `index` of each line that has it, without the octal numbers
// that blanks and the like are written as.
std::vector<std::string> Column(absl::string_view text, size_t index) {
  std::vector<std::string> column;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "#")) continue;
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (fields.size() <= index) continue;
    column.push_back(absl::StrReplaceAll(
        fields[index],
        {{"\\040", " "}, {"\\011", "\t"}, {"\\012", "\n"}, {"\\134", "\\"}}));
  }
  return column;
}

// Without links, as far as it is there.
fs::path Whole(const std::string& path) {
  std::error_code error;
  fs::path whole = fs::weakly_canonical(path, error);
  if (error) whole = fs::absolute(path, error);
  if (!whole.has_filename()) whole = whole.parent_path();  // "store/".
  return whole;
}

bool IsIn(const fs::path& folder, const fs::path& path) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end())
             .first == folder.end();
}

fs::path MemoryOf(const fs::path& store) {
  return store.parent_path() /
         absl::StrCat(".", store.filename().string(), ".mounted");
}

std::set<std::string> MountPoints(const MountFacts& facts) {
  const std::vector<std::string> points = Column(facts.mount_info, 4);
  return {points.begin(), points.end()};
}

}  // namespace

MountFacts MountFacts::OfThisMachine() {
  return {.fstab = TextOf("/etc/fstab"),
          .mount_info = TextOf("/proc/self/mountinfo")};
}

absl::Status CheckMounted(const std::string& path, const MountFacts& facts) {
  const std::set<std::string> mounted = MountPoints(facts);
  if (mounted.empty()) return absl::OkStatus();
  const fs::path store = Whole(path);
  for (const std::string& point : Column(facts.fstab, 1)) {
    if (!absl::StartsWith(point, "/") || !IsIn(Whole(point), store) ||
        mounted.contains(Whole(point))) {
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "there is no store at ", path, ", and ", point,
        ", which /etc/fstab names, is not mounted: mount it (a store that is "
        "made without it is another, empty one), or pass another --store"));
  }
  std::error_code error;
  if (mounted.contains(store) || !fs::exists(MemoryOf(store), error)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "there is no store at ", path,
      ", and there was one on a disk that was "
      "mounted there: mount it; to begin an empty store instead, remove ",
      MemoryOf(store).string()));
}

void RememberMount(const std::string& path, const MountFacts& facts) {
  const fs::path store = Whole(path);
  std::error_code ignored;
  if (MountPoints(facts).contains(store)) {
    std::ofstream(MemoryOf(store)) << "A store was opened on a disk that was "
                                      "mounted here.\n";
  } else {
    fs::remove(MemoryOf(store), ignored);
  }
}

}  // namespace wavetune
