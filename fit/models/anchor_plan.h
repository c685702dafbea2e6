// Anchor plan: where one candidate is measured so that its wave model can be
// fitted.
//
// Anchors lie along the wave structure, at a low and a high loop count each (at
// one where no dimension is in the loop). They are a few tiles, half a wave,
// exactly one wave, just past it, two waves, eight, and on towards the 90th
// percentile of clients' problems. They lie in a square grid, and a few in each
// other row regime. Ranges follow the representative problems: what they never
// reach gets no more than an anchor or two.
//
// Few anchors choose as well as a dense grid, but each kind of them is needed
// (docs/decisions/0004 says why).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_ANCHOR_PLAN_H_
#define WAVETUNE_FIT_MODELS_ANCHOR_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fit/models/profile_state.h"
#include "model/kernel/mapping_inverse.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// The first anchors of a plan, enough to tell hopeless candidates.
inline constexpr size_t kScreeningAnchors = 8;
// Most anchors of a plan; leaves a quarter of 32 samples to refinement.
inline constexpr size_t kMaxAnchors = 3 * kScreeningAnchors;
// Fewest anchors of a plan without a loop, or whose loop follows the tiles,
// where the kernel has so many. There each point along the waves comes once,
// and a fit of six samples keeps their noise (docs/decisions/0004).
inline constexpr size_t kLeastAnchors = 2 * kScreeningAnchors;
// Anchors of a recording (fit/plan/recording_plan.h): a plan and the grid
// around it, dense enough to choose other plans from.
inline constexpr size_t kGridAnchors = 120;

// One wanted point.
struct Anchor {
  MappingTarget target;
  size_t row_regime = 0;  // In the specialisation's axes.
};

// Returns a candidate's anchors, the most telling first: the first
// kScreeningAnchors are for screening. At most kMaxAnchors. None asks for more
// waves times iterations than the largest representative problem of its row
// regime, so that no launch is absurdly long. Cannot fail.
// Source: arXiv 2604.10187, section 4.3 (sparse wave-aware sampling).
std::vector<Anchor> PlanAnchors(const SpecialisationState& specialisation,
                                const CandidateState& candidate);

// Returns a candidate's whole grid: PlanAnchors, then the points around them.
// More wave boundaries (at and just past each), fractions of the first wave,
// far waves, loop counts in between, every row regime that the specialisation
// has, at several fills. As in a plan nothing is more work than what clients
// ask for. Some hundreds; the most telling first. Cannot fail.
std::vector<Anchor> PlanAnchorGrid(const SpecialisationState& specialisation,
                                   const CandidateState& candidate);

// Returns the problems of the first `count` anchors, each once. Anchors that no
// problem lands on within the kernel's limits are left out. A problem never
// lies on the wrong side of the first wave's end, nor in another row regime
// where that can be helped. Above kMaxAnchors the rest comes from the grid,
// until there are `count` problems where it has as many. A plan without a loop,
// or whose loop follows the tiles, is filled up to kLeastAnchors, if `count` is
// no less. So the problems of every smaller count are among them.
// Deterministic; costs microseconds an anchor.
std::vector<Problem> AnchorProblems(const KernelSpec& spec,
                                    const SpecialisationState& specialisation,
                                    const CandidateState& candidate,
                                    size_t count);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_ANCHOR_PLAN_H_
