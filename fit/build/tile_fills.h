// TileFill: which share of its tiles a launch fills, along an axis whose extent
// the mapping rounds up.
//
//   for (const TileFill& fill : TileFillsOf(spec, mapping))
//     double share = fill.At(problem, configuration);  // 0.31
//
// Thread safety: plain values.
#ifndef WAVETUNE_FIT_BUILD_TILE_FILLS_H_
#define WAVETUNE_FIT_BUILD_TILE_FILLS_H_

#include <string>
#include <vector>

#include "model/kernel/mapping.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

struct TileFill {
  std::string name;    // "how full tiles are along m".
  std::string advice;  // What to do where part tiles take less than whole ones.
  Expression there;
  Expression room;  // Whole tiles' room.

  // Returns the share of the room that is there, in [0, 1]. Cannot fail.
  double At(const Problem& problem, const Configuration& configuration) const;
};

// Returns each axis that tiles, iterations or total iterations of the mapping
// round up, once, in the order of the mapping. Cannot fail.
std::vector<TileFill> TileFillsOf(const KernelSpec& spec,
                                  const Mapping& mapping);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_BUILD_TILE_FILLS_H_
