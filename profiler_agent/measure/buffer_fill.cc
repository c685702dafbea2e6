#include "profiler_agent/measure/buffer_fill.h"

#include "profiler_agent/measure/buffer_values.h"

namespace wavetune {

absl::Status BufferFill::Fill(size_t bytes, size_t size,
                              std::optional<int64_t> below,
                              WriteZeros write_zeros,
                              WriteValues write_values) {
  if (IsZeroedBy(argument_, Zeroed::kOnce)) return write_zeros(bytes);
  if (!HoldsValues(argument_)) return absl::OkStatus();
  const bool is_written = argument_.role == ArgumentRole::kInOut;
  if (filled_ && below_ == below && !is_written) return absl::OkStatus();
  if (!filled_ || below_ != below) {
    pattern_ = ValuePattern(argument_, below, size, seed_);
  }
  filled_ = true;
  below_ = below;
  // What was written is all in the first slice, unless it rotates.
  absl::Status status =
      write_values(pattern_, is_written && !argument_.cold ? bytes : size);
  if (!is_written) std::string().swap(pattern_);
  return status;
}

}  // namespace wavetune
