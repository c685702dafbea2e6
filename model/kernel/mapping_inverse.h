// Inverse of a mapping: a problem that lands on wanted physical coordinates.
#ifndef WAVETUNE_MODEL_KERNEL_MAPPING_INVERSE_H_
#define WAVETUNE_MODEL_KERNEL_MAPPING_INVERSE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernel/mapping.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Wanted coordinates. The result never lies on the wrong side of a wave
// boundary: its G is at least `tiles`.
struct MappingTarget {
  // G wanted, >= 1. The result has exactly G, or the smallest reachable value
  // above it. With given rows that is the smallest multiple of them (in whole
  // clusters, where the mapping has any). With rows = 0 it is the smallest
  // product of a nearly square grid (131 gives 11 x 12).
  int64_t tiles = 1;
  // L wanted, > 0. The nearest value is taken that granularity, ranges and
  // limits allow, ties to the lower; the last iteration is full. Whoever needs
  // it exactly compares with MapProblem: limits can make it much smaller, and
  // causal attention gets at least as many keys as queries if limits allow.
  // Without meaning where nothing drives the loop: L is the configuration's.
  // Where the loop follows a dimension of the tiles, rows decide, and without
  // them G. Then it is the loop with the smallest G from two thirds to one and
  // a half of this (or of the most that so few tiles allow). With no other
  // tiles G alone.
  double iterations = 1;
  // Rows of tiles wanted; 0: as square a grid as G allows (the longer side at
  // most twice the shorter plus one), all tiles full. Without meaning, as 0,
  // where the mapping has no rows or no other tile axis.
  int64_t rows = 1;
  // Fill of the last row wanted, in (0, 1]; of every element's last row where
  // the rows' dimension is repeated.
  double row_fill = 1;
};

// Returns a problem of `specialisation` with those coordinates, within the
// dimensions' ranges and the spec's problem limits, legal for `configuration`.
// Predicates are met by rounding extents up where possible without changing G
// and rows, else down. A repeated dimension gets 8 elements or fewer, alike but
// for one tile. Dimensions that drive neither tiles nor loop keep their
// minimum, or the share that representative problems give them. Where an axis
// or the loop has several dimensions one is searched (mapping_structure.h). The
// others are as in the representative problem nearest in G and L, halved
// towards their minimum until the result is close enough. It is when G is no
// larger than with all of them there. L then is within an eighth of the wanted
// one, or as near as with all of them there.
//
// Errors: NOT_FOUND when no problem within the limits lands there (says which
// limit); INVALID_ARGUMENT for a mapping that cannot be inverted or a
// configuration of the wrong size.
// Cost: some microseconds; grows with sqrt(G). Deterministic.
absl::StatusOr<Problem> InvertMapping(const KernelSpec& kernel,
                                      const std::string& specialisation,
                                      const Configuration& configuration,
                                      const MappingTarget& target);

// Returns OK if the mapping's structure can be inverted: a dimension drives the
// tiles, the loop's dimensions are not repeated ones without tiles, every
// dimension is used. Errors: INVALID_ARGUMENT naming the dimension or primitive
// at fault.
absl::Status CheckInvertible(const KernelSpec& spec, const Mapping& mapping);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_MAPPING_INVERSE_H_
