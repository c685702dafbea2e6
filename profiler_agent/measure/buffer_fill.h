// BufferFill: what the memory behind a buffer argument holds when a measurement
// begins, and when it must be written again.
//
// Random values are written once and serve every problem, as writing them takes
// longer than launches. Buffers that kernels write into are filled again each
// time, and workspaces that are zeroed once are zeroed. How bytes come into the
// memory is the backend's.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_BUFFER_FILL_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_BUFFER_FILL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "model/kernel/argument.h"

namespace wavetune {

class BufferFill {
 public:
  // Writes zeros into the first `bytes` of the memory.
  using WriteZeros = absl::FunctionRef<absl::Status(size_t bytes)>;
  // Writes `pattern` over and over into the first `bytes` of the memory.
  using WriteValues =
      absl::FunctionRef<absl::Status(absl::string_view pattern, size_t bytes)>;

  // `seed` is of the random content.
  BufferFill(const Argument& argument, uint64_t seed)
      : argument_(argument), seed_(seed) {}

  // The memory is another one: what it holds is unknown.
  void Forget() { filled_ = false; }

  // Brings slices of `bytes` in a memory of `size` to a measurement's first
  // content: values within `below` where there is one (BelowOf), zeros, or the
  // present bytes. Calls one of the two at most. Errors: theirs; Forget then.
  absl::Status Fill(size_t bytes, size_t size, std::optional<int64_t> below,
                    WriteZeros write_zeros, WriteValues write_values);

 private:
  const Argument argument_;
  const uint64_t seed_;
  bool filled_ = false;  // All of it, with values below `below_`.
  std::optional<int64_t> below_;
  std::string pattern_;  // The whole's; kept where it is filled again.
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_BUFFER_FILL_H_
