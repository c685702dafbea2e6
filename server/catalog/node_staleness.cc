#include "server/catalog/node_staleness.h"

#include "server/catalog/table_staleness.h"

namespace wavetune {
namespace {

std::string ReasonAmong(const std::vector<AgentDirectory::Known>& known,
                        const TableRecord& table, KernelCatalog& kernels) {
  const std::vector<DeviceFacts> of_silicon =
      AttachedElseSeen(known, [&](const DeviceFacts& device) {
        return SiliconKey(device) == table.key.silicon_key;
      });
  return StaleReason(table, of_silicon, kernels);
}

}  // namespace

std::string NodeStaleness::StaleReasonOn(const DeviceFacts& device,
                                         const TableRecord& table) const {
  return wavetune::StaleReason(table, device, *kernels_);
}

std::string NodeStaleness::StaleReason(const TableRecord& table) const {
  return ReasonAmong(devices_->List(), table, *kernels_);
}

std::vector<std::string> NodeStaleness::StaleReasons(
    const TableSnapshot& serving) const {
  const std::vector<AgentDirectory::Known> known = devices_->List();
  std::vector<std::string> reasons;
  for (const ServingTable& table : serving.tables) {
    reasons.push_back(ReasonAmong(known, table.record, *kernels_));
  }
  return reasons;
}

}  // namespace wavetune
