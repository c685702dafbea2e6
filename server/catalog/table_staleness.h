// StaleReason: whether a table is still about what the node has.
//
// A table is of one silicon (else it is no answer at all), one environment
// (driver, runtime, power limit) and one fingerprint (manifest, sources,
// compile options, compiler). Where the environment or the fingerprint is
// another one by now its predictions may be wrong: it goes on serving, because
// it still beats the default, but says so everywhere. So does one that was
// imported, or shipped with its kernel, and that nothing here has measured.
//
// Thread safety: functions; as thread-safe as the catalog given.
#ifndef WAVETUNE_SERVER_CATALOG_TABLE_STALENESS_H_
#define WAVETUNE_SERVER_CATALOG_TABLE_STALENESS_H_

#include <string>
#include <vector>

#include "model/kernel/device.h"
#include "server/catalog/kernel_catalog.h"
#include "server/store/records.h"

namespace wavetune {

struct KernelSpec;

// Returns what differs between what a table was measured with and `device` with
// the kernel as `kernels` has it now, for people; empty where nothing does. Of
// a kernel that is not there, or not valid, only the environment is compared.
// Cannot fail.
std::string StaleReason(const TableRecord& table, const DeviceFacts& device,
                        KernelCatalog& kernels);

// Returns whether the kernel as `kernels` has it now is that of the table but
// for the compiler of the device: manifest and sources are the same. Cannot
// fail.
bool DiffersByCompilerAlone(const TableRecord& table, const KernelSpec& spec,
                            const DeviceFacts& device, KernelCatalog& kernels);

// Returns the same for a node: empty where the table is current on one of the
// devices of its silicon, or there is none; else what differs on the first. An
// one from elsewhere that is not verified is current nowhere.
std::string StaleReason(const TableRecord& table,
                        const std::vector<DeviceFacts>& devices,
                        KernelCatalog& kernels);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_TABLE_STALENESS_H_
