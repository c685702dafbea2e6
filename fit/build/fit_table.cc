#include "fit/build/fit_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fit/build/fit_notes.h"
#include "fit/build/layer_choices.h"
#include "fit/build/misfit_notes.h"
#include "fit/build/sub_table_builder.h"
#include "fit/models/candidate_model.h"
#include "fit/models/decision_models.h"
#include "fit/models/eligibility.h"
#include "fit/models/error_bounds.h"
#include "fit/models/expected_regret.h"
#include "fit/models/latency_matrix.h"
#include "fit/models/neighbours.h"
#include "fit/models/portfolio.h"
#include "fit/models/profile_state.h"
#include "model/kernel/engine_rule.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_check.h"
#include "model/table/table_codec.h"

namespace wavetune {
namespace {

constexpr int64_t kFewWaves = 8;

// Severity (FitNote) of a specialisation without a table.
constexpr double kNoCandidate = 20;

// One specialisation, fitted but for the portfolio.
struct Fitted {
  const SpecialisationState* state;
  // The same with neighbours, which the portfolio is chosen on.
  SpecialisationState wider;
  std::vector<CandidateModel> models;
  // Of the wider one's representatives: those of `state` come first.
  LatencyMatrix latencies;
  std::vector<bool> eligible;
};

absl::Status NotEnoughSamples(const KernelSpec& spec,
                              const SpecialisationState& state) {
  size_t best = 0;
  for (size_t i = 0; i < state.candidates.size(); ++i) {
    if (state.candidates[i].observations.size() >
        state.candidates[best].observations.size()) {
      best = i;
    }
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "fit of ", spec.name, state.name.empty() ? "" : " [" + state.name + "]",
      ": none of ", state.candidates.size(), " candidates has the ",
      kFewestObservations, " usable samples that a model needs; ",
      FormatConfiguration(spec,
                          state.candidates[best].candidate->configuration),
      " has most, ", state.candidates[best].observations.size(),
      ". Measure more, or see why samples were dropped"));
}

absl::StatusOr<Fitted> FitModels(const ProfileInput& input,
                                 SpecialisationState& state) {
  Fitted fitted{.state = &state,
                .wider = WithNeighbours(input, state),
                .models = {},
                .latencies = {},
                .eligible = EligibleCandidates(state)};
  if (std::none_of(fitted.eligible.begin(), fitted.eligible.end(),
                   [](bool e) { return e; })) {
    return NotEnoughSamples(*input.spec, state);
  }
  fitted.models = FitDecisionModels(input, state);
  fitted.latencies = PredictMatrix(fitted.wider, fitted.models);
  return fitted;
}

Table TableWithoutSubTables(const ProfileInput& input) {
  const KernelSpec& spec = *input.spec;
  Table table;
  table.kernel = spec.name;
  table.fingerprint = input.fingerprint;
  table.silicon_key = SiliconKey(input.device);
  table.environment_key = EnvironmentKey(input.device);
  table.dimensions = spec.dimensions;
  for (const Parameter& parameter : spec.parameters) {
    table.parameters.push_back(parameter.name);
  }
  table.default_configuration = spec.default_configuration;
  table.near_tie = input.options.near_tie;
  return table;
}

// Returns the candidates of `from` that may be chosen in `to` as well.
std::vector<size_t> CommonCandidates(const Fitted& from,
                                     const std::vector<size_t>& members,
                                     const Fitted& to) {
  std::vector<size_t> common;
  for (const size_t m : members) {
    const Configuration& wanted =
        from.state->candidates[m].candidate->configuration;
    const std::vector<CandidateState>& others = to.state->candidates;
    const auto same = std::find_if(
        others.begin(), others.end(), [&wanted](const CandidateState& other) {
          return other.candidate->configuration == wanted;
        });
    const auto index = static_cast<size_t>(same - others.begin());
    if (same != others.end() && to.eligible[index]) common.push_back(index);
  }
  return common;
}

// Both products of an expert layer are launched with one configuration
// (CompiledTable::ResolveTogether), so what is worth having in one sub-table is
// in the other, too (docs/decisions/0039).
void ShareCandidates(const KernelSpec& spec, const std::vector<Fitted>& all,
                     std::vector<std::vector<size_t>>& portfolios) {
  const auto* const moe = std::get_if<ServedMoe>(&spec.serves);
  if (moe == nullptr || moe->gate_up == moe->down) return;
  const auto is_product = [moe](const Fitted& fitted) {
    return fitted.state->name == moe->gate_up ||
           fitted.state->name == moe->down;
  };
  const std::vector<std::vector<size_t>> own = portfolios;
  for (size_t from = 0; from < all.size(); ++from) {
    for (size_t to = 0; to < all.size(); ++to) {
      if (from == to || !is_product(all[from]) || !is_product(all[to]))
        continue;
      std::vector<size_t>& members = portfolios[to];
      for (const size_t m : CommonCandidates(all[from], own[from], all[to])) {
        const bool there =
            std::find(members.begin(), members.end(), m) != members.end();
        if (!there && members.size() < kMaxPortfolio) members.push_back(m);
      }
    }
  }
}

// Adds those of `wanted` that may be chosen and have room.
void Add(const std::vector<Configuration>& wanted, const Fitted& fitted,
         std::vector<size_t>& members) {
  const std::vector<CandidateState>& candidates = fitted.state->candidates;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const bool is_wanted =
        std::find(wanted.begin(), wanted.end(),
                  candidates[i].candidate->configuration) != wanted.end();
    if (is_wanted && fitted.eligible[i] && members.size() < kMaxPortfolio &&
        std::find(members.begin(), members.end(), i) == members.end())
      members.push_back(i);
  }
}

// Returns the portfolio of each specialisation, of `portfolio_size` candidates
// at most beside engines' rules and those that another one shares with it.
std::vector<std::vector<size_t>> SelectPortfolios(
    const KernelSpec& spec, const std::vector<Fitted>& all,
    size_t portfolio_size) {
  std::vector<std::vector<size_t>> portfolios;
  for (const Fitted& f : all) {
    portfolios.push_back(
        SelectPortfolio(f.wider, f.latencies, f.eligible, portfolio_size));
  }
  // What an engine would launch by itself is decided against.
  const std::vector<Configuration> rules = EngineConfigurations(spec);
  for (size_t i = 0; i < all.size(); ++i) Add(rules, all[i], portfolios[i]);
  ShareCandidates(spec, all, portfolios);
  return portfolios;
}

// Fills `result` with sub-tables of such portfolios, without layers, and
// `notes` with what is to be said of them.
void BuildTable(const ProfileInput& input, const std::vector<Fitted>& all,
                size_t portfolio_size, FitResult& result,
                std::vector<FitNote>& notes) {
  result.table.sub_tables.clear();
  notes.clear();
  double regret = 0;
  const std::vector<std::vector<size_t>> portfolios =
      SelectPortfolios(*input.spec, all, portfolio_size);
  for (size_t s = 0; s < all.size(); ++s) {
    const Fitted& f = all[s];
    std::vector<size_t> members = portfolios[s];
    const BoundRule rule = CalibrateBounds(*f.state, f.models, members,
                                           input.device.multiprocessors);
    const KernelSpec& spec = input.spec->Of(f.state->name);
    const auto build = [&] {
      return BuildSubTable(spec, *f.state, f.models, members, rule);
    };
    SubTable sub_table = build();
    if (HasWideBounds(sub_table) && !sub_table.wary) {
      Add({spec.default_configuration}, f, members);
      sub_table = build();
    }
    result.table.sub_tables.push_back(std::move(sub_table));
    std::vector<size_t> rivals;
    for (size_t i = 0; i < f.eligible.size(); ++i) {
      if (f.eligible[i]) rivals.push_back(i);
    }
    regret += MeanExpectedRegret(*f.state, f.models, f.latencies, rivals);
    for (FitNote& note : NotesOnTable(*f.state, f.models, f.eligible, members,
                                      result.table.sub_tables.back(), rule)) {
      notes.push_back(std::move(note));
    }
  }
  result.report.expected_regret = regret / static_cast<double>(all.size());
}

// Adds what is known of layers, as much as a payload holds: the heaviest ones.
void AddLayers(const ProfileInput& input, const std::vector<Fitted>& all,
               FitResult& result, std::vector<FitNote>& notes) {
  size_t limit = kMaxLayers;
  for (;;) {
    size_t most = 0;  // Of a sub-table.
    for (size_t i = 0; i < all.size(); ++i) {
      SubTable& sub = result.table.sub_tables[i];
      sub.layers =
          ChooseForLayers(input.spec->Of(all[i].state->name), *all[i].state,
                          sub, input.options.near_tie, limit);
      most = std::max(most, sub.layers.size());
    }
    if (most == 0 || EncodeTable(result.table).ok()) break;
    limit = most / 2;
  }
  if (limit == kMaxLayers) return;
  notes.push_back(
      {absl::StrCat("a payload holds what is known of ", limit,
                    " layers at most: those with the largest weights")});
}

// Median over all observations of candidates that may be chosen.
double MedianError(const std::vector<Fitted>& all) {
  std::vector<double> errors;
  for (const Fitted& f : all) {
    for (size_t i = 0; i < f.models.size(); ++i) {
      if (!f.eligible[i]) continue;
      for (const Observation& o : f.state->candidates[i].observations) {
        const SubTable& axes = f.state->axes;
        const double predicted_us = PowerLimitedUs(
            axes.power_limit, PredictUs(axes, f.models[i], o.at));
        errors.push_back(std::abs(
            predicted_us / PowerLimitedUs(axes.power_limit, o.latency_us) - 1));
      }
    }
  }
  if (errors.empty()) return 0;
  const auto middle =
      errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  return *middle;
}

void CountSamples(const ProfileState& state, FitReport& report) {
  report.samples_used = state.counts.used + state.counts.merged;
  report.earlier_samples = state.earlier_samples;
  report.samples_dropped = state.unmatched_samples + state.counts.absurd +
                           state.counts.contradictory;
  if (state.counts.used > 0) {
    report.throttled_share = static_cast<double>(state.counts.throttled) /
                             static_cast<double>(state.counts.used);
  }
  for (const SpecialisationState& s : state.specialisations) {
    for (const CandidateState& c : s.candidates) {
      for (const Observation& o : c.observations) {
        report.samples_within_8_waves +=
            Waves(o.at.tiles, c.candidate->tiles_per_wave) <= kFewWaves;
      }
    }
  }
}

}  // namespace

absl::StatusOr<FitResult> FitTable(const ProfileInput& input) {
  ASSIGN_OR_RETURN(ProfileState state, MakeProfileState(input));
  std::vector<FitNote> notes = NotesOnSamples(state);
  std::vector<Fitted> all;
  for (SpecialisationState& s : state.specialisations) {
    if (s.candidates.empty()) {
      notes.push_back({absl::StrCat("[", s.name,
                                    "] no candidate compiled: decisions answer "
                                    "the default configuration"),
                       kNoCandidate});
      continue;
    }
    ASSIGN_OR_RETURN(Fitted fitted, FitModels(input, s));
    all.push_back(std::move(fitted));
  }
  if (all.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("fit of ", input.spec->name, ": no candidate compiled"));
  }

  FitResult result{.table = TableWithoutSubTables(input), .report = {}};
  size_t size = PortfolioSize(input);
  std::vector<FitNote> on_table;
  for (;;) {
    BuildTable(input, all, size, result, on_table);
    const absl::Status fits = EncodeTable(result.table).status();
    if (fits.ok()) break;
    // Too large for a payload, or too many rows for one decision.
    if (size == 1) return fits;
    size = size * 3 / 4;
    notes.push_back({absl::StrCat("portfolio limited to ", size,
                                  " candidates: ", fits.message())});
  }
  AddLayers(input, all, result, on_table);
  for (const Fitted& f : all) {
    for (FitNote& note : NotesOnMisfit(input, *f.state, f.eligible)) {
      on_table.push_back(std::move(note));
    }
  }
  notes.insert(notes.end(), on_table.begin(), on_table.end());
  for (const FitNote& note : notes) result.report.notes.push_back(note.text);
  result.report.warnings = Warnings(std::move(notes));
  result.report.median_relative_error = MedianError(all);
  CountSamples(state, result.report);
  return result;
}

}  // namespace wavetune
