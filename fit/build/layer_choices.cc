#include "fit/build/layer_choices.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "fit/models/candidate_model.h"
#include "fit/models/form_mechanisms.h"
#include "fit/models/layer_evidence.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/legal_extents.h"
#include "model/table/table_check.h"
#include "model/table/wave_arithmetic.h"
#include "model/table/wave_model.h"

namespace wavetune {
namespace {

// Spans end at most so often for each doubling of the rows' extent.
constexpr int64_t kEndsPerDoubling = 64;

// A problem's extents with 0 for the rows'.
using Extents = std::vector<int64_t>;

Extents LayerOf(const Problem& problem, size_t row_dimension) {
  Extents extents = problem.extents;
  extents[row_dimension] = 0;
  return extents;
}

struct Layer {
  double weight = 0;
  std::map<size_t, LayerEvidence> evidence;  // By index into the portfolio.
  // Rows' extents at which any member was measured.
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = 0;
};

// What a group would answer at a problem.
struct Offer {
  Coordinates at;
  size_t member = 0;  // Index into the portfolio.
  double latency_us = 0;
  double rank_us = 0;  // As if it were inside of the measured range.
  double extrapolated_rank_us = 0;  // As a decision ranks it.
};

Offer OfferOf(const SubTable& sub, const MacroGroup& group,
              const ProblemView& problem) {
  Offer offer;
  offer.at =
      MapProblem(sub.mapping, problem, sub.portfolio[group.lead].configuration);
  const int64_t waves = Waves(offer.at.tiles, group.tiles_per_wave);
  const SegmentPlace place = PlaceAt(sub, group.tiles_per_wave, offer.at);
  const WaveSegment& segment =
      group.models[place.row_regime].segments[place.wave_regime];
  offer.member = segment.micro[static_cast<size_t>(
      LoopAnchorIndex(sub, offer.at.iterations))];
  offer.latency_us =
      PredictLatencyUs(sub.form, group.tiles_per_wave, segment, offer.at);
  offer.rank_us =
      RankOf(sub.form, segment, offer.latency_us, /*extrapolated=*/false);
  offer.extrapolated_rank_us =
      RankOf(sub.form, segment, offer.latency_us,
             IsExtrapolated(segment, offer.at.iterations, waves));
  return offer;
}

class Chooser {
 public:
  Chooser(const KernelSpec& spec, const SpecialisationState& state,
          const SubTable& sub, double near_tie)
      : spec_(spec),
        state_(state),
        sub_(sub),
        near_tie_(near_tie),
        row_(static_cast<size_t>(sub.mapping.rows->dimension)) {
    SetGroups();
    for (size_t p = 0; p < state_.representatives.size(); ++p) {
      layers_[LayerOf(state_.representatives[p], row_)].weight +=
          state_.weights[p];
    }
    for (const CandidateState& candidate : state_.candidates) {
      AddSeen(candidate);
    }
  }

  std::vector<LayerChoices> Choose(size_t most) const {
    std::vector<std::pair<double, const Extents*>> heaviest;
    for (const auto& [extents, layer] : layers_) {
      if (!layer.evidence.empty()) heaviest.push_back({layer.weight, &extents});
    }
    std::stable_sort(
        heaviest.begin(), heaviest.end(),
        [](const auto& a, const auto& b) { return a.first > b.first; });
    heaviest.resize(std::min(heaviest.size(), most));
    std::set<Extents> chosen;
    for (const auto& [weight, extents] : heaviest) chosen.insert(*extents);
    std::vector<LayerChoices> choices;
    for (const Extents& extents : chosen) {
      LayerChoices of_layer = ChooseFor(extents, layers_.at(extents));
      if (!of_layer.spans.empty()) choices.push_back(std::move(of_layer));
    }
    return choices;
  }

 private:
  void SetGroups() {
    group_of_.assign(sub_.portfolio.size(), sub_.groups.size());
    for (size_t g = 0; g < sub_.groups.size(); ++g) {
      for (const GroupModel& model : sub_.groups[g].models) {
        for (const WaveSegment& segment : model.segments) {
          for (const uint8_t member : segment.micro) group_of_[member] = g;
        }
      }
    }
  }

  // Adds what a candidate took at problems that clients ask for.
  void AddSeen(const CandidateState& candidate) {
    const auto found = std::find_if(
        sub_.portfolio.begin(), sub_.portfolio.end(),
        [&](const TableCandidate& member) {
          return member.configuration == candidate.candidate->configuration;
        });
    if (found == sub_.portfolio.end()) return;
    const auto member =
        static_cast<size_t>(std::distance(sub_.portfolio.begin(), found));
    const size_t group = group_of_[member];
    if (group == sub_.groups.size()) return;  // Never chosen.
    for (const Observation& o : candidate.observations) {
      if (!o.representative) continue;
      Layer& layer = layers_[LayerOf(o.problem, row_)];
      const int64_t extent = o.problem.extents[row_];
      const Offer offer = OfferOf(sub_, sub_.groups[group], o.problem.View());
      layer.evidence[member].Add({.extent = extent, .rows = offer.at.rows},
                                 o.latency_us / offer.latency_us - 1, o.weight);
      layer.first = std::min(layer.first, extent);
      layer.last = std::max(layer.last, extent);
    }
  }

  // Upper ends of the spans to look at, ascending; the first is `first`.
  std::vector<int64_t> EndsBetween(int64_t first, int64_t last) const {
    std::set<int64_t> tiles;
    for (const MacroGroup& group : sub_.groups) {
      tiles.insert(std::max<int64_t>(
          1,
          sub_.portfolio[group.lead].configuration[sub_.mapping.rows->tile]));
    }
    std::vector<int64_t> ends = {first};
    while (ends.back() < last) {
      const int64_t least =
          ends.back() + std::max<int64_t>(1, ends.back() / kEndsPerDoubling);
      int64_t next = last;
      for (const int64_t tile : tiles) {
        next = std::min(next, (least + tile - 1) / tile * tile);
      }
      ends.push_back(next);
    }
    return ends;
  }

  // What the offer competes with.
  double CorrectedUs(const Layer& layer, const Offer& offer,
                     int64_t extent) const {
    const auto evidence = layer.evidence.find(offer.member);
    if (evidence == layer.evidence.end()) return offer.extrapolated_rank_us;
    return offer.rank_us *
           evidence->second.FactorAt({.extent = extent, .rows = offer.at.rows});
  }

  LayerChoices ChooseFor(const Extents& extents, const Layer& layer) const {
    LayerChoices choices{.extents = extents, .first = layer.first, .spans = {}};
    Problem problem{.extents = extents};
    for (const int64_t end : EndsBetween(layer.first, layer.last)) {
      problem.extents[row_] = end;
      const size_t group = GroupAt(layer, problem, choices);
      // Nobody is legal: what follows is not looked at.
      if (group == sub_.groups.size()) break;
      if (!choices.spans.empty() && choices.spans.back().group == group) {
        choices.spans.back().last = end;
        continue;
      }
      if (choices.spans.size() == kMaxLayerSpans) break;
      choices.spans.push_back(
          {.last = end, .group = static_cast<uint8_t>(group)});
    }
    return choices;
  }

  // The group of the last span where it is near the best, else the best; as
  // many as there are groups where none is legal.
  size_t GroupAt(const Layer& layer, const Problem& problem,
                 const LayerChoices& before) const {
    size_t best = sub_.groups.size();
    double best_us = std::numeric_limits<double>::infinity();
    double last_us = std::numeric_limits<double>::infinity();
    for (size_t g = 0; g < sub_.groups.size(); ++g) {
      const MacroGroup& group = sub_.groups[g];
      if (!IsLegal(spec_, sub_.portfolio[group.lead].configuration,
                   problem.View())) {
        continue;
      }
      const double us = CorrectedUs(layer, OfferOf(sub_, group, problem.View()),
                                    problem.extents[row_]);
      if (!before.spans.empty() && before.spans.back().group == g) last_us = us;
      if (us >= best_us) continue;
      best_us = us;
      best = g;
    }
    return last_us <= best_us * (1 + near_tie_) ? before.spans.back().group
                                                : best;
  }

  const KernelSpec& spec_;
  const SpecialisationState& state_;
  const SubTable& sub_;
  const double near_tie_;
  const size_t row_;              // The rows' dimension.
  std::vector<size_t> group_of_;  // [member]
  std::map<Extents, Layer> layers_;
};

}  // namespace

std::vector<LayerChoices> ChooseForLayers(
    const KernelSpec& spec, const SpecialisationState& specialisation,
    const SubTable& sub, double near_tie, size_t most) {
  if (!MechanismsOf(sub.form).layers || !specialisation.representatives_given ||
      !sub.mapping.rows || RepeatedDimensionOf(spec) >= 0) {
    return {};
  }
  return Chooser(spec, specialisation, sub, near_tie).Choose(most);
}

}  // namespace wavetune
