// LaunchArguments: the values of a kernel function's parameters at one launch.
//
// Thread safety: none.
#ifndef WAVETUNE_LAUNCH_LAUNCH_ARGUMENTS_H_
#define WAVETUNE_LAUNCH_LAUNCH_ARGUMENTS_H_

#include <array>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "launch/launch_driver.h"
#include "model/kernel/launch_descriptor.h"
#include "wavetune/problem.h"

namespace wavetune {

// Neither copied nor moved: it points into itself.
class LaunchArguments {
 public:
  LaunchArguments() = default;
  LaunchArguments(const LaunchArguments&) = delete;
  LaunchArguments& operator=(const LaunchArguments&) = delete;

  // Sets tensor maps, addresses and scalars; at most once. Errors:
  // INVALID_ARGUMENT for buffers that are wrong in number or alignment, or a
  // problem whose maps or scalars cannot be; as LaunchDriver::Check.
  absl::Status Fill(const LaunchDriver& driver, const LaunchDescriptor& launch,
                    const ProblemView& problem,
                    absl::Span<void* const> buffers);

  // Enqueues zeroing of the workspaces that every launch finds zeroed, on
  // `stream`. After Fill; `launch` and `problem` are as there. Errors: as
  // LaunchDriver::Check.
  absl::Status ZeroWorkspaces(const LaunchDriver& driver,
                              const LaunchDescriptor& launch,
                              const ProblemView& problem,
                              CUstream stream) const;

  // As cuLaunchKernelEx takes them.
  void** pointers() { return pointers_.data(); }

 private:
  absl::Status FillValues(const LaunchDescriptor& launch,
                          const ProblemView& problem,
                          absl::Span<void* const> buffers);
  absl::Status FillMaps(const LaunchDriver& driver,
                        const LaunchDescriptor& launch,
                        const ProblemView& problem);

  // A buffer's address, or a scalar's bytes.
  union Value {
    void* address;
    std::array<char, 8> bytes;
  };
  absl::InlinedVector<CUtensorMap, 8> maps_;
  absl::InlinedVector<Value, 16> values_;
  absl::InlinedVector<void*, 24> pointers_;
};

}  // namespace wavetune

#endif  // WAVETUNE_LAUNCH_LAUNCH_ARGUMENTS_H_
