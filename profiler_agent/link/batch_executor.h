// One batch of the daemon, from its message to its reports.
//
// Thread safety: one call per device at a time.
#ifndef WAVETUNE_PROFILER_AGENT_LINK_BATCH_EXECUTOR_H_
#define WAVETUNE_PROFILER_AGENT_LINK_BATCH_EXECUTOR_H_

#include <functional>
#include <stop_token>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "profiler_agent/measure/backend.h"
#include "profiler_agent/measure/clock_settling.h"
#include "profiler_agent/measure/prepare_batch.h"
#include "proto/wavetune/v1/agent_service.pb.h"

namespace wavetune {

// Takes a message for the daemon. Thread-safe, never fails: with no daemon
// attached the message is dropped.
using ReportSink = std::function<void(const v1::AttachRequest&)>;

// Compiles and checks on all `devices`, reporting each candidate and then the
// end. `kernel` is the batch's, `width` the device's, `make_room` as in
// PrepareOptions. Returns how it ended: as RunPrepareBatch.
absl::Status ExecutePrepare(absl::Span<Device* const> devices,
                            const v1::PrepareBatch& batch,
                            const LoadedKernel& kernel, PrepareWidth& width,
                            const std::function<void()>& make_room,
                            const ReportSink& report,
                            const std::stop_token& cancel);

// Measures on `device`, reporting each sample or failure and then the end.
// `kernel` is the batch's, `history` the device's. Returns how it ended: as
// RunMeasureBatch.
absl::Status ExecuteMeasure(Device& device, const v1::MeasureBatch& batch,
                            const LoadedKernel& kernel,
                            PowerCapHistory& history, const ReportSink& report,
                            const std::stop_token& cancel);

// Reports the end of a batch. `kernel_unknown`: it named a kernel that is not
// kept.
void ReportDone(uint64_t batch_id, const absl::Status& status,
                const ReportSink& report, bool kernel_unknown = false);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_LINK_BATCH_EXECUTOR_H_
