// LoadedCandidate: one exported configuration in a CUDA context.
//
// Thread safety: immutable once loaded.
#ifndef WAVETUNE_LAUNCH_LOADED_CANDIDATE_H_
#define WAVETUNE_LAUNCH_LOADED_CANDIDATE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "launch/launch_driver.h"
#include "launch/launch_file.h"
#include "wavetune/problem.h"

namespace wavetune {

// What every candidate is loaded with and launched by.
struct LaunchTarget {
  const LaunchDriver* driver = nullptr;
  int32_t multiprocessors = 1;
  int32_t max_shared_bytes = 0;  // A block's, opted in.
};

class LoadedCandidate {
 public:
  // Loads `code` and admits its launches. Errors: as ExportedKernel::Load.
  static absl::StatusOr<LoadedCandidate> Load(const LaunchTarget& target,
                                              LaunchCandidate candidate,
                                              const std::string& code);
  ~LoadedCandidate();
  LoadedCandidate(LoadedCandidate&& other) noexcept;
  LoadedCandidate& operator=(LoadedCandidate&&) = delete;

  const LaunchCandidate& candidate() const { return candidate_; }

  // As ExportedKernel::Launch, for a problem whose extents are in range.
  absl::Status Launch(CUstream stream, const ProblemView& problem,
                      int repeated_dimension,
                      absl::Span<void* const> buffers) const;

 private:
  LoadedCandidate(const LaunchTarget& target, LaunchCandidate candidate)
      : target_(target), candidate_(std::move(candidate)) {}

  absl::Status Admit();
  // Blocks that are resident at once.
  absl::StatusOr<int64_t> ResidentBlocks(const LaunchShape& shape) const;

  LaunchTarget target_;
  LaunchCandidate candidate_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  int64_t resident_blocks_ = 0;  // 0: depends on the problem.
};

}  // namespace wavetune

#endif  // WAVETUNE_LAUNCH_LOADED_CANDIDATE_H_
