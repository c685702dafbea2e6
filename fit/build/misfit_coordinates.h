// MisfitCoordinate: something of a launch that a wave model does not know, or
// knows in one form only, with what an author can do where latencies go with
// it.
//
//   for (const MisfitCoordinate& c : MisfitCoordinates(spec, mapping, ...))
//     double value = c.value(problem, configuration, at);
//
// All of them follow from the manifest: its mapping, its dimensions and the
// sizes of its arguments.
//
// Thread safety: plain values; they point into the spec and the mapping.
#ifndef WAVETUNE_FIT_BUILD_MISFIT_COORDINATES_H_
#define WAVETUNE_FIT_BUILD_MISFIT_COORDINATES_H_

#include <functional>
#include <string>
#include <vector>

#include "model/kernel/device.h"
#include "model/kernel/mapping.h"
#include "model/kernel/wave_form.h"
#include "wavetune/configuration.h"
#include "wavetune/coordinates.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

struct MisfitCoordinate {
  enum class Unit { kShare, kCount, kBytes };

  std::string name;  // A noun phrase: "how full its tiles are along m".
  Unit unit = Unit::kCount;
  // A configuration's own coefficients have taken up what is usual of it, so
  // that the value counts against the median of its launches. False where it
  // means the same for all of them.
  bool relative = true;
  // Finite and >= 0.
  std::function<double(const Problem&, const Configuration&,
                       const Coordinates&)>
      value;
  // What to do where latency rises with the value faster than predicted, and
  // where it does not.
  std::string advice_where_it_costs;
  std::string advice_where_it_saves;
  // Above 0: where launches on both sides of this value differ, the advice is
  // `advice_beyond`.
  double limit = 0;
  std::string advice_beyond;
};

// Returns the coordinates of a kernel under `mapping`, fitted as `form`, the
// most telling first. Cannot fail.
std::vector<MisfitCoordinate> MisfitCoordinates(const KernelSpec& spec,
                                                const Mapping& mapping,
                                                WaveForm form,
                                                const DeviceFacts& device);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_BUILD_MISFIT_COORDINATES_H_
