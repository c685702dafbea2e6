// Frames on a pipe: a 4-byte little-endian length, then that many bytes.
//
// Thread safety: one reader and one writer per descriptor.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_FRAME_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_FRAME_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"

namespace wavetune {

class StarvedTime;

// Larger frames are refused: a length like that is text that somebody printed
// into the pipe. A kernel's sources are far below.
inline constexpr size_t kMaxFrameBytes = size_t{64} << 20;

using FrameDeadline = std::optional<Clock::Duration>;  // On the steady clock.

// Writes one frame, in as many pieces as the pipe takes. With a deadline the
// descriptor must be non-blocking. Errors: UNAVAILABLE when the other side is
// gone (SIGPIPE must be ignored); DEADLINE_EXCEEDED; INVALID_ARGUMENT above
// kMaxFrameBytes.
absl::Status WriteFrame(int fd, absl::string_view payload,
                        FrameDeadline deadline = std::nullopt);

// Reads one frame. Errors: OUT_OF_RANGE at the end of the stream, between
// frames or within one; DEADLINE_EXCEEDED; DATA_LOSS for a length above
// kMaxFrameBytes. Nothing can be read after an error.
absl::StatusOr<std::string> ReadFrame(int fd,
                                      FrameDeadline deadline = std::nullopt);

// Waits until something can be read, at most until `deadline`, which moves by
// the time for which whoever is to write got no core. Errors:
// DEADLINE_EXCEEDED; UNAVAILABLE.
absl::Status AwaitInput(int fd, Clock::Duration& deadline,
                        StarvedTime& starved);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_FRAME_H_
