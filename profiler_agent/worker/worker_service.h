// WorkerService: what a worker answers. Knows no pipe.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_WORKER_SERVICE_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_WORKER_SERVICE_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "profiler_agent/measure/backend.h"
#include "profiler_agent/worker/kernel_source.h"
#include "proto/wavetune/v1/worker.pb.h"

namespace wavetune {

class WorkerService {
 public:
  // `backend` outlives the service. `on_progress` gets messages that are to be
  // sent before the answer.
  WorkerService(Backend& backend,
                std::function<void(const v1::WorkerResponse&)> on_progress)
      : backend_(backend), on_progress_(std::move(on_progress)) {}

  // Returns the one answer to a request. Cannot fail: an error is an answer.
  v1::WorkerResponse Handle(const v1::WorkerRequest& request);

 private:
  absl::StatusOr<v1::WorkerResponse> Dispatch(const v1::WorkerRequest& request);
  absl::StatusOr<v1::WorkerResponse> Open(const v1::WorkerOpen& request);
  absl::StatusOr<v1::WorkerResponse> ReadTelemetry(
      const v1::WorkerReadTelemetry& request);
  absl::StatusOr<v1::WorkerResponse> Load(const v1::WorkerLoad& request);
  absl::StatusOr<v1::WorkerResponse> Prepare(const v1::WorkerPrepare& request);
  absl::StatusOr<LaunchTimes> Time(const v1::WorkerMeasure& request);
  absl::StatusOr<v1::WorkerResponse> Measure(const v1::WorkerMeasure& request);
  v1::WorkerResponse Enumerate();
  void TellReference(ReferenceUse use) const;

  Backend& backend_;
  const std::function<void(const v1::WorkerResponse&)> on_progress_;
  std::unique_ptr<Device> device_;
  KeptKernels kernels_;
  std::shared_ptr<const LoadedKernel> kernel_;  // nullptr: none is loaded.
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_WORKER_SERVICE_H_
