// Files of the client library: read whole, published whole.
#ifndef WAVETUNE_CLIENT_WHOLE_FILE_H_
#define WAVETUNE_CLIENT_WHOLE_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace wavetune {

// Returns a file's content. Errors: as ReadInputFile, but DATA_LOSS above
// `max_bytes`.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path,
                                          size_t max_bytes);

// Writes beside the target and renames, so that readers see the old file or the
// new one, never a part. Errors: UNAVAILABLE with the path and the reason.
absl::Status PublishWholeFile(const std::string& path,
                              const std::string& content);

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_WHOLE_FILE_H_
