#include "profiler_agent/link/batch_executor.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "formats/types.h"
#include "model/kernel/backend_traits.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/measure/candidate_failure.h"
#include "profiler_agent/measure/measure_batch.h"
#include "profiler_agent/measure/prepare_batch.h"

namespace wavetune {
namespace {

absl::StatusOr<PrepareBatch> FromProto(const v1::PrepareBatch& proto,
                                       const LoadedKernel& kernel,
                                       const DeviceFacts& facts) {
  PrepareBatch batch{.kernel = kernel.Of(proto.specialisation())};
  const int parameters = static_cast<int>(batch.kernel.spec.parameters.size());
  for (const v1::Configuration& configuration : proto.configurations()) {
    ASSIGN_OR_RETURN(batch.configurations.emplace_back(),
                     ConfigurationFromProto(parameters, configuration));
  }
  for (const v1::Problem& problem : proto.correctness_problems()) {
    ASSIGN_OR_RETURN(batch.correctness_problems.emplace_back(),
                     ProblemFromProto(batch.kernel.spec.dimensions, problem));
  }
  // A candidate is never measured unchecked; a recorded one cannot be checked.
  batch.check_edges =
      TraitsOf(facts.backend).language != KernelLanguage::kRecording;
  return batch;
}

absl::Status Prepare(absl::Span<Device* const> devices,
                     const v1::PrepareBatch& proto, const LoadedKernel& kernel,
                     PrepareWidth& width,
                     const std::function<void()>& make_room,
                     const ReportSink& report, const std::stop_token& cancel) {
  ASSIGN_OR_RETURN(const PrepareBatch batch,
                   FromProto(proto, kernel, devices.front()->facts()));
  const auto report_of = [&proto](size_t index) {
    v1::AttachRequest message;
    message.mutable_candidate()->set_batch_id(proto.batch_id());
    message.mutable_candidate()->set_index(static_cast<int>(index));
    return message;
  };
  return RunPrepareBatch(
      devices, batch,
      [&](size_t index, const Candidate& candidate) {
        v1::AttachRequest message = report_of(index);
        v1::CandidateReport* to = message.mutable_candidate();
        if (candidate.excluded()) {
          to->set_excluded_reason(candidate.excluded_reason);
        } else {
          *to->mutable_facts() = CandidateFactsToProto(candidate);
        }
        report(message);
      },
      cancel,
      {.on_environment =
           [&](size_t index, const std::string& reason) {
             v1::AttachRequest message = report_of(index);
             message.mutable_candidate()->set_excluded_reason(reason);
             message.mutable_candidate()->set_environment(true);
             report(message);
           },
       .width = &width,
       .make_room = make_room});
}

// Reports samples and failures under the indices of the daemon's batch.
class MeasureReporter {
 public:
  MeasureReporter(const v1::MeasureBatch& batch, const DeviceFacts& facts,
                  const ReportSink& report)
      : batch_(batch), facts_(facts), report_(report) {}

  void Sampled(int index, const KernelSpec& spec, const Sample& sample) const {
    v1::AttachRequest message;
    v1::SampleReport* to = message.mutable_sample();
    to->set_batch_id(batch_.batch_id());
    to->set_index(index);
    *to->mutable_sample() = SampleToProto(spec.dimensions, sample);
    to->mutable_sample()->set_device_uuid(facts_.uuid);
    to->mutable_sample()->set_measured_at_us(SystemClock().NowUs());
    report_(message);
  }

  void Failed(int index, absl::string_view reason, bool exclude) const {
    v1::AttachRequest message;
    v1::FailureReport* to = message.mutable_failure();
    to->set_batch_id(batch_.batch_id());
    to->set_index(index);
    to->set_reason(std::string(reason));
    to->set_exclude_candidate(exclude);
    report_(message);
  }

 private:
  const v1::MeasureBatch& batch_;
  const DeviceFacts& facts_;
  const ReportSink& report_;
};

absl::StatusOr<MeasureItem> ItemFromProto(const KernelSpec& spec,
                                          const v1::MeasureItem& proto) {
  MeasureItem item{.vendor_baseline = proto.vendor_baseline()};
  if (item.vendor_baseline.empty()) {
    ASSIGN_OR_RETURN(
        item.configuration,
        ConfigurationFromProto(static_cast<int>(spec.parameters.size()),
                               proto.configuration()));
  }
  ASSIGN_OR_RETURN(item.problem,
                   ProblemFromProto(spec.dimensions, proto.problem()));
  return item;
}

absl::Status Measure(Device& device, const v1::MeasureBatch& proto,
                     const LoadedKernel& kernel, PowerCapHistory& history,
                     const ReportSink& report, const std::stop_token& cancel) {
  MeasureBatch batch{.kernel = kernel};
  const KernelSpec& spec = batch.kernel.spec;
  const MeasureReporter reporter(proto, device.facts(), report);
  std::vector<int> indices;  // Of the items that make sense.
  for (int i = 0; i < proto.requests_size(); ++i) {
    absl::StatusOr<MeasureItem> item = ItemFromProto(spec, proto.requests(i));
    if (!item.ok()) {
      reporter.Failed(i, item.status().message(), false);
      continue;
    }
    indices.push_back(i);
    batch.items.push_back(*std::move(item));
  }
  batch.rule = {.min_launches = proto.rule().min_launches(),
                .max_launches = proto.rule().max_launches(),
                .target_relative_error = proto.rule().target_relative_error(),
                .max_device_time_us = proto.rule().max_device_time_us()};
  return RunMeasureBatch(
      device, batch, history,
      [&](const MeasureOutcome& outcome) {
        const int index = indices[outcome.index];
        if (outcome.sample != nullptr) {
          reporter.Sampled(index, spec, *outcome.sample);
        } else {
          reporter.Failed(index, outcome.failure, outcome.exclude_candidate);
        }
      },
      cancel);
}

}  // namespace

absl::Status ExecutePrepare(absl::Span<Device* const> devices,
                            const v1::PrepareBatch& batch,
                            const LoadedKernel& kernel, PrepareWidth& width,
                            const std::function<void()>& make_room,
                            const ReportSink& report,
                            const std::stop_token& cancel) {
  const Clock::Duration begin = SystemClock().SteadyNow();
  absl::Status status =
      Prepare(devices, batch, kernel, width, make_room, report, cancel);
  Log(LogLevel::kInfo, "prepare",
      absl::StrCat("device ", devices.front()->facts().uuid, ": ",
                   batch.configurations_size(), " candidates in ",
                   ToSeconds(SystemClock().SteadyNow() - begin), " s"));
  ReportDone(batch.batch_id(), status, report);
  return status;
}

absl::Status ExecuteMeasure(Device& device, const v1::MeasureBatch& batch,
                            const LoadedKernel& kernel,
                            PowerCapHistory& history, const ReportSink& report,
                            const std::stop_token& cancel) {
  absl::Status status = Measure(device, batch, kernel, history, report, cancel);
  ReportDone(batch.batch_id(), status, report);
  return status;
}

void ReportDone(uint64_t batch_id, const absl::Status& status,
                const ReportSink& report, bool kernel_unknown) {
  v1::AttachRequest message;
  v1::BatchDone* done = message.mutable_done();
  done->set_batch_id(batch_id);
  done->set_error(std::string(status.message()));
  done->set_cancelled(absl::IsCancelled(status));
  done->set_kernel_broken(IsReferenceBroken(status));
  done->set_kernel_unknown(kernel_unknown);
  report(message);
}

}  // namespace wavetune
