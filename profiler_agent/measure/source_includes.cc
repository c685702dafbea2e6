#include "profiler_agent/measure/source_includes.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
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

// What compilers do not agree on.
struct Language {
  bool trigraphs = false;
  bool raw_strings = false;
  bool blanks = false;  // Between a backslash and the end that it takes away.
};

bool HasAny(absl::string_view source,
            std::initializer_list<absl::string_view> texts) {
  return std::any_of(texts.begin(), texts.end(), [&](absl::string_view text) {
    return absl::StrContains(source, text);
  });
}

// Returns the languages that may read a source in ways of their own.
std::vector<Language> LanguagesOf(absl::string_view source) {
  std::vector<Language> all(1);
  const auto add = [&](bool Language::*differs, bool is_there) {
    for (size_t i = all.size(); is_there && i > 0; --i) {
      all.push_back(all[i - 1]);
      all.back().*differs = true;
    }
  };
  add(&Language::trigraphs, HasAny(source, {"?\?/"}));
  add(&Language::raw_strings, HasAny(source, {"R\""}));
  add(&Language::blanks,
      HasAny(source, {"\\ ", "\\\t", "\\\v", "\\\f", "?\?/"}));
  return all;
}

// Returns the text with lines that end as a compiler lets them (a carriage
// return does, too), joined where a backslash is at an end.
std::string Joined(absl::string_view source, const Language& language) {
  std::string text =
      absl::StrReplaceAll(source, {{"\r\n", "\n"}, {"\r", "\n"}});
  if (language.trigraphs) {
    text = absl::StrReplaceAll(text, {{"?\?/", "\\"}});
  }
  std::string joined;
  for (const char c : text) {
    const size_t last = c != '\n'         ? std::string::npos
                        : language.blanks ? joined.find_last_not_of(" \t\v\f")
                                          : joined.size() - 1;
    if (last != std::string::npos && joined[last] == '\\') {
      joined.resize(last);
    } else {
      joined += c;
    }
  }
  return joined;
}

// Returns the length of the raw string that `text` begins with, which may have
// no end; 0 where it begins with none.
size_t RawStringSize(absl::string_view text) {
  constexpr size_t kMostDelimiter = 16;
  if (!absl::ConsumePrefix(&text, "R\"")) return 0;
  const size_t open = text.substr(0, kMostDelimiter + 1).find('(');
  if (open == absl::string_view::npos) return 0;
  const std::string close = absl::StrCat(")", text.substr(0, open), "\"");
  const size_t end = text.find(close, open);
  return 2 +
         (end == absl::string_view::npos ? text.size() : end + close.size());
}

// Returns the lines as a compiler reads them; comments and raw strings are
// spaces. Other text in quotes stays.
std::vector<std::string> LogicalLines(absl::string_view source,
                                      const Language& language) {
  const std::string joined = Joined(source, language);
  std::vector<std::string> lines(1);
  char quote = '\0';
  for (size_t i = 0; i < joined.size(); ++i) {
    const absl::string_view rest = absl::string_view(joined).substr(i);
    const size_t raw =
        language.raw_strings && quote == '\0' ? RawStringSize(rest) : 0;
    if (raw > 0) {
      i += raw - 1;
      lines.back() += ' ';
    } else if (joined[i] == '\n') {
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
  std::set<std::pair<SourceInclude::Kind, std::string>> known;
  std::vector<std::string> lines;
  // What any of them includes.
  for (const Language& language : LanguagesOf(source)) {
    for (std::string& line : LogicalLines(source, language)) {
      lines.push_back(std::move(line));
    }
  }
  for (const std::string& text : lines) {
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
    if (known.emplace(include.kind, include.name).second) {
      includes.push_back(std::move(include));
    }
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
