// Files of the client library: read whole, published whole.
#ifndef WAVETUNE_BASE_WHOLE_FILE_H_
#define WAVETUNE_BASE_WHOLE_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/input_file.h"

namespace wavetune {

// Returns a file's content. Errors: as ReadInputFile, but DATA_LOSS above
// `max_bytes`.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path,
                                          size_t max_bytes,
                                          InputKind kind = InputKind::kFile);

// Writes beside the target and renames, so that readers see the old file or the
// new one, never a part; neither through a link, nor into a file that is there.
// Others may read it. Errors: UNAVAILABLE with the path and the reason.
absl::Status PublishWholeFile(const std::string& path,
                              const std::string& content);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_WHOLE_FILE_H_
