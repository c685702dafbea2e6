// A caller's arrays: writing into them, all or nothing, and reading
// configurations.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLIENT_C_OUTPUT_BUFFER_H_
#define WAVETUNE_CLIENT_C_OUTPUT_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "wavetune/configuration.h"

namespace wavetune::c_api {

// Returns RESOURCE_EXHAUSTED: `what` is `given`, at least `needed` it takes.
absl::Status TooSmall(absl::string_view what, size_t given, size_t needed);

// Returns whether a digest fits. Errors: INVALID_ARGUMENT for a NULL;
// RESOURCE_EXHAUSTED for a `size` below WAVETUNE_DIGEST_SIZE.
absl::Status CheckDigestBuffer(const char* digest, size_t size);

// Writes a hex digest, or nothing but the 0 of an empty one. Errors: as
// CheckDigestBuffer.
absl::Status WriteDigest(absl::string_view text, char* digest, size_t size);

// Writes configurations one after the other, and how many there are to
// `*count`. Errors: INVALID_ARGUMENT for a NULL (`values` may be with capacity
// 0: nothing but the count is written then); RESOURCE_EXHAUSTED where there are
// more than `capacity`: `*count` is set all the same.
absl::Status WriteConfigurations(
    const std::vector<Configuration>& configurations, int64_t* values,
    size_t capacity, size_t* count);

// Returns `count` configurations of `parameters` values, one after the other.
// Errors: INVALID_ARGUMENT for a NULL with a count above 0; `what` names it.
absl::StatusOr<std::vector<Configuration>> ReadConfigurations(
    absl::string_view what, const int64_t* values, size_t count,
    size_t parameters);

}  // namespace wavetune::c_api

#endif  // WAVETUNE_CLIENT_C_OUTPUT_BUFFER_H_
