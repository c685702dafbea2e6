// CompiledTable: a table laid out for deciding. Immutable; built once per
// table.
//
//   auto table = CompiledTable::Create(payload);  // Verifies and compiles.
//   int sub_table = (*table)->SubTableIndex("causal");
//   Decision d = (*table)->Resolve(sub_table, {m, n, k});
//
// Why out of line: every rank must get the same bits, so the arithmetic is
// compiled once, without contraction, whatever the caller's flags.
//
// Thread safety: immutable after Create; any number of threads may Resolve.
#ifndef WAVETUNE_MODEL_DECIDE_COMPILED_TABLE_H_
#define WAVETUNE_MODEL_DECIDE_COMPILED_TABLE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/decide/decision_memo.h"
#include "model/decide/group_answer.h"
#include "model/decide/simd/simd_path.h"
#include "model/kernel/mapping.h"
#include "model/table/table.h"
#include "wavetune/decision.h"
#include "wavetune/explanation.h"
#include "wavetune/problem.h"

namespace wavetune {

class CompiledSubTable;
class LayerIndex;
class GemmFastPath;
struct LaneKernel;

// One of the problems that ResolveTogether decides.
struct TableProblem {
  int sub_table = -1;
  ProblemView problem;
};

class CompiledTable {
 public:
  ~CompiledTable();
  CompiledTable(const CompiledTable&) = delete;
  CompiledTable& operator=(const CompiledTable&) = delete;

  // Decodes, checks and compiles a payload. Errors: as DecodeTable. Answers do
  // not depend on `path`, which this CPU must run (SupportedSimdPaths).
  static absl::StatusOr<std::unique_ptr<const CompiledTable>> Create(
      absl::string_view payload, SimdPath path = DefaultSimdPath());

  // The decoded table; its digest as 64 hex digits; the payload it came from.
  const Table& table() const { return table_; }
  const std::string& digest() const { return digest_; }
  const std::string& payload() const { return payload_; }

  // Returns the index of a specialisation's sub-table, or -1.
  int SubTableIndex(absl::string_view specialisation) const;

  // Returns the configuration with the lowest predicted latency for `problem`.
  //
  // Shapes:  problem.extents as the kernel's dimensions, each in [min, max].
  // Units:   Decision::latency_us is predicted device time of one launch in
  //          microseconds.
  // Errors:  cannot fail. An unknown sub-table (-1) or an illegal problem
  //          answers the default configuration with source kDefault.
  //          kWrongDimensionCount also for an empty list of the repeated
  //          dimension, or a list where none is repeated. kExtentOutOfRange
  //          also for one element of the list. The slot of the repeated
  //          dimension in problem.extents is ignored.
  // Ties:    R is the lowest rank of a legal group (its prediction, slower
  //          where WaveForm says so). The first legal group ranked at or below
  //          R * (1 + Table::near_tie) wins.
  // Layers:  where SubTable::layers has a legal group for the problem it wins.
  // Wary:    where SubTable::wary, the default configuration's row wins against
  //          one that is kExtrapolated and not of a layer, unless it is slower
  //          than that one by more than its relative_bound.
  // Counts:  kNoLegalCandidate also where tiles or iterations of any group
  //          exceed kExpressionLimit: too little would be predicted for it.
  // Quality: kExtrapolated, with the segment's extrapolated_bound, where waves
  //          or iterations lie outside of the chosen segment's measured range.
  //          So it is where the problem fills less than half of a tile
  //          (model/decide/part_tiles.h) and is of no measured layer.
  //          Else kFitted with relative_bound; `stale` turns both into kStale.
  //          Predictions are finite and never below the segment's floor_us > 0.
  // Cost:    O(macro groups), for a repeated dimension plus its elements times
  //          distinct tiles; a problem that repeats, a look-up
  //          (model/decide/decision_memo.h). No lock, allocation or system
  //          call. Thread-safe.
  // Source:  arXiv 2604.10187, section 4.4. Deviation: rows also depend on the
  //          row regime; tiles_per_wave counts
  //          resident blocks.
  // `origin` is what Decision::origin says; an argument, since a caller that
  // wrote it would copy the decision.
  Decision Resolve(int sub_table, const ProblemView& problem,
                   bool stale = false,
                   TableOrigin origin = TableOrigin::kDefaults) const noexcept;

  // Writes to decisions[i] what the launch of problems[i] shall use, where the
  // launches agree on the parameters of the mask `shared` (bit p: parameter p).
  //
  // Chosen:  the values of the shared parameters with the lowest sum of ranks,
  //          each rank that of the problem's best candidate with these values.
  //          A candidate's rank is that of its group's row. Every problem then
  //          has that candidate of its own.
  // Ties:    sums are added in the problems' order. The first values within
  //          1 + Table::near_tie of the lowest sum win, in the order of the
  //          first problem's groups. Within a group stage II's choice comes
  //          first, then the members by index. Between candidates of one
  //          problem with the same values the lower rank wins, then that order.
  // Kept:    `incumbent` (nullptr: there is none) would be launched
  //          otherwise. Its values win unless the lowest sum is below theirs by
  //          more than kIncumbentShare of the largest relative_bound of the
  //          answers in the lowest sum. Not where the table has no prediction
  //          of them for all problems.
  // Errors:  cannot fail. Where one of the problems has no answer (as Resolve)
  //          all get the default, with the reason of the first of them.
  //          kNoLegalCandidate also where no values are legal for all.
  //          kWrongDimensionCount where there are no problems, more than
  //          kMaxTogether, or not as many decisions.
  // Layers:  are not looked at: they say which group is best, not by how much.
  //          Nor is SubTable::wary: the default need not be on offer to all.
  // Cost:    tens of microseconds a problem; no lock, allocation or system
  //          call. Thread-safe.
  static constexpr size_t kMaxTogether = 4;
  // Bounds are of one prediction; two at one problem are off together, so that
  // their quotient is surer (docs/decisions/0075).
  static constexpr double kIncumbentShare = 0.25;
  void ResolveTogether(absl::Span<const TableProblem> problems, uint32_t shared,
                       absl::Span<Decision> decisions, bool stale = false,
                       TableOrigin origin = TableOrigin::kDefaults,
                       const Configuration* incumbent = nullptr) const noexcept;

  // Returns every group's row at `problem`, lowest rank first, illegal rows
  // last; empty where Resolve answers kDefault for the problem itself. The
  // chosen row is not the first one where a near-tie went to an earlier group,
  // the problem's layer was measured, or the default was kept.
  std::vector<ExplainedGroup> Explain(int sub_table,
                                      const ProblemView& problem) const;

 private:
  // Extents of a dimension; those of the repeated one are not looked at here.
  struct Range {
    uint64_t min = 0;
    uint64_t span = ~uint64_t{0};
  };

  CompiledTable(Table table, std::string digest, std::string payload,
                SimdPath path);

  // What deciding in one sub-table reads first, together.
  struct SubTablePlan {
    uint64_t number = 0;                      // MemoKey::table.
    const GemmFastPath* fast_path = nullptr;  // A GEMM's.
    const LayerIndex* layers = nullptr;       // Null: none are known.
    const Decision* answers = nullptr;  // [candidate], less what a problem
                                        // gives.
    const CompiledTable* table = nullptr;
    PowerLimitSlowdown power_limit;
  };

  // Returns kNone for a problem that the sub-tables can be asked about.
  DefaultReason CheckProblem(int sub_table,
                             const ProblemView& problem) const noexcept;
  // Writes the answer and returns kNone, or returns why there is none. Not
  // inline, as the next: Resolve is mostly a look-up or a call of GemmFastPath.
  ABSL_ATTRIBUTE_NOINLINE DefaultReason
  Decide(int sub_table, const ProblemView& problem,
         GroupAnswer& answer) const noexcept;
  // What ResolveTogether chose: of each problem its answer.
  DefaultReason DecideTogether(absl::Span<const TableProblem> problems,
                               uint32_t shared, const Configuration* incumbent,
                               GroupAnswer* answers) const noexcept;
  // Returns why no group of a sub-table may run the problem.
  DefaultReason WhyNone(size_t index,
                        const ProblemView& problem) const noexcept;
  // Decide and put the answer into the memo: a GEMM's problem, and any other.
  ABSL_ATTRIBUTE_NOINLINE static Decision ResolveGeneral(
      const SubTablePlan& plan, const ProblemView& problem, MemoEntry& entry,
      bool stale, TableOrigin origin) noexcept;
  ABSL_ATTRIBUTE_NOINLINE static Decision ResolveFastPath(
      const SubTablePlan& plan, const ProblemView& problem, MemoEntry& entry,
      bool stale, TableOrigin origin) noexcept;
  ABSL_ATTRIBUTE_NOINLINE Decision
  ResolveUncached(int sub_table, const ProblemView& problem, bool stale,
                  TableOrigin origin) const noexcept;
  Decision Default(DefaultReason reason, TableOrigin origin) const noexcept;

  // Dimensions of problems that the memo keeps.
  static constexpr size_t kNone = ~size_t{0};  // No problem has so many.
  size_t remembered_dimensions_ = kNone;
  size_t plan_count_ = 0;
  std::unique_ptr<SubTablePlan[]> plans_;  // As table_.sub_tables.
  Table table_;
  std::string digest_;
  std::string payload_;
  const LaneKernel* kernel_ = nullptr;
  int repeated_dimension_ = -1;
  int dimensions_ = 0;
  std::array<Range, kMaxDimensions> ranges_{};
  int64_t min_element_ = 0;  // The repeated dimension's.
  int64_t max_element_ = 0;
  // As table_.sub_tables, which they refer to.
  std::vector<std::unique_ptr<const CompiledSubTable>> sub_tables_;
  // What decisions look like, less the problem's numbers:
  // [sub-table][candidate] and the default.
  std::vector<std::vector<Decision>> answers_;
  Decision default_answer_;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_COMPILED_TABLE_H_
