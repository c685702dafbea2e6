#include "server/disk_kernel_catalog.h"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/kernel/device_space.h"
#include "model/kernel/kernel_validation.h"
#include "model/printable_text.h"
#include "model/status_macros.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

// Of what is wrong with a kernel: enough for some dozen faults.
constexpr size_t kMaxProblemBytes = size_t{4} << 10;

std::vector<std::string> Subfolders(const std::string& dir) {
  std::vector<std::string> paths;
  std::error_code error;
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
  // Readers of the daemon make it run kernels (usage_refiner.h), so nobody
  // else may say what these are.
  absl::StatusOr<KernelFolder> folder =
      LoadKernelFolder(path, InputKind::kOwnFile);
  if (!folder.ok()) {
    entry.problem = BoundedText(folder.status().message(), kMaxProblemBytes);
    return entry;
  }
  entry.name = folder->spec.name;
  entry.configurations =
      static_cast<int64_t>(EnumerateConfigurations(folder->spec).size());
  entry.folder = std::make_shared<const KernelFolder>(*std::move(folder));
  return entry;
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

std::string BackendsOf(const KernelSpec& spec) {
  return absl::StrJoin(spec.implementations, ", ",
                       [](std::string* out, const Implementation& i) {
                         absl::StrAppend(out, i.backend);
                       });
}

}  // namespace

DiskKernelCatalog::DiskKernelCatalog(std::vector<std::string> kernels_dirs)
    : kernels_dirs_(std::move(kernels_dirs)) {}

absl::Status DiskKernelCatalog::CheckFolders() const {
  for (const std::string& dir : kernels_dirs_) {
    std::error_code error;
    if (!fs::is_directory(dir, error)) {
      return absl::NotFoundError(absl::StrCat("kernels folder ", dir,
                                              " is no readable folder: correct "
                                              "--kernels-dir or create it"));
    }
  }
  return absl::OkStatus();
}

void DiskKernelCatalog::Reload() {
  std::vector<Entry> entries;
  for (const std::string& dir : kernels_dirs_) {
    for (const std::string& path : Subfolders(dir)) {
      entries.push_back(LoadEntry(path));
    }
  }
  RefuseDuplicates(entries);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) {
                     return std::tie(a.name, a.path) < std::tie(b.name, b.path);
                   });
  std::lock_guard lock(mutex_);
  entries_ = std::move(entries);
  views_.clear();
}

std::vector<DiskKernelCatalog::Entry> DiskKernelCatalog::List() {
  std::lock_guard lock(mutex_);
  return entries_;
}

absl::StatusOr<const DiskKernelCatalog::Entry*> DiskKernelCatalog::Lookup(
    const std::string& name) const {
  const Entry* invalid = nullptr;
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (entry.folder != nullptr) names.push_back(entry.name);
    if (entry.name != name) continue;
    if (entry.folder != nullptr) return &entry;
    invalid = &entry;
  }
  if (invalid != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel \"", name, "\" is not valid: ", invalid->problem));
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
  std::shared_ptr<const KernelFolder> folder;
  {
    std::lock_guard lock(mutex_);
    ASSIGN_OR_RETURN(const Entry* const entry, Lookup(name));
    folder = entry->folder;
  }
  if (folder->spec.ImplementationOf(device.backend) == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "kernel \"", name, "\" has no implementation for backend \"",
        device.backend, "\" of device ", device.uuid,
        "; it has: ", BackendsOf(folder->spec)));
  }
  const std::shared_ptr<const DeviceView> view = ViewOf(folder, device);
  auto kernel = std::make_shared<TunableKernel>();
  ASSIGN_OR_RETURN(kernel->spec, view->spec);
  kernel->not_meant_for_device = view->not_meant;
  kernel->files.name = name;
  kernel->files.fingerprint =
      folder->Fingerprint(device.backend, device.compiler);
  kernel->files.spec_bytes = folder->proto.SerializeAsString();
  for (const v1::SourceFile& source : folder->sources) {
    kernel->files.files.push_back({source.name(), source.content()});
  }
  return kernel;
}

absl::StatusOr<std::shared_ptr<const KernelSpec>> DiskKernelCatalog::Spec(
    const std::string& name) {
  std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const Entry* const entry, Lookup(name));
  return std::shared_ptr<const KernelSpec>(entry->folder, &entry->folder->spec);
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
