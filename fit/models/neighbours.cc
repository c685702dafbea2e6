#include "fit/models/neighbours.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"

namespace wavetune {
namespace {

// Neighbours of each representative problem.
constexpr uint32_t kNeighbours = 8;
constexpr double kWeight = 0.5;
constexpr int64_t kLargestAlignment = 64;

// Powers of two from 2^-1 to 2^1, in quarters.
constexpr std::array<double, 9> kFactors = {
    0.5, 0.59460355750136053, 0.70710678118654752, 0.84089641525371454,
    1,   1.1892071150027211,  1.4142135623730951,  1.6817928305074291,
    2,
};
// Fractional parts of square roots of primes, times 2^32: multiples of them
// spread evenly, each dimension on its own (a Kronecker sequence).
constexpr std::array<uint32_t, 8> kNeighbourSteps = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

double FactorOf(uint32_t index, size_t dimension) {
  const uint32_t place =
      (index + 1) * kNeighbourSteps[dimension % kNeighbourSteps.size()];
  return kFactors[static_cast<size_t>(
      (static_cast<uint64_t>(place) * kFactors.size()) >> 32)];
}

int64_t Scaled(int64_t extent, double factor, const Dimension& dimension) {
  if (extent == 0) return 0;  // An expert without tokens stays without.
  int64_t alignment = 1;
  while (alignment < kLargestAlignment && extent % (alignment * 2) == 0) {
    alignment *= 2;
  }
  const double exact =
      static_cast<double>(extent) * factor / static_cast<double>(alignment);
  auto multiples = static_cast<int64_t>(exact);
  if (exact - static_cast<double>(multiples) >= 0.5) ++multiples;
  return std::clamp(std::max<int64_t>(1, multiples) * alignment, dimension.min,
                    dimension.max);
}

// Dimensions that take several values; a repeated one always may.
std::vector<bool> VaryingDimensions(const KernelSpec& spec,
                                    const std::vector<Problem>& problems) {
  std::vector<bool> varies(spec.dimensions.size());
  for (size_t d = 0; d < varies.size(); ++d) {
    varies[d] =
        spec.dimensions[d].repeated ||
        std::any_of(problems.begin(), problems.end(),
                    [&](const Problem& problem) {
                      return problem.extents[d] != problems[0].extents[d];
                    });
  }
  return varies;
}

Problem NeighbourOf(const KernelSpec& spec, const std::vector<bool>& varies,
                    const Problem& problem, uint32_t index) {
  Problem neighbour = problem;
  for (size_t d = 0; d < varies.size(); ++d) {
    if (!varies[d]) continue;
    const Dimension& dimension = spec.dimensions[d];
    const double factor = FactorOf(index, d);
    if (!dimension.repeated) {
      neighbour.extents[d] = Scaled(problem.extents[d], factor, dimension);
      continue;
    }
    for (int64_t& extent : neighbour.repeated) {
      extent = Scaled(extent, factor, dimension);
    }
  }
  return neighbour;
}

}  // namespace

SpecialisationState WithNeighbours(const ProfileInput& input,
                                   const SpecialisationState& specialisation) {
  SpecialisationState wider = specialisation;
  if (!specialisation.representatives_given) return wider;
  const KernelSpec& spec = *input.spec;
  const std::vector<Problem>& problems = specialisation.representatives;
  const std::vector<bool> varies = VaryingDimensions(spec, problems);
  for (double& weight : wider.weights) weight *= 1 - kWeight;
  for (uint32_t p = 0; p < problems.size(); ++p) {
    for (uint32_t i = 0; i < kNeighbours; ++i) {
      Problem neighbour =
          NeighbourOf(spec, varies, problems[p], p * kNeighbours + i);
      if (!CheckProblem(spec, neighbour).ok()) neighbour = problems[p];
      wider.representatives.push_back(std::move(neighbour));
      wider.weights.push_back(specialisation.weights[p] * kWeight /
                              kNeighbours);
    }
  }
  PlaceRepresentatives(input, problems.size(), wider);
  return wider;
}

}  // namespace wavetune
