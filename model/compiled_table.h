// CompiledTable: a table laid out for deciding. Immutable; built once per
// table.
//
//   auto table = CompiledTable::Create(payload);                  // verifies
//   and compiles Decision d = table->Resolve(sub_table_index, {m, n, k}); // no
//   lock, allocation, system call or exception
//
// Thread safety: immutable after Create; any number of threads may Resolve.
#ifndef WAVETUNE_MODEL_COMPILED_TABLE_H_
#define WAVETUNE_MODEL_COMPILED_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/decision.h"
#include "model/mapping.h"
#include "model/problem.h"
#include "model/table.h"

namespace wavetune {

// One line of an explanation: a macro group's row at a problem.
struct ExplainedRow {
  Configuration configuration;  // Stage II's choice for the row.
  Coordinates coordinates;
  int64_t waves = 1;
  int64_t capacity = 1;
  RowRegime row_regime;
  double latency_us = 0;
  double relative_bound = 0;
  bool legal = true;  // False: a predicate excludes the row for this problem.
  bool chosen = false;
  bool extrapolated = false;
};

class CompiledTable {
 public:
  // Decodes, checks and compiles a payload. Errors: as DecodeTable.
  static absl::StatusOr<std::unique_ptr<const CompiledTable>> Create(
      absl::string_view payload);

  // The decoded table; its digest as 64 hex digits; the payload it came from.
  const Table& table() const { return table_; }
  const std::string& digest() const { return digest_; }
  const std::string& payload() const { return payload_; }

  // Returns the index of a specialisation's sub-table, or -1.
  int SubTableIndex(absl::string_view specialisation) const;

  // Returns the configuration with the lowest predicted latency for `problem`.
  //
  // Shapes: problem.extents as the kernel's dimensions, each in [min, max].
  // Units:  Decision::latency_us is predicted device time of one launch in
  // microseconds. Errors: cannot fail; an unknown sub-table (-1) or an illegal
  // problem answers the default configuration with source kDefault.
  //         `stale` turns kFitted and kExtrapolated into kStale.
  // Ties:   the earlier group wins, also when it is slower by at most
  // Table::near_tie (relative). Cost:   O(macro groups); no lock, allocation or
  // system call. Thread-safe. Source: arXiv 2604.10187, section 4.4. Deviation:
  // rows also depend on the row regime; capacity counts resident blocks.
  Decision Resolve(int sub_table, const ProblemView& problem,
                   bool stale = false) const noexcept;

  // Returns every group's row at `problem`, best first, illegal rows last;
  // empty where Resolve answers kDefault for the problem itself.
  std::vector<ExplainedRow> Explain(int sub_table,
                                    const ProblemView& problem) const;

 private:
  CompiledTable(Table table, std::string digest, std::string payload);

  Table table_;
  std::string digest_;
  std::string payload_;
  uint64_t digest_prefix_ = 0;
  int repeated_dimension_ = -1;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_COMPILED_TABLE_H_
