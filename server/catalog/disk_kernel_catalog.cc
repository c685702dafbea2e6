#include "server/catalog/disk_kernel_catalog.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/own_files.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "model/kernel/device_implementation.h"
#include "model/kernel/device_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/specialisation_spaces.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

// Of what is wrong with a kernel: enough for some dozen faults.
constexpr size_t kMaxProblemBytes = size_t{4} << 10;

// Files of a kernel folder that are looked at for changes: a kernel has a few.
constexpr int kMaxStampedFiles = 1000;

// Returns the kernel folders in `dir`, sorted. Errors: in `error`.
std::vector<std::string> Subfolders(const std::string& dir,
                                    std::error_code& error) {
  std::vector<std::string> paths;
  for (fs::directory_iterator it(dir, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (!it->is_directory(ignored)) continue;
    if (it->path().filename().string().front() == '.') continue;
    paths.push_back(it->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

DiskKernelCatalog::Entry LoadEntry(const std::string& path) {
  DiskKernelCatalog::Entry entry;
  // Both are shown and sent; a folder may be named in any encoding.
  entry.name = PrintableText(fs::path(path).filename().string());
  entry.path = PrintableText(path);
  // Readers of the daemon make it run kernels (usage_top_ups.h), so nobody
  // else may say what these are.
  absl::StatusOr<KernelFolder> folder =
      LoadKernelFolder(path, InputKind::kOwnFile);
  if (!folder.ok()) {
    entry.problem = BoundedText(folder.status().message(), kMaxProblemBytes);
    return entry;
  }
  entry.name = folder->spec.name;
  entry.configurations = CountConfigurations(EnumerateSpaces(folder->spec));
  entry.source =
      std::make_shared<const v1::KernelSource>(KernelSourceOf(*folder));
  entry.folder = std::make_shared<const KernelFolder>(*std::move(folder));
  return entry;
}

// Appends what changes when the file is written, replaced or given away.
void AddFile(const fs::path& path, std::string& stamp) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) info = {};
  if (S_ISLNK(info.st_mode)) {
    absl::StrAppend(&stamp, info.st_uid, " ");
    if (::stat(path.c_str(), &info) != 0) info = {};
  }
  absl::StrAppend(&stamp, path.string(), " ", info.st_ino, " ", info.st_size,
                  " ", info.st_mode, " ", info.st_uid, " ", info.st_mtim.tv_sec,
                  ".", info.st_mtim.tv_nsec, "\n");
}

void AddFolder(const std::string& path, std::string& stamp) {
  AddFile(path, stamp);
  std::error_code error;
  int left = kMaxStampedFiles;
  for (fs::recursive_directory_iterator
           it(path, fs::directory_options::skip_permission_denied, error),
       end;
       !error && it != end && left-- > 0; it.increment(error)) {
    AddFile(it->path(), stamp);
  }
}

std::string Unreadable(const std::string& dir, const std::error_code& error) {
  return absl::StrCat("kernels folder ", dir,
                      " cannot be read: ", error.message(),
                      ". Let the daemon's user read it (chmod, chown), or "
                      "correct --kernels-dir");
}

// Whoever can write a kernels folder can put another kernel in a kernel's
// place. One in which everybody may make folders, but replace none of others',
// will do: each of them is judged. Errors: PERMISSION_DENIED.
absl::Status CheckOwnKernels(const std::string& dir) {
  const absl::Status own = CheckOwnFolder(dir, StickyFolder::kAllowed);
  if (!absl::IsPermissionDenied(own)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("kernels folder ", dir, " is refused: ", own.message(),
                   ", or correct --kernels-dir"));
}

// Two folders may not claim one name: the first in order keeps it.
void RefuseDuplicates(std::vector<DiskKernelCatalog::Entry>& entries) {
  std::map<std::string, std::string> owners;
  for (DiskKernelCatalog::Entry& entry : entries) {
    if (entry.folder == nullptr) continue;
    const auto [owner, added] = owners.emplace(entry.name, entry.path);
    if (added) continue;
    entry.problem =
        absl::StrCat("the kernel name \"", entry.name, "\" is taken by ",
                     owner->second, ": rename one of them");
    entry.folder = nullptr;
  }
}

}  // namespace

DiskKernelCatalog::DiskKernelCatalog(std::vector<std::string> kernels_dirs,
                                     LogLine log)
    : kernels_dirs_(std::move(kernels_dirs)), log_(std::move(log)) {}

absl::Status DiskKernelCatalog::CheckFolders() const {
  for (const std::string& dir : kernels_dirs_) {
    std::error_code error;
    if (!fs::is_directory(dir, error)) {
      return absl::NotFoundError(absl::StrCat("kernels folder ", dir,
                                              " is no readable folder: correct "
                                              "--kernels-dir or create it"));
    }
    Subfolders(dir, error);
    if (error) return absl::PermissionDeniedError(Unreadable(dir, error));
    RETURN_IF_ERROR(CheckOwnKernels(dir));
  }
  return absl::OkStatus();
}

DiskKernelCatalog::Stamp DiskKernelCatalog::StampNow() const {
  Stamp stamp;
  for (const std::string& dir : kernels_dirs_) {
    AddFile(dir, stamp);
    std::error_code error;
    for (const std::string& path : Subfolders(dir, error)) {
      AddFolder(path, stamp);
    }
    absl::StrAppend(&stamp, error.message(), "\n");
  }
  return stamp;
}

void DiskKernelCatalog::Reload() {
  std::lock_guard lock(reload_mutex_);
  Load(StampNow());
}

bool DiskKernelCatalog::Refresh() {
  std::lock_guard lock(reload_mutex_);
  Stamp stamp = StampNow();
  if (stamp == stamp_) return false;
  Load(std::move(stamp));
  return true;
}

void DiskKernelCatalog::Load(Stamp stamp) {
  // From before reading: what is written meanwhile is read again next time.
  stamp_ = std::move(stamp);
  std::vector<Entry> entries;
  std::vector<std::string> problems;
  for (const std::string& dir : kernels_dirs_) {
    if (const absl::Status own = CheckOwnKernels(dir); !own.ok()) {
      problems.emplace_back(own.message());
      continue;
    }
    std::error_code error;
    for (const std::string& path : Subfolders(dir, error)) {
      entries.push_back(LoadEntry(path));
    }
    if (error) problems.push_back(Unreadable(dir, error));
  }
  RefuseDuplicates(entries);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) {
                     return std::tie(a.name, a.path) < std::tie(b.name, b.path);
                   });
  LogNews(entries, problems);
  std::lock_guard lock(mutex_);
  entries_ = std::move(entries);
  problems_ = std::move(problems);
  views_.clear();
  fingerprints_.clear();
  ++revision_;
}

void DiskKernelCatalog::LogNews(const std::vector<Entry>& entries,
                                const std::vector<std::string>& problems) {
  std::map<std::string, std::string> now;
  for (const std::string& problem : problems) now[problem] = problem;
  for (const Entry& entry : entries) {
    if (entry.problem.empty()) continue;
    now[entry.path] = absl::StrCat("kernel folder ", entry.path,
                                   " is refused: ", entry.problem);
  }
  if (log_) {
    for (const auto& [path, text] : now) {
      const auto before = said_.find(path);
      if (before == said_.end() || before->second != text) log_(text);
    }
    for (const Entry& entry : entries) {
      if (said_.contains(entry.path) && entry.problem.empty()) {
        log_(absl::StrCat("kernel folder ", entry.path, " is valid again"));
      }
    }
  }
  said_ = std::move(now);
}

std::vector<std::string> DiskKernelCatalog::Problems() {
  std::lock_guard lock(mutex_);
  return problems_;
}

std::vector<DiskKernelCatalog::Entry> DiskKernelCatalog::List() {
  std::lock_guard lock(mutex_);
  return entries_;
}

absl::StatusOr<const DiskKernelCatalog::Entry*> DiskKernelCatalog::Lookup(
    const std::string& name) const {
  const Entry* invalid = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.name != name) continue;
    if (entry.folder != nullptr) return &entry;
    invalid = &entry;
  }
  if (invalid != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel \"", name, "\" is not valid: ", invalid->problem));
  }
  if (!problems_.empty()) {
    return absl::NotFoundError(absl::StrCat("no kernel \"", name, "\"; ",
                                            absl::StrJoin(problems_, "; ")));
  }
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (entry.folder != nullptr) names.push_back(entry.name);
  }
  return absl::NotFoundError(absl::StrCat(
      "no kernel \"", name, "\"; there ",
      names.empty() ? "are none: start the daemon with --kernels-dir"
                    : absl::StrCat("are: ", absl::StrJoin(names, ", "))));
}

std::shared_ptr<const DiskKernelCatalog::DeviceView> DiskKernelCatalog::ViewOf(
    const std::shared_ptr<const KernelFolder>& folder,
    const DeviceFacts& device) {
  const auto key =
      std::tuple(folder->spec.name, device.backend, device.architecture);
  {
    std::lock_guard lock(mutex_);
    const auto known = views_.find(key);
    if (known != views_.end()) return known->second;
  }
  auto view = std::make_shared<const DeviceView>(
      DeviceView{.spec = SpecForDevice(folder->spec, device),
                 .not_meant = CountNotMeantFor(folder->spec, device)});
  std::lock_guard lock(mutex_);
  // Not that of a folder that was replaced meanwhile.
  const auto entry = Lookup(folder->spec.name);
  if (entry.ok() && (*entry)->folder == folder) views_[key] = view;
  return view;
}

absl::StatusOr<std::shared_ptr<const TunableKernel>> DiskKernelCatalog::Get(
    const std::string& name, const DeviceFacts& device) {
  auto kernel = std::make_shared<TunableKernel>();
  std::shared_ptr<const KernelFolder> folder;
  {
    std::lock_guard lock(mutex_);
    ASSIGN_OR_RETURN(const Entry* const entry, Lookup(name));
    folder = entry->folder;
    kernel->files.source = entry->source;
    ASSIGN_OR_RETURN(kernel->files.fingerprint, FingerprintOf(*entry, device));
  }
  const std::shared_ptr<const DeviceView> view = ViewOf(folder, device);
  ASSIGN_OR_RETURN(kernel->spec, view->spec);
  kernel->not_meant_for_device = view->not_meant;
  kernel->files.name = name;
  kernel->files.dimensions = folder->spec.dimensions;
  return kernel;
}

absl::StatusOr<std::shared_ptr<const KernelSpec>> DiskKernelCatalog::Spec(
    const std::string& name) {
  std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const Entry* const entry, Lookup(name));
  return std::shared_ptr<const KernelSpec>(entry->folder, &entry->folder->spec);
}

absl::StatusOr<std::string> DiskKernelCatalog::Fingerprint(
    const std::string& name, const DeviceFacts& device) {
  std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const Entry* const entry, Lookup(name));
  return FingerprintOf(*entry, device);
}

absl::StatusOr<std::string> DiskKernelCatalog::FingerprintOf(
    const Entry& entry, const DeviceFacts& device) {
  const KernelFolder& folder = *entry.folder;
  const DeviceImplementation own = ImplementationFor(folder.spec, device);
  if (own.implementation == nullptr) {
    return NoImplementation(folder.spec, device);
  }
  auto key =
      std::tuple(folder.spec.name, own.implementation->backend, own.compiler);
  const auto known = fingerprints_.find(key);
  if (known != fingerprints_.end()) return known->second;
  std::string fingerprint = folder.Fingerprint(device);
  fingerprints_[std::move(key)] = fingerprint;
  return fingerprint;
}

std::vector<std::string> DiskKernelCatalog::Names() {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (entry.folder != nullptr) names.push_back(entry.name);
  }
  return names;
}

}  // namespace wavetune
