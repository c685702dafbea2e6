#include "formats/workload/expert_histogram.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace wavetune {
namespace {

using Json = nlohmann::json;
using Counts = std::vector<int64_t>;

// Whole numbers are exact in a double up to here, which JSON's numbers are to
// most who write them.
constexpr int64_t kMostCount = int64_t{1} << 53;
constexpr size_t kMaxShown = 40;

constexpr char kForms[] =
    "give JSON or CSV with the counts of one layer, or of each layer "
    "(docs/workloads.md)";

absl::Status Fault(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the histogram of experts ", what));
}

// Adds to each what the other has there.
absl::Status AddTo(Counts& sum, const Counts& more) {
  if (sum.empty()) sum.resize(more.size());
  if (sum.size() != more.size()) {
    return Fault(absl::StrCat("has a layer of ", more.size(),
                              " experts behind one of ", sum.size(),
                              ": give as many counts for each layer"));
  }
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i] += more[i];
    if (sum[i] > kMostCount) {
      return Fault(
          "adds up to more than 2^53: divide all counts by the same "
          "number");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> CountOf(double value, absl::string_view shown) {
  if (value >= 0 && value <= static_cast<double>(kMostCount) &&
      value == std::floor(value)) {
    return static_cast<int64_t>(value);
  }
  return Fault(absl::StrCat("has a count of ",
                            PrintableText(ShortenedText(shown, kMaxShown)),
                            ": counts are whole numbers from 0 to 2^53"));
}

absl::StatusOr<int64_t> CountOf(const Json& value) {
  // Infinities are none in JSON; what is no number is shown, and refused.
  const double number = value.is_number() ? value.get<double>() : -1;
  // Not in full: lists may lie in lists without end.
  return CountOf(
      number, value.is_structured()
                  ? std::string("a list or an object")
                  : value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

bool IsListOf(const Json& value, bool (*is)(const Json&)) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), is);
}

bool IsLayer(const Json& value) {
  return value.is_array() && !value.empty() && !value[0].is_array();
}

bool IsStep(const Json& value) { return IsListOf(value, IsLayer); }

absl::StatusOr<Counts> LayerOf(const Json& values) {
  Counts counts;
  for (const Json& value : values) {
    ASSIGN_OR_RETURN(counts.emplace_back(), CountOf(value));
  }
  return counts;
}

absl::StatusOr<std::vector<Counts>> LayersOfJson(absl::string_view text) {
  Json json = Json::parse(text.begin(), text.end(), nullptr,
                          /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("logical_count")) {
    Json counts = std::move(json["logical_count"]);
    json = std::move(counts);
  }
  if (IsLayer(json)) json = Json::array({std::move(json)});
  if (IsStep(json)) json = Json::array({std::move(json)});
  if (!IsListOf(json, IsStep)) {
    return Fault(absl::StrCat("is no list of counts: ", kForms));
  }
  std::vector<Counts> layers(json[0].size());
  for (const Json& step : json) {
    if (step.size() != layers.size()) {
      return Fault(
          "has steps of different numbers of layers: give as many "
          "layers for each step");
    }
    for (size_t i = 0; i < layers.size(); ++i) {
      ASSIGN_OR_RETURN(const Counts counts, LayerOf(step[i]));
      RETURN_IF_ERROR(AddTo(layers[i], counts));
    }
  }
  return layers;
}

absl::StatusOr<std::vector<Counts>> LayersOfCsv(absl::string_view text) {
  std::vector<Counts> layers;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    Counts& counts = layers.emplace_back();
    for (absl::string_view cell : absl::StrSplit(line, ',')) {
      cell = absl::StripAsciiWhitespace(cell);
      double value = -1;
      if (!absl::SimpleAtod(cell, &value)) {
        return Fault(absl::StrCat("has '",
                                  PrintableText(ShortenedText(cell, kMaxShown)),
                                  "' where a count should be: ", kForms));
      }
      ASSIGN_OR_RETURN(counts.emplace_back(), CountOf(value, cell));
    }
  }
  const bool one_column =
      std::all_of(layers.begin(), layers.end(),
                  [](const Counts& counts) { return counts.size() == 1; });
  if (!one_column) return layers;
  Counts counts;
  for (const Counts& line : layers) counts.push_back(line[0]);
  return std::vector<Counts>{std::move(counts)};
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ParseExpertHistogram(
    absl::string_view text) {
  // torch.save writes a zip archive, earlier a pickle.
  if (absl::StartsWith(text, "PK") || absl::StartsWith(text, "\x80")) {
    return Fault(
        "is a file of torch.save: make counts of it where torch is, with "
        "python3 -m wavetune.recorded_routing FILE.pt > counts.json");
  }
  text = absl::StripAsciiWhitespace(text);
  if (text.empty()) return Fault(absl::StrCat("is empty: ", kForms));
  const bool is_json = text[0] == '[' || text[0] == '{';
  ASSIGN_OR_RETURN(std::vector<Counts> layers,
                   is_json ? LayersOfJson(text) : LayersOfCsv(text));
  Counts all;
  for (Counts& counts : layers) {
    std::sort(counts.begin(), counts.end(), std::greater<>());
    RETURN_IF_ERROR(AddTo(all, counts));
  }
  return all;
}

}  // namespace wavetune
