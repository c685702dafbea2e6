// Groups of a Unix system by name.
//
// Thread safety: a function; it reads the system's list of groups.
#ifndef WAVETUNE_BASE_UNIX_GROUP_H_
#define WAVETUNE_BASE_UNIX_GROUP_H_

#include <unistd.h>

#include <string>

#include "absl/status/statusor.h"

namespace wavetune {

// Returns the number of a group that is named, or given as a number. Errors:
// NOT_FOUND naming the command that makes it; INVALID_ARGUMENT for a number
// that is no group's.
absl::StatusOr<gid_t> FindGroup(const std::string& name);

// Returns a group's name, or its number where it has none. Cannot fail.
std::string GroupName(gid_t id);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_UNIX_GROUP_H_
