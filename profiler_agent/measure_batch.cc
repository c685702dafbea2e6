#include "profiler_agent/measure_batch.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "model/status_macros.h"
#include "profiler_agent/candidate_failure.h"
#include "profiler_agent/measurement.h"

namespace wavetune {
namespace {

// Turns that every item of an interleaved batch takes at least. Launches in a
// row share a disturbance of some hundred milliseconds; with four turns, two of
// them disturbed, the lower quartile still stands. One turn let such moments
// decide comparisons: 1000 us against 731 us for the same launch (PoCL).
constexpr int kInterleavedTurns = 4;

struct OpenItem {
  size_t index = 0;
  Measurement measurement;
  int turns = 0;
};

// Measures the items of one specialisation.
class GroupRunner {
 public:
  GroupRunner(Device& device, const MeasureBatch& batch,
              const OutcomeCallback& on_outcome, const std::stop_token& cancel)
      : device_(device),
        batch_(batch),
        on_outcome_(on_outcome),
        cancel_(cancel) {}

  absl::Status Run(const std::vector<size_t>& indices) {
    std::deque<OpenItem> open;
    for (const size_t i : indices) {
      const MeasureItem& item = batch_.items[i];
      open.push_back({.index = i,
                      .measurement = Measurement(item.configuration,
                                                 item.problem, batch_.rule)});
    }
    while (!open.empty()) {
      if (cancel_.stop_requested()) {
        return absl::CancelledError("the batch was cancelled");
      }
      OpenItem item = std::move(open.front());
      open.pop_front();
      const absl::Status status = TakeBurst(item);
      if (IsDeviceLost(status)) return status;
      if (!status.ok()) continue;
      ++item.turns;
      const bool compared =
          !batch_.interleave || item.turns >= kInterleavedTurns;
      if (item.measurement.done() && compared) {
        const Sample sample = item.measurement.Result();
        on_outcome_({.index = item.index, .sample = &sample});
      } else if (batch_.interleave) {
        open.push_back(std::move(item));
      } else {
        open.push_front(std::move(item));
      }
    }
    return absl::OkStatus();
  }

 private:
  // Reports a failure unless the device was lost.
  absl::Status TakeBurst(OpenItem& item) {
    Measurement& measurement = item.measurement;
    if (auto it = excluded_.find(measurement.configuration());
        it != excluded_.end()) {
      Fail(item, it->second);
      return it->second;
    }
    // Turns stay as short as the first, so that there are several of them.
    const int launches = batch_.interleave
                             ? std::min(measurement.next().launches,
                                        batch_.rule.WithDefaults().min_launches)
                             : measurement.next().launches;
    const absl::StatusOr<LaunchTimes> times =
        device_.Measure(measurement.configuration(), measurement.problem(),
                        measurement.next().warmup, launches);
    absl::Status status = times.ok() ? measurement.Add(*times) : times.status();
    if (status.ok() || IsDeviceLost(status)) return status;
    if (ExcludesCandidate(status)) {
      excluded_.emplace(measurement.configuration(), status);
    }
    Fail(item, status);
    return status;
  }

  void Fail(const OpenItem& item, const absl::Status& status) {
    on_outcome_({.index = item.index,
                 .failure = FailureReason(status),
                 .exclude_candidate = ExcludesCandidate(status)});
  }

  Device& device_;
  const MeasureBatch& batch_;
  const OutcomeCallback& on_outcome_;
  const std::stop_token& cancel_;
  std::map<Configuration, absl::Status> excluded_;
};

}  // namespace

absl::Status RunMeasureBatch(Device& device, const MeasureBatch& batch,
                             const OutcomeCallback& on_outcome,
                             const std::stop_token& cancel) {
  std::map<std::string, std::vector<size_t>> groups;
  for (size_t i = 0; i < batch.items.size(); ++i) {
    groups[batch.items[i].problem.specialisation].push_back(i);
  }
  for (const auto& [specialisation, indices] : groups) {
    LoadedKernel kernel = batch.kernel;
    kernel.specialisation = specialisation;
    RETURN_IF_ERROR(device.Load(std::move(kernel)));
    GroupRunner runner(device, batch, on_outcome, cancel);
    RETURN_IF_ERROR(runner.Run(indices));
  }
  return absl::OkStatus();
}

}  // namespace wavetune
