// Which files a source in C, OpenCL C or CUDA C++ includes.
//
// Why: a compiler reads any file that its user may, and all that it reads must
// be covered by the kernel's fingerprint.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_SOURCE_INCLUDES_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_SOURCE_INCLUDES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace wavetune {

struct SourceInclude {
  enum class Kind { kQuoted, kAngle, kOther };  // "name", <name>, a macro.
  Kind kind = Kind::kOther;
  std::string name;  // Without quotes; of kOther the rest of the line.
};

// Returns the #include directives, each once; also those in a branch that is
// not compiled, and those that not every compiler takes for one. Comments,
// lines that go on in the next one and other ways to write '#' are seen
// through. Cannot fail.
std::vector<SourceInclude> IncludesOf(absl::string_view source);

// Looks at what file `name` of `files` includes, and at what those of `files`
// do that it includes. Errors: INVALID_ARGUMENT for one that is not among them
// and lies in a folder that its name says, or that a macro names.
absl::Status CheckIncludes(const std::map<std::string, std::string>& files,
                           const std::string& name);

// Does the same with a source in which all files of the kernel were put:
// nothing in quotes may be left.
absl::Status CheckNoIncludes(absl::string_view source);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_SOURCE_INCLUDES_H_
