// ParallelFor: independent steps of one computation on several threads.
//
//   std::vector<Model> models(candidates.size());
//   ParallelFor(models.size(), [&](size_t i) { models[i] = Fit(candidates[i]);
//   });
//
// Results written by index alone are the same on any number of threads.
//
// Thread safety: may be called from any thread, also from several at a time.
#ifndef WAVETUNE_BASE_PARALLEL_FOR_H_
#define WAVETUNE_BASE_PARALLEL_FOR_H_

#include <cstddef>

#include "absl/functional/function_ref.h"

namespace wavetune {

// Returns on how many threads a computation runs: one for each core that the
// process may use (base/host_resources.h) when this is called first. They are
// at most eight, as others on the host want theirs.
size_t ComputeThreads();

// Calls `step` once with each index below `count`, in no order, and returns
// when all calls have. They run on this thread and up to `threads` - 1 others,
// which are gone then. Fewer where the system gives no more. `step` must not
// throw.
void ParallelFor(size_t count, absl::FunctionRef<void(size_t)> step,
                 size_t threads = ComputeThreads());

}  // namespace wavetune

#endif  // WAVETUNE_BASE_PARALLEL_FOR_H_
