#include "fit/plan/canary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "fit/plan/drift_regimes.h"
#include "fit/samples/sample_selection.h"
#include "model/kernel/configuration_text.h"
#include "model/kernel/mapping.h"

namespace wavetune {
namespace {

struct Known {
  CanaryPair pair;
  std::tuple<size_t, int, int> stratum;  // Member, waves, loops.
};

int WaveBucket(int64_t waves) {
  if (waves <= 2) return static_cast<int>(waves);
  return waves <= 8 ? 3 : 4;
}

// Of one specialisation: who it may choose, and for how many of the problems
// that were measured it does.
struct Members {
  const SubTable* sub = nullptr;
  std::map<Configuration, size_t> rank;  // 0: chosen most often.
};

std::map<std::string, Members> MembersOf(const CanaryInput& input) {
  std::set<Problem> problems;
  for (const Sample& sample : input.before) problems.insert(sample.problem);
  std::map<std::pair<std::string, Configuration>, int> chosen;
  for (const Problem& problem : problems) {
    const Decision decision = input.table->Resolve(
        input.table->SubTableIndex(problem.specialisation), problem.View());
    ++chosen[{problem.specialisation, decision.configuration}];
  }
  std::map<std::string, Members> members;
  for (const SubTable& sub : input.table->table().sub_tables) {
    std::vector<Configuration> order;
    for (const TableCandidate& member : sub.portfolio) {
      order.push_back(member.configuration);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](const Configuration& a, const Configuration& b) {
                       return chosen[{sub.specialisation, a}] >
                              chosen[{sub.specialisation, b}];
                     });
    Members& own = members[sub.specialisation];
    own.sub = &sub;
    for (size_t i = 0; i < order.size(); ++i) own.rank[order[i]] = i;
  }
  return members;
}

int64_t TilesPerWaveOf(const SubTable& sub, const Configuration& member) {
  for (const TableCandidate& candidate : sub.portfolio) {
    if (candidate.configuration == member) return candidate.tiles_per_wave;
  }
  return 1;
}

// What was measured before of those that the table may choose, the last of
// each, in the order of problems.
std::vector<Known> KnownPairs(const CanaryInput& input) {
  const std::map<std::string, Members> members = MembersOf(input);
  std::map<std::pair<Problem, Configuration>, const Sample*> last;
  for (const Sample& sample : input.before) {
    if (IsSound(sample)) last[{sample.problem, sample.configuration}] = &sample;
  }
  std::vector<Known> known;
  for (const auto& [what, sample] : last) {
    const auto& [problem, configuration] = what;
    const auto own = members.find(problem.specialisation);
    if (own == members.end()) continue;
    const auto rank = own->second.rank.find(configuration);
    if (rank == own->second.rank.end()) continue;
    const SubTable& sub = *own->second.sub;
    const Coordinates at =
        MapProblem(sub.mapping, problem.View(), configuration);
    const int64_t tiles_per_wave = TilesPerWaveOf(sub, configuration);
    const Decision decision = input.table->Resolve(
        input.table->SubTableIndex(problem.specialisation), problem.View());
    known.push_back(
        {.pair = {.item = {configuration, problem},
                  .before = *sample,
                  .structure = DriftRegimeName(sub, at, tiles_per_wave),
                  .configuration = FormatConfiguration(
                      input.table->table().parameters, configuration),
                  .relative_bound = decision.relative_bound},
         .stratum = {rank->second, WaveBucket(Waves(at.tiles, tiles_per_wave)),
                     static_cast<int>(std::log2(at.iterations)) / 2}});
  }
  return known;
}

// Takes pairs while there is room.
class PairSelection {
 public:
  explicit PairSelection(const CanaryLimits& limits) : limits_(limits) {}

  bool Take(const CanaryPair& pair) {
    if (!HasRoomFor(pair)) return false;
    time_us_ += pair.before.device_time_us;
    problems_.insert(pair.item.problem);
    pairs_.push_back(pair);
    return true;
  }
  // A pair beside another one of its problem says which of the two is faster.
  bool HasProblem(const Problem& problem) const {
    return problems_.contains(problem);
  }
  bool Has(const MeasureItem& item) const {
    return std::any_of(pairs_.begin(), pairs_.end(),
                       [&](const CanaryPair& p) { return p.item == item; });
  }
  // Leaves room for what is measured beside the pairs.
  void Reserve(size_t measurements) { reserved_ = measurements; }
  std::vector<CanaryPair> pairs() && { return std::move(pairs_); }

 private:
  bool HasRoomFor(const CanaryPair& pair) const {
    return pairs_.size() + reserved_ < limits_.measurements &&
           time_us_ + pair.before.device_time_us <= limits_.device_time_us;
  }

  const CanaryLimits limits_;
  std::vector<CanaryPair> pairs_;
  std::set<Problem> problems_;
  size_t reserved_ = 0;
  double time_us_ = 0;
};

// One regime's pairs by stratum, the shortest first.
using Strata = std::map<std::tuple<size_t, int, int>, std::vector<CanaryPair>>;

std::map<std::pair<std::string, std::string>, Strata> ByRegime(
    std::vector<Known> known) {
  std::map<std::pair<std::string, std::string>, Strata> regimes;
  for (Known& one : known) {
    regimes[{one.pair.item.problem.specialisation, one.pair.structure}]
           [one.stratum]
               .push_back(std::move(one.pair));
  }
  for (auto& [name, strata] : regimes) {
    for (auto& [stratum, pairs] : strata) {
      std::stable_sort(pairs.begin(), pairs.end(),
                       [](const CanaryPair& a, const CanaryPair& b) {
                         return a.before.device_time_us <
                                b.before.device_time_us;
                       });
    }
  }
  return regimes;
}

// Takes the next pair of a regime: of its least used stratum. Returns false
// where it has none that fits.
bool TakeNext(Strata& strata, std::map<std::tuple<size_t, int, int>, int>& used,
              PairSelection& selection) {
  while (!strata.empty()) {
    const auto least = std::min_element(strata.begin(), strata.end(),
                                        [&](const auto& a, const auto& b) {
                                          return used[a.first] < used[b.first];
                                        });
    std::vector<CanaryPair>& pairs = least->second;
    auto next =
        std::find_if(pairs.begin(), pairs.end(), [&](const CanaryPair& p) {
          return selection.HasProblem(p.item.problem);
        });
    if (next == pairs.end()) next = pairs.begin();
    const CanaryPair pair = *next;
    pairs.erase(next);
    const auto stratum = least->first;
    if (pairs.empty()) strata.erase(least);
    ++used[stratum];
    if (!selection.Has(pair.item) && selection.Take(pair)) return true;
  }
  return false;
}

}  // namespace

std::vector<CanaryPair> PlanCanary(const CanaryInput& input,
                                   const std::vector<MeasureItem>& verification,
                                   const CanaryLimits& limits) {
  std::vector<Known> known = KnownPairs(input);
  PairSelection selection(limits);
  for (const MeasureItem& item : verification) {
    for (const Known& one : known) {
      if (one.pair.item == item) selection.Take(one.pair);
    }
  }
  selection.Reserve(static_cast<size_t>(std::count_if(
      verification.begin(), verification.end(),
      [&](const MeasureItem& item) { return !selection.Has(item); })));
  auto regimes = ByRegime(std::move(known));
  std::map<std::tuple<size_t, int, int>, int> used;
  for (bool took = true; took;) {
    took = false;
    for (auto& [name, strata] : regimes) {
      took = TakeNext(strata, used, selection) || took;
    }
  }
  return std::move(selection).pairs();
}

}  // namespace wavetune
