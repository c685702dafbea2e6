#include "fit/models/profile_state.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/parallel_for.h"
#include "base/status_macros.h"
#include "fit/models/anchor_plan.h"
#include "fit/models/power_limit_fit.h"
#include "fit/models/row_regimes.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {

bool IsHeldOut(size_t index, size_t count) {
  size_t held_out = 0;
  if (count >= 2 * kVerificationPoints) {
    held_out = kVerificationPoints;
  } else if (count >= 8) {
    held_out = count / 4;
  }
  // Evenly: where the running share passes a whole number.
  return (index + 1) * held_out / count != index * held_out / count;
}

namespace {

absl::Status CheckCandidate(const KernelSpec& spec, const Candidate& candidate,
                            const std::string& specialisation) {
  if (candidate.configuration.size() !=
      static_cast<int>(spec.parameters.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "profile of ", spec.name, " [", specialisation, "]: a candidate has ",
        candidate.configuration.size(), " parameter values, the kernel has ",
        spec.parameters.size(), " parameters"));
  }
  if (candidate.tiles_per_wave < 1 ||
      candidate.tiles_per_wave > kExpressionLimit) {
    return absl::InvalidArgumentError(absl::StrCat(
        "profile of ", spec.name, " [", specialisation, "]: candidate ",
        FormatConfiguration(spec, candidate.configuration), " has capacity ",
        candidate.tiles_per_wave, "; must be at least 1"));
  }
  return absl::OkStatus();
}

absl::Status CheckInput(const ProfileInput& input) {
  if (input.spec == nullptr) {
    return absl::InvalidArgumentError("profile without a kernel spec");
  }
  const std::vector<std::string> names = input.spec->SpecialisationNames();
  if (input.candidates.size() != names.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "profile of ", input.spec->name, ": ", input.candidates.size(),
        " lists of candidates for ", names.size(),
        " specialisations; give one per specialisation, in the spec's order"));
  }
  const ProfileOptions& options = input.options;
  if (options.samples_per_candidate < 1 || options.portfolio_size < 0 ||
      options.refinement_samples < 0 ||
      !(options.near_tie >= 0 && options.near_tie <= 1) ||
      !(options.target_regret >= 0) || !(options.device_time_budget_us >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "profile of ", input.spec->name,
        ": options out of range: samples_per_candidate must be at least 1, "
        "near_tie in [0, 1], portfolio_size, target_regret, "
        "refinement_samples and device_time_budget_us not negative"));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    for (const Candidate& candidate : input.candidates[i]) {
      if (candidate.excluded()) continue;
      RETURN_IF_ERROR(CheckCandidate(*input.spec, candidate, names[i]));
    }
  }
  return absl::OkStatus();
}

// Compiled candidates by configuration; of equal ones the first by its facts.
std::vector<CandidateState> SortedCandidates(
    const std::vector<Candidate>& candidates) {
  std::vector<CandidateState> sorted;
  for (const Candidate& candidate : candidates) {
    if (candidate.excluded()) continue;
    sorted.emplace_back().candidate = &candidate;
  }
  const auto less = [](const CandidateState& x, const CandidateState& y) {
    const Candidate& a = *x.candidate;
    const Candidate& b = *y.candidate;
    if (a.configuration != b.configuration) {
      return a.configuration < b.configuration;
    }
    if (a.tiles_per_wave != b.tiles_per_wave)
      return a.tiles_per_wave < b.tiles_per_wave;
    if (a.registers != b.registers) return a.registers < b.registers;
    return a.shared_memory_bytes < b.shared_memory_bytes;
  };
  std::stable_sort(sorted.begin(), sorted.end(), less);
  const auto same = [](const CandidateState& x, const CandidateState& y) {
    return x.candidate->configuration == y.candidate->configuration;
  };
  sorted.erase(std::unique(sorted.begin(), sorted.end(), same), sorted.end());
  return sorted;
}

CandidateState* FindCandidate(SpecialisationState& specialisation,
                              const Configuration& configuration) {
  auto& candidates = specialisation.candidates;
  const auto found = std::lower_bound(
      candidates.begin(), candidates.end(), configuration,
      [](const CandidateState& c, const Configuration& wanted) {
        return c.candidate->configuration < wanted;
      });
  if (found == candidates.end() ||
      found->candidate->configuration != configuration) {
    return nullptr;
  }
  return &*found;
}

void SetRepresentatives(const std::map<Problem, double>& weights,
                        SpecialisationState& specialisation) {
  double sum = 0;
  for (const auto& [problem, weight] : weights) {
    specialisation.representatives.push_back(problem);
    specialisation.weights.push_back(weight);
    sum += weight;
  }
  for (double& weight : specialisation.weights) weight = weight / sum;
}

// The problems that clients ask for: the input's, else the spec's.
void AddRepresentatives(const ProfileInput& input,
                        SpecialisationState& specialisation) {
  const auto& wanted = input.representative_problems.empty()
                           ? input.spec->representative_problems
                           : input.representative_problems;
  // Weights of equal problems add up in their own order, not the input's.
  std::map<Problem, std::vector<double>> weights;
  for (const WeightedProblem& weighted : wanted) {
    Problem problem = weighted.problem;
    if (problem.specialisation.empty()) {
      problem.specialisation = specialisation.name;
    }
    if (problem.specialisation != specialisation.name ||
        !std::isfinite(weighted.weight) || !(weighted.weight > 0) ||
        !CheckProblem(*input.spec, problem).ok()) {
      continue;
    }
    weights[std::move(problem)].push_back(weighted.weight);
  }
  std::map<Problem, double> sums;
  for (auto& [problem, parts] : weights) {
    std::sort(parts.begin(), parts.end());
    double& sum = sums[problem];
    for (const double part : parts) sum += part;
  }
  SetRepresentatives(sums, specialisation);
}

// Stand-ins where nobody named problems: they do not depend on the samples, so
// that a plan stays what it is while it is carried out. Measured problems where
// the mapping gives none.
void AddStandIns(const KernelSpec& spec, SpecialisationState& specialisation) {
  const auto& candidates = specialisation.candidates;
  if (candidates.empty()) return;
  const auto universal =
      std::find_if(candidates.begin(), candidates.end(),
                   [](const CandidateState& c) { return c.universal; });
  const CandidateState& typical =
      universal == candidates.end() ? candidates[0] : *universal;
  std::map<Problem, double> weights;
  for (Problem& problem :
       AnchorProblems(spec, specialisation, typical, kMaxAnchors)) {
    weights[std::move(problem)] = 1;
  }
  const bool none = weights.empty();
  for (const CandidateState& c : candidates) {
    if (!none) break;
    for (const Observation& o : c.observations) weights[o.problem] = 1;
  }
  SetRepresentatives(weights, specialisation);
}

bool SameMacro(const KernelSpec& spec, const Configuration& a,
               const Configuration& b) {
  for (size_t i = 0; i < spec.parameters.size(); ++i) {
    if (spec.parameters[i].role == ParameterRole::kMacro &&
        a[static_cast<int>(i)] != b[static_cast<int>(i)]) {
      return false;
    }
  }
  return true;
}

// The class of a candidate is the index of the first that it agrees with.
void SetMacroClasses(const KernelSpec& spec,
                     std::vector<CandidateState>& candidates) {
  for (size_t i = 0; i < candidates.size(); ++i) {
    size_t first = 0;
    while (!SameMacro(spec, candidates[first].candidate->configuration,
                      candidates[i].candidate->configuration)) {
      ++first;
    }
    candidates[i].macro_class = static_cast<int>(first);
  }
}

// Needs the other axes; from here on observations are at one clock.
void SetSustainedLoad(const ProfileInput& input,
                      SpecialisationState& specialisation) {
  const PowerLimitSlowdown load =
      FitPowerLimitSlowdown(specialisation, input.device.multiprocessors);
  specialisation.axes.power_limit = load;
  for (CandidateState& c : specialisation.candidates) {
    for (Observation& o : c.observations) {
      o.latency_us = ShortUs(load, o.latency_us);
    }
  }
}

void SetUniversal(const KernelSpec& spec,
                  std::vector<CandidateState>& candidates) {
  for (CandidateState& c : candidates) {
    c.universal = IsLegalForEveryProblem(spec, c.candidate->configuration);
  }
}

void MarkRepresentatives(SpecialisationState& specialisation) {
  if (!specialisation.representatives_given) return;
  const std::vector<Problem>& representatives = specialisation.representatives;
  for (CandidateState& c : specialisation.candidates) {
    for (Observation& o : c.observations) {
      o.representative = std::binary_search(representatives.begin(),
                                            representatives.end(), o.problem);
    }
  }
}

void SetAxes(SpecialisationState& specialisation) {
  std::vector<RepresentativeView> views;
  for (const CandidateState& c : specialisation.candidates) {
    views.push_back({c.at, specialisation.weights});
  }
  specialisation.axes.row_regimes =
      ChooseRowRegimes(specialisation.mapping->rows.has_value(), views);
  specialisation.axes.max_waves = WaveRegimes();
  specialisation.axes.loop_anchors = ChooseLoopAnchors(views);
}

// Returns the candidate that a sample is of; nullptr for a stranger.
CandidateState* CandidateOf(
    const ProfileInput& input,
    const std::map<std::string, SpecialisationState*>& by_name,
    const Sample& sample) {
  const auto found = by_name.find(sample.problem.specialisation);
  if (found == by_name.end() ||
      !CheckProblem(*input.spec, sample.problem).ok()) {
    return nullptr;
  }
  return FindCandidate(*found->second, sample.configuration);
}

double DeviceTimeUs(const std::vector<Sample>& samples) {
  std::vector<double> times;
  for (const Sample& sample : samples) {
    times.push_back(std::isfinite(sample.device_time_us)
                        ? std::max(0.0, sample.device_time_us)
                        : 0);
  }
  std::sort(times.begin(), times.end());
  double sum = 0;
  for (const double time : times) sum += time;
  return sum;
}

// What earlier profiles verified their tables on stays apart for this one's.
bool IsForVerification(const SpecialisationState& specialisation,
                       const Problem& problem) {
  const std::vector<Problem>& all = specialisation.representatives;
  const auto found = std::lower_bound(all.begin(), all.end(), problem);
  return found != all.end() && *found == problem &&
         IsHeldOut(static_cast<size_t>(found - all.begin()), all.size());
}

// Distributes the samples to their candidates.
void AddSamples(const ProfileInput& input, ProfileState& state) {
  std::map<CandidateState*, std::vector<const Sample*>> samples_of;
  std::map<std::string, SpecialisationState*> by_name;
  for (SpecialisationState& s : state.specialisations) by_name[s.name] = &s;
  for (const Sample& sample : input.samples) {
    CandidateState* const candidate = CandidateOf(input, by_name, sample);
    if (candidate == nullptr) {
      ++state.unmatched_samples;
      continue;
    }
    samples_of[candidate].push_back(&sample);
    candidate->measured.push_back(sample.problem);
  }
  state.earlier = CompareWithEarlier(input.samples, input.earlier_samples);
  for (const Sample* sample : UsableEarlierSamples(
           input.samples, input.earlier_samples, state.earlier)) {
    CandidateState* const candidate = CandidateOf(input, by_name, *sample);
    if (candidate == nullptr ||
        IsForVerification(*by_name[sample->problem.specialisation],
                          sample->problem)) {
      continue;
    }
    samples_of[candidate].push_back(sample);
    ++state.earlier_samples;
  }
  state.device_time_us = DeviceTimeUs(input.samples);
  for (SpecialisationState& s : state.specialisations) {
    for (CandidateState& c : s.candidates) {
      std::sort(c.measured.begin(), c.measured.end());
      c.measured.erase(std::unique(c.measured.begin(), c.measured.end()),
                       c.measured.end());
      c.observations =
          SelectObservations(*s.mapping, samples_of[&c], state.counts);
    }
  }
}

}  // namespace

absl::StatusOr<ProfileState> MakeProfileState(const ProfileInput& input) {
  RETURN_IF_ERROR(CheckInput(input));
  ProfileState state;
  state.input = &input;
  const std::vector<std::string> names = input.spec->SpecialisationNames();
  for (size_t i = 0; i < names.size(); ++i) {
    SpecialisationState& s = state.specialisations.emplace_back();
    s.name = names[i];
    s.mapping = &input.spec->MappingOf(names[i]);
    s.axes.form = input.spec->WaveFormOf(names[i]);
    s.candidates = SortedCandidates(input.candidates[i]);
    state.compiled += static_cast<int64_t>(s.candidates.size());
    SetMacroClasses(*input.spec, s.candidates);
  }
  std::sort(state.specialisations.begin(), state.specialisations.end(),
            [](const SpecialisationState& a, const SpecialisationState& b) {
              return a.name < b.name;
            });
  for (SpecialisationState& s : state.specialisations) {
    AddRepresentatives(input, s);
  }
  AddSamples(input, state);
  for (SpecialisationState& s : state.specialisations) {
    SetUniversal(input.spec->Of(s.name), s.candidates);
    s.representatives_given = !s.representatives.empty();
    if (!s.representatives_given) {
      SetAxes(s);
      AddStandIns(*input.spec, s);
    }
    PlaceRepresentatives(input, 0, s);
    MarkRepresentatives(s);
    SetAxes(s);
    SetSustainedLoad(input, s);
  }
  return state;
}

void PlaceRepresentatives(const ProfileInput& input, size_t first,
                          SpecialisationState& specialisation) {
  const auto& spec = input.spec->Of(specialisation.name);
  ParallelFor(specialisation.candidates.size(), [&](size_t i) {
    CandidateState& c = specialisation.candidates[i];
    const Configuration& configuration = c.candidate->configuration;
    c.at.reserve(specialisation.representatives.size());
    for (size_t p = first; p < specialisation.representatives.size(); ++p) {
      const Problem& problem = specialisation.representatives[p];
      c.at.push_back(
          MapProblem(*specialisation.mapping, problem.View(), configuration));
      c.legal.push_back(c.universal ||
                        IsLegal(spec, configuration, problem.View()));
    }
  });
}

bool IsMeasured(const CandidateState& candidate, const Problem& problem) {
  return std::binary_search(candidate.measured.begin(),
                            candidate.measured.end(), problem);
}

}  // namespace wavetune
