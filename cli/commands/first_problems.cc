#include "cli/commands/first_problems.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "cli/commands/compile_cost.h"
#include "fit/plan/plan_next.h"
#include "fit/profile.h"
#include "model/kernel/backend_traits.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

// Candidates of a specialisation that are planned for: more say no more.
constexpr size_t kMaxPlanned = 256;
// Steps of the planner: all of the screening of so many.
constexpr int kMaxSteps = 64;
// Problems that are printed.
constexpr size_t kMaxPrinted = 12;

constexpr int64_t kMultiprocessorsOfH100 = 132;

std::vector<Candidate> AssumedCandidates(const SpecialisationSpace& space,
                                         int64_t tiles_per_wave) {
  std::vector<Candidate> candidates;
  for (const Configuration& configuration :
       SampleSpace(space.space.configurations, kMaxPlanned,
                   space.spec->default_configuration)) {
    candidates.push_back(
        {.configuration = configuration, .tiles_per_wave = tiles_per_wave});
  }
  return candidates;
}

ProfileInput EmptyProfile(const KernelSpec& spec,
                          const std::vector<SpecialisationSpace>& spaces,
                          int64_t tiles_per_wave) {
  ProfileInput input{.spec = &spec};
  input.device.backend = spec.implementations.front().backend;
  input.device.multiprocessors = static_cast<int32_t>(tiles_per_wave);
  for (const std::string& name : spec.SpecialisationNames())
    input.candidates.push_back(
        AssumedCandidates(SpaceOf(spaces, name), tiles_per_wave));
  return input;
}

}  // namespace

FirstProblems PlanFirstProblems(const KernelSpec& spec,
                                const std::vector<SpecialisationSpace>& spaces,
                                int64_t tiles_per_wave) {
  const ProfileInput input = EmptyProfile(spec, spaces, tiles_per_wave);
  FirstProblems first{.tiles_per_wave = tiles_per_wave,
                      .candidates = CountCandidates(spaces)};
  for (const std::vector<Candidate>& own : input.candidates)
    first.planned_for += static_cast<int64_t>(own.size());
  // What cannot be measured is not asked for again: so the screening comes out
  // step by step without a sample.
  std::vector<MeasureItem> asked;
  std::map<Problem, int64_t> candidates;
  std::vector<Problem> order;
  for (int step = 0; step < kMaxSteps; ++step) {
    const ProfileStep next = PlanNext(input, asked);
    if (next.phase != ProfilePhase::kScreening) break;
    if (step == 0) first.samples = next.samples_planned;
    for (const MeasureItem& item : next.items) {
      if (candidates[item.problem]++ == 0) order.push_back(item.problem);
      asked.push_back(item);
    }
  }
  for (const Problem& problem : order)
    first.problems.push_back(
        {FormatProblem(spec, problem), candidates[problem]});
  std::stable_sort(first.problems.begin(), first.problems.end(),
                   [](const FirstProblem& a, const FirstProblem& b) {
                     return a.candidates > b.candidates;
                   });
  return first;
}

int64_t UsualTilesPerWave(const KernelSpec& spec) {
  const bool on_cpus = std::any_of(
      spec.implementations.begin(), spec.implementations.end(),
      [](const Implementation& i) { return TraitsOf(i.backend).runs_on_cpus; });
  return on_cpus ? CoresOfThisMachine() : kMultiprocessorsOfH100;
}

Json ToJson(const FirstProblems& first) {
  Json problems = Json::array();
  for (const FirstProblem& own : first.problems)
    problems.push_back(
        {{"problem", own.problem}, {"candidates", own.candidates}});
  return {{"tiles_per_wave", first.tiles_per_wave},
          {"candidates", first.candidates},
          {"planned_for", first.planned_for},
          {"samples", first.samples},
          {"first", std::move(problems)}};
}

void PrintFirstProblems(Output& out, const FirstProblems& first) {
  out << "  plan             ";
  if (first.planned_for < first.candidates)
    out << "for " << first.planned_for << " of the candidates, ";
  out << "about " << first.samples << " samples on a device that has "
      << first.tiles_per_wave
      << " tiles in flight (--tiles-per-wave); screening measures\n";
  const size_t printed = std::min(first.problems.size(), kMaxPrinted);
  for (size_t i = 0; i < printed; ++i) {
    out << "                     " << first.problems[i].problem << " ("
        << first.problems[i].candidates << " candidates)\n";
  }
  if (first.problems.size() > printed)
    out << "                     and " << first.problems.size() - printed
        << " other problems; --json has all\n";
}

}  // namespace wavetune::cli
