// KernelCatalog: the kernels that can be tuned.
//
// server/catalog/disk_kernel_catalog.h reads them from folders; tests use
// FakeKernelCatalog.
#ifndef WAVETUNE_SERVER_CATALOG_KERNEL_CATALOG_H_
#define WAVETUNE_SERVER_CATALOG_KERNEL_CATALOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/kernel/device.h"
#include "model/kernel/kernel_spec.h"
#include "server/jobs/measurement_executor.h"

namespace wavetune {

// A kernel as it was when read, for one device.
struct TunableKernel {
  KernelSpec spec;  // As the device tunes it: SpecForDevice
                    // (model/kernel/device_space.h).
  KernelFiles files;
  // Configurations of the manifest's space that are not meant for the device.
  int64_t not_meant_for_device = 0;
};

// Thread-safe.
class KernelCatalog {
 public:
  virtual ~KernelCatalog() = default;

  // Returns a kernel with its fingerprint on `device`. Errors: NOT_FOUND naming
  // what there is; INVALID_ARGUMENT with the manifest's problem;
  // FAILED_PRECONDITION where the kernel has no implementation for the
  // device's backend, or nothing that is meant for the device.
  virtual absl::StatusOr<std::shared_ptr<const TunableKernel>> Get(
      const std::string& name, const DeviceFacts& device) = 0;

  // Returns a valid kernel's spec as the manifest has it. Errors: NOT_FOUND,
  // INVALID_ARGUMENT as Get.
  virtual absl::StatusOr<std::shared_ptr<const KernelSpec>> Spec(
      const std::string& name) = 0;

  // Returns the hex fingerprint that the kernel has now on `device`. Errors:
  // as Get. Cheap: every table lookup asks.
  virtual absl::StatusOr<std::string> Fingerprint(
      const std::string& name, const DeviceFacts& device) = 0;

  // Returns the names of valid kernels, sorted.
  virtual std::vector<std::string> Names() = 0;

  // Returns a number that grows with each change of what Fingerprint returns.
  virtual uint64_t Revision() const = 0;

  // Looks again at what there is. Cannot fail: what is wrong is a kernel's
  // problem.
  virtual void Reload() = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_KERNEL_CATALOG_H_
