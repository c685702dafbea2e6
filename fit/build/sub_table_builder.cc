#include "fit/build/sub_table_builder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "fit/models/standing.h"
#include "model/kernel/condition.h"
#include "model/kernel/engine_rule.h"
#include "model/kernel/fold.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/coefficient_list.h"
#include "model/table/group_predicates.h"
#include "model/table/wave_arithmetic.h"
#include "model/table/wave_model.h"

namespace wavetune {
namespace {

constexpr size_t kProbes = 4;

class Builder {
 public:
  Builder(const KernelSpec& spec, const SpecialisationState& specialisation,
          const std::vector<CandidateModel>& models,
          const std::vector<size_t>& members, const BoundRule& rule)
      : spec_(spec),
        state_(specialisation),
        models_(models),
        members_(members),
        rule_(rule),
        sub_(specialisation.axes) {
    sub_.specialisation = specialisation.name;
    standing_.resize(sub_.row_regimes.size());
    for (size_t r = 0; r < standing_.size(); ++r) {
      for (size_t w = 0; w < sub_.max_waves.size(); ++w) {
        standing_[r].push_back(MeasuredStanding(specialisation, {r, w}));
      }
    }
    sub_.mapping = *specialisation.mapping;
    // The preconditions come first, alike for every configuration.
    AddPredicates(FoldConditions(spec.preconditions, Configuration()),
                  spec.dimensions, sub_);
    sub_.preconditions = static_cast<int32_t>(sub_.predicates.size());
  }

  SubTable Build() {
    for (const size_t i : members_) {
      const Candidate& c = *state_.candidates[i].candidate;
      sub_.portfolio.push_back(
          {.configuration = c.configuration,
           .tiles_per_wave = c.tiles_per_wave,
           .registers = std::max(0, c.registers),
           .shared_memory_bytes = std::max<int64_t>(0, c.shared_memory_bytes)});
      relations_.push_back(ProblemRelations(spec_, c.configuration));
    }
    for (const std::vector<size_t>& group : Groups()) AddGroup(group);
    const std::vector<Configuration> rules = EngineConfigurations(spec_);
    Lead([&rules](const Configuration& configuration) {
      return std::find(rules.begin(), rules.end(), configuration) !=
             rules.end();
    });
    LeaveOutFactors();
    if (HasWideBounds(sub_)) BeWary();
    return sub_;
  }

 private:
  bool ShareRow(size_t a, size_t b) const {
    const CandidateState& x = state_.candidates[members_[a]];
    const CandidateState& y = state_.candidates[members_[b]];
    return x.macro_class == y.macro_class &&
           x.candidate->tiles_per_wave == y.candidate->tiles_per_wave &&
           SameCoordinates(sub_.mapping, x.candidate->configuration,
                           y.candidate->configuration) &&
           relations_[a] == relations_[b];
  }

  // Portfolio indices by group, both ascending.
  std::vector<std::vector<size_t>> Groups() const {
    std::vector<std::vector<size_t>> groups;
    for (size_t m = 0; m < members_.size(); ++m) {
      const auto fits = [&](const std::vector<size_t>& group) {
        return ShareRow(group[0], m);
      };
      const auto group = std::find_if(groups.begin(), groups.end(), fits);
      if (group == groups.end()) {
        groups.push_back({m});
      } else {
        group->push_back(m);
      }
    }
    return groups;
  }

  const CandidateModel& ModelOf(size_t member) const {
    return models_[members_[member]];
  }

  // Grids at which members are compared: within the first wave, or beyond.
  static std::array<int64_t, kProbes> Probes(int64_t tiles_per_wave,
                                             size_t wave) {
    if (wave > 0)
      return {tiles_per_wave + 1, 2 * tiles_per_wave, 4 * tiles_per_wave,
              8 * tiles_per_wave};
    const auto quarter = [&](int64_t n) {
      return std::max<int64_t>(1, tiles_per_wave * n / 4);
    };
    return {quarter(1), quarter(2), quarter(3), tiles_per_wave};
  }

  // The member for one cell of the micro table.
  size_t FastestMember(const std::vector<size_t>& group, size_t row,
                       size_t wave, double iterations) const {
    const auto loop = static_cast<int64_t>(std::max(1.0, iterations));
    const int64_t tiles_per_wave = ModelOf(group[0]).tiles_per_wave;
    std::vector<double> cost(group.size());
    for (const int64_t tiles : Probes(tiles_per_wave, wave)) {
      std::vector<double> rank_us;
      for (const size_t m : group) {
        const WaveSegment& segment = ModelOf(m).models[row].segments[wave];
        const double predicted_us = PredictLatencyUs(
            sub_.form, tiles_per_wave, segment,
            {.tiles = tiles,
             .iterations = iterations,
             .longest_loop = loop,
             .row_share = TypicalRowShare(sub_.row_regimes[row])});
        rank_us.push_back(
            RankOf(sub_.form, segment, predicted_us, /*extrapolated=*/false));
      }
      const double best = *std::min_element(rank_us.begin(), rank_us.end());
      for (size_t i = 0; i < group.size(); ++i) cost[i] += rank_us[i] / best;
    }
    std::vector<Standing> standing;
    for (const size_t m : group) {
      standing.push_back(standing_[row][wave][members_[m]]);
    }
    return group[FastestByStanding(cost, standing)];
  }

  void AddGroup(const std::vector<size_t>& group) {
    std::vector<size_t> cells(members_.size());
    std::vector<std::vector<std::vector<uint8_t>>> micro(
        sub_.row_regimes.size());
    for (size_t r = 0; r < sub_.row_regimes.size(); ++r) {
      micro[r].resize(sub_.max_waves.size());
      for (size_t w = 0; w < sub_.max_waves.size(); ++w) {
        for (const double anchor : sub_.loop_anchors) {
          const size_t member = FastestMember(group, r, w, anchor);
          micro[r][w].push_back(static_cast<uint8_t>(member));
          ++cells[member];
        }
      }
    }
    size_t owner = group[0];
    for (const size_t m : group) {
      if (cells[m] > cells[owner]) owner = m;
    }
    const CandidateModel& model = ModelOf(owner);
    MacroGroup& out = sub_.groups.emplace_back();
    out.lead = static_cast<uint8_t>(group[0]);
    out.tiles_per_wave = model.tiles_per_wave;
    out.predicates =
        AddPredicates(relations_[out.lead], spec_.dimensions, sub_);
    out.models = model.models;
    for (size_t r = 0; r < out.models.size(); ++r) {
      for (size_t w = 0; w < out.models[r].segments.size(); ++w) {
        WaveSegment& segment = out.models[r].segments[w];
        const Uncertainty& uncertainty = model.uncertainty[r][w];
        segment.relative_bound = RelativeBound(rule_, uncertainty);
        segment.extrapolated_bound = ExtrapolatedBound(rule_, uncertainty);
        segment.micro = micro[r][w];
      }
    }
  }

  // Lets the last such member of each group lead it; returns whether there is
  // any. Members are alike in all that a lead stands for, and a lead is on
  // offer to decisions that are made together, whatever stage II prefers.
  template <typename Predicate>
  bool Lead(const Predicate& is_wanted) {
    bool any = false;
    const std::vector<std::vector<size_t>> groups = Groups();
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const size_t m : groups[g]) {
        if (!is_wanted(sub_.portfolio[m].configuration)) continue;
        sub_.groups[g].lead = static_cast<uint8_t>(m);
        any = true;
      }
    }
    return any;
  }

  void BeWary() {
    sub_.wary = Lead([this](const Configuration& configuration) {
      return configuration == spec_.default_configuration;
    });
  }

  // A table has no expression whose coefficient came out as 0.
  void LeaveOutFactors() {
    for (const CoefficientField& field : kCoefficients) {
      if (field.factor == nullptr || !IsZeroEverywhere(sub_, field)) continue;
      (sub_.mapping.*field.factor).reset();
    }
  }

  const KernelSpec& spec_;
  const SpecialisationState& state_;
  const std::vector<CandidateModel>& models_;
  const std::vector<size_t>& members_;
  const BoundRule& rule_;
  // [row regime][wave regime][candidate]
  std::vector<std::vector<std::vector<Standing>>> standing_;
  std::vector<std::vector<Relation>> relations_;  // Of each member.
  SubTable sub_;
};

}  // namespace

bool HasWideBounds(const SubTable& sub_table) {
  std::vector<double> bounds;
  for (const MacroGroup& group : sub_table.groups) {
    for (const GroupModel& model : group.models) {
      for (const WaveSegment& segment : model.segments) {
        if (segment.max_iterations > 0)
          bounds.push_back(segment.extrapolated_bound);
      }
    }
  }
  if (bounds.empty()) return false;
  const auto middle =
      bounds.begin() + static_cast<std::ptrdiff_t>(bounds.size() / 2);
  std::nth_element(bounds.begin(), middle, bounds.end());
  return *middle >= kWaryBound;
}

SubTable BuildSubTable(const KernelSpec& spec,
                       const SpecialisationState& specialisation,
                       const std::vector<CandidateModel>& models,
                       std::vector<size_t> members, const BoundRule& rule) {
  std::sort(members.begin(), members.end());
  return Builder(spec, specialisation, models, members, rule).Build();
}

}  // namespace wavetune
