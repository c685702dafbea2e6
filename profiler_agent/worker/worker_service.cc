#include "profiler_agent/worker/worker_service.h"

#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "formats/types.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/measure/environment_error.h"
#include "profiler_agent/measure/kernel_checks.h"
#include "profiler_agent/worker/kernel_source.h"
#include "profiler_agent/worker/launch_times_proto.h"
#include "profiler_agent/worker/worker_error.h"

namespace wavetune {

v1::WorkerResponse WorkerService::Handle(const v1::WorkerRequest& request) {
  absl::Status status;
  try {
    absl::StatusOr<v1::WorkerResponse> response = Dispatch(request);
    if (response.ok()) return *std::move(response);
    status = response.status();
  } catch (const std::bad_alloc&) {
    status = ExhaustedError(Resource::kMemory,
                            "the worker got no more memory from the host");
  } catch (const std::system_error& error) {  // Of std::thread.
    status = ExhaustedError(Resource::kProcesses, error.what());
  }
  // A compiler says "does not compile" where the disk was full.
  if (absl::Status host = backend_.CheckHost();
      !host.ok() && !absl::IsDataLoss(status)) {
    status = host;
  }
  v1::WorkerResponse failed;
  *failed.mutable_error() = ToWorkerError(status);
  return failed;
}

absl::StatusOr<v1::WorkerResponse> WorkerService::Dispatch(
    const v1::WorkerRequest& request) {
  switch (request.request_case()) {
    case v1::WorkerRequest::kEnumerate:
      return Enumerate();
    case v1::WorkerRequest::kOpen:
      return Open(request.open());
    case v1::WorkerRequest::kReadTelemetry:
      return ReadTelemetry(request.read_telemetry());
    case v1::WorkerRequest::REQUEST_NOT_SET:
      return absl::InternalError(
          "empty or unknown request; agent and worker must be of one version");
    default:
      break;
  }
  if (device_ == nullptr) {
    return absl::InternalError("no device is open; open must be the first");
  }
  switch (request.request_case()) {
    case v1::WorkerRequest::kLoad:
      return Load(request.load());
    case v1::WorkerRequest::kPrepare:
      return Prepare(request.prepare());
    default:
      return Measure(request.measure());
  }
}

v1::WorkerResponse WorkerService::Enumerate() {
  const Backend::Enumeration found = backend_.Enumerate();
  v1::WorkerResponse response;
  v1::WorkerDevices* devices = response.mutable_devices();
  devices->set_note(found.note);
  devices->set_failure(found.failure);
  devices->set_watches(found.watches);
  for (const DeviceFacts& facts : found.devices) {
    *devices->add_devices() = DeviceFactsToProto(facts);
  }
  return response;
}

void WorkerService::TellReference(ReferenceUse use) const {
  v1::WorkerResponse response;
  response.mutable_reference()->set_running(use != ReferenceUse::kNone);
  response.mutable_reference()->set_after_candidates(
      use == ReferenceUse::kAfterCandidates);
  on_progress_(response);
}

absl::StatusOr<v1::WorkerResponse> WorkerService::Open(
    const v1::WorkerOpen& request) {
  ASSIGN_OR_RETURN(device_,
                   backend_.Open(request.device_uuid(), request.cache_dir()));
  device_->ObserveReference([this](ReferenceUse use) { TellReference(use); });
  v1::WorkerResponse response;
  *response.mutable_opened() = DeviceFactsToProto(device_->facts());
  return response;
}

absl::StatusOr<v1::WorkerResponse> WorkerService::ReadTelemetry(
    const v1::WorkerReadTelemetry& request) {
  ASSIGN_OR_RETURN(const DeviceState state,
                   backend_.ReadTelemetry(request.device_uuid()));
  v1::WorkerResponse response;
  *response.mutable_state() = DeviceStateToProto(state);
  return response;
}

absl::StatusOr<v1::WorkerResponse> WorkerService::Load(
    const v1::WorkerLoad& request) {
  v1::WorkerResponse response;
  response.mutable_loaded()->set_kept_kernels(KeptKernels::kMost);
  absl::StatusOr<std::shared_ptr<const LoadedKernel>> kernel =
      kernels_.Take(request.kernel());
  if (absl::IsNotFound(kernel.status())) {
    response.mutable_loaded()->set_kernel_unknown(true);
    return response;
  }
  RETURN_IF_ERROR(kernel.status());
  RETURN_IF_ERROR(device_->Load((*kernel)->Of(request.specialisation())));
  kernel_ = *std::move(kernel);
  return response;
}

absl::StatusOr<v1::WorkerResponse> WorkerService::Prepare(
    const v1::WorkerPrepare& request) {
  if (kernel_ == nullptr) return NoKernelLoaded();
  ASSIGN_OR_RETURN(
      const Configuration configuration,
      ConfigurationFromProto(static_cast<int>(kernel_->spec.parameters.size()),
                             request.configuration()));
  std::vector<Problem> problems;
  for (const v1::Problem& proto : request.correctness_problems()) {
    ASSIGN_OR_RETURN(problems.emplace_back(),
                     ProblemFromProto(kernel_->spec.dimensions, proto));
  }
  ASSIGN_OR_RETURN(const Candidate candidate,
                   device_->Prepare(configuration, problems));
  v1::WorkerResponse response;
  *response.mutable_prepared() = CandidateFactsToProto(candidate);
  return response;
}

absl::StatusOr<LaunchTimes> WorkerService::Time(
    const v1::WorkerMeasure& request) {
  ASSIGN_OR_RETURN(
      const Problem problem,
      ProblemFromProto(kernel_->spec.dimensions, request.problem()));
  if (!request.vendor_baseline().empty()) {
    return device_->MeasureVendorBaseline(request.vendor_baseline(), problem,
                                          request.warmup(), request.launches());
  }
  ASSIGN_OR_RETURN(
      const Configuration configuration,
      ConfigurationFromProto(static_cast<int>(kernel_->spec.parameters.size()),
                             request.configuration()));
  return device_->Measure(configuration, problem, request.warmup(),
                          request.launches());
}

absl::StatusOr<v1::WorkerResponse> WorkerService::Measure(
    const v1::WorkerMeasure& request) {
  if (kernel_ == nullptr) return NoKernelLoaded();
  ASSIGN_OR_RETURN(const LaunchTimes times, Time(request));
  v1::WorkerResponse response;
  *response.mutable_times() = LaunchTimesToProto(times);
  return response;
}

}  // namespace wavetune
