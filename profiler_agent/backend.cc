#include "profiler_agent/backend.h"

#include "absl/strings/str_cat.h"

namespace wavetune {

absl::StatusOr<LaunchTimes> Device::MeasurePeer(const std::string& library,
                                                const Problem& /*problem*/,
                                                int /*warmup*/,
                                                int /*launches*/) {
  return absl::UnimplementedError(absl::StrCat(
      "the backend '", facts().backend, "' has no library '", library, "'"));
}

}  // namespace wavetune
