// Attached devices of one class (IsOfClass, server/store/records.h).
//
// Thread safety: as the directory.
#ifndef WAVETUNE_SERVER_JOBS_DEVICE_CLASS_H_
#define WAVETUNE_SERVER_JOBS_DEVICE_CLASS_H_

#include <string>
#include <vector>

#include "server/jobs/measurement_executor.h"
#include "server/store/records.h"

namespace wavetune {

// Whether an attached device is of the key's class; false where it is not
// attached.
bool IsOfClass(ExecutorDirectory& executors, const std::string& device_uuid,
               const ProfileKey& key);

// Returns the attached devices of the key's class, sorted.
std::vector<std::string> AttachedOfClass(ExecutorDirectory& executors,
                                         const ProfileKey& key);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_DEVICE_CLASS_H_
