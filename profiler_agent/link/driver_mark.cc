#include "profiler_agent/link/driver_mark.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/input_file.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 4096;
constexpr const char* kVersions[] = {"/proc/driver/nvidia/version",
                                     "/sys/module/nvidia/version"};
constexpr const char* kLibraries[] = {"libcuda.so.1", "libnvidia-ml.so.1"};
constexpr const char* kFolders[] = {"/lib/x86_64-linux-gnu",
                                    "/usr/lib/x86_64-linux-gnu",
                                    "/lib/aarch64-linux-gnu",
                                    "/usr/lib/aarch64-linux-gnu",
                                    "/lib64",
                                    "/usr/lib64",
                                    "/usr/lib",
                                    "/usr/local/lib",
                                    "/usr/local/nvidia/lib64",
                                    "/usr/local/nvidia/lib",
                                    "/usr/local/cuda/compat"};

// What a file of the kernel says: their sizes are 0.
std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str().substr(0, kMostBytes);
}

void AddText(const std::string& path, std::string& mark) {
  const std::string text = TextOf(path);
  if (!text.empty()) absl::StrAppend(&mark, path, ": ", text, "\n");
}

void AddFile(const std::string& path, std::string& mark) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return;
  absl::StrAppend(&mark, path, ": ", static_cast<uint64_t>(info.st_dev), ":",
                  static_cast<uint64_t>(info.st_ino), " ",
                  static_cast<int64_t>(info.st_size), " ",
                  static_cast<int64_t>(info.st_mtim.tv_sec), ".",
                  static_cast<int64_t>(info.st_mtim.tv_nsec), "\n");
}

void AddLibrary(const DriverPlaces& places, const std::string& name,
                std::string& mark) {
  if (absl::StartsWith(name, "/")) return AddFile(places.root + name, mark);
  for (const std::string& folder : places.library_folders) {
    AddFile(absl::StrCat(places.root, folder, "/", name), mark);
  }
}

// In the order of their names, so that the same folder has the same mark.
std::vector<std::string> FilesIn(const std::string& folder,
                                 absl::string_view extension) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == std::string(extension)) {
      files.push_back(it->path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void AddVendors(const DriverPlaces& places, std::string& mark) {
  for (const std::string& path :
       FilesIn(places.root + places.opencl_vendors, ".icd")) {
    const absl::StatusOr<std::string> text = ReadInputFile(path, kMostBytes);
    if (!text.ok()) continue;
    absl::StrAppend(&mark, path, ": ", *text, "\n");
    const std::string library(absl::StripAsciiWhitespace(*text));
    if (!library.empty()) AddLibrary(places, library, mark);
  }
}

// The GPUs that the kernel's module drives, and the files by which they are
// reached: either may come after the module.
void AddGpus(const std::string& root, std::string& mark) {
  for (const auto& [folder, prefix] :
       {std::pair{"/proc/driver/nvidia/gpus", ""}, {"/dev", "nvidia"}}) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator it(root + folder, error), end;
         !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (absl::StartsWith(name, prefix) && absl::ascii_isdigit(name.back())) {
        names.push_back(name);
      }
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      absl::StrAppend(&mark, folder, "/", name, "\n");
    }
  }
}

void AddFolder(absl::string_view folder, std::vector<std::string>& folders) {
  const std::string name(absl::StripAsciiWhitespace(folder));
  const bool known =
      std::find(folders.begin(), folders.end(), name) != folders.end();
  if (absl::StartsWith(name, "/") && !known) folders.push_back(name);
}

}  // namespace

DriverPlaces DriverPlaces::OfThisProcess() {
  DriverPlaces places;
  if (const char* const path = std::getenv("LD_LIBRARY_PATH")) {
    for (const absl::string_view folder : absl::StrSplit(path, ':')) {
      AddFolder(folder, places.library_folders);
    }
  }
  for (const std::string& file : FilesIn("/etc/ld.so.conf.d", ".conf")) {
    const std::string text = TextOf(file);
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      AddFolder(line, places.library_folders);
    }
  }
  for (const char* const folder : kFolders) {
    AddFolder(folder, places.library_folders);
  }
  const char* const vendors = std::getenv("OCL_ICD_VENDORS");
  if (vendors != nullptr && *vendors == '/') places.opencl_vendors = vendors;
  return places;
}

std::string DriverMark(const DriverPlaces& places) {
  std::string mark;
  for (const char* const path : kVersions) {
    AddText(places.root + path, mark);
  }
  for (const char* const name : kLibraries) AddLibrary(places, name, mark);
  AddGpus(places.root, mark);
  AddVendors(places, mark);
  for (const std::string& path : places.files) {
    AddFile(places.root + path, mark);
  }
  return mark;
}

}  // namespace wavetune
