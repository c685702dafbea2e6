// TrimPrograms: keeps the folder of compiled programs from growing for ever.
//
// Entries are ProgramCache's files, and PoCL's folders of one program each,
// below "pocl"; what else lies there is neither counted nor touched. Those that
// were used longest ago go first, and none that was used in the last hours:
// somebody may be about to load it. An entry is a cache's: whoever misses one
// compiles it again.
//
//   const TrimmedPrograms trimmed =
//       TrimPrograms(cache_dir, int64_t{4} << 30, SystemClock().NowUs());
//
// Thread safety: pure, but for the folder, which others may use meanwhile.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_PROGRAM_TRIM_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_PROGRAM_TRIM_H_

#include <cstdint>
#include <stop_token>
#include <string>

namespace wavetune {

// Programs used later than so long ago stay: longer than a job.
inline constexpr int64_t kProgramInUseUs = int64_t{6} * 3600 * 1'000'000;

struct TrimmedPrograms {
  int64_t bytes = 0;  // All entries', before.
  int64_t removed_bytes = 0;
  int64_t removed = 0;  // Entries.
};

// Removes entries until they have no more than `most_bytes` together, or only
// those in use are left, or `stop` is requested. Cannot fail: what cannot be
// removed stays. Cost: a look at each file; removing may take a disk ten
// milliseconds an entry.
TrimmedPrograms TrimPrograms(const std::string& folder, int64_t most_bytes,
                             int64_t now_us, const std::stop_token& stop = {});

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_PROGRAM_TRIM_H_
