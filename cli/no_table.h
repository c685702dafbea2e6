// Why a kernel has no table, as people read it: nobody has profiled it, or what
// became of it when somebody did.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLI_NO_TABLE_H_
#define WAVETUNE_CLI_NO_TABLE_H_

#include <string>

#include "proto/wavetune/v1/status_service.pb.h"
#include "proto/wavetune/v1/types.pb.h"

namespace wavetune::cli {

// So many jobs are asked for.
inline constexpr int kJobsLookedAt = 200;

// Returns the newest profile of the kernel, on a device where one is given;
// nullptr where there is none. `jobs` are newest first; points into them.
const v1::JobInfo* LastProfile(const v1::ListJobsResponse& jobs,
                               const std::string& kernel,
                               const std::string& device = "");

// Whether a profile ended without a table that serves: it was refused, or it
// failed.
bool WasRefused(const v1::JobInfo& job);

// Returns why the kernel has no table: "never profiled; run ...", "refused:
// ...", "job 3 failed: ...", with what to do next. `last` may be nullptr.
std::string NoTableText(const std::string& kernel, const v1::JobInfo* last);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_NO_TABLE_H_
