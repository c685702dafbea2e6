#include "fit/plan/drift_verdict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fit/samples/sample_selection.h"

namespace wavetune {
namespace {

// docs/decisions/0054 has the evidence.
constexpr double kLeastDrift = 0.03;    // Of a regime's median.
constexpr double kMostTolerance = 0.1;  // Whatever the table's bound.
constexpr double kMedianSpreads = 2;
constexpr double kLeastScatter = 0.1;  // Of a pair about its regime's median.
constexpr double kScatterSpreads = 3;
constexpr double kScatterShare = 0.25;
constexpr size_t kFewestOfConfiguration = 2;
// Of the median distance to the median: three standard deviations, were it
// normal.
constexpr double kNoises = 4.5;
constexpr double kMostNoise = 0.5;
constexpr double kLeastSwap = 0.03;  // Of two candidates' order.
constexpr double kAllAlike = 0.02;   // Of the median of all pairs.
constexpr double kProfileShare = 0.5;
// Two samples of one thing differ by so much even if each is sure of itself.
constexpr double kLeastSpread = 0.005;
// Of a sample that was never stable, as many are on a busy host.
constexpr double kSuspectSpread = 0.1;

double MiddleOf(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

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

// How far a pair may be from the others by what a busy host does to it, which
// its own spread does not tell. Bounded: where most drift, each on its own,
// nothing but that is to be seen.
double NoiseOf(const std::vector<Ratio>& ratios) {
  const double median = MedianOf(ratios, [](const Ratio& r) { return r.log; });
  const double middle = MedianOf(
      ratios, [&](const Ratio& r) { return std::abs(r.log - median); });
  return std::min(kNoises * middle, std::log1p(kMostNoise));
}

// Whether two candidates of one problem changed places.
bool ChangedPlaces(const Ratio& a, const Ratio& b, double of_host) {
  if (a.pair->item.problem != b.pair->item.problem) return false;
  const double noise = std::max(
      {kLeastSwap, of_host, kMedianSpreads * std::max(a.spread, b.spread)});
  const double then =
      std::log(a.pair->before.latency_us / b.pair->before.latency_us);
  const double now = std::log(a.now_us / b.now_us);
  return then * now < 0 && std::min(std::abs(then), std::abs(now)) > noise;
}

bool AnyChangedPlaces(const std::vector<Ratio>& ratios, double of_host) {
  for (size_t i = 0; i < ratios.size(); ++i) {
    for (size_t j = i + 1; j < ratios.size(); ++j) {
      if (ChangedPlaces(ratios[i], ratios[j], of_host)) return true;
    }
  }
  return false;
}

bool Scatters(const std::vector<Ratio>& ratios) {
  const double median = MedianOf(ratios, [](const Ratio& r) { return r.log; });
  const auto off =
      std::count_if(ratios.begin(), ratios.end(), [&](const Ratio& r) {
        return std::abs(r.log - median) >
               std::log1p(std::max(kLeastScatter, kScatterSpreads * r.spread));
      });
  return off >= 2 && static_cast<double>(off) >=
                         kScatterShare * static_cast<double>(ratios.size());
}

bool MedianIsOff(const std::vector<Ratio>& ratios, double log_factor) {
  const double median = MedianOf(ratios, [](const Ratio& r) { return r.log; });
  const double bound =
      MedianOf(ratios, [](const Ratio& r) { return r.pair->relative_bound; });
  const double spread =
      MedianOf(ratios, [](const Ratio& r) { return r.spread; });
  const double tolerance = std::max(
      std::clamp(bound / 2, kLeastDrift, kMostTolerance),
      kMedianSpreads * spread / std::sqrt(static_cast<double>(ratios.size())));
  return std::abs(median - log_factor) > std::log1p(tolerance);
}

bool StructureDrifted(const std::vector<Ratio>& ratios, double log_factor,
                      double noise) {
  return MedianIsOff(ratios, log_factor) || Scatters(ratios) ||
         AnyChangedPlaces(ratios, noise);
}

// Whether most are off to one side. There are many configurations, and of few
// pairs, so that some would seem to drift by chance where the median of so few
// were taken at its word.
bool ConfigurationDrifted(const std::vector<Ratio>& ratios, double log_factor,
                          double noise) {
  const double spread =
      MedianOf(ratios, [](const Ratio& r) { return r.spread; });
  const double tolerance =
      std::max({std::log1p(kLeastScatter), noise,
                std::log1p(kMedianSpreads * spread /
                           std::sqrt(static_cast<double>(ratios.size())))});
  const auto off = [&](double side) {
    return static_cast<size_t>(
        std::count_if(ratios.begin(), ratios.end(), [&](const Ratio& r) {
          return side * (r.log - log_factor) > tolerance;
        }));
  };
  return 2 * std::max(off(1), off(-1)) > ratios.size();
}

struct Regime {
  std::string specialisation;
  std::string name;
  bool of_configuration = false;
  std::vector<Ratio> ratios;
  bool drifted = false;
};

// Judges and appends the regimes of one kind that the ratios are of, in the
// order of names. Configurations of one pair are left out: it may be noise.
void AppendRegimes(const std::vector<Ratio>& ratios,
                   std::string CanaryPair::*name, double log_factor,
                   double noise, std::vector<Regime>& regimes) {
  std::map<std::pair<std::string, std::string>, std::vector<Ratio>> groups;
  for (const Ratio& ratio : ratios) {
    groups[{ratio.pair->item.problem.specialisation, ratio.pair->*name}]
        .push_back(ratio);
  }
  for (auto& [key, group] : groups) {
    const bool of_configuration = name == &CanaryPair::configuration;
    if (of_configuration && group.size() < kFewestOfConfiguration) continue;
    const bool drifted = of_configuration
                             ? ConfigurationDrifted(group, log_factor, noise)
                             : StructureDrifted(group, log_factor, noise);
    regimes.push_back({.specialisation = key.first,
                       .name = key.second,
                       .of_configuration = of_configuration,
                       .ratios = std::move(group),
                       .drifted = drifted});
  }
}

// Returns how many pairs are of regimes that drifted.
size_t CountDrifted(const std::vector<Regime>& regimes) {
  size_t pairs = 0;
  for (const Regime& regime : regimes) {
    if (regime.drifted) pairs += regime.ratios.size();
  }
  return pairs;
}

// Returns the regimes of one kind, and of the other by the pairs that the first
// does not explain.
std::vector<Regime> JudgedInOrder(const std::vector<Ratio>& ratios,
                                  double log_factor,
                                  std::string CanaryPair::*first,
                                  std::string CanaryPair::*second) {
  const double noise = NoiseOf(ratios);
  std::vector<Regime> regimes;
  AppendRegimes(ratios, first, log_factor, noise, regimes);
  std::vector<Ratio> rest;
  for (const Regime& regime : regimes) {
    if (regime.drifted) continue;
    rest.insert(rest.end(), regime.ratios.begin(), regime.ratios.end());
  }
  AppendRegimes(rest, second, log_factor, noise, regimes);
  return regimes;
}

// Returns the regimes, as they drifted from the factor; no pair is of two that
// did. Which kind explains what is off shows in how few pairs it takes.
std::vector<Regime> JudgedRegimes(const std::vector<Ratio>& ratios,
                                  double log_factor) {
  std::vector<Regime> by_structure = JudgedInOrder(
      ratios, log_factor, &CanaryPair::structure, &CanaryPair::configuration);
  std::vector<Regime> by_configuration = JudgedInOrder(
      ratios, log_factor, &CanaryPair::configuration, &CanaryPair::structure);
  return CountDrifted(by_configuration) < CountDrifted(by_structure)
             ? by_configuration
             : by_structure;
}

std::vector<DriftRegime> Describe(std::vector<Regime> regimes,
                                  double log_factor) {
  const auto median = [](const Regime& regime) {
    return MedianOf(regime.ratios, [](const Ratio& r) { return r.log; });
  };
  const auto rank = [&](const Regime& regime) {
    return std::tuple(!regime.drifted,
                      !regime.drifted && regime.of_configuration,
                      -std::abs(median(regime) - log_factor));
  };
  std::stable_sort(
      regimes.begin(), regimes.end(),
      [&](const Regime& a, const Regime& b) { return rank(a) < rank(b); });
  std::vector<DriftRegime> described;
  for (const Regime& regime : regimes) {
    const std::vector<Ratio>& ratios = regime.ratios;
    const auto worst = std::max_element(
        ratios.begin(), ratios.end(), [&](const Ratio& a, const Ratio& b) {
          return std::abs(a.log - log_factor) < std::abs(b.log - log_factor);
        });
    described.push_back({.specialisation = regime.specialisation,
                         .name = regime.name,
                         .pairs = static_cast<int32_t>(ratios.size()),
                         .median_ratio = std::exp(median(regime)),
                         .worst_ratio = std::exp(worst->log),
                         .drifted = regime.drifted});
  }
  return described;
}

// Returns the factor that explains most: 1, or the median of all pairs.
double LogFactor(const std::vector<Ratio>& ratios) {
  const double median = MedianOf(ratios, [](const Ratio& r) { return r.log; });
  const double spread =
      MedianOf(ratios, [](const Ratio& r) { return r.spread; });
  const double alike =
      std::max(kAllAlike, kMedianSpreads * spread /
                              std::sqrt(static_cast<double>(ratios.size())));
  if (std::abs(median) <= std::log1p(alike)) return 0;
  const size_t without = CountDrifted(JudgedRegimes(ratios, 0));
  const size_t with = CountDrifted(JudgedRegimes(ratios, median));
  return without > 0 && without <= with ? 0 : median;
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
  const double log_factor = LogFactor(ratios);
  report.overall_ratio = std::exp(log_factor);
  const std::vector<Regime> regimes = JudgedRegimes(ratios, log_factor);
  const size_t drifted = CountDrifted(regimes);
  report.regimes = Describe(regimes, log_factor);
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

}  // namespace wavetune
