#include "server/jobs/device_class.h"

namespace wavetune {

bool IsOfClass(ExecutorDirectory& executors, const std::string& device_uuid,
               const ProfileKey& key) {
  const auto executor = executors.Find(device_uuid, 0);
  return executor != nullptr && IsOfClass(executor->device(), key);
}

std::vector<std::string> AttachedOfClass(ExecutorDirectory& executors,
                                         const ProfileKey& key) {
  std::vector<std::string> attached = executors.Attached();
  std::erase_if(attached, [&](const std::string& uuid) {
    return !IsOfClass(executors, uuid, key);
  });
  return attached;
}

}  // namespace wavetune
