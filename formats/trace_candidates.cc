#include "formats/trace_candidates.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "formats/trace_cells.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

constexpr size_t kMaxReason = 200;

struct CandidateColumns {
  int number = TraceCells::kAbsent;
  int specialisation = TraceCells::kAbsent;
  std::vector<int> parameters;
  int tiles_per_wave = TraceCells::kAbsent;
  int blocks_per_sm = TraceCells::kAbsent;
  int registers = TraceCells::kAbsent;
  int shared_memory = TraceCells::kAbsent;
  int excluded = TraceCells::kAbsent;
};

absl::StatusOr<CandidateColumns> FindColumns(const KernelSpec& spec,
                                             const TraceCells& cells) {
  CandidateColumns columns;
  RETURN_IF_ERROR(cells.CheckNames());
  RETURN_IF_ERROR(cells.Require("candidate", columns.number));
  if (!spec.specialisations.empty()) {
    RETURN_IF_ERROR(cells.Require("specialisation", columns.specialisation));
  }
  for (const Parameter& parameter : spec.parameters) {
    RETURN_IF_ERROR(
        cells.Require(parameter.name, columns.parameters.emplace_back()));
  }
  columns.tiles_per_wave = cells.Find("capacity");
  columns.blocks_per_sm = cells.Find("blocks_per_sm");
  columns.registers = cells.Find("registers_per_thread");
  columns.shared_memory = cells.Find("shared_memory_bytes");
  columns.excluded = cells.Find("excluded");
  return columns;
}

absl::Status ReadFacts(const TraceCells& cells, const CandidateColumns& columns,
                       const DeviceFacts& device, Candidate& candidate) {
  int64_t blocks = 0;
  int64_t registers = 0;
  RETURN_IF_ERROR(cells.ReadCount(columns.blocks_per_sm, blocks));
  RETURN_IF_ERROR(cells.ReadCount(columns.registers, registers));
  RETURN_IF_ERROR(
      cells.ReadCount(columns.shared_memory, candidate.shared_memory_bytes));
  RETURN_IF_ERROR(
      cells.ReadCount(columns.tiles_per_wave, candidate.tiles_per_wave));
  candidate.registers = static_cast<int32_t>(registers);
  candidate.blocks_per_multiprocessor =
      static_cast<int32_t>(std::max<int64_t>(1, blocks));
  if (candidate.tiles_per_wave < 1) {
    candidate.tiles_per_wave = int64_t{std::max(1, device.multiprocessors)} *
                               candidate.blocks_per_multiprocessor;
  }
  if (columns.excluded != TraceCells::kAbsent) {
    candidate.excluded_reason = std::string(cells.cell(columns.excluded));
  }
  return absl::OkStatus();
}

absl::StatusOr<TraceCandidate> ReadLine(const KernelSpec& spec,
                                        const DeviceFacts& device,
                                        const TraceCells& cells,
                                        const CandidateColumns& columns,
                                        size_t expected) {
  RETURN_IF_ERROR(cells.CheckWidth());
  int64_t number = 0;
  RETURN_IF_ERROR(cells.ReadInteger(columns.number, number));
  if (number != static_cast<int64_t>(expected)) {
    return cells.CellFault(
        columns.number,
        absl::StrCat("is out of order; number candidates from 0 on, this is ",
                     expected));
  }
  TraceCandidate line;
  if (columns.specialisation != TraceCells::kAbsent) {
    line.specialisation = std::string(cells.cell(columns.specialisation));
    const std::vector<std::string> names = spec.SpecialisationNames();
    if (std::find(names.begin(), names.end(), line.specialisation) ==
        names.end()) {
      return cells.CellFault(
          columns.specialisation,
          absl::StrCat("is no specialisation; the kernel has ",
                       absl::StrJoin(names, ", ")));
    }
  }
  RETURN_IF_ERROR(cells.ReadConfiguration(spec, columns.parameters,
                                          line.candidate.configuration));
  RETURN_IF_ERROR(ReadFacts(cells, columns, device, line.candidate));
  return line;
}

// A reason as a cell: one line, no separators.
std::string Cell(const std::string& reason) {
  std::string cell = reason.substr(0, kMaxReason);
  for (char& c : cell) {
    if (c == ',') c = ';';
    // Also what is left of a character that was cut.
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = ' ';
  }
  absl::RemoveExtraAsciiWhitespace(&cell);
  return cell.empty() && !reason.empty() ? "excluded" : cell;
}

}  // namespace

absl::StatusOr<std::vector<TraceCandidate>> ParseTraceCandidates(
    const KernelSpec& spec, const DeviceFacts& device, absl::string_view csv) {
  TraceCells cells(csv);
  if (!cells.Next()) {
    return cells.Fault("there is no line with column names; give one");
  }
  ASSIGN_OR_RETURN(const CandidateColumns columns, FindColumns(spec, cells));
  std::vector<TraceCandidate> candidates;
  std::set<std::pair<std::string, Configuration>> seen;
  while (cells.Next()) {
    ASSIGN_OR_RETURN(TraceCandidate line,
                     ReadLine(spec, device, cells, columns, candidates.size()));
    if (!seen.emplace(line.specialisation, line.candidate.configuration)
             .second) {
      return cells.Fault("names a candidate a second time; drop the line");
    }
    candidates.push_back(std::move(line));
  }
  return candidates;
}

std::string FormatTraceCandidates(
    const KernelSpec& spec, const std::vector<TraceCandidate>& candidates) {
  const bool specialised = !spec.specialisations.empty();
  std::string csv = "candidate";
  if (specialised) absl::StrAppend(&csv, ",specialisation");
  for (const Parameter& parameter : spec.parameters) {
    absl::StrAppend(&csv, ",", parameter.name);
  }
  absl::StrAppend(&csv,
                  ",capacity,blocks_per_sm,registers_per_thread,"
                  "shared_memory_bytes,excluded\n");
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i].candidate;
    absl::StrAppend(&csv, i);
    if (specialised) absl::StrAppend(&csv, ",", candidates[i].specialisation);
    absl::StrAppend(&csv, ",",
                    absl::StrJoin(candidate.configuration.values(), ","), ",",
                    candidate.tiles_per_wave, ",",
                    candidate.blocks_per_multiprocessor, ",");
    absl::StrAppend(&csv, candidate.registers, ",",
                    candidate.shared_memory_bytes, ",",
                    Cell(candidate.excluded_reason), "\n");
  }
  return csv;
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
