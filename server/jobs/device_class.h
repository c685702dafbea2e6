// Devices of one class: of one silicon and environment, so that they have the
// same samples and tables.
//
// Thread safety: as the directory.
#ifndef WAVETUNE_SERVER_JOBS_DEVICE_CLASS_H_
#define WAVETUNE_SERVER_JOBS_DEVICE_CLASS_H_

#include <string>
#include <vector>

#include "model/kernel/device.h"
#include "server/jobs/measurement_executor.h"
#include "server/store/records.h"

namespace wavetune {

// Whether a device is of the key's class.
bool IsOfClass(const DeviceFacts& device, const ProfileKey& key);
// The same of an attached one; false where it is not attached.
bool IsOfClass(ExecutorDirectory& executors, const std::string& device_uuid,
               const ProfileKey& key);

// Returns the attached devices of the key's class, sorted.
std::vector<std::string> AttachedOfClass(ExecutorDirectory& executors,
                                         const ProfileKey& key);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_DEVICE_CLASS_H_
