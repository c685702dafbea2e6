// Random but valid tables and problems of every shape that a table can have.
// Shapes have dense and repeated dimensions, clusters, causal blocks,
// predicates and preconditions, several row and wave regimes, exact and near
// ties, floors.
//
//   Lcg random(7);
//   Table table = RandomTable(random);
//   Problem problem = RandomProblem(random, table);
//   Decision d = compiled->Resolve(0, problem.View());
#ifndef WAVETUNE_TESTS_LIB_RANDOM_TABLE_H_
#define WAVETUNE_TESTS_LIB_RANDOM_TABLE_H_

#include "model/table/table.h"
#include "tests/lib/lcg.h"
#include "wavetune/problem.h"

namespace wavetune::testing {

enum class TableKind {
  kGemm,             // m, n, k
  kGroupedGemm,      // m repeated, n, k
  kCausalAttention,  // batch, heads, seq_q, seq_kv
  kPackedAttention,  // seq repeated, heads: causal over sequences of any length
  kClusterGemm,      // m, n, k in whole clusters of rows
  kRowNorm,          // rows, hidden: no loop
  kSelfAttention,    // batch, heads, seq: of queries and keys
  kSums,             // tokens, topk, experts, n, k: sums of terms
  kGroupedSums,      // m repeated, n, k: sums of terms and of elements
};

// Returns a table that CheckTable accepts, with one to three sub-tables, of a
// kind up to kClusterGemm.
Table RandomTable(Lcg& random);

// The same of one kind with one sub-table of up to `portfolio` candidates.
Table RandomTable(Lcg& random, TableKind kind, int portfolio);

// A table of one overlapping sub-table with some hundred rows and 550 segments
// or more, the most that a fitted one has. The segments of a group share most
// of their numbers, as fitted ones do.
Table RandomLargeTable(Lcg& random);

// Makes the sub-table one of WaveForm::kOverlap, with coefficients of its own.
void MakeOverlap(Lcg& random, SubTable& sub);

// Gives the segments of each row one model and lets them be measured from the
// first wave on, as FitTable makes overlaps.
void MakeAlikeAcrossWaves(SubTable& sub);

// Gives the segments of an overlapping sub-table rank margins, half of them 0.
void AddRankMargins(Lcg& random, SubTable& sub);

// Lets the sub-table count what a problem reads cold, if it is a sum over a
// repeated dimension; returns whether it does.
bool AddColdBytes(Lcg& random, const Table& table, SubTable& sub);

// Gives the sub-table up to `most` layers, if its mapping can have any.
void AddLayers(Lcg& random, const Table& table, int most, SubTable& sub);

// Slows the sub-table's long launches down.
void AddPowerLimitSlowdown(Lcg& random, SubTable& sub);

// Makes a group's lead the default configuration, and all sub-tables wary where
// it leads one.
void MakeWary(Lcg& random, Table& table);

// Moves a problem into one of the sub-table's layers, if it has any.
void PlaceInLayer(Lcg& random, const SubTable& sub, Problem& problem);

// Returns a problem for `table`, mostly legal; sometimes with a wrong number of
// extents, an extent out of range or an empty list. Names no specialisation.
Problem RandomProblem(Lcg& random, const Table& table);

// The same, always in range.
Problem RandomLegalProblem(Lcg& random, const Table& table);

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_RANDOM_TABLE_H_
