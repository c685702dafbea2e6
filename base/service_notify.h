// Messages to a service manager about a process. systemd units of Type=notify
// count as started when the process can do its work. They are ended and started
// anew where it gives no sign of life for WatchdogSec.
//
// Where no manager asked for it (NOTIFY_SOCKET is not set) these do nothing.
// Thread safety: thread-safe; they never wait, and a manager that cannot be
// told is no error.
#ifndef WAVETUNE_BASE_SERVICE_NOTIFY_H_
#define WAVETUNE_BASE_SERVICE_NOTIFY_H_

#include "absl/strings/string_view.h"

namespace wavetune {

// The work can be done, or can again after NotifyReloading. `state` is what
// `systemctl status` shows of it, a line.
void NotifyReady(absl::string_view state);

// The configuration is read again; ends with NotifyReady.
void NotifyReloading();

// The process ends in order.
void NotifyStopping();

// What `systemctl status` shows from now on.
void NotifyState(absl::string_view state);

// A sign of life: to be given at least twice in each WatchdogSec.
void NotifyAlive();

}  // namespace wavetune

#endif  // WAVETUNE_BASE_SERVICE_NOTIFY_H_
