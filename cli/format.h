// Numbers, times and model values as people read them. Nothing here can fail.
#ifndef WAVETUNE_CLI_FORMAT_H_
#define WAVETUNE_CLI_FORMAT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/kernel/relation.h"
#include "model/table/table.h"
#include "wavetune/coordinates.h"
#include "wavetune/dimension.h"
#include "wavetune/problem.h"

namespace wavetune {
namespace v1 {
class Problem;
}  // namespace v1
}  // namespace wavetune

namespace wavetune::cli {

// "12.3 us", "4.56 ms", "1.20 s".
std::string FormatMicroseconds(double us);
// "8 s", "2 min 05 s", "3 h 02 min".
std::string FormatSeconds(double seconds);
// "512 B", "1.5 KiB", "2.0 GiB".
std::string FormatBytes(int64_t bytes);
// "97.4%" of a fraction.
std::string FormatPercent(double fraction);
// Local time, "2026-01-31 09:15:02"; "-" for 0.
std::string FormatTime(int64_t microseconds_since_epoch);

// "m=1 n=2 k=3"; a repeated dimension "group_rows=1,2,3"; ends with
// "specialisation=causal" where there is one.
std::string FormatProblem(const std::vector<Dimension>& dimensions,
                          const Problem& problem);
// The same of a message, in its order.
std::string FormatProblem(const v1::Problem& problem);

// "rows<=2 fill<=0.5"; "any rows" where it bounds nothing.
std::string FormatRowRegime(const RowRegime& regime);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_FORMAT_H_
