#include "server/catalog/defaults_in_use.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace wavetune {

DefaultsInUse::Defaults DefaultsInUse::Find(
    bool only_attached,
    const std::function<bool(const ProfileKey&)>& wanted) const {
  Defaults defaults;
  const auto add = [&](const ProfileKey& key,
                       const Configuration& default_configuration) {
    if (defaults.size() < DefaultFaults::kMostKept)
      defaults.emplace(key, default_configuration);
  };
  for (const auto current = options_.tables->snapshot();
       const ServingTable& table : current->tables) {
    if (wanted(table.record.key))
      add(table.record.key, table.table->table().default_configuration);
  }
  std::set<ProfileKey> seen;  // Devices are often alike.
  const std::vector<std::string> names = options_.kernels->Names();
  for (const AgentDirectory::Known& known : options_.devices->List()) {
    if (only_attached && !known.attached) continue;
    const DeviceFacts& device = known.record.facts;
    for (const std::string& name : names) {
      const auto fingerprint = options_.kernels->Fingerprint(name, device);
      if (!fingerprint.ok()) continue;
      ProfileKey key{name, *fingerprint, SiliconKey(device),
                     EnvironmentKey(device)};
      if (!wanted(key) || !seen.insert(key).second) continue;
      // Not for each key: it copies the kernel's sources.
      const auto kernel = options_.kernels->Get(name, device);
      if (!kernel.ok()) continue;
      key.fingerprint = (*kernel)->files.fingerprint;
      add(key, (*kernel)->spec.default_configuration);
    }
  }
  return defaults;
}

void DefaultsInUse::Load() {
  const auto all = [](const ProfileKey&) { return true; };
  for (const auto& [key, default_configuration] :
       Find(/*only_attached=*/false, all))
    options_.faults->Load(key, default_configuration);
  // Of what was withdrawn the kernel's folder may be gone.
  for (const auto current = options_.tables->snapshot();
       const ServingTable& withdrawn : current->withdrawn) {
    if (withdrawn.table == nullptr) continue;
    options_.faults->Load(withdrawn.record.key,
                          withdrawn.table->table().default_configuration);
  }
}

void DefaultsInUse::Reload(const ProfileKey& changed) {
  const auto is_changed = [&](const ProfileKey& key) { return key == changed; };
  for (const auto& [key, default_configuration] :
       Find(/*only_attached=*/false, is_changed))
    options_.faults->Expect(key, default_configuration);
  options_.faults->Reload(changed);
}

void DefaultsInUse::Look() {
  std::set<ProfileKey> in_use;
  const auto is_new = [&](const ProfileKey& key) {
    in_use.insert(key);
    return !found_.contains(key);
  };
  for (const auto& [key, default_configuration] :
       Find(/*only_attached=*/true, is_new))
    options_.faults->Of(key, default_configuration);
  found_.swap(in_use);
  options_.faults->RetryFailed();
}

}  // namespace wavetune
