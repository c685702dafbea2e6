// The correctness check: a candidate and the manifest's reference on the same
// inputs. What differs between backends is how they run.
#ifndef WAVETUNE_PROFILER_AGENT_RESULT_CHECK_H_
#define WAVETUNE_PROFILER_AGENT_RESULT_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernel/configuration.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/problem.h"

namespace wavetune {

// One run on buffers of its own. Used by one thread, calls in this order.
class CheckedRun {
 public:
  virtual ~CheckedRun() = default;

  // Allocates the buffer of an argument, filled with `content`. Errors: as
  // Device::Prepare.
  virtual absl::Status AddBuffer(size_t argument,
                                 const std::string& content) = 0;

  // Launches on the buffers and waits. Errors: as Device::Prepare.
  virtual absl::Status Execute() = 0;

  // Returns what a buffer holds, all that was allocated. Errors: as
  // Device::Prepare.
  virtual absl::StatusOr<std::string> Content(size_t argument) = 0;
};

// Runs both on the same random inputs (of `seed`), outputs poisoned, and
// compares every output. Elements just past an output must stay as they were.
// Errors: DATA_LOSS naming the output and its error; those of `candidate`;
// those of `reference`, as BrokenReference says them.
absl::Status CheckResults(const KernelSpec& spec,
                          const Configuration& configuration,
                          const Problem& problem, uint64_t seed,
                          CheckedRun& candidate, CheckedRun& reference);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_RESULT_CHECK_H_
