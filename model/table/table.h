// Table: the dual lookup tables of one (kernel fingerprint, device class),
// decoded.
//
// The *coefficient table* maps (row, wave regime) to the wave model's
// coefficients and an error bound; the *micro table* maps (row, wave regime,
// loop anchor) to a candidate. Stage I of a decision is the argmin over rows,
// or, of a layer that was measured, what its measurements say; stage II is a
// look-up in the micro table. A table holds all that a decision
// needs (mapping, predicates, candidates), so that its payload's digest
// determines every answer.
//
// Written by FitTable (fit/build/fit_table.h), encoded by
// model/table/table_codec.h, read through CompiledTable
// (model/decide/compiled_table.h). Source: arXiv 2604.10187, section 4.4
// (dual-table retrieval). Deviations: rows are also split by row regime and
// capacity; docs/architecture.md says why.
#ifndef WAVETUNE_MODEL_TABLE_TABLE_H_
#define WAVETUNE_MODEL_TABLE_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/kernel/mapping.h"
#include "model/kernel/relation.h"
#include "model/kernel/wave_form.h"
#include "model/table/power_limit_slowdown.h"
#include "wavetune/configuration.h"
#include "wavetune/coordinates.h"
#include "wavetune/dimension.h"

namespace wavetune {

// Coefficients in microseconds; WaveForm (model/kernel/wave_form.h) says what
// they mean.
struct WaveCoefficients {
  double delta = 0;
  double delta_w = 0;
  double gamma = 0;
  double gamma_w = 0;
  double beta = 0;
  double alpha = 0;
  double alpha_row = 0;  // kSum does not read it.
  double cold = 0;       // kOverlap does not read it.

  friend bool operator==(const WaveCoefficients&,
                         const WaveCoefficients&) = default;
};

// One entry of the coefficient table with its line of the micro table: the
// model of (row, wave regime).
struct WaveSegment {
  WaveCoefficients coefficients;
  // Tiles of one step. kSum: the capacity where all multiprocessors are full,
  // one per multiprocessor below (there s counts the tiles of the busiest one).
  // kOverlap: one per multiprocessor.
  int64_t step_tiles = 1;
  double floor_us = 0;            // Predictions are never below this.
  double relative_bound = 0;      // Half-width of the error bound inside the
                                  // measured range, relative to the prediction.
  double extrapolated_bound = 0;  // The same outside.
  // A prediction competes so much slower, in kRankMarginUnit: 0 to 25 %. kSum
  // does not read it.
  uint8_t rank_margin = 0;
  // Measured range; outside of it an answer is EXTRAPOLATED.
  int64_t min_wave = 1;
  int64_t max_wave = 1;
  double min_iterations = 0;
  double max_iterations = 0;
  // Micro table: portfolio index per loop anchor (SubTable::loop_anchors).
  std::vector<uint8_t> micro;

  friend bool operator==(const WaveSegment&, const WaveSegment&) = default;
};

// The row of one row regime: its segments, one per wave regime.
struct GroupModel {
  std::vector<WaveSegment> segments;

  friend bool operator==(const GroupModel&, const GroupModel&) = default;
};

// Rows of one (macro configuration, capacity, set of predicates), one per row
// regime.
struct MacroGroup {
  uint8_t lead = 0;  // Portfolio index of a member: gives macro values, alike
                     // for all members.
  int64_t tiles_per_wave = 1;
  // Ascending indices into SubTable::predicates: what a problem must fulfil.
  std::vector<uint8_t> predicates;
  std::vector<GroupModel> models;  // As many as SubTable::row_regimes.

  friend bool operator==(const MacroGroup&, const MacroGroup&) = default;
};

// A candidate that the table may choose.
struct TableCandidate {
  Configuration configuration;
  int64_t tiles_per_wave = 1;
  int32_t registers = 0;
  int64_t shared_memory_bytes = 0;

  friend bool operator==(const TableCandidate&,
                         const TableCandidate&) = default;
};

// Rows' extents from the end of the span before to `last`, and who serves them.
struct LayerSpan {
  int64_t last = 0;
  uint8_t group = 0;

  friend bool operator==(const LayerSpan&, const LayerSpan&) = default;
};

// What measurements of one layer say of it. A layer: problems that differ in
// the rows' extent alone, as those of a linear layer do that sees more or fewer
// tokens (fit/build/layer_choices.h).
struct LayerChoices {
  std::vector<int64_t> extents;  // Extents of all dimensions; 0 for the rows'.
  int64_t first = 0;             // The first span begins here.
  std::vector<LayerSpan> spans;  // Ascending.

  friend bool operator==(const LayerChoices&, const LayerChoices&) = default;
};

// The table of one specialisation.
struct SubTable {
  std::string specialisation;
  Mapping mapping;
  // Relations over dimensions that a problem must fulfil; distinct. The first
  // `preconditions` of them hold for the kernel: every group has them, and a
  // problem that breaks one is answered with the default. The others hold for
  // the configurations of the groups that have them.
  std::vector<Relation> predicates;
  int32_t preconditions = 0;
  WaveForm form = WaveForm::kSum;  // All segments'.
  // Models and floors give latencies at the clock of short launches; answers
  // are those of this load. Ranks need it not.
  PowerLimitSlowdown power_limit;
  // Its predictions are so uncertain that beyond the measured range the default
  // configuration answers, unless a row is faster by more than its bound
  // (docs/decisions/0033). The default then leads a group.
  bool wary = false;
  std::vector<TableCandidate> portfolio;  // Stable order: earlier wins ties.
  std::vector<RowRegime> row_regimes;
  std::vector<int64_t> max_waves;  // Upper end of each wave regime, ascending;
                                   // the last takes everything.
  std::vector<double> loop_anchors;  // Ascending; a problem uses the nearest,
                                     // ties to the lower.
  std::vector<MacroGroup> groups;
  // Ascending by extents. Where a problem is in a span its group decides, if it
  // is legal, whatever the ranks.
  std::vector<LayerChoices> layers;

  friend bool operator==(const SubTable&, const SubTable&) = default;
};

// The table of one kernel on one device class.
struct Table {
  std::string kernel;
  std::string fingerprint;  // Hex SHA-256.
  std::string silicon_key;
  std::string environment_key;
  std::vector<Dimension> dimensions;
  std::vector<std::string>
      parameters;  // Names, in the order of a Configuration.
  Configuration default_configuration;
  // A row earlier in order wins against a faster one if its prediction is
  // within this relative margin: choices stay stable.
  double near_tie = 0;
  std::vector<SubTable> sub_tables;  // Sorted by specialisation name.

  friend bool operator==(const Table&, const Table&) = default;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_TABLE_H_
