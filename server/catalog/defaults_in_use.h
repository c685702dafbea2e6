// DefaultsInUse: has DefaultFaults know of the defaults that may be decided
// with, before anybody asks for them: those of what serves, and of each kernel
// on each device.
//
// Thread safety: thread-safe, but one Look at a time.
#ifndef WAVETUNE_SERVER_CATALOG_DEFAULTS_IN_USE_H_
#define WAVETUNE_SERVER_CATALOG_DEFAULTS_IN_USE_H_

#include <functional>
#include <set>
#include <utility>

#include "server/agents/agent_directory.h"
#include "server/catalog/default_faults.h"
#include "server/catalog/disk_kernel_catalog.h"
#include "server/catalog/table_catalog.h"
#include "server/store/records.h"
#include "wavetune/configuration.h"

namespace wavetune {

class DefaultsInUse {
 public:
  // Pointers outlive the object.
  struct Options {
    const TableCatalog* tables = nullptr;
    AgentDirectory* devices = nullptr;
    DiskKernelCatalog* kernels = nullptr;
    DefaultFaults* faults = nullptr;
  };

  explicit DefaultsInUse(const Options& options) : options_(options) {}

  // Reads them, and the defaults of withdrawn tables. To be called at a start;
  // reads the disk.
  void Load();

  // A job has changed the candidates under `changed`; the default may be one
  // that nobody has asked for.
  void Reload(const ProfileKey& changed);

  // Devices that have come and kernels that were edited since the last Look may
  // have profiles of earlier times. Waits for no disk.
  void Look();

 private:
  using Defaults = std::set<std::pair<ProfileKey, Configuration>>;

  // Returns the defaults of what serves, and of each kernel on each device, or
  // each that is attached; of these the ones whose key is wanted. So many at
  // most as DefaultFaults keeps.
  Defaults Find(bool only_attached,
                const std::function<bool(const ProfileKey&)>& wanted) const;

  const Options options_;
  std::set<ProfileKey> found_;  // By the last Look; its thread's.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_DEFAULTS_IN_USE_H_
