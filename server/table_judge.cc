#include "server/table_judge.h"

#include "server/registry/table_staleness.h"

namespace wavetune {
namespace {

// Those of a silicon: the attached ones, else all that were seen.
std::vector<DeviceFacts> OfSilicon(
    const std::vector<AgentDirectory::Known>& known,
    const std::string& silicon_key) {
  std::vector<DeviceFacts> attached;
  std::vector<DeviceFacts> seen;
  for (const AgentDirectory::Known& device : known) {
    if (SiliconKey(device.record.facts) != silicon_key) continue;
    seen.push_back(device.record.facts);
    if (device.attached) attached.push_back(device.record.facts);
  }
  return attached.empty() ? seen : attached;
}

}  // namespace

std::string TableJudge::StaleReasonOn(const DeviceFacts& device,
                                      const TableRecord& table) const {
  return wavetune::StaleReason(table, device, *kernels_);
}

std::string TableJudge::StaleReason(const TableRecord& table) const {
  return StaleReasons({table}).front();
}

std::vector<std::string> TableJudge::StaleReasons(
    const std::vector<TableRecord>& tables) const {
  const std::vector<AgentDirectory::Known> known = devices_->List();
  std::vector<std::string> reasons;
  for (const TableRecord& table : tables) {
    reasons.push_back(wavetune::StaleReason(
        table, OfSilicon(known, table.key.silicon_key), *kernels_));
  }
  return reasons;
}

}  // namespace wavetune
