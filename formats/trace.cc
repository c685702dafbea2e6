#include "formats/trace.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "formats/kernel_columns.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

constexpr int kAbsent = CsvReader::kAbsent;

// Where a line's values stand.
struct Columns {
  std::vector<int> dimensions;
  std::vector<int> parameters;  // Empty: `candidate` stands for them.
  int candidate = kAbsent;
  int latency = kAbsent;
  int minimum = kAbsent;
#define WAVETUNE_COLUMN(field, digits) int field = kAbsent;
  WAVETUNE_RECORDED_FIELDS(WAVETUNE_COLUMN)
#undef WAVETUNE_COLUMN
  int blocks_per_sm = kAbsent;
  int registers = kAbsent;
  int shared_memory = kAbsent;
};

// A specialisation, with the columns of its defines.
struct Variant {
  std::string name;
  std::vector<std::pair<int, std::string>> values;
};

class Parser {
 public:
  Parser(const KernelSpec& spec, const DeviceFacts& device,
         absl::string_view csv, const std::vector<TraceCandidate>* candidates)
      : spec_(spec),
        device_(device),
        listed_(candidates),
        specialisations_(spec.SpecialisationNames()),
        csv_(csv, "trace"),
        seen_by_specialisation_(specialisations_.size()) {
    result_.candidates_by_specialisation.resize(specialisations_.size());
  }

  absl::StatusOr<Trace> Run() {
    RETURN_IF_ERROR(ReadHeader());
    while (csv_.Next()) RETURN_IF_ERROR(ReadLine());
    return std::move(result_);
  }

 private:
  absl::Status ReadHeader() {
    RETURN_IF_ERROR(csv_.ReadHeader());
    for (const Dimension& dimension : spec_.dimensions) {
      RETURN_IF_ERROR(
          csv_.Require(dimension.name, columns_.dimensions.emplace_back()));
    }
    RETURN_IF_ERROR(FindCandidateColumns());
    columns_.latency = csv_.Find("latency_us_median");
    if (columns_.latency == kAbsent) {
      columns_.latency = csv_.Find("latency_us");
    }
    if (columns_.latency == kAbsent) {
      return csv_.Fault(
          "column 'latency_us_median' or 'latency_us' is missing; add one");
    }
    columns_.minimum = csv_.Find("latency_us_min");
#define WAVETUNE_FIND(field, digits) columns_.field = csv_.Find(#field);
    WAVETUNE_RECORDED_FIELDS(WAVETUNE_FIND)
#undef WAVETUNE_FIND
    columns_.blocks_per_sm = csv_.Find("blocks_per_sm");
    columns_.registers = csv_.Find("registers_per_thread");
    columns_.shared_memory = csv_.Find("shared_memory_bytes");
    FindVariants();
    return absl::OkStatus();
  }

  absl::Status FindCandidateColumns() {
    columns_.candidate = csv_.Find("candidate");
    if (listed_ != nullptr && columns_.candidate != kAbsent) {
      return absl::OkStatus();
    }
    for (const Parameter& parameter : spec_.parameters) {
      RETURN_IF_ERROR(
          csv_.Require(parameter.name, columns_.parameters.emplace_back()));
    }
    return absl::OkStatus();
  }

  // A specialisation with a define that has no column can match no line.
  void FindVariants() {
    for (const Specialisation& specialisation : spec_.specialisations) {
      Variant variant{.name = specialisation.name, .values = {}};
      bool complete = true;
      for (const auto& [macro, value] : specialisation.defines) {
        variant.values.emplace_back(csv_.Find(macro), value);
        complete &= variant.values.back().first != kAbsent;
      }
      if (complete) variants_.push_back(std::move(variant));
    }
  }

  absl::Status ReadLine() {
    RETURN_IF_ERROR(csv_.CheckWidth());
    Sample sample;
    Candidate candidate;
    RETURN_IF_ERROR(ReadProblem(sample.problem));
    if (columns_.parameters.empty()) {
      RETURN_IF_ERROR(
          ReadListedCandidate(sample.problem.specialisation, candidate));
    } else {
      sample.problem.specialisation = SpecialisationOfLine();
      RETURN_IF_ERROR(ReadCandidate(candidate));
    }
    sample.configuration = candidate.configuration;
    RETURN_IF_ERROR(ReadLatency(sample));
    AddCandidate(candidate, sample.problem.specialisation);
    result_.samples.push_back(std::move(sample));
    return absl::OkStatus();
  }

  std::string SpecialisationOfLine() const {
    for (const Variant& variant : variants_) {
      if (std::all_of(variant.values.begin(), variant.values.end(),
                      [this](const std::pair<int, std::string>& value) {
                        return csv_.cell(value.first) == value.second;
                      })) {
        return variant.name;
      }
    }
    return "";
  }

  absl::Status ReadExtent(size_t dimension, absl::string_view text,
                          int64_t& extent) const {
    const Dimension& declared = spec_.dimensions[dimension];
    const int column = columns_.dimensions[dimension];
    if (!absl::SimpleAtoi(text, &extent)) {
      return csv_.CellFault(column, "is no whole number; correct it");
    }
    if (extent >= declared.min && extent <= declared.max) {
      return absl::OkStatus();
    }
    return csv_.CellFault(
        column, absl::StrCat("is outside of ", declared.min, "..", declared.max,
                             "; correct it or the range"));
  }

  absl::Status ReadProblem(Problem& problem) const {
    for (size_t i = 0; i < spec_.dimensions.size(); ++i) {
      const int column = columns_.dimensions[i];
      const absl::string_view cell = csv_.cell(column);
      problem.extents.push_back(0);
      if (!spec_.dimensions[i].repeated) {
        RETURN_IF_ERROR(ReadExtent(i, cell, problem.extents.back()));
        continue;
      }
      for (const absl::string_view part : SplitExtents(cell)) {
        int64_t extent = 0;
        RETURN_IF_ERROR(ReadExtent(i, part, extent));
        problem.repeated.push_back(extent);
      }
      if (problem.repeated.empty()) {
        return csv_.CellFault(column,
                              "has no extents; give them separated by spaces");
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadListedCandidate(std::string& specialisation,
                                   Candidate& candidate) const {
    int64_t number = 0;
    RETURN_IF_ERROR(csv_.ReadInteger(columns_.candidate, number));
    if (number < 0 || number >= static_cast<int64_t>(listed_->size())) {
      return csv_.CellFault(
          columns_.candidate,
          absl::StrCat("is no candidate; ", listed_->size(), " are listed"));
    }
    const TraceCandidate& listed = (*listed_)[static_cast<size_t>(number)];
    if (listed.candidate.excluded()) {
      return csv_.CellFault(
          columns_.candidate,
          absl::StrCat("is excluded (", listed.candidate.excluded_reason,
                       "); drop the line"));
    }
    specialisation = listed.specialisation;
    candidate = listed.candidate;
    return absl::OkStatus();
  }

  absl::Status ReadCandidate(Candidate& candidate) const {
    RETURN_IF_ERROR(ReadConfiguration(csv_, spec_, columns_.parameters,
                                      candidate.configuration));
    int64_t blocks = 0;
    int64_t registers = 0;
    RETURN_IF_ERROR(csv_.ReadCount(columns_.blocks_per_sm, blocks));
    RETURN_IF_ERROR(csv_.ReadCount(columns_.registers, registers));
    RETURN_IF_ERROR(
        csv_.ReadCount(columns_.shared_memory, candidate.shared_memory_bytes));
    candidate.registers = static_cast<int32_t>(registers);
    candidate.blocks_per_multiprocessor =
        static_cast<int32_t>(std::max<int64_t>(1, blocks));
    candidate.tiles_per_wave = int64_t{std::max(1, device_.multiprocessors)} *
                               candidate.blocks_per_multiprocessor;
    return absl::OkStatus();
  }

  absl::Status ReadLatency(Sample& sample) const {
    RETURN_IF_ERROR(csv_.ReadMicroseconds(columns_.latency, sample.latency_us));
    sample.min_us = sample.latency_us;
    sample.device_time_us = sample.latency_us;
    if (columns_.minimum != kAbsent) {
      RETURN_IF_ERROR(csv_.ReadMicroseconds(columns_.minimum, sample.min_us));
      sample.relative_spread = std::max(
          0.0, (sample.latency_us - sample.min_us) / sample.latency_us);
    }
#define WAVETUNE_READ(field, digits) \
  RETURN_IF_ERROR(ReadRecorded(columns_.field, sample.field));
    WAVETUNE_RECORDED_FIELDS(WAVETUNE_READ)
#undef WAVETUNE_READ
    return absl::OkStatus();
  }

  // Leaves the value where there is no such column. One function for all types,
  // as not every type needs to be among the recorded fields.
  template <typename Value>
  absl::Status ReadRecorded(int column, Value& value) const {
    if (column == kAbsent) return absl::OkStatus();
    if constexpr (std::is_same_v<Value, bool>) {
      return csv_.ReadFlag(column, value);
    } else if constexpr (std::is_floating_point_v<Value>) {
      return csv_.ReadRatio(column, value);
    } else {
      int64_t count = 0;
      RETURN_IF_ERROR(csv_.ReadCount(column, count));
      value = static_cast<Value>(count);
      return absl::OkStatus();
    }
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
  const std::vector<TraceCandidate>* const listed_;  // May be nullptr.
  const std::vector<std::string> specialisations_;
  CsvReader csv_;
  Columns columns_;
  std::vector<Variant> variants_;
  std::set<Configuration> seen_;
  std::vector<std::set<Configuration>> seen_by_specialisation_;
  Trace result_;
};

}  // namespace

absl::StatusOr<Trace> ParseTrace(
    const KernelSpec& spec, const DeviceFacts& device, absl::string_view csv,
    const std::vector<TraceCandidate>* candidates) {
  return Parser(spec, device, csv, candidates).Run();
}

std::string FormatTrace(const KernelSpec& spec,
                        const std::vector<TraceCandidate>& candidates,
                        const std::vector<Sample>& samples) {
  std::map<std::pair<std::string, Configuration>, size_t> numbers;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].candidate.excluded()) continue;
    numbers[{candidates[i].specialisation,
             candidates[i].candidate.configuration}] = i;
  }
  std::vector<std::pair<size_t, const Sample*>> lines;
  for (const Sample& sample : samples) {
    const auto number =
        numbers.find({sample.problem.specialisation, sample.configuration});
    if (number == numbers.end()) continue;
    lines.emplace_back(number->second, &sample);
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) {
                     return std::tie(a.second->problem, a.first) <
                            std::tie(b.second->problem, b.first);
                   });
  CsvWriter csv;
  csv.Add("candidate");
  AddDimensionNames(spec, csv);
  csv.Add("latency_us", "latency_us_min");
#define WAVETUNE_NAME(field, digits) csv.Add(#field);
  WAVETUNE_RECORDED_FIELDS(WAVETUNE_NAME)
#undef WAVETUNE_NAME
  csv.EndLine();
  for (const auto& [number, sample] : lines) {
    csv.Add(number);
    AddExtents(spec, sample->problem, csv);
    csv.Add(absl::StrFormat("%.5g", sample->latency_us),
            absl::StrFormat("%.5g", sample->min_us));
#define WAVETUNE_WRITE(field, digits) \
  csv.Add(absl::StrFormat("%.*g", digits, static_cast<double>(sample->field)));
    WAVETUNE_RECORDED_FIELDS(WAVETUNE_WRITE)
#undef WAVETUNE_WRITE
    csv.EndLine();
  }
  return std::move(csv).text();
}

}  // namespace wavetune
