// PoorTileFill: how full tiles are at what a kernel's manifest asks for, where
// the mapping counts them as whole. For authors: a fit of a kernel that skips
// absent elements, by a mapping that counts them, chooses badly, and few
// representative problems do not tell.
#ifndef WAVETUNE_CLI_COMMANDS_TILE_FILL_H_
#define WAVETUNE_CLI_COMMANDS_TILE_FILL_H_

#include <string>
#include <vector>

namespace wavetune {
struct KernelSpec;
}

namespace wavetune::cli {

struct PoorTileFill {
  std::string what;    // "how full tiles are along columns".
  double mean = 1;     // Mean of the representative problems, by weight.
  std::string advice;  // What to do where part tiles take less.
};

// Returns the axes along which the default's tiles are less than nine tenths
// full, in the order of the mapping, each once over all specialisations. If the
// manifest gives total_iterations, only the axes that it mentions. Nothing
// without representative problems. `spec` is valid. Cannot fail.
std::vector<PoorTileFill> FindPoorTileFills(const KernelSpec& spec);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_TILE_FILL_H_
