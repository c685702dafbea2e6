// Whether what a program printed has arrived. A program that says "ok" into a
// full disk has failed.
//
// Thread safety: as the stream's.
#ifndef WAVETUNE_BASE_STANDARD_OUTPUT_H_
#define WAVETUNE_BASE_STANDARD_OUTPUT_H_

#include <ostream>

#include "absl/status/status.h"

namespace wavetune {

// Flushes `out`; call at the end. Errors: INTERNAL with the reason where this
// or anything before could not be written.
absl::Status FinishOutput(std::ostream& out);

// The same of C's standard output.
absl::Status FinishStandardOutput();

}  // namespace wavetune

#endif  // WAVETUNE_BASE_STANDARD_OUTPUT_H_
