// DiskKernelCatalog: kernels from folders, one folder per kernel.
//
// Every subfolder of a kernels folder is a kernel. One that is wrong is listed
// with what is wrong; the others work. Wrong is also what others than root and
// this process's user could change (proto/convert/own_files.h): kernels run
// with the rights of the agent.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_DISK_KERNEL_CATALOG_H_
#define WAVETUNE_SERVER_DISK_KERNEL_CATALOG_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/convert/kernel_folder.h"
#include "server/registry/kernel_catalog.h"

namespace wavetune {

class DiskKernelCatalog : public KernelCatalog {
 public:
  // One kernel folder, valid or not.
  struct Entry {
    std::string name;  // The folder's where the manifest gives none.
    std::string path;
    std::shared_ptr<const KernelFolder> folder;  // nullptr: see problem.
    int64_t configurations = 0;
    std::string problem;  // Empty: valid.
  };

  // Call Reload before first use.
  explicit DiskKernelCatalog(std::vector<std::string> kernels_dirs);

  // Returns NOT_FOUND for a kernels folder that is none. A start with a
  // mistyped path should fail; a folder that vanishes later should not stop
  // the daemon.
  absl::Status CheckFolders() const;

  // Returns all kernel folders, sorted by name, then path.
  std::vector<Entry> List();

  absl::StatusOr<std::shared_ptr<const TunableKernel>> Get(
      const std::string& name, const DeviceFacts& device) override;
  absl::StatusOr<std::shared_ptr<const KernelSpec>> Spec(
      const std::string& name) override;
  std::vector<std::string> Names() override;
  void Reload() override;

 private:
  // What a kind of device sees of a kernel.
  struct DeviceView {
    absl::StatusOr<KernelSpec> spec;
    int64_t not_meant = 0;
  };

  // Returns a valid kernel's entry. Holds mutex_.
  absl::StatusOr<const Entry*> Lookup(const std::string& name) const;
  // Kept, since making one enumerates the space and every table lookup asks.
  std::shared_ptr<const DeviceView> ViewOf(
      const std::shared_ptr<const KernelFolder>& folder,
      const DeviceFacts& device);

  const std::vector<std::string> kernels_dirs_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<Entry> entries_;
  // By name, backend and architecture; of the folders in entries_.
  std::map<std::tuple<std::string, std::string, std::string>,
           std::shared_ptr<const DeviceView>>
      views_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_DISK_KERNEL_CATALOG_H_
