// What a report shows, as JSON: the only thing that the page's scripts read.
//
// {"kernel", "device", "digest", ..., "parameters": [names], "notes": [],
//  "specialisations": [{"name",
//    "candidates": [[values], ...] the portfolio first, "portfolio": how many,
//    "facts": [{"capacity", ...}] and "uses" of the portfolio,
//    "default": index or -1, "row_regimes": [texts], "problems": [texts],
//    "steps": [{"row", "regime", "iterations", "capacity", "members",
//               "fit": [[G, us, bound, outside]],
//               "measured": [[G, us, candidate, use, problem]]}],
//    "maps": [{"x": {"name", "extents"}, "y", "fixed", "candidates", "us",
//              "outside"}], [y][x] in one list
//    "samples": {"candidate": [], "use": [], "regime": [], "waves": [],
//                "iterations": [], "us": [], "residual": [], "problem": []},
//    "judged": {"problems": [worst first], "best_single",
//               "methods": [{"name", "kind", "us": [as problems], "geomean",
//                            ...}] best first}}]}
//
// Indices count from 0; "use" is an index into "uses_of_samples". Numbers have
// five significant digits: more cannot be seen, and doubles the page.
//
// Thread safety: pure function.
#ifndef WAVETUNE_CLI_REPORT_REPORT_JSON_H_
#define WAVETUNE_CLI_REPORT_REPORT_JSON_H_

#include "absl/status/statusor.h"
#include "cli/json.h"
#include "cli/report/configuration_map.h"
#include "cli/report/report_input.h"

namespace wavetune::cli {

// Errors: INVALID_ARGUMENT of the map options, or of a baseline as
// JudgeProblems says. Without samples the charts that need them are empty, and
// a note says so.
absl::StatusOr<Json> ReportJson(const ReportInput& input,
                                const MapOptions& options);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_REPORT_REPORT_JSON_H_
