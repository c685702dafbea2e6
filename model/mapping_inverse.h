// Inverse of a mapping: a problem that lands on wanted physical coordinates.
#ifndef WAVETUNE_MODEL_MAPPING_INVERSE_H_
#define WAVETUNE_MODEL_MAPPING_INVERSE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernel_spec.h"

namespace wavetune {

// Wanted coordinates. The result never lies on the wrong side of a wave
// boundary: its G is the smallest reachable value >= tiles.
struct MappingTarget {
  int64_t tiles = 1;  // G wanted, >= 1.
  double iterations =
      1;             // L wanted, > 0; the nearest reachable value is taken.
  int64_t rows = 1;  // Rows of tiles wanted; 0: as square a grid as G allows.
  double row_fill = 1;  // Fill of the last row wanted, in (0, 1].
  // Exactly G, or the smallest above it: which factors multiply to it is free
  // unless rows > 0.
};

// Returns a problem of `specialisation` with those coordinates, within the
// dimensions' ranges and the spec's problem limits, legal for `configuration`
// (predicates are met by rounding extents up where possible without changing G
// and rows). Errors: NOT_FOUND when no problem within the limits lands there
// (says which limit). Deterministic.
absl::StatusOr<Problem> InvertMapping(const KernelSpec& spec,
                                      const std::string& specialisation,
                                      const Configuration& configuration,
                                      const MappingTarget& target);

// Returns OK if the mapping's structure can be inverted: every tile axis is
// driven by a dimension of its own, a dimension that is not a tile axis drives
// the loop, every dimension is used. Errors: INVALID_ARGUMENT naming the
// dimension or primitive at fault.
absl::Status CheckInvertible(const KernelSpec& spec, const Mapping& mapping);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_MAPPING_INVERSE_H_
