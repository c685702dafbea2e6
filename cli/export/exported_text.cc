#include "cli/export/exported_text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/printable_text.h"
#include "cli/export/token_keys.h"
#include "model/kernel/triton_options.h"

namespace wavetune::cli {
namespace {

bool IsPythonName(const std::string& name) {
  // Words that Python does not take as a name, as far as they may be a
  // parameter's: those in small letters.
  static const auto* const words = new std::set<std::string>{
      "False",  "None",   "True",    "and",      "as",       "assert", "async",
      "await",  "break",  "class",   "continue", "def",      "del",    "elif",
      "else",   "except", "finally", "for",      "from",     "global", "if",
      "import", "in",     "is",      "lambda",   "nonlocal", "not",    "or",
      "pass",   "raise",  "return",  "try",      "while",    "with",   "yield"};
  const auto is_letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !name.empty() && is_letter(name[0]) && words->count(name) == 0 &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_letter(c) || std::isdigit(static_cast<unsigned char>(c));
         });
}

absl::Status CheckTritonParameters(const Table& table) {
  bool options = false;
  for (const std::string& name : table.parameters) {
    options = options || name == "num_warps" || name == "num_stages";
    if (IsPythonName(name)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("parameter \"", name, "\" of kernel \"", table.kernel,
                     "\" is no name in Python; --format json takes it"));
  }
  if (options) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "kernel \"", table.kernel,
      "\" tunes neither num_warps nor num_stages, so it is no Triton kernel; "
      "its parameters are ",
      absl::StrJoin(table.parameters, ", "),
      ". --format json takes every kernel"));
}

// Text without what would end a line.
std::string OneLine(absl::string_view text) {
  std::string line = PrintableText(text);
  std::replace_if(
      line.begin(), line.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return line;
}

// As Python takes a string.
std::string PythonText(absl::string_view text) {
  return absl::StrCat(
      "\"",
      absl::StrReplaceAll(OneLine(text), {{"\\", "\\\\"}, {"\"", "\\\""}}),
      "\"");
}

// In manifests 0 registers a thread are no limit; Triton's own value is None.
bool IsNoLimit(const std::string& name, int64_t value) {
  return name == "maxnreg" && value == 0;
}

std::string ConfigText(const std::vector<std::string>& parameters,
                       const Configuration& configuration) {
  std::vector<std::string> arguments;
  std::vector<std::string> options;
  for (int i = 0; i < configuration.size(); ++i) {
    const std::string& name = parameters[static_cast<size_t>(i)];
    if (IsNoLimit(name, configuration[i])) continue;
    if (IsTritonOption(name)) {
      options.push_back(absl::StrCat(", ", name, "=", configuration[i]));
    } else {
      arguments.push_back(
          absl::StrCat(PythonText(name), ": ", configuration[i]));
    }
  }
  return absl::StrCat("triton.Config({", absl::StrJoin(arguments, ", "), "}",
                      absl::StrJoin(options, ""), ")");
}

// The default first, then each candidate that was not there before.
std::vector<Configuration> ConfigurationsOf(
    const Table& table, const std::vector<int>& sub_tables) {
  std::vector<Configuration> all = {table.default_configuration};
  for (const int index : sub_tables) {
    for (const TableCandidate& candidate :
         table.sub_tables[static_cast<size_t>(index)].portfolio) {
      if (std::find(all.begin(), all.end(), candidate.configuration) ==
          all.end())
        all.push_back(candidate.configuration);
    }
  }
  return all;
}

}  // namespace

std::string EngineFileText(const std::vector<std::string>& parameters,
                           absl::Span<const Configuration> choices) {
  std::vector<std::string> entries;
  for (const int64_t tokens : KeyTokens(choices)) {
    const Configuration& chosen = choices[static_cast<size_t>(tokens) - 1];
    std::vector<std::string> values;
    for (int i = 0; i < chosen.size(); ++i) {
      values.push_back(absl::StrCat(
          "        \"", parameters[static_cast<size_t>(i)], "\": ", chosen[i]));
    }
    entries.push_back(absl::StrCat("    \"", tokens, "\": {\n",
                                   absl::StrJoin(values, ",\n"), "\n    }"));
  }
  return absl::StrCat("{\n", absl::StrJoin(entries, ",\n"), "\n}\n");
}

absl::StatusOr<std::string> TritonConfigsText(
    const CompiledTable& compiled, const std::vector<int>& sub_tables,
    const TableSource& source) {
  const Table& table = compiled.table();
  if (absl::Status status = CheckTritonParameters(table); !status.ok())
    return status;
  std::string text = absl::StrCat(
      "# Configurations that the table of a kernel can choose, for "
      "@triton.autotune(CONFIGS, key=[...]).\n"
      "# Written by `wavetune export`; measured on ",
      OneLine(source.device.empty() ? table.silicon_key : source.device),
      source.stale ? " (stale)" : "",
      ".\nimport triton\n\nKERNEL = ", PythonText(table.kernel),
      "\nDIGEST = ", PythonText(compiled.digest()), "\n\n",
      "DEFAULT = ", ConfigText(table.parameters, table.default_configuration),
      "\n\nCONFIGS = [\n    DEFAULT,\n");
  const std::vector<Configuration> all = ConfigurationsOf(table, sub_tables);
  for (size_t i = 1; i < all.size(); ++i) {
    absl::StrAppend(&text, "    ", ConfigText(table.parameters, all[i]), ",\n");
  }
  return text + "]\n";
}

Json TableJson(const CompiledTable& compiled, const TableSource& source) {
  const Table& table = compiled.table();
  Json dimensions = Json::array();
  for (const Dimension& dimension : table.dimensions) {
    dimensions.push_back({{"name", dimension.name},
                          {"min", dimension.min},
                          {"max", dimension.max},
                          {"repeated", dimension.repeated}});
  }
  return Json{
      {"format", "wavetune-decisions-1"},
      {"kernel", table.kernel},
      {"digest", compiled.digest()},
      {"fingerprint", table.fingerprint},
      {"silicon", table.silicon_key},
      {"environment", table.environment_key},
      {"device", source.device},
      {"stale", source.stale},
      {"dimensions", dimensions},
      {"parameters", table.parameters},
      {"default", ToJson(table.parameters, table.default_configuration)}};
}

Json PlainDecisionJson(const std::vector<std::string>& parameters,
                       const Decision& decision) {
  Json json = {{"configuration", ToJson(parameters, decision.configuration)},
               {"source", std::string(ToString(decision.source))}};
  if (decision.source == DecisionSource::kDefault) {
    json["reason"] = std::string(ToString(decision.reason));
  } else {
    json["latency_us"] = decision.latency_us;
    json["relative_bound"] = decision.relative_bound;
  }
  return json;
}

}  // namespace wavetune::cli
