// NodeStaleness: whether a table is current on this node.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_CATALOG_NODE_STALENESS_H_
#define WAVETUNE_SERVER_CATALOG_NODE_STALENESS_H_

#include <string>
#include <vector>

#include "model/kernel/device.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/kernel_catalog.h"
#include "server/catalog/table_catalog.h"
#include "server/store/records.h"

namespace wavetune {

class NodeStaleness {
 public:
  // Both outlive the object.
  NodeStaleness(AgentDirectory* devices, KernelCatalog* kernels)
      : devices_(devices), kernels_(kernels) {}

  // Returns what differs on a device (StaleReason); empty: nothing does.
  std::string StaleReasonOn(const DeviceFacts& device,
                            const TableRecord& table) const;

  // Returns what differs on this node: on the attached devices of the table's
  // silicon, or where none is attached on those seen before. Empty where the
  // table is current on one of them, or there is none to tell by.
  std::string StaleReason(const TableRecord& table) const;
  // The same of what serves, in order: the devices are looked at once.
  std::vector<std::string> StaleReasons(const TableSnapshot& serving) const;

 private:
  AgentDirectory* const devices_;
  KernelCatalog* const kernels_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_NODE_STALENESS_H_
