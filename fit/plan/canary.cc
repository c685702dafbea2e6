#include "fit/plan/canary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fit/plan/drift_regimes.h"
#include "fit/samples/sample_selection.h"
#include "model/kernel/mapping.h"

namespace wavetune {
namespace {

// docs/decisions/0054 has the evidence.
constexpr double kLeastDrift = 0.03;    // Of a regime's median.
constexpr double kMostTolerance = 0.1;  // Whatever the table's bound.
constexpr double kMedianSpreads = 2;
constexpr double kLeastScatter = 0.1;  // Of a pair about its regime's median.
constexpr double kScatterSpreads = 3;
constexpr double kScatterShare = 0.25;
constexpr double kLeastSwap = 0.03;  // Of two candidates' order.
constexpr double kAllAlike = 0.02;   // Of the median of all pairs.
constexpr double kProfileShare = 0.5;
// Two samples of one thing differ by so much even if each is sure of itself.
constexpr double kLeastSpread = 0.005;
// Of a sample that was never stable, as many are on a busy host.
constexpr double kSuspectSpread = 0.1;

bool IsSound(const Sample& sample) {
  return !sample.throttled && IsPlausibleLatency(sample.latency_us);
}

double MiddleOf(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// --- Planning ---

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
                  .regime = DriftRegimeName(sub, at, tiles_per_wave),
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
    regimes[{one.pair.item.problem.specialisation, one.pair.regime}]
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

// --- Judging ---

struct Ratio {
  const CanaryPair* pair = nullptr;
  double log = 0;  // Of latency now / then.
  double now_us = 0;
  double spread = 0;  // Of both together.
};

double SpreadOfBoth(const Sample& before, const Sample& now) {
  const double both = std::hypot(before.relative_spread, now.relative_spread);
  const double least =
      before.suspect || now.suspect ? kSuspectSpread : kLeastSpread;
  return std::isfinite(both) ? std::max(both, least) : least;
}

std::vector<Ratio> RatiosOf(const std::vector<CanaryPair>& pairs,
                            const std::vector<Sample>& measured) {
  std::vector<Ratio> ratios;
  for (size_t i = 0; i < std::min(pairs.size(), measured.size()); ++i) {
    const Sample& before = pairs[i].before;
    const Sample& now = measured[i];
    if (!IsSound(now)) continue;
    ratios.push_back({.pair = &pairs[i],
                      .log = std::log(now.latency_us / before.latency_us),
                      .now_us = now.latency_us,
                      .spread = SpreadOfBoth(before, now)});
  }
  return ratios;
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

template <typename Value>
double MedianOf(const std::vector<Ratio>& ratios, Value value) {
  std::vector<double> values;
  for (const Ratio& ratio : ratios) values.push_back(value(ratio));
  return MiddleOf(std::move(values));
}

// Whether two candidates of one problem changed places.
bool ChangedPlaces(const Ratio& a, const Ratio& b) {
  if (a.pair->item.problem != b.pair->item.problem) return false;
  const double noise =
      std::max(kLeastSwap, kMedianSpreads * std::max(a.spread, b.spread));
  const double then =
      std::log(a.pair->before.latency_us / b.pair->before.latency_us);
  const double now = std::log(a.now_us / b.now_us);
  return then * now < 0 && std::min(std::abs(then), std::abs(now)) > noise;
}

bool AnyChangedPlaces(const std::vector<Ratio>& ratios) {
  for (size_t i = 0; i < ratios.size(); ++i) {
    for (size_t j = i + 1; j < ratios.size(); ++j) {
      if (ChangedPlaces(ratios[i], ratios[j])) return true;
    }
  }
  return false;
}

bool Scatters(const std::vector<Ratio>& ratios, double median) {
  const auto off =
      std::count_if(ratios.begin(), ratios.end(), [&](const Ratio& r) {
        return std::abs(r.log - median) >
               std::log1p(std::max(kLeastScatter, kScatterSpreads * r.spread));
      });
  return off >= 2 && static_cast<double>(off) >=
                         kScatterShare * static_cast<double>(ratios.size());
}

bool Drifted(const std::vector<Ratio>& ratios, double log_factor) {
  const double median = MedianOf(ratios, [](const Ratio& r) { return r.log; });
  const double bound =
      MedianOf(ratios, [](const Ratio& r) { return r.pair->relative_bound; });
  const double spread =
      MedianOf(ratios, [](const Ratio& r) { return r.spread; });
  const double tolerance = std::max(
      std::clamp(bound / 2, kLeastDrift, kMostTolerance),
      kMedianSpreads * spread / std::sqrt(static_cast<double>(ratios.size())));
  return std::abs(median - log_factor) > std::log1p(tolerance) ||
         Scatters(ratios, median) || AnyChangedPlaces(ratios);
}

using Regimes =
    std::map<std::pair<std::string, std::string>, std::vector<Ratio>>;

// Returns how many pairs are of regimes that drifted from the factor.
size_t CountDrifted(const Regimes& regimes, double log_factor) {
  size_t pairs = 0;
  for (const auto& [name, ratios] : regimes) {
    if (Drifted(ratios, log_factor)) pairs += ratios.size();
  }
  return pairs;
}

std::vector<DriftRegime> Describe(const Regimes& regimes, double log_factor) {
  std::vector<DriftRegime> described;
  for (const auto& [name, ratios] : regimes) {
    const auto worst = std::max_element(
        ratios.begin(), ratios.end(), [&](const Ratio& a, const Ratio& b) {
          return std::abs(a.log - log_factor) < std::abs(b.log - log_factor);
        });
    described.push_back({.specialisation = name.first,
                         .name = name.second,
                         .pairs = static_cast<int32_t>(ratios.size()),
                         .median_ratio = std::exp(MedianOf(
                             ratios, [](const Ratio& r) { return r.log; })),
                         .worst_ratio = std::exp(worst->log),
                         .drifted = Drifted(ratios, log_factor)});
  }
  const auto off = [&](const DriftRegime& r) {
    return std::abs(std::log(r.median_ratio) - log_factor);
  };
  std::stable_sort(described.begin(), described.end(),
                   [&](const DriftRegime& a, const DriftRegime& b) {
                     return std::tuple(!a.drifted, -off(a)) <
                            std::tuple(!b.drifted, -off(b));
                   });
  return described;
}

// Returns the factor that explains most: 1, or the median of all pairs.
double LogFactor(const Regimes& regimes, const std::vector<Ratio>& ratios) {
  const double median = MedianOf(ratios, [](const Ratio& r) { return r.log; });
  const double spread =
      MedianOf(ratios, [](const Ratio& r) { return r.spread; });
  const double alike =
      std::max(kAllAlike, kMedianSpreads * spread /
                              std::sqrt(static_cast<double>(ratios.size())));
  if (std::abs(median) <= std::log1p(alike)) return 0;
  const size_t without = CountDrifted(regimes, 0);
  return without > 0 && without <= CountDrifted(regimes, median) ? 0 : median;
}

std::string DriftedText(const DriftReport& report) {
  size_t drifted = 0;
  for (const DriftRegime& regime : report.regimes) drifted += regime.drifted;
  if (drifted == 0) return "no regime drifted";
  const DriftRegime& most = report.regimes.front();
  return absl::StrFormat(
      "%d of %d regimes drifted, most \"%s\": %.3f times as long", drifted,
      report.regimes.size(), most.name, most.median_ratio);
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

DriftReport JudgeCanary(const std::vector<CanaryPair>& pairs,
                        const std::vector<Sample>& measured) {
  const std::vector<Ratio> ratios = RatiosOf(pairs, measured);
  DriftReport report{.action = DriftAction::kProfile};
  if (ratios.size() < kFewestCompared) {
    report.reason = absl::StrFormat(
        "%d of %d pairs could be compared with what was measured before; at "
        "least %d are needed",
        ratios.size(), pairs.size(), kFewestCompared);
    if (pairs.size() >= kFewestCompared) {
      report.action = DriftAction::kUndecided;
      report.reason += WhyMissing(measured);
    }
    return report;
  }
  Regimes regimes;
  for (const Ratio& ratio : ratios) {
    regimes[{ratio.pair->item.problem.specialisation, ratio.pair->regime}]
        .push_back(ratio);
  }
  const double log_factor = LogFactor(regimes, ratios);
  report.overall_ratio = std::exp(log_factor);
  report.regimes = Describe(regimes, log_factor);
  const size_t drifted = CountDrifted(regimes, log_factor);
  if (static_cast<double>(drifted) >=
      kProfileShare * static_cast<double>(ratios.size())) {
    report.action = DriftAction::kProfile;
  } else if (drifted > 0 || log_factor != 0) {
    report.action = DriftAction::kRefit;
  } else {
    report.action = DriftAction::kCarryOver;
  }
  report.reason = absl::StrFormat(
      "%d pairs take %.3f times as long as before (median); %s", ratios.size(),
      std::exp(MedianOf(ratios, [](const Ratio& r) { return r.log; })),
      DriftedText(report));
  return report;
}

std::vector<Sample> KeptAfterDrift(const Table& table,
                                   const DriftReport& report,
                                   absl::Span<const Sample> before,
                                   const TilesPerWave& tiles_per_wave) {
  std::set<std::pair<std::string, std::string>> drifted;
  for (const DriftRegime& regime : report.regimes) {
    if (regime.drifted) drifted.emplace(regime.specialisation, regime.name);
  }
  std::vector<Sample> kept;
  for (const Sample& sample : before) {
    const std::string& specialisation = sample.problem.specialisation;
    const SubTable* const sub = FindSubTable(table, specialisation);
    const int64_t tiles = tiles_per_wave(specialisation, sample.configuration);
    if (sub == nullptr || tiles < 1 || !IsSound(sample)) continue;
    const std::string regime = DriftRegimeName(
        *sub,
        MapProblem(sub->mapping, sample.problem.View(), sample.configuration),
        tiles);
    if (drifted.contains({specialisation, regime})) continue;
    kept.push_back(sample);
    kept.back().latency_us *= report.overall_ratio;
    kept.back().min_us *= report.overall_ratio;
    kept.back().device_time_us = 0;
  }
  return kept;
}

}  // namespace wavetune
