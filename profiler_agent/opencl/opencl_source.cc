#include "profiler_agent/opencl/opencl_source.h"

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "profiler_agent/measure/compile_options.h"
#include "profiler_agent/measure/source_includes.h"
#include "profiler_agent/opencl/opencl_arguments.h"

namespace wavetune {
namespace {

// Returns the name in `#include "name"`, or an empty one.
std::string IncludedName(absl::string_view line) {
  line = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "#")) return "";
  line = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "include")) return "";
  line = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "\"")) return "";
  return std::string(line.substr(0, line.find('"')));
}

void Expand(const std::map<std::string, std::string>& files,
            const std::string& name, std::set<std::string>& done,
            std::string& out) {
  done.insert(name);
  absl::StrAppend(&out, "#line 1 \"", name, "\"\n");
  int number = 0;
  for (absl::string_view line : absl::StrSplit(files.at(name), '\n')) {
    ++number;
    const std::string included = IncludedName(line);
    if (included.empty() || !files.contains(included)) {
      absl::StrAppend(&out, line, "\n");
      continue;
    }
    if (!done.contains(included)) Expand(files, included, done, out);
    absl::StrAppend(&out, "#line ", number + 1, " \"", name, "\"\n");
  }
}

}  // namespace

absl::StatusOr<std::string> ExpandSource(
    const std::map<std::string, std::string>& files, const std::string& name) {
  if (!files.contains(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "source file '", name,
        "' was not sent with the kernel; list it in the manifest and put it ",
        "into the kernel's folder"));
  }
  std::set<std::string> done;
  std::string out;
  Expand(files, name, done, out);
  if (absl::Status left = CheckNoIncludes(out); !left.ok()) return left;
  return out;
}

std::string BuildOptions(const KernelSpec& spec,
                         const Configuration* configuration,
                         const std::string& specialisation,
                         const std::vector<std::string>& options) {
  // With the arguments' types, which are compared with the manifest.
  return absl::StrCat(
      kKeepArgumentTypes, " ",
      absl::StrJoin(
          CompileOptions(spec, configuration, specialisation, options), " "));
}

}  // namespace wavetune
