#include "server/jobs/recorder.h"

#include <algorithm>

#include "base/status_macros.h"

namespace wavetune {
namespace {

// Large enough that items can take turns (the agent opens 128 at once), small
// enough for a message.
constexpr size_t kChunk = 512;

}  // namespace

Recorder::Recorder(const JobServices& services, JobControl* control,
                   JobDevice* device, CandidatePool* pool,
                   RecordedCallback on_recorded)
    : services_(services),
      control_(control),
      device_(device),
      pool_(pool),
      on_recorded_(std::move(on_recorded)),
      started_us_(services.clock->NowUs()) {}

absl::Status Recorder::TakeStored(const ProfileKey& key) {
  ASSIGN_OR_RETURN(const SampleSet stored,
                   services_.samples->Load(key, kMeasuredGeneration));
  const std::string uuid = control_->record().device_uuid;
  for (const SampleRecord& record : stored.samples) {
    if (record.device_uuid != uuid || record.sample.suspect) continue;
    const Pair pair(record.sample.configuration, record.sample.problem);
    samples_[pair] = record.sample;  // The last one counts.
    stored_.insert(pair);
  }
  return absl::OkStatus();
}

absl::Status Recorder::Record(RecordedSet set,
                              const std::vector<MeasureItem>& items) {
  std::vector<MeasureItem> chunk;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!finished_.contains({items[i].configuration, items[i].problem})) {
      chunk.push_back(items[i]);
    }
    if (chunk.size() < kChunk && i + 1 < items.size()) continue;
    RETURN_IF_ERROR(control_->CheckGoOn());
    RETURN_IF_ERROR(RecordChunk(set, chunk));
    chunk.clear();
  }
  return absl::OkStatus();
}

absl::Status Recorder::RecordChunk(RecordedSet set,
                                   const std::vector<MeasureItem>& items) {
  std::vector<MeasureItem> missing;
  for (const MeasureItem& item : items) {
    // What crashed earlier in this recording would only crash again.
    const bool usable =
        pool_->IsUsable(item.problem.specialisation, item.configuration);
    if (usable && Find(item) == nullptr) {
      missing.push_back(item);
    } else {
      ++done_;
    }
  }
  RecordedSamples recorded{.set = set};
  if (!missing.empty()) {
    ASSIGN_OR_RETURN(
        const std::vector<JobDevice::Result> results,
        device_->Measure(missing, [&](size_t i, const JobDevice::Result& r) {
          OnResult(missing[i], r);
        }));
    for (size_t i = 0; i < missing.size(); ++i) {
      if (results[i].sample || results[i].excluded) continue;
      failed_.Take(*spec_, missing[i], results[i]);
      recorded.failures.push_back({missing[i], results[i].failure});
      finished_.insert({missing[i].configuration, missing[i].problem});
    }
  }
  for (const MeasureItem& item : items) {
    const Sample* const sample = Find(item);
    if (sample == nullptr ||
        !pool_->IsUsable(item.problem.specialisation, item.configuration)) {
      continue;
    }
    const Pair pair(item.configuration, item.problem);
    recorded.samples.push_back(*sample);
    from_store_ += stored_.contains(pair) ? 1 : 0;
    finished_.insert(pair);
  }
  recorded_ += static_cast<int64_t>(recorded.samples.size());
  ReportProgress();
  if (!items.empty()) on_recorded_(recorded);
  return absl::OkStatus();
}

void Recorder::OnResult(const MeasureItem& item,
                        const JobDevice::Result& result) {
  ++done_;
  ++measured_;
  if (result.sample) {
    samples_[{item.configuration, item.problem}] = *result.sample;
  }
  if (result.excluded) {
    pool_->Exclude(item.problem.specialisation, item.configuration,
                   result.failure);
  }
  ReportProgress();
}

void Recorder::Replace(RecordedSet set, const std::vector<MeasureItem>& items,
                       const std::vector<JobDevice::Result>& results) {
  RecordedSamples recorded{.set = set};
  for (size_t i = 0; i < items.size(); ++i) {
    if (results[i].excluded) {
      pool_->Exclude(items[i].problem.specialisation, items[i].configuration,
                     results[i].failure);
    }
    if (!results[i].sample) continue;
    samples_[{items[i].configuration, items[i].problem}] = *results[i].sample;
    recorded.samples.push_back(*results[i].sample);
  }
  if (!recorded.samples.empty()) on_recorded_(recorded);
}

const Sample* Recorder::Find(const MeasureItem& item) const {
  const auto found = samples_.find({item.configuration, item.problem});
  return found == samples_.end() ? nullptr : &found->second;
}

void Recorder::ReportProgress() {
  const double elapsed_s =
      static_cast<double>(services_.clock->NowUs() - started_us_) * 1e-6;
  const int64_t total = std::max(expected_, done_);
  control_->Update([&](JobRecord& job) {
    job.phase = JobPhase::kMeasuring;
    job.done = done_;
    job.total = total;
    job.seconds_left = measured_ > 0
                           ? elapsed_s / static_cast<double>(measured_) *
                                 static_cast<double>(total - done_)
                           : -1;
  });
}

}  // namespace wavetune
