#include "profiler_agent/measure/measure_batch.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/load_level.h"
#include "profiler_agent/measure/candidate_failure.h"
#include "profiler_agent/measure/clock_settling.h"
#include "profiler_agent/measure/environment_error.h"
#include "profiler_agent/measure/measurement.h"

namespace wavetune {
namespace {

// Turns that every item takes, unless its time is up before. Launches in a
// row share a disturbance: on two shared cores the latency of one launch varies
// by a quarter, correlated over some 300 ms, so that a sample of launches in a
// row repeats badly (docs/decisions/0025). Eight turns a
// second apart are eight independent looks, of which the lower quartile counts
// (with few items they lie closer and share more). An accelerator shares its
// multiprocessors with nobody: three, for its clocks.
constexpr int kCpuTurns = 8;
constexpr int kAcceleratorTurns = 3;
// Items that take turns at once, so that a long batch reports on its way: one
// of a profile's steps, or half of a large space at one problem.
constexpr size_t kMostOpen = 128;
// Few, as nothing is known of their latency yet.
constexpr double kFirstTurnLaunches = 2;

// So many bursts in a row for want of something, and the rest would fail alike:
// each may cost the start of a process.
constexpr int kMostInARow = 8;

// What ran out, over all groups of a batch.
class Shortage {
 public:
  // Takes how a burst ended.
  void Take(const absl::Status& status) {
    in_vain_ = ExhaustedResource(status).has_value() ? in_vain_ + 1 : 0;
    if (in_vain_ == kMostInARow) lasting_ = status;
  }
  // Returns OK, or what every further burst would end with.
  const absl::Status& lasting() const { return lasting_; }

 private:
  int in_vain_ = 0;
  absl::Status lasting_;
};

struct OpenItem {
  size_t index = 0;
  std::string
      vendor_baseline;  // Not empty: this library instead of a candidate.
  Measurement measurement;
  int turns = 0;
};

// Measures the items of one specialisation.
class GroupRunner {
 public:
  GroupRunner(Device& device, const MeasureBatch& batch,
              PowerCapHistory& history, Shortage& shortage,
              const OutcomeCallback& on_outcome, const std::stop_token& cancel)
      : device_(device),
        batch_(batch),
        shortage_(shortage),
        rule_(batch.rule.WithDefaults()),
        turns_(IsCpu(device.facts()) ? kCpuTurns : kAcceleratorTurns),
        on_outcome_(on_outcome),
        cancel_(cancel),
        cool_down_(batch.sleep),
        settling_(history, history.Of(batch.kernel.fingerprint)) {}

  absl::Status Run(const std::vector<size_t>& indices) {
    if (IsCpu(device_.facts())) return RunLevel(indices);
    std::map<int, std::vector<size_t>> levels;
    for (const size_t i : indices) {
      levels[LoadLevel(batch_.kernel.spec, batch_.items[i].problem)].push_back(
          i);
    }
    for (const auto& [level, items] : levels) {
      settling_.Begin(level);
      RETURN_IF_ERROR(RunLevel(items));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status RunLevel(const std::vector<size_t>& indices) {
    std::deque<OpenItem> open;
    auto next = indices.begin();
    while (!open.empty() || next != indices.end()) {
      for (; open.size() < kMostOpen && next != indices.end(); ++next) {
        const MeasureItem& item = batch_.items[*next];
        open.push_back({.index = *next,
                        .vendor_baseline = item.vendor_baseline,
                        .measurement = Measurement(item.configuration,
                                                   item.problem, batch_.rule)});
      }
      if (cancel_.stop_requested()) {
        ReportDone(open);
        return absl::CancelledError("the batch was cancelled");
      }
      OpenItem item = std::move(open.front());
      open.pop_front();
      const absl::StatusOr<bool> counts =
          settling_.trying() ? TryLevel(item) : TakeBurst(item);
      if (IsDeviceLost(counts.status())) {
        ReportDone(open);
        return counts.status();
      }
      if (!counts.ok()) continue;
      if (!*counts) {
        open.push_back(std::move(item));
        continue;
      }
      ++item.turns;
      const MeasurementProgress& progress = item.measurement.progress();
      const bool compared =
          item.turns >= turns_ || item.measurement.given_up() ||
          progress.launches >= MostLaunches(rule_, progress) ||
          progress.device_time_us >= rule_.max_device_time_us;
      if (item.measurement.done() && compared) {
        Report(item);
      } else {
        open.push_back(std::move(item));
      }
    }
    return absl::OkStatus();
  }

  // What meets the rule is not lost with the rest.
  void ReportDone(const std::deque<OpenItem>& open) const {
    for (const OpenItem& item : open) {
      if (item.measurement.done()) Report(item);
    }
  }

  void Report(const OpenItem& item) const {
    const Sample sample = item.measurement.Result();
    on_outcome_({.index = item.index, .sample = &sample});
  }

  // Runs the default configuration at the item's problem, for the item's
  // device time; returns that it does not count for it. Errors: device lost.
  absl::StatusOr<bool> TryLevel(OpenItem& item) {
    const Configuration& configuration =
        batch_.kernel.spec.default_configuration;
    if (excluded_.contains(configuration) || !shortage_.lasting().ok()) {
      settling_.EndTry();
      return false;
    }
    const absl::StatusOr<LaunchTimes> times = device_.Measure(
        configuration, item.measurement.problem(), 1, rule_.min_launches);
    if (IsDeviceLost(times.status())) return times.status();
    if (!times.ok()) {
      if (ExcludesCandidate(times.status())) {
        excluded_.emplace(configuration, times.status());
      }
      settling_.EndTry();
      return false;
    }
    item.measurement.Discard(*times);
    // What is throttled says nothing of the load.
    cool_down_.After(times->throttled, cancel_);
    if (!times->disturbed()) settling_.AddTry(*times);
    return false;
  }

  // Returns whether the burst counts. Reports a failure unless the device was
  // lost.
  absl::StatusOr<bool> TakeBurst(OpenItem& item) {
    Measurement& measurement = item.measurement;
    const bool is_vendor_baseline = !item.vendor_baseline.empty();
    if (auto it = excluded_.find(measurement.configuration());
        !is_vendor_baseline && it != excluded_.end()) {
      Fail(item, it->second);
      return it->second;
    }
    if (!shortage_.lasting().ok()) {
      Fail(item, shortage_.lasting());
      return shortage_.lasting();
    }
    const int warmup = measurement.next().warmup;
    const absl::StatusOr<LaunchTimes> times =
        is_vendor_baseline
            ? device_.MeasureVendorBaseline(item.vendor_baseline,
                                            measurement.problem(), warmup,
                                            LaunchesOf(item))
            : device_.Measure(measurement.configuration(),
                              measurement.problem(), warmup, LaunchesOf(item));
    absl::Status status = times.status();
    shortage_.Take(status);
    if (times.ok()) {
      if (times->disturbed()) {
        status = measurement.Add(*times);
      } else if (settling_.Counts(*times)) {
        status = measurement.Add(settling_.AtClockOfLevel(*times));
      } else {
        measurement.Discard(*times);
        return false;
      }
    }
    if (status.ok()) {
      cool_down_.After(times->throttled, cancel_);
      return true;
    }
    if (IsDeviceLost(status)) return status;
    if (!is_vendor_baseline && ExcludesCandidate(status)) {
      excluded_.emplace(measurement.configuration(), status);
    }
    Fail(item, status);
    return status;
  }

  // Turns are short, so that several share the sample's time.
  int LaunchesOf(const OpenItem& item) const {
    const int wanted = item.measurement.next().launches;
    double affordable = kFirstTurnLaunches;
    if (item.turns > 0) {
      affordable = rule_.max_device_time_us / turns_ /
                       item.measurement.progress().estimate.latency_us /
                       item.measurement.progress().launches_per_timing -
                   item.measurement.next().warmup;
    }
    const int share = std::max(1, rule_.max_launches / turns_);
    const auto most = static_cast<int>(
        std::clamp<double>(affordable, 1,
                           std::min(rule_.min_launches, share) *
                               ShortLaunchFactor(item.measurement.progress())));
    return std::min(wanted, most);
  }

  void Fail(const OpenItem& item, const absl::Status& status) {
    on_outcome_({.index = item.index,
                 .failure = FailureReason(status),
                 .exclude_candidate = item.vendor_baseline.empty() &&
                                      ExcludesCandidate(status)});
  }

  Device& device_;
  const MeasureBatch& batch_;
  Shortage& shortage_;
  const StoppingRule rule_;
  const int turns_;
  const OutcomeCallback& on_outcome_;
  const std::stop_token& cancel_;
  CoolDown cool_down_;
  ClockSettling settling_;
  std::map<Configuration, absl::Status> excluded_;
};

}  // namespace

absl::Status RunMeasureBatch(Device& device, const MeasureBatch& batch,
                             PowerCapHistory& history,
                             const OutcomeCallback& on_outcome,
                             const std::stop_token& cancel) {
  std::map<std::string, std::vector<size_t>> groups;
  for (size_t i = 0; i < batch.items.size(); ++i) {
    groups[batch.items[i].problem.specialisation].push_back(i);
  }
  Shortage shortage;
  for (const auto& [specialisation, indices] : groups) {
    RETURN_IF_ERROR(device.Load(batch.kernel.Of(specialisation)));
    GroupRunner runner(device, batch, history, shortage, on_outcome, cancel);
    RETURN_IF_ERROR(runner.Run(indices));
  }
  return absl::OkStatus();
}

}  // namespace wavetune
