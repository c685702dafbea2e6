// RaiseDescriptorLimit: as many open files as the system lets us have.
//
// Why: the soft limit of a service is 1,024 almost everywhere, as select() can
// count no further; the hard one is what the administrator allows. Nothing of
// ours calls select().
#ifndef WAVETUNE_BASE_DESCRIPTOR_LIMIT_H_
#define WAVETUNE_BASE_DESCRIPTOR_LIMIT_H_

#include <cstdint>

#include "absl/status/status.h"

namespace wavetune {

// With fewer, libraries end the process in the middle of something: gRPC aborts
// at about 20.
inline constexpr uint64_t kFewestDescriptors = 64;

// Raises the process's soft limit of open files to its hard one, but not beyond
// 65,536, and returns what it then is. Cannot fail: where it may not be raised
// it stays.
uint64_t RaiseDescriptorLimit();

// Errors: FAILED_PRECONDITION, saying what to raise, where a process that may
// open `descriptors` files cannot serve.
absl::Status CheckDescriptorLimit(uint64_t descriptors);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_DESCRIPTOR_LIMIT_H_
