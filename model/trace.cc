#include "model/trace.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "model/kernel_validation.h"

namespace wavetune {
namespace {

constexpr int kAbsent = -1;

using Cells = std::vector<absl::string_view>;

// Where a line's values stand.
struct Columns {
  std::vector<int> dimensions;
  std::vector<int> parameters;
  int latency = kAbsent;
  int minimum = kAbsent;
  int blocks_per_sm = kAbsent;
  int registers = kAbsent;
  int shared_memory = kAbsent;
};

// A specialisation, with the columns of its defines.
struct Variant {
  std::string name;
  std::vector<std::pair<int, std::string>> values;
};

absl::Status Fault(int64_t line, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("trace line ", line, ": ", what));
}

class Parser {
 public:
  Parser(const KernelSpec& spec, const DeviceFacts& device)
      : spec_(spec), device_(device) {
    specialisations_ = spec.SpecialisationNames();
    result_.candidates_by_specialisation.resize(specialisations_.size());
    seen_by_specialisation_.resize(specialisations_.size());
  }

  absl::StatusOr<Trace> Run(absl::string_view csv) {
    int64_t line = 0;
    bool has_header = false;
    while (!csv.empty()) {
      const size_t end = std::min(csv.find('\n'), csv.size());
      const absl::string_view text =
          absl::StripAsciiWhitespace(csv.substr(0, end));
      csv.remove_prefix(std::min(end + 1, csv.size()));
      ++line;
      if (text.empty()) continue;
      cells_ = absl::StrSplit(text, ',');
      for (absl::string_view& cell : cells_) {
        cell = absl::StripAsciiWhitespace(cell);
      }
      absl::Status status = has_header ? ReadLine(line) : ReadHeader(line);
      if (!status.ok()) return status;
      has_header = true;
    }
    if (!has_header) {
      return Fault(1, "there is no line with column names; give one");
    }
    return std::move(result_);
  }

 private:
  // Returns the index of a column, or kAbsent.
  int Find(absl::string_view name) const {
    for (size_t i = 0; i < header_.size(); ++i) {
      if (absl::EqualsIgnoreCase(header_[i], name)) return static_cast<int>(i);
    }
    return kAbsent;
  }

  absl::Status ReadHeader(int64_t line) {
    header_ = cells_;
    const auto require = [&](const std::string& name, std::vector<int>& into) {
      into.push_back(Find(name));
      if (into.back() != kAbsent) return absl::OkStatus();
      return Fault(line,
                   absl::StrCat("column '", name, "' is missing; add it"));
    };
    for (const Dimension& dimension : spec_.dimensions) {
      absl::Status status = require(dimension.name, columns_.dimensions);
      if (!status.ok()) return status;
    }
    for (const Parameter& parameter : spec_.parameters) {
      absl::Status status = require(parameter.name, columns_.parameters);
      if (!status.ok()) return status;
    }
    columns_.latency = Find("latency_us_median");
    if (columns_.latency == kAbsent) columns_.latency = Find("latency_us");
    if (columns_.latency == kAbsent) {
      return Fault(line,
                   "column 'latency_us_median' or 'latency_us' is missing; add "
                   "one");
    }
    columns_.minimum = Find("latency_us_min");
    columns_.blocks_per_sm = Find("blocks_per_sm");
    columns_.registers = Find("registers_per_thread");
    columns_.shared_memory = Find("shared_memory_bytes");
    FindVariants();
    return absl::OkStatus();
  }

  // A specialisation with a define that has no column can match no line.
  void FindVariants() {
    for (const Specialisation& specialisation : spec_.specialisations) {
      Variant variant{.name = specialisation.name, .values = {}};
      bool complete = true;
      for (const auto& [macro, value] : specialisation.defines) {
        variant.values.emplace_back(Find(macro), value);
        complete &= variant.values.back().first != kAbsent;
      }
      if (complete) variants_.push_back(std::move(variant));
    }
  }

  absl::Status ReadLine(int64_t line) {
    if (cells_.size() != header_.size()) {
      return Fault(line, absl::StrCat("has ", cells_.size(),
                                      " cells where the first line names ",
                                      header_.size(),
                                      " columns; give one cell a column"));
    }
    Sample sample;
    sample.problem.specialisation = SpecialisationOfLine();
    if (absl::Status status = ReadProblem(line, sample.problem); !status.ok()) {
      return status;
    }
    Candidate candidate;
    if (absl::Status status = ReadCandidate(line, candidate); !status.ok()) {
      return status;
    }
    sample.configuration = candidate.configuration;
    if (absl::Status status = ReadLatency(line, sample); !status.ok()) {
      return status;
    }
    AddCandidate(candidate, sample.problem.specialisation);
    result_.samples.push_back(std::move(sample));
    return absl::OkStatus();
  }

  std::string SpecialisationOfLine() const {
    for (const Variant& variant : variants_) {
      if (std::all_of(variant.values.begin(), variant.values.end(),
                      [this](const std::pair<int, std::string>& value) {
                        return cells_[static_cast<size_t>(value.first)] ==
                               value.second;
                      })) {
        return variant.name;
      }
    }
    return "";
  }

  absl::Status CellFault(int64_t line, int column,
                         absl::string_view what) const {
    const auto index = static_cast<size_t>(column);
    return Fault(line, absl::StrCat("column '", header_[index], "': '",
                                    cells_[index], "' ", what));
  }

  absl::Status ReadInteger(int64_t line, int column, int64_t& value) const {
    if (absl::SimpleAtoi(cells_[static_cast<size_t>(column)], &value)) {
      return absl::OkStatus();
    }
    return CellFault(line, column, "is no whole number; correct it");
  }

  // Reads an optional count; 0 where the column is absent.
  absl::Status ReadCount(int64_t line, int column, int64_t& value) const {
    value = 0;
    if (column == kAbsent) return absl::OkStatus();
    if (absl::Status status = ReadInteger(line, column, value); !status.ok()) {
      return status;
    }
    if (value >= 0 && value <= kDefaultMaxExtent) return absl::OkStatus();
    return CellFault(line, column, "is no count; give 0 to 2^31 - 1");
  }

  absl::Status ReadExtent(int64_t line, size_t dimension,
                          absl::string_view text, int64_t& extent) const {
    const Dimension& declared = spec_.dimensions[dimension];
    const int column = columns_.dimensions[dimension];
    if (!absl::SimpleAtoi(text, &extent)) {
      return CellFault(line, column, "is no whole number; correct it");
    }
    if (extent >= declared.min && extent <= declared.max) {
      return absl::OkStatus();
    }
    return CellFault(line, column,
                     absl::StrCat("is outside of ", declared.min, "..",
                                  declared.max, "; correct it or the range"));
  }

  absl::Status ReadProblem(int64_t line, Problem& problem) const {
    for (size_t i = 0; i < spec_.dimensions.size(); ++i) {
      const int column = columns_.dimensions[i];
      const absl::string_view cell = cells_[static_cast<size_t>(column)];
      problem.extents.push_back(0);
      if (!spec_.dimensions[i].repeated) {
        absl::Status status = ReadExtent(line, i, cell, problem.extents.back());
        if (!status.ok()) return status;
        continue;
      }
      for (const absl::string_view part :
           absl::StrSplit(cell, ' ', absl::SkipEmpty())) {
        int64_t extent = 0;
        absl::Status status = ReadExtent(line, i, part, extent);
        if (!status.ok()) return status;
        problem.repeated.push_back(extent);
      }
      if (problem.repeated.empty()) {
        return CellFault(line, column,
                         "has no extents; give them separated by spaces");
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadCandidate(int64_t line, Candidate& candidate) const {
    std::vector<int64_t> values(columns_.parameters.size());
    for (size_t i = 0; i < values.size(); ++i) {
      absl::Status status =
          ReadInteger(line, columns_.parameters[i], values[i]);
      if (!status.ok()) return status;
    }
    candidate.configuration = Configuration(values);
    if (seen_.find(candidate.configuration) == seen_.end() &&
        !InSpace(spec_, candidate.configuration)) {
      return Fault(line, absl::StrCat("configuration '",
                                      FormatConfiguration(
                                          spec_, candidate.configuration),
                                      "' is outside of the space of kernel '",
                                      spec_.name, "'; drop the line"));
    }
    int64_t blocks = 0;
    int64_t registers = 0;
    for (const auto& [column, value] :
         {std::pair(columns_.blocks_per_sm, &blocks),
          std::pair(columns_.registers, &registers),
          std::pair(columns_.shared_memory, &candidate.local_memory_bytes)}) {
      absl::Status status = ReadCount(line, column, *value);
      if (!status.ok()) return status;
    }
    candidate.registers = static_cast<int32_t>(registers);
    candidate.blocks_per_multiprocessor =
        static_cast<int32_t>(std::max<int64_t>(1, blocks));
    candidate.capacity = int64_t{std::max(1, device_.multiprocessors)} *
                         candidate.blocks_per_multiprocessor;
    return absl::OkStatus();
  }

  absl::Status ReadMicroseconds(int64_t line, int column, double& value) const {
    if (absl::SimpleAtod(cells_[static_cast<size_t>(column)], &value) &&
        std::isfinite(value) && value > 0) {
      return absl::OkStatus();
    }
    return CellFault(line, column, "is no latency; give microseconds above 0");
  }

  absl::Status ReadLatency(int64_t line, Sample& sample) const {
    absl::Status status =
        ReadMicroseconds(line, columns_.latency, sample.latency_us);
    if (!status.ok()) return status;
    sample.min_us = sample.latency_us;
    sample.device_time_us = sample.latency_us;
    if (columns_.minimum == kAbsent) return absl::OkStatus();
    status = ReadMicroseconds(line, columns_.minimum, sample.min_us);
    if (!status.ok()) return status;
    sample.relative_spread =
        std::max(0.0, (sample.latency_us - sample.min_us) / sample.latency_us);
    return absl::OkStatus();
  }

  void AddCandidate(const Candidate& candidate,
                    const std::string& specialisation) {
    if (seen_.insert(candidate.configuration).second) {
      result_.candidates.push_back(candidate);
    }
    for (size_t i = 0; i < specialisations_.size(); ++i) {
      if (specialisations_[i] == specialisation &&
          seen_by_specialisation_[i].insert(candidate.configuration).second) {
        result_.candidates_by_specialisation[i].push_back(candidate);
      }
    }
  }

  const KernelSpec& spec_;
  const DeviceFacts& device_;
  std::vector<std::string> specialisations_;
  Cells header_;  // Refers to the text, as cells_ does.
  Columns columns_;
  std::vector<Variant> variants_;
  Cells cells_;  // Of the line at hand.
  std::set<Configuration> seen_;
  std::vector<std::set<Configuration>> seen_by_specialisation_;
  Trace result_;
};

}  // namespace

absl::StatusOr<Trace> ParseTrace(const KernelSpec& spec,
                                 const DeviceFacts& device,
                                 absl::string_view csv) {
  return Parser(spec, device).Run(csv);
}

}  // namespace wavetune
