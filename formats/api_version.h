// Version of the API between daemon, agent and client.
#ifndef WAVETUNE_FORMATS_API_VERSION_H_
#define WAVETUNE_FORMATS_API_VERSION_H_

#include <cstdint>

#include "absl/status/status.h"

namespace wavetune {

// major * 1000 + minor. A minor only adds; a major may remove.
inline constexpr int32_t kApiVersion = 1 * 1000 + 0;

// Returns OK where a peer of version `theirs` works with us: equal majors,
// minors at most one apart. Errors: FAILED_PRECONDITION with both versions and
// which side to upgrade. `peer` and `own` name the sides: "agent", "daemon".
absl::Status CheckApiVersion(int32_t theirs, const char* peer = "peer",
                             const char* own = "this program",
                             int32_t ours = kApiVersion);

// The same for a client and its daemon, which have less to agree on: equal
// majors, any minors. 0, of a program from before these were exchanged, is OK.
absl::Status CheckClientApiVersion(int32_t theirs, const char* peer,
                                   const char* own, int32_t ours = kApiVersion);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_API_VERSION_H_
