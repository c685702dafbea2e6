#include "fit/plan/drift_probe.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "fit/models/uncertainty.h"
#include "fit/plan/verification.h"
#include "fit/samples/sample_selection.h"
#include "model/kernel/configuration_text.h"
#include "model/kernel/mapping.h"

namespace wavetune {
namespace {

// docs/decisions/0054 has the evidence.
// Of the median distance to the median: four standard deviations, were it
// normal.
constexpr double kNoises = 6;
constexpr double kMostNoise = 0.5;  // Of a pair: more is drift on any host.
constexpr double kOffShare = 0.25;  // Of all pairs, each on its own.

struct Known {
  DriftProbePair pair;
  std::tuple<size_t, int, int> stratum;  // Member, waves, loops.
};

int WaveBucket(int64_t waves) {
  if (waves <= 2) return static_cast<int>(waves);
  return waves <= 8 ? 3 : 4;
}

// Problems that are alike to the wave model, by what people call them.
std::string KindOf(const SubTable& sub, const Coordinates& at,
                   int64_t tiles_per_wave) {
  std::vector<std::string> parts;
  if (sub.row_regimes.size() > 1) {
    parts.push_back(at.rows <= 1 ? "one row of tiles" : "more rows of tiles");
  }
  if (sub.max_waves.size() > 1) {
    parts.push_back(Waves(at.tiles, tiles_per_wave) <= 1 ? "one wave"
                                                         : "more waves");
  }
  return parts.empty() ? "all problems" : absl::StrJoin(parts, ", ");
}

// Of one specialisation: who it may choose, and for how many of the problems
// that were measured it does.
struct Members {
  const SubTable* sub = nullptr;
  std::map<Configuration, size_t> rank;  // 0: chosen most often.
};

std::map<std::string, Members> MembersOf(const DriftProbeInput& input) {
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
std::vector<Known> KnownPairs(const DriftProbeInput& input) {
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
    known.push_back(
        {.pair = {.item = {configuration, problem},
                  .before = *sample,
                  .structure = KindOf(sub, at, tiles_per_wave),
                  .configuration = FormatConfiguration(
                      input.table->table().parameters, configuration)},
         .stratum = {rank->second, WaveBucket(Waves(at.tiles, tiles_per_wave)),
                     static_cast<int>(std::log2(at.iterations)) / 2}});
  }
  return known;
}

// Takes pairs while there is room.
class PairSelection {
 public:
  explicit PairSelection(const DriftProbeLimits& limits) : limits_(limits) {}

  bool Take(const DriftProbePair& pair) {
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
                       [&](const DriftProbePair& p) { return p.item == item; });
  }
  // Leaves room for what is measured beside the pairs.
  void Reserve(size_t measurements) { reserved_ = measurements; }
  std::vector<DriftProbePair> pairs() && { return std::move(pairs_); }

 private:
  bool HasRoomFor(const DriftProbePair& pair) const {
    return pairs_.size() + reserved_ < limits_.measurements &&
           time_us_ + pair.before.device_time_us <= limits_.device_time_us;
  }

  const DriftProbeLimits limits_;
  std::vector<DriftProbePair> pairs_;
  std::set<Problem> problems_;
  size_t reserved_ = 0;
  double time_us_ = 0;
};

// One regime's pairs by stratum, the shortest first.
using Strata =
    std::map<std::tuple<size_t, int, int>, std::vector<DriftProbePair>>;

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
                       [](const DriftProbePair& a, const DriftProbePair& b) {
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
    std::vector<DriftProbePair>& pairs = least->second;
    auto next =
        std::find_if(pairs.begin(), pairs.end(), [&](const DriftProbePair& p) {
          return selection.HasProblem(p.item.problem);
        });
    if (next == pairs.end()) next = pairs.begin();
    const DriftProbePair pair = *next;
    pairs.erase(next);
    const auto stratum = least->first;
    if (pairs.empty()) strata.erase(least);
    ++used[stratum];
    if (!selection.Has(pair.item) && selection.Take(pair)) return true;
  }
  return false;
}

double MedianOf(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

struct Ratio {
  const DriftProbePair* pair = nullptr;
  double log = 0;     // Of latency now / then.
  double spread = 0;  // Of both together.
};

std::vector<Ratio> RatiosOf(const std::vector<DriftProbePair>& pairs,
                            const std::vector<Sample>& measured) {
  std::vector<Ratio> ratios;
  for (size_t i = 0; i < std::min(pairs.size(), measured.size()); ++i) {
    const Sample& before = pairs[i].before;
    const Sample& now = measured[i];
    if (!IsSound(now)) continue;
    const double spread =
        std::hypot(before.relative_spread, now.relative_spread);
    ratios.push_back({.pair = &pairs[i],
                      .log = std::log(now.latency_us / before.latency_us),
                      .spread = std::isfinite(spread) ? spread : 0});
  }
  return ratios;
}

double MedianLog(const std::vector<Ratio>& ratios) {
  std::vector<double> logs;
  for (const Ratio& ratio : ratios) logs.push_back(ratio.log);
  return MedianOf(std::move(logs));
}

// How far a single pair may be from the others by what a busy host does to it.
double NoiseOf(const std::vector<Ratio>& ratios) {
  const double median = MedianLog(ratios);
  std::vector<double> distances;
  for (const Ratio& ratio : ratios) {
    distances.push_back(std::abs(ratio.log - median));
  }
  return std::min(kNoises * MedianOf(std::move(distances)),
                  std::log1p(kMostNoise));
}

// Whether more than half are off to one side.
bool Drifted(const std::vector<Ratio>& ratios, double noise) {
  std::vector<double> spreads;
  for (const Ratio& ratio : ratios) spreads.push_back(ratio.spread);
  const double of_mean = 1 / std::sqrt(static_cast<double>(ratios.size()));
  const double tolerance =
      std::max({std::log1p(kBeyondNoise), noise * of_mean,
                kSigmas * MedianOf(std::move(spreads)) * of_mean});
  const auto off = [&](double side) {
    return std::count_if(ratios.begin(), ratios.end(), [&](const Ratio& r) {
      return side * r.log > tolerance;
    });
  };
  return 2 * static_cast<size_t>(std::max(off(1), off(-1))) > ratios.size();
}

DriftRegime Judged(const std::string& specialisation, const std::string& name,
                   const std::vector<Ratio>& ratios, double noise) {
  const auto worst = std::max_element(
      ratios.begin(), ratios.end(), [](const Ratio& a, const Ratio& b) {
        return std::abs(a.log) < std::abs(b.log);
      });
  return {.specialisation = specialisation,
          .name = name,
          .pairs = static_cast<int32_t>(ratios.size()),
          .median_ratio = std::exp(MedianLog(ratios)),
          .worst_ratio = std::exp(worst->log),
          .drifted = Drifted(ratios, noise)};
}

// Of both kinds, those that drifted first.
std::vector<DriftRegime> RegimesOf(const std::vector<Ratio>& ratios,
                                   double noise) {
  std::vector<DriftRegime> regimes;
  for (std::string DriftProbePair::*const name :
       {&DriftProbePair::structure, &DriftProbePair::configuration}) {
    std::map<std::pair<std::string, std::string>, std::vector<Ratio>> groups;
    for (const Ratio& ratio : ratios) {
      groups[{ratio.pair->item.problem.specialisation, ratio.pair->*name}]
          .push_back(ratio);
    }
    for (const auto& [key, group] : groups) {
      if (group.size() == 1) continue;  // It may be noise.
      regimes.push_back(Judged(key.first, key.second, group, noise));
    }
  }
  const auto rank = [](const DriftRegime& regime) {
    return std::pair(!regime.drifted, -std::abs(std::log(regime.median_ratio)));
  };
  std::stable_sort(regimes.begin(), regimes.end(),
                   [&](const DriftRegime& a, const DriftRegime& b) {
                     return rank(a) < rank(b);
                   });
  return regimes;
}

// Why measurements do not count, for people: "; the device was throttled
// for 60 of 64 measurements".
std::string WhyMissing(const std::vector<Sample>& measured) {
  const auto count = [&](auto which) {
    return std::count_if(measured.begin(), measured.end(), which);
  };
  const auto throttled = count([](const Sample& s) { return s.throttled; });
  const auto failed = count([](const Sample& s) {
    return !s.throttled && !IsPlausibleLatency(s.latency_us);
  });
  std::string why;
  if (throttled > 0) {
    absl::StrAppendFormat(
        &why,
        "; the device was throttled for %d of %d measurements: let it "
        "cool",
        throttled, measured.size());
  }
  if (failed > 0) {
    absl::StrAppendFormat(&why, "; %d of %d measurements failed", failed,
                          measured.size());
  }
  return why;
}

DriftReport TooFewCompared(size_t compared, size_t pairs,
                           const std::vector<Sample>& measured) {
  DriftReport report{.action = DriftAction::kProfile};
  report.reason = absl::StrFormat(
      "%d of %d pairs could be compared with what was measured before; at "
      "least %d are needed",
      compared, pairs, kFewestCompared);
  if (pairs >= kFewestCompared) {
    report.action = DriftAction::kUndecided;
    report.reason += WhyMissing(measured);
  }
  return report;
}

}  // namespace

std::vector<DriftProbePair> PlanDriftProbe(
    const DriftProbeInput& input, const std::vector<MeasureItem>& verification,
    const DriftProbeLimits& limits) {
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

DriftReport JudgeDriftProbe(const std::vector<DriftProbePair>& pairs,
                            const std::vector<Sample>& measured) {
  const std::vector<Ratio> ratios = RatiosOf(pairs, measured);
  if (ratios.size() < kFewestCompared) {
    return TooFewCompared(ratios.size(), pairs.size(), measured);
  }
  const double noise = NoiseOf(ratios);
  DriftReport report{.regimes = RegimesOf(ratios, noise)};
  const auto drifted =
      std::count_if(report.regimes.begin(), report.regimes.end(),
                    [](const DriftRegime& regime) { return regime.drifted; });
  const auto off =
      std::count_if(ratios.begin(), ratios.end(),
                    [&](const Ratio& r) { return Drifted({r}, noise); });
  const bool many_off = static_cast<double>(off) >=
                        kOffShare * static_cast<double>(ratios.size());
  const bool holds = drifted == 0 && !many_off && !Drifted(ratios, noise);
  report.action = holds ? DriftAction::kCarryOver : DriftAction::kProfile;
  report.reason =
      absl::StrFormat("%d pairs take %.3f times as long as before (median)",
                      ratios.size(), std::exp(MedianLog(ratios)));
  if (drifted > 0) {
    const DriftRegime& most = report.regimes.front();
    absl::StrAppendFormat(
        &report.reason,
        "; %d of %d regimes drifted, most \"%s\": %.3f times as long", drifted,
        report.regimes.size(), most.name, most.median_ratio);
  } else if (many_off) {
    absl::StrAppendFormat(&report.reason,
                          "; %d of them are off, in no regime more than others",
                          off);
  } else if (holds) {
    report.reason += "; no regime drifted";
  }
  return report;
}

}  // namespace wavetune
