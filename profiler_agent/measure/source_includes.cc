#include "profiler_agent/measure/source_includes.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/printable_text.h"

namespace wavetune {
namespace {

// Returns the lines as a compiler reads them: a backslash at an end joins two,
// and comments are spaces. Text in quotes stays.
std::vector<std::string> LogicalLines(absl::string_view source) {
  const std::string joined = absl::StrReplaceAll(
      source, {{"\\\r\n", ""}, {"\\\n", ""}, {"?\?/\n", ""}});
  std::vector<std::string> lines(1);
  char quote = '\0';
  for (size_t i = 0; i < joined.size(); ++i) {
    const absl::string_view rest = absl::string_view(joined).substr(i);
    if (joined[i] == '\n') {
      quote = '\0';
      lines.emplace_back();
    } else if (quote == '\0' && absl::StartsWith(rest, "//")) {
      i += std::min(rest.find('\n'), rest.size()) - 1;
    } else if (quote == '\0' && absl::StartsWith(rest, "/*")) {
      const size_t end = rest.find("*/", 2);
      i += end == absl::string_view::npos ? rest.size() : end + 1;
      lines.back() += ' ';
    } else {
      if (quote != '\0' && joined[i] == '\\' && i + 1 < joined.size()) {
        lines.back() += joined[i++];
      } else if (joined[i] == quote) {
        quote = '\0';
      } else if (quote == '\0' && (joined[i] == '"' || joined[i] == '\'')) {
        quote = joined[i];
      }
      lines.back() += joined[i];
    }
  }
  return lines;
}

bool ConsumeWord(absl::string_view& line, absl::string_view word) {
  line = absl::StripLeadingAsciiWhitespace(line);
  return absl::ConsumePrefix(&line, word);
}

bool LeavesFolder(absl::string_view name) {
  if (absl::StartsWith(name, "/")) return true;
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  return std::find(parts.begin(), parts.end(), "..") != parts.end();
}

absl::Status Refusal(const SourceInclude& include) {
  const std::string name = PrintableText(include.name);
  std::string text;
  switch (include.kind) {
    case SourceInclude::Kind::kQuoted:
      text = absl::StrCat("\"", name, "\"");
      break;
    case SourceInclude::Kind::kAngle:
      text = absl::StrCat("<", name, ">");
      break;
    case SourceInclude::Kind::kOther:
      text = absl::StrCat(name, ", which is no name of a file");
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "a source includes ", text,
      ": it is not among the kernel's files, and so no part of its "
      "fingerprint; put it into the kernel's folder, list it in the manifest's "
      "sources and include it by the name it has there"));
}

absl::Status CheckFrom(const std::map<std::string, std::string>& files,
                       const std::string& name, std::set<std::string>& seen) {
  const auto file = files.find(name);
  if (file == files.end() || !seen.insert(name).second) return absl::OkStatus();
  for (const SourceInclude& include : IncludesOf(file->second)) {
    if (files.contains(include.name)) {
      const absl::Status status = CheckFrom(files, include.name, seen);
      if (!status.ok()) return status;
    } else if (include.kind == SourceInclude::Kind::kOther ||
               LeavesFolder(include.name)) {
      return Refusal(include);
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<SourceInclude> IncludesOf(absl::string_view source) {
  std::vector<SourceInclude> includes;
  for (const std::string& text : LogicalLines(source)) {
    absl::string_view line = text;
    if (!ConsumeWord(line, "#") && !ConsumeWord(line, "%:") &&
        !ConsumeWord(line, "?\?=")) {
      continue;
    }
    if (!ConsumeWord(line, "include_next") && !ConsumeWord(line, "include") &&
        !ConsumeWord(line, "import")) {
      continue;
    }
    line = absl::StripAsciiWhitespace(line);
    SourceInclude include{.name = std::string(line)};
    if (absl::ConsumePrefix(&line, "\"")) {
      include = {.kind = SourceInclude::Kind::kQuoted,
                 .name = std::string(line.substr(0, line.find('"')))};
    } else if (absl::ConsumePrefix(&line, "<")) {
      include = {.kind = SourceInclude::Kind::kAngle,
                 .name = std::string(line.substr(0, line.find('>')))};
    }
    includes.push_back(std::move(include));
  }
  return includes;
}

absl::Status CheckIncludes(const std::map<std::string, std::string>& files,
                           const std::string& name) {
  std::set<std::string> seen;
  return CheckFrom(files, name, seen);
}

absl::Status CheckNoIncludes(absl::string_view source) {
  for (const SourceInclude& include : IncludesOf(source)) {
    if (include.kind != SourceInclude::Kind::kAngle ||
        LeavesFolder(include.name)) {
      return Refusal(include);
    }
  }
  return absl::OkStatus();
}

}  // namespace wavetune
