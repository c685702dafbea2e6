// DiskKernelCatalog: kernels from folders, one folder per kernel.
//
// Every subfolder of a kernels folder is a kernel. One that is wrong is listed
// with what is wrong; the others work. Wrong is also what others than root and
// this process's user could change (base/own_files.h): kernels run with the
// rights of the agent. A kernels folder that cannot be read, or that others can
// write, is listed, too, without its kernels. A refusal, and its end, is logged
// once.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_CATALOG_DISK_KERNEL_CATALOG_H_
#define WAVETUNE_SERVER_CATALOG_DISK_KERNEL_CATALOG_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/kernel_folder.h"
#include "server/catalog/kernel_catalog.h"

namespace wavetune {

class DiskKernelCatalog : public KernelCatalog {
 public:
  // One kernel folder, valid or not.
  struct Entry {
    std::string name;  // The folder's where the manifest gives none.
    std::string path;
    std::shared_ptr<const KernelFolder> folder;      // nullptr: see problem.
    std::shared_ptr<const v1::KernelSource> source;  // As it is sent.
    int64_t configurations = 0;
    std::string problem;  // Empty: valid.
  };

  using LogLine = std::function<void(const std::string&)>;

  // Call Reload before first use.
  explicit DiskKernelCatalog(std::vector<std::string> kernels_dirs,
                             LogLine log = nullptr);

  // Returns NOT_FOUND for a kernels folder that is none, PERMISSION_DENIED for
  // one that cannot be read, or that others can write. A start with a mistyped
  // path should fail; a folder that vanishes later should not stop the daemon.
  absl::Status CheckFolders() const;

  // Returns all kernel folders, sorted by name, then path.
  std::vector<Entry> List();

  // Returns what is wrong with kernels folders, one a text; empty where all can
  // be read and are this user's.
  std::vector<std::string> Problems();

  // Looks again where any file of a kernels folder has changed since: another
  // size, time of modification or inode. Returns whether one had. Reads the
  // folders' metadata; call it from a thread that may wait for a disk.
  bool Refresh();

  absl::StatusOr<std::shared_ptr<const TunableKernel>> Get(
      const std::string& name, const DeviceFacts& device) override;
  absl::StatusOr<std::shared_ptr<const KernelSpec>> Spec(
      const std::string& name) override;
  absl::StatusOr<std::string> Fingerprint(const std::string& name,
                                          const DeviceFacts& device) override;
  std::vector<std::string> Names() override;
  uint64_t Revision() const override { return revision_.load(); }
  void Reload() override;

 private:
  // What the kernels folders' files looked like: a text that changes with them.
  using Stamp = std::string;

  // What a kind of device sees of a kernel.
  struct DeviceView {
    absl::StatusOr<KernelSpec> spec;
    int64_t not_meant = 0;
  };

  // Returns the fingerprint that an entry has on `device`. Errors:
  // FAILED_PRECONDITION as Get. Holds mutex_.
  absl::StatusOr<std::string> FingerprintOf(const Entry& entry,
                                            const DeviceFacts& device);
  // Returns a valid kernel's entry. Holds mutex_.
  absl::StatusOr<const Entry*> Lookup(const std::string& name) const;
  // Kept, since making one enumerates the space and every table lookup asks.
  std::shared_ptr<const DeviceView> ViewOf(
      const std::shared_ptr<const KernelFolder>& folder,
      const DeviceFacts& device);

  Stamp StampNow() const;
  // Reload with `stamp` from before it. Holds reload_mutex_.
  void Load(Stamp stamp);
  // Logs faults that are new. Holds reload_mutex_.
  void LogNews(const std::vector<Entry>& entries,
               const std::vector<std::string>& problems);

  const std::vector<std::string> kernels_dirs_;
  const LogLine log_;
  std::mutex reload_mutex_;  // One reload at a time; taken before mutex_.
  // Guarded by reload_mutex_.
  Stamp stamp_;
  std::map<std::string, std::string> said_;  // Path to problem.

  std::atomic<uint64_t> revision_ = 0;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<Entry> entries_;
  std::vector<std::string> problems_;
  // By name, backend and compiler; of the folders in entries_.
  std::map<std::tuple<std::string, std::string, std::string>, std::string>
      fingerprints_;
  // By name, backend and architecture; of the folders in entries_.
  std::map<std::tuple<std::string, std::string, std::string>,
           std::shared_ptr<const DeviceView>>
      views_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_DISK_KERNEL_CATALOG_H_
