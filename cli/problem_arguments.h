// Problems on the command line: "m=1 n=4096 k=512", "group_rows=5,0,7" (a
// repeated dimension's elements: SplitExtents), "specialisation=causal".
#ifndef WAVETUNE_CLI_PROBLEM_ARGUMENTS_H_
#define WAVETUNE_CLI_PROBLEM_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "wavetune/dimension.h"
#include "wavetune/problem.h"

namespace wavetune::cli {

// Arguments before the kernel's dimensions are known.
struct ProblemArguments {
  std::map<std::string, std::string> values;  // Name to text.
  std::string specialisation;
};

// Errors: INVALID_ARGUMENT for an argument without '=' and a name given twice.
absl::StatusOr<ProblemArguments> SplitProblemArguments(
    const std::vector<std::string>& arguments);

// What stands for an extent that could not be read: Resolve refuses it.
inline constexpr int64_t kNoExtent = -1;

// A problem as far as it could be read.
struct ParsedProblem {
  Problem problem;  // Extents with a fault are kNoExtent.
  std::vector<std::string> faults;
  bool wrong_dimensions = false;  // One is missing or unknown.

  // INVALID_ARGUMENT with the faults, one a line, or OK.
  absl::Status status() const;
};

// Matches the arguments with `dimensions`. Every missing, unknown, malformed,
// overflowing, negative or out of range extent is a fault, of which the first
// are told. Cannot fail.
ParsedProblem ParseProblem(const std::vector<Dimension>& dimensions,
                           const ProblemArguments& arguments);

// Parses one extent. Returns kNoExtent and appends a fault for `name` where it
// is none.
int64_t ParseExtent(const Dimension& dimension, absl::string_view text,
                    std::vector<std::string>& faults);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_PROBLEM_ARGUMENTS_H_
