#include "formats/trace_candidates.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "formats/kernel_columns.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

constexpr size_t kMaxReason = 200;

struct CandidateColumns {
  int number = CsvReader::kAbsent;
  int specialisation = CsvReader::kAbsent;
  std::vector<int> parameters;
  int tiles_per_wave = CsvReader::kAbsent;
  int blocks_per_sm = CsvReader::kAbsent;
  int registers = CsvReader::kAbsent;
  int shared_memory = CsvReader::kAbsent;
  int excluded = CsvReader::kAbsent;
};

absl::StatusOr<CandidateColumns> FindColumns(const KernelSpec& spec,
                                             const CsvReader& csv) {
  CandidateColumns columns;
  RETURN_IF_ERROR(csv.Require("candidate", columns.number));
  if (!spec.specialisations.empty()) {
    RETURN_IF_ERROR(csv.Require("specialisation", columns.specialisation));
  }
  for (const Parameter& parameter : spec.parameters) {
    RETURN_IF_ERROR(
        csv.Require(parameter.name, columns.parameters.emplace_back()));
  }
  columns.tiles_per_wave = csv.Find("capacity");
  columns.blocks_per_sm = csv.Find("blocks_per_sm");
  columns.registers = csv.Find("registers_per_thread");
  columns.shared_memory = csv.Find("shared_memory_bytes");
  columns.excluded = csv.Find("excluded");
  return columns;
}

absl::Status ReadFacts(const CsvReader& csv, const CandidateColumns& columns,
                       const DeviceFacts& device, Candidate& candidate) {
  int64_t blocks = 0;
  int64_t registers = 0;
  RETURN_IF_ERROR(csv.ReadCount(columns.blocks_per_sm, blocks));
  RETURN_IF_ERROR(csv.ReadCount(columns.registers, registers));
  RETURN_IF_ERROR(
      csv.ReadCount(columns.shared_memory, candidate.shared_memory_bytes));
  RETURN_IF_ERROR(
      csv.ReadCount(columns.tiles_per_wave, candidate.tiles_per_wave));
  candidate.registers = static_cast<int32_t>(registers);
  candidate.blocks_per_multiprocessor =
      static_cast<int32_t>(std::max<int64_t>(1, blocks));
  if (candidate.tiles_per_wave < 1) {
    candidate.tiles_per_wave = int64_t{std::max(1, device.multiprocessors)} *
                               candidate.blocks_per_multiprocessor;
  }
  if (columns.excluded != CsvReader::kAbsent) {
    candidate.excluded_reason = std::string(csv.cell(columns.excluded));
  }
  return absl::OkStatus();
}

absl::StatusOr<TraceCandidate> ReadLine(const KernelSpec& spec,
                                        const DeviceFacts& device,
                                        const CsvReader& csv,
                                        const CandidateColumns& columns,
                                        size_t expected) {
  RETURN_IF_ERROR(csv.CheckWidth());
  int64_t number = 0;
  RETURN_IF_ERROR(csv.ReadInteger(columns.number, number));
  if (number != static_cast<int64_t>(expected)) {
    return csv.CellFault(
        columns.number,
        absl::StrCat("is out of order; number candidates from 0 on, this is ",
                     expected));
  }
  TraceCandidate line;
  if (columns.specialisation != CsvReader::kAbsent) {
    line.specialisation = std::string(csv.cell(columns.specialisation));
    const std::vector<std::string> names = spec.SpecialisationNames();
    if (std::find(names.begin(), names.end(), line.specialisation) ==
        names.end()) {
      return csv.CellFault(columns.specialisation,
                           absl::StrCat("is no specialisation; the kernel has ",
                                        absl::StrJoin(names, ", ")));
    }
  }
  RETURN_IF_ERROR(ReadConfiguration(csv, spec.Of(line.specialisation),
                                    columns.parameters,
                                    line.candidate.configuration));
  RETURN_IF_ERROR(ReadFacts(csv, columns, device, line.candidate));
  return line;
}

// Never empty where there is one, as an empty cell is none.
std::string Reason(const Candidate& candidate) {
  const std::string reason =
      CsvCell(candidate.excluded_reason.substr(0, kMaxReason));
  return reason.empty() && candidate.excluded() ? "excluded" : reason;
}

}  // namespace

absl::StatusOr<std::vector<TraceCandidate>> ParseTraceCandidates(
    const KernelSpec& spec, const DeviceFacts& device, absl::string_view text) {
  CsvReader csv(text, "trace");
  RETURN_IF_ERROR(csv.ReadHeader());
  ASSIGN_OR_RETURN(const CandidateColumns columns, FindColumns(spec, csv));
  std::vector<TraceCandidate> candidates;
  std::set<std::pair<std::string, Configuration>> seen;
  while (csv.Next()) {
    ASSIGN_OR_RETURN(TraceCandidate line,
                     ReadLine(spec, device, csv, columns, candidates.size()));
    if (!seen.emplace(line.specialisation, line.candidate.configuration)
             .second) {
      return csv.Fault("names a candidate a second time; drop the line");
    }
    candidates.push_back(std::move(line));
  }
  return candidates;
}

std::string FormatTraceCandidates(
    const KernelSpec& spec, const std::vector<TraceCandidate>& candidates) {
  const bool specialised = !spec.specialisations.empty();
  CsvWriter csv;
  csv.Add("candidate");
  if (specialised) csv.Add("specialisation");
  AddParameterNames(spec, csv);
  csv.Add("capacity", "blocks_per_sm", "registers_per_thread",
          "shared_memory_bytes", "excluded")
      .EndLine();
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i].candidate;
    csv.Add(i);
    if (specialised) csv.Add(candidates[i].specialisation);
    csv.AddAll(candidate.configuration.values())
        .Add(candidate.tiles_per_wave, candidate.blocks_per_multiprocessor,
             candidate.registers, candidate.shared_memory_bytes)
        .Add(Reason(candidate))
        .EndLine();
  }
  return std::move(csv).text();
}

std::vector<std::vector<Candidate>> UsableBySpecialisation(
    const KernelSpec& spec, const std::vector<TraceCandidate>& candidates) {
  std::vector<std::vector<Candidate>> usable;
  for (const std::string& name : spec.SpecialisationNames()) {
    std::vector<Candidate>& own = usable.emplace_back();
    for (const TraceCandidate& c : candidates) {
      if (c.specialisation == name && !c.candidate.excluded()) {
        own.push_back(c.candidate);
      }
    }
  }
  return usable;
}

}  // namespace wavetune
