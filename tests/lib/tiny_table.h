// The smallest table with something in every field that matters: one candidate,
// one row, one segment. docs/table_format.md shows its payload byte by byte.
#ifndef WAVETUNE_TESTS_LIB_TINY_TABLE_H_
#define WAVETUNE_TESTS_LIB_TINY_TABLE_H_

#include "model/table/table.h"

namespace wavetune::testing {

// ceil(dimension / parameter), by index.
Expression TilesAlong(int dimension, int parameter);

// A vector addition over `n`, tile BLOCK = 256, on a device of 4 compute units.
Table TinyTable();

// A GEMM over m, n, k with two candidates of different tiles (64 and 128), for
// tests that set coefficients by hand. Both rows predict delta = 10 us, so that
// the first wins. Capacity is 100; measured are 1 to 4 waves and 1 to 64
// iterations; wave regimes end at 1 and nowhere; loop anchors are 8 and 32.
Table TwoGroupTable();

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_TINY_TABLE_H_
