#include "fit/plan/verification.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "fit/models/profile_state.h"
#include "fit/samples/sample_selection.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/engine_rule.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/ragged_neighbour.h"
#include "model/table/table_codec.h"

namespace wavetune {
namespace {

constexpr double kNoise = 0.01;       // Of a geometric mean over some points.
constexpr double kLeastGain = 0.005;  // Of the same, that is worth a change.
constexpr double kWorstSpreads = 3;
constexpr double kMostLoss = 0.15;  // Of a named point, whatever is gained.
constexpr double kLostShare = 0.2;  // Of what is gained elsewhere.

std::unique_ptr<const CompiledTable> Compile(const Table& table) {
  const absl::StatusOr<std::string> payload = EncodeTable(table);
  if (!payload.ok()) return nullptr;
  auto compiled = CompiledTable::Create(*payload);
  return compiled.ok() ? *std::move(compiled) : nullptr;
}

// What can be measured at a problem: candidates that compiled and are legal.
bool IsMeasurable(const KernelSpec& spec,
                  const SpecialisationState& specialisation,
                  const Configuration& configuration, const Problem& problem) {
  const bool compiled = std::any_of(
      specialisation.candidates.begin(), specialisation.candidates.end(),
      [&](const CandidateState& c) {
        return c.candidate->configuration == configuration;
      });
  return compiled &&
         IsLegal(spec.Of(specialisation.name), configuration, problem.View());
}

// The serving table's choice, if its parameters mean the same.
const CompiledTable* Comparable(const CompiledTable* table, const Table& like) {
  if (table == nullptr || table->table().parameters != like.parameters ||
      table->table().dimensions.size() != like.dimensions.size()) {
    return nullptr;
  }
  return table;
}

Configuration ChoiceOf(const CompiledTable& table, const Problem& problem) {
  return table
      .Resolve(table.SubTableIndex(problem.specialisation), problem.View())
      .configuration;
}

// Representative problems in the order of preference: the least measured first;
// among those evenly spread over their order, so that sizes mix.
std::vector<size_t> Preferred(const ProfileInput& input,
                              const SpecialisationState& specialisation,
                              size_t most) {
  std::map<Problem, int> samples;
  for (const Sample& sample : input.samples) ++samples[sample.problem];
  const auto count = [&](size_t p) {
    const auto found = samples.find(specialisation.representatives[p]);
    return found == samples.end() ? 0 : found->second;
  };
  std::vector<size_t> order;
  for (size_t p = 0; p < specialisation.representatives.size(); ++p) {
    order.push_back(p);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return count(a) < count(b); });
  const auto unseen = static_cast<size_t>(std::count_if(
      order.begin(), order.end(), [&](size_t p) { return count(p) == 0; }));
  // Fewer points that nobody has seen are worth more than many.
  const size_t from =
      2 * unseen >= most ? unseen : std::min(most, order.size());
  const size_t take = std::min(most, from);
  std::vector<size_t> chosen;
  for (size_t i = 0; i < take; ++i) {
    chosen.push_back(order[(2 * i + 1) * from / (2 * take)]);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

void AddItem(const Configuration& configuration, const Problem& problem,
             std::vector<MeasureItem>& items) {
  MeasureItem item{configuration, problem};
  if (std::find(items.begin(), items.end(), item) == items.end()) {
    items.push_back(std::move(item));
  }
}

// How many ragged neighbours are measured beside `named` points: half as many,
// and no more than take a twentieth of the profile's samples.
size_t MostRagged(const ProfileInput& input, size_t named) {
  constexpr size_t kItemsOfAPoint = 3;  // Chosen, incumbent, default.
  constexpr size_t kShareOfSamples = 20;
  return std::min(named / 2,
                  input.samples.size() / kShareOfSamples / kItemsOfAPoint);
}

class PointPlanner {
 public:
  // Pointers may be nullptr.
  PointPlanner(const ProfileInput& input, const CompiledTable& chosen,
               const CompiledTable* incumbent)
      : input_(input), chosen_(chosen), incumbent_(incumbent) {}

  // Both return how many points they added.
  size_t AddNamed(const SpecialisationState& s,
                  const std::vector<size_t>& named) {
    size_t added = 0;
    for (const size_t p : named)
      added += Add(s, s.representatives[p], s.weights[p], /*ragged=*/false);
    return added;
  }

  // Together as heavy as the named ones that they are beside, as neighbours of
  // a portfolio are (fit/models/neighbours.h), but none more than twice.
  size_t AddRagged(const SpecialisationState& s,
                   const std::vector<size_t>& named, size_t most) {
    if (!s.representatives_given) return 0;
    const size_t take = std::min(most, named.size());
    size_t added = 0;
    for (size_t i = 0; i < take; ++i) {
      const size_t p = named[(2 * i + 1) * named.size() / (2 * take)];
      const std::optional<Problem> ragged = RaggedNeighbour(
          input_.spec->Of(s.name), s.representatives, s.representatives[p]);
      if (!ragged) continue;
      const double heavier = std::min(
          2.0, static_cast<double>(named.size()) / static_cast<double>(take));
      added += Add(s, *ragged, heavier * s.weights[p], /*ragged=*/true);
    }
    return added;
  }

  VerificationPlan TakePlan() { return std::move(plan_); }

 private:
  size_t Add(const SpecialisationState& s, const Problem& problem,
             double weight, bool ragged) {
    const auto measurable = [&](const Configuration& configuration) {
      return IsMeasurable(*input_.spec, s, configuration, problem);
    };
    const auto same = [&problem](const VerificationPlan::Point& point) {
      return point.problem == problem;
    };
    const Rival usual = WithoutTable(*input_.spec, problem, measurable);
    VerificationPlan::Point point{
        .problem = problem, .weight = weight, .ragged = ragged};
    point.chosen = ChoiceOf(chosen_, problem);
    if (!measurable(point.chosen) ||
        std::any_of(plan_.points.begin(), plan_.points.end(), same)) {
      return 0;
    }
    // What cannot run any more cannot be lost to.
    point.has_default = measurable(usual.configuration);
    point.default_configuration =
        point.has_default ? usual.configuration : point.chosen;
    if (!usual.device.empty()) point.file = usual.name;
    point.has_incumbent = false;
    point.incumbent = point.default_configuration;
    if (incumbent_ != nullptr) {
      const Configuration choice = ChoiceOf(*incumbent_, problem);
      if (measurable(choice)) {
        point.incumbent = choice;
        point.has_incumbent = true;
      }
    }
    for (const Configuration* c :
         {&point.chosen, &point.incumbent, &point.default_configuration}) {
      AddItem(*c, problem, plan_.items);
    }
    plan_.points.push_back(std::move(point));
    return 1;
  }

  const ProfileInput& input_;
  const CompiledTable& chosen_;
  const CompiledTable* const incumbent_;
  VerificationPlan plan_;
};

// Latency of what a table chooses, where that was measured.
std::map<Problem, double> ChosenLatencies(const MeasuredBuild& build) {
  std::map<Problem, double> latencies_us;
  for (const Sample& sample : build.samples) {
    // Suspect ones count: the mean's standard error says how unsure they are.
    if (IsSound(sample) &&
        ChoiceOf(*build.table, sample.problem) == sample.configuration) {
      latencies_us[sample.problem] = sample.latency_us;
    }
  }
  return latencies_us;
}

// One point's measurements; chosen is nullptr where any is missing.
struct Trio {
  const Sample* chosen = nullptr;
  const Sample* incumbent = nullptr;
  const Sample* default_sample = nullptr;
};

class Measurements {
 public:
  Measurements(const VerificationPlan& plan,
               const std::vector<Sample>& measured) {
    for (size_t i = 0; i < std::min(plan.items.size(), measured.size()); ++i) {
      const Sample& sample = measured[i];
      if (!std::isfinite(sample.latency_us) || sample.latency_us <= 0) continue;
      if (sample.throttled) {  // Under other clocks than those beside it.
        ++throttled_;
        continue;
      }
      by_item_[{plan.items[i].configuration, plan.items[i].problem}] = &sample;
    }
  }

  Trio At(const VerificationPlan::Point& point) const {
    const Trio trio{Find(point.chosen, point), Find(point.incumbent, point),
                    Find(point.default_configuration, point)};
    const bool all = trio.chosen != nullptr && trio.incumbent != nullptr &&
                     trio.default_sample != nullptr;
    return all ? trio : Trio{};
  }

  // Latency of an item; 0: it was not measured.
  double LatencyUs(const MeasureItem& item) const {
    const auto found = by_item_.find({item.configuration, item.problem});
    return found == by_item_.end() ? 0 : found->second->latency_us;
  }

  int throttled() const { return throttled_; }

 private:
  const Sample* Find(const Configuration& configuration,
                     const VerificationPlan::Point& point) const {
    const auto found = by_item_.find({configuration, point.problem});
    return found == by_item_.end() ? nullptr : found->second;
  }

  std::map<std::pair<Configuration, Problem>, const Sample*> by_item_;
  int throttled_ = 0;
};

double SpreadOf(const Sample& a, const Sample& b) {
  const double larger = std::max(a.relative_spread, b.relative_spread);
  return std::isfinite(larger) ? std::max(0.0, larger) : 0;
}

// What the points say together. Logarithms are no risk to agreement: a verdict
// is made once, by one daemon.
struct Tally {
  size_t points = 0;
  size_t ragged = 0;          // Of them.
  size_t with_incumbent = 0;  // The same.
  size_t with_default = 0;
  // Of points that lost more than noise, and of those that gained: by weight.
  double lost = 0;
  double gained = 0;
  double geomean_ragged = 1;  // Against the incumbent, of ragged points.
  size_t with_file = 0;       // Points whose default is of an engine's file,
  double geomean_files = 1;   // and against it there.
  std::set<std::string> files;
  // Of latency / the best at the point, less one: by weight.
  double lost_by_incumbent = 0;
  double lost_by_chosen = 0;
  bool far_too_slow = false;  // A point lost more than any may.
  Verdict verdict;

  bool TooSlow() const { return far_too_slow || lost > kLostShare * gained; }
};

Tally TallyUp(const VerificationPlan& plan, const Measurements& measurements) {
  Tally tally;
  double weight = 0;
  double log_incumbent = 0;
  double standard_weight = 0;
  double log_default = 0;
  double ragged_weight = 0;
  double log_ragged = 0;
  double file_weight = 0;
  double log_file = 0;
  for (const VerificationPlan::Point& point : plan.points) {
    const Trio trio = measurements.At(point);
    if (trio.chosen == nullptr || !(point.weight > 0)) continue;
    const double against_incumbent =
        trio.incumbent->latency_us / trio.chosen->latency_us;
    weight += point.weight;
    const double best_us =
        std::min({trio.chosen->latency_us, trio.incumbent->latency_us,
                  trio.default_sample->latency_us});
    tally.lost_by_incumbent +=
        point.weight * (trio.incumbent->latency_us / best_us - 1);
    tally.lost_by_chosen +=
        point.weight * (trio.chosen->latency_us / best_us - 1);
    log_incumbent += point.weight * std::log(against_incumbent);
    tally.with_incumbent += point.has_incumbent;
    if (point.ragged) {
      ++tally.ragged;
      ragged_weight += point.weight;
      log_ragged += point.weight * std::log(against_incumbent);
    }
    if (point.has_default) {
      ++tally.with_default;
      standard_weight += point.weight;
      const double log =
          point.weight *
          std::log(trio.default_sample->latency_us / trio.chosen->latency_us);
      log_default += log;
      if (!point.file.empty()) {
        ++tally.with_file;
        tally.files.insert(point.file);
        file_weight += point.weight;
        log_file += log;
      }
    }
    const double limit = std::max(
        kBeyondNoise, kWorstSpreads * SpreadOf(*trio.chosen, *trio.incumbent));
    const double loss = 1 / against_incumbent - 1;
    if (loss > limit) tally.lost += point.weight * loss;
    tally.gained += point.weight * std::max(0.0, against_incumbent - 1);
    if (tally.points == 0 ||
        against_incumbent < tally.verdict.worst_vs_incumbent) {
      tally.verdict.worst_vs_incumbent = against_incumbent;
    }
    // Nobody said that a ragged one occurs: they count together.
    tally.far_too_slow = tally.far_too_slow ||
                         (!point.ragged && loss > std::max(kMostLoss, limit));
    ++tally.points;
  }
  if (tally.points > 0) {
    tally.verdict.geomean_vs_incumbent = std::exp(log_incumbent / weight);
    tally.verdict.regret_incumbent = tally.lost_by_incumbent / weight;
    tally.verdict.regret_chosen = tally.lost_by_chosen / weight;
  }
  if (tally.with_default > 0) {
    tally.verdict.geomean_vs_default = std::exp(log_default / standard_weight);
  }
  if (tally.with_file > 0)
    tally.geomean_files = std::exp(log_file / file_weight);
  if (tally.ragged > 0)
    tally.geomean_ragged = std::exp(log_ragged / ragged_weight);
  return tally;
}

// "vllm's file", which is the default at its points.
std::string FilesText(const Tally& tally) {
  return absl::StrJoin(tally.files, " and ");
}

// "1.100 times as fast as the incumbent and 1.300 times as fast as the default
// over 12 points (geometric mean), worst point 0.990": only of what was
// measured.
std::string Figures(const Tally& tally) {
  std::vector<std::string> compared;
  if (tally.with_incumbent > 0) {
    compared.push_back(absl::StrFormat("%.3f times as fast as the incumbent",
                                       tally.verdict.geomean_vs_incumbent));
  }
  if (tally.with_default > 0) {
    compared.push_back(absl::StrFormat("%.3f times as fast as the default",
                                       tally.verdict.geomean_vs_default));
  }
  std::string text =
      compared.empty()
          ? absl::StrFormat("measured at %d points", tally.points)
          : absl::StrFormat(
                "%s over %d points (geometric mean), worst point %.3f",
                absl::StrJoin(compared, " and "), tally.points,
                tally.verdict.worst_vs_incumbent);
  if (tally.with_file > 0) {
    absl::StrAppendFormat(&text, ", %.3f times as fast as %s at %d of them",
                          tally.geomean_files, FilesText(tally),
                          tally.with_file);
  }
  if (tally.ragged > 0 && !compared.empty()) {
    absl::StrAppendFormat(
        &text, ", %.3f at the %d ragged neighbours of named problems",
        tally.geomean_ragged, tally.ragged);
  }
  if (tally.with_default == 0) {
    absl::StrAppend(&text,
                    "; the default cannot be measured, so that nothing is "
                    "compared with it");
  }
  return text;
}

}  // namespace

VerificationPlan PlanVerification(const ProfileInput& input, const Table& table,
                                  const Table* incumbent, int max_points) {
  const absl::StatusOr<ProfileState> state = MakeProfileState(input);
  const auto compiled = Compile(table);
  if (!state.ok() || compiled == nullptr || max_points < 1) return {};
  const auto serving = incumbent == nullptr ? nullptr : Compile(*incumbent);
  PointPlanner planner(input, *compiled, Comparable(serving.get(), table));
  auto left = static_cast<size_t>(max_points);
  size_t ragged_left = MostRagged(input, left);
  size_t specialisations = state->specialisations.size();
  for (const SpecialisationState& s : state->specialisations) {
    const auto share = [&](size_t of) {
      return (of + specialisations - 1) / specialisations;
    };
    const std::vector<size_t> named = Preferred(input, s, share(left));
    left -= planner.AddNamed(s, named);
    ragged_left -= planner.AddRagged(s, named, share(ragged_left));
    --specialisations;
  }
  return planner.TakePlan();
}

VerificationPlan WithoutRagged(const VerificationPlan& plan) {
  VerificationPlan named{.incumbent_is_stale = plan.incumbent_is_stale};
  for (const VerificationPlan::Point& point : plan.points) {
    if (point.ragged) continue;
    for (const Configuration* c :
         {&point.chosen, &point.incumbent, &point.default_configuration}) {
      AddItem(*c, point.problem, named.items);
    }
    named.points.push_back(point);
  }
  return named;
}

void PlanBuilds(const MeasuredBuild& before, const MeasuredBuild& now,
                bool measure, VerificationPlan& plan) {
  const std::map<Problem, double> now_us = ChosenLatencies(now);
  std::vector<std::pair<double, MeasureItem>> missing;
  for (const auto& [problem, before_us] : ChosenLatencies(before)) {
    const MeasureItem chosen{ChoiceOf(*now.table, problem), problem};
    const auto known = now_us.find(problem);
    if (known != now_us.end()) {
      plan.builds.push_back({chosen, before_us, known->second});
    } else if (std::find(plan.items.begin(), plan.items.end(), chosen) !=
               plan.items.end()) {
      plan.builds.push_back({chosen, before_us});
    } else {
      missing.emplace_back(before_us, chosen);
    }
  }
  if (!measure || 2 * plan.builds.size() >= kVerificationPoints) return;
  std::stable_sort(
      missing.begin(), missing.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [before_us, chosen] : missing) {
    if (plan.builds.size() >= kVerificationPoints) return;
    AddItem(chosen.configuration, chosen.problem, plan.items);
    plan.builds.push_back({chosen, before_us});
  }
}

std::string WhySlowerBuild(const VerificationPlan& plan,
                           const std::vector<Sample>& measured) {
  const Measurements measurements(plan, measured);
  std::vector<double> logs;
  for (const VerificationPlan::BuildPoint& point : plan.builds) {
    const double now_us =
        point.now_us > 0 ? point.now_us : measurements.LatencyUs(point.chosen);
    if (now_us > 0) logs.push_back(std::log(now_us / point.before_us));
  }
  if (2 * logs.size() < kVerificationPoints) return "";
  const auto n = static_cast<double>(logs.size());
  double sum = 0;
  for (const double log : logs) sum += log;
  const double mean = sum / n;
  double squares = 0;
  for (const double log : logs) squares += (log - mean) * (log - mean);
  const double error = std::sqrt(squares / (n - 1) / n);
  if (mean <= std::log1p(kBeyondNoise) || mean <= 2 * error) return "";
  return absl::StrFormat(
      "refused: the kernel as it is now is slower: what the new table chooses "
      "takes %.3f times as long as what the serving one chose with the kernel "
      "as it was (geometric mean over %d problems)",
      std::exp(mean), logs.size());
}

Verdict JudgeVerification(const VerificationPlan& plan,
                          const std::vector<Sample>& measured) {
  const Measurements measurements(plan, measured);
  const Tally tally = TallyUp(plan, measurements);
  Verdict verdict = tally.verdict;
  // A recording has no ragged ones.
  const auto named = static_cast<size_t>(
      std::count_if(plan.points.begin(), plan.points.end(),
                    [](const auto& point) { return !point.ragged; }));
  const size_t measured_named = tally.points - tally.ragged;
  if (measured_named == 0 || 2 * measured_named < named) {
    verdict.judged = false;
    verdict.reason = absl::StrFormat(
        "refused: only %d of %d verification points were measured; at least "
        "half are needed",
        measured_named, named);
    if (measurements.throttled() > 0) {
      absl::StrAppendFormat(
          &verdict.reason,
          "; the device was throttled for %d of %d measurements: let it cool, "
          "then reprofile",
          measurements.throttled(), plan.items.size());
    }
    return verdict;
  }
  verdict.incumbent_holds =
      tally.with_incumbent == tally.points &&
      verdict.geomean_vs_default / verdict.geomean_vs_incumbent >= 1 - kNoise;
  const std::string figures = Figures(tally);
  if (tally.with_incumbent > 0 && verdict.geomean_vs_incumbent < 1 - kNoise) {
    verdict.reason = "refused: slower than the incumbent: " + figures;
  } else if (verdict.geomean_vs_default < 1 - kNoise) {
    verdict.reason = "refused: slower than the default: " + figures;
  } else if (tally.geomean_files < 1 - kNoise) {
    verdict.reason =
        absl::StrCat("refused: slower than ", FilesText(tally), ": ", figures);
  } else if (tally.TooSlow()) {
    verdict.reason = absl::StrCat(
        "refused: ",
        tally.far_too_slow
            ? "a named point loses more than 15 % and three times its spread: "
            : "points that lose more than 3 % and three times their spread "
              "lose together more than a fifth of what the others gain: ",
        figures);
  } else if (!plan.incumbent_is_stale && tally.with_incumbent == tally.points &&
             verdict.geomean_vs_incumbent < 1 + kLeastGain) {
    verdict.reason = "less than 0.5 % is gained over the incumbent: " + figures;
  } else {
    verdict.promote = true;
    verdict.reason = "promoted: " + figures;
  }
  return verdict;
}

}  // namespace wavetune
