// FakeProfiling: profiling without a model, for tests of the code around it.
//
// Plans every usable candidate at every representative problem. Fits a table
// whose prediction is a candidate's mean latency. Verifies at the
// representative problems with the first extent plus one. Promotes a table that
// is no slower in sum.
//
//   JobServices services{..., .profiling = FakeProfiling(&spec)};
#ifndef WAVETUNE_SERVER_JOBS_FAKE_PROFILING_H_
#define WAVETUNE_SERVER_JOBS_FAKE_PROFILING_H_

#include <string>

#include "model/table/table.h"
#include "server/jobs/profiling_functions.h"
#include "server/store/records.h"
#include "wavetune/configuration.h"

namespace wavetune {

struct KernelSpec;

ProfilingFunctions FakeProfiling();

// Returns a valid table of `spec` that always chooses `configuration`.
Table FixedTable(const KernelSpec& spec, const ProfileKey& key,
                 const Configuration& configuration, double latency_us);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_FAKE_PROFILING_H_
