#include "profiler_agent/worker/remote_device.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/backoff.h"
#include "base/host_resources.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "formats/types.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/measure/candidate_failure.h"
#include "profiler_agent/measure/environment_error.h"
#include "profiler_agent/measure/kernel_checks.h"
#include "profiler_agent/worker/launch_times_proto.h"
#include "profiler_agent/worker/worker_error.h"

namespace wavetune {
namespace {

// Between two attempts to start a worker.
constexpr std::chrono::milliseconds kFirstPause(100);
constexpr std::chrono::seconds kLongestPause(10);
// As the daemon allows (server/agents/agent_limits.h).
constexpr int kMaxKeptKernels = 64;

bool WorkerIsGone(const absl::Status& status) {
  return absl::IsAborted(status) || absl::IsCancelled(status) ||
         absl::IsDeadlineExceeded(status) || absl::IsDataLoss(status) ||
         absl::IsResourceExhausted(status);
}

using Bytes = std::shared_ptr<const std::string>;

bool SameBytes(const Bytes& a, const Bytes& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

}  // namespace

bool SameDevice(const DeviceFacts& a, const DeviceFacts& b) {
  return a.uuid == b.uuid && SiliconKey(a) == SiliconKey(b) &&
         a.driver == b.driver && a.runtime == b.runtime &&
         a.compiler == b.compiler && a.triton == b.triton;
}

RemoteDevice::RemoteDevice(RemoteDeviceOptions options)
    : options_(std::move(options)),
      clock_(*options_.clock),
      throttling_(options_.facts.uuid) {}

pid_t RemoteDevice::worker_pid() const {
  return worker_ != nullptr && worker_->running() ? worker_->pid() : -1;
}

absl::Status RemoteDevice::Load(LoadedKernel kernel) {
  RETURN_IF_ERROR(FindImplementation(kernel.spec, options_.facts).status());
  const bool same = kernel_.has_value() && !kernel.fingerprint.empty() &&
                    kernel_->fingerprint == kernel.fingerprint &&
                    SameBytes(kernel_->source_bytes, kernel.source_bytes) &&
                    kernel_->specialisation == kernel.specialisation;
  if (same) return absl::OkStatus();  // Keeps what the worker has compiled.
  kernel_ = std::move(kernel);
  loaded_ = false;
  return absl::OkStatus();
}

absl::StatusOr<Candidate> RemoteDevice::Prepare(
    const Configuration& configuration,
    const std::vector<Problem>& correctness_problems) {
  if (!kernel_.has_value()) return NoKernelLoaded();
  RETURN_IF_ERROR(CheckConfiguration(kernel_->spec, configuration));
  v1::WorkerRequest request;
  v1::WorkerPrepare* prepare = request.mutable_prepare();
  *prepare->mutable_configuration() = ConfigurationToProto(configuration);
  for (const Problem& problem : correctness_problems) {
    *prepare->add_correctness_problems() =
        ProblemToProto(kernel_->spec.dimensions, problem);
  }
  ASSIGN_OR_RETURN(
      const v1::WorkerResponse response,
      CallLoaded(request, options_.prepare_nice, options_.prepare_timeout));
  if (!response.has_prepared()) {
    return absl::InternalError("the worker answered prepare with nonsense");
  }
  return CandidateFromProto(configuration, response.prepared());
}

absl::StatusOr<LaunchTimes> RemoteDevice::Measure(
    const Configuration& configuration, const Problem& problem, int warmup,
    int launches) {
  if (!kernel_.has_value()) return NoKernelLoaded();
  RETURN_IF_ERROR(CheckLaunch(kernel_->spec, configuration, problem, launches));
  v1::WorkerMeasure measure;
  *measure.mutable_configuration() = ConfigurationToProto(configuration);
  return CallMeasure(std::move(measure), problem, warmup, launches);
}

absl::StatusOr<LaunchTimes> RemoteDevice::MeasureVendorBaseline(
    const std::string& library, const Problem& problem, int warmup,
    int launches) {
  if (!kernel_.has_value()) return NoKernelLoaded();
  RETURN_IF_ERROR(CheckProblem(kernel_->spec, problem));
  v1::WorkerMeasure measure;
  measure.set_vendor_baseline(library);
  return CallMeasure(std::move(measure), problem, warmup, launches);
}

absl::StatusOr<LaunchTimes> RemoteDevice::CallMeasure(v1::WorkerMeasure measure,
                                                      const Problem& problem,
                                                      int warmup,
                                                      int launches) {
  *measure.mutable_problem() =
      ProblemToProto(kernel_->spec.dimensions, problem);
  measure.set_warmup(warmup);
  measure.set_launches(launches);
  v1::WorkerRequest request;
  *request.mutable_measure() = std::move(measure);
  ASSIGN_OR_RETURN(const v1::WorkerResponse response,
                   CallLoaded(request, /*nice=*/0, options_.measure_timeout));
  if (!response.has_times()) {
    return absl::InternalError("the worker answered measure with nonsense");
  }
  LaunchTimes times = LaunchTimesFromProto(response.times());
  SayThrottling(throttling_.After(times, clock_.SteadyNow()));
  return times;
}

void RemoteDevice::SetNice(int nice) {
  if (std::exchange(nice_, nice) != nice) worker_.reset();
}

void RemoteDevice::WarmUp(Use use) {
  SetNice(use == Use::kPrepare ? options_.prepare_nice : 0);
  if (!Start().ok() || !kernel_.has_value()) return;
  EnsureLoaded().IgnoreError();
}

void RemoteDevice::Release() {
  worker_.reset();
  SayThrottling(throttling_.End(clock_.SteadyNow()));
}

void RemoteDevice::SayThrottling(const std::string& line) {
  if (!line.empty()) Log(LogLevel::kWarning, "device", line);
}

absl::StatusOr<Backend::Enumeration> RemoteDevice::Enumerate() {
  ASSIGN_OR_RETURN(worker_, WorkerProcess::Start(options_.command));
  v1::WorkerRequest request;
  request.mutable_enumerate();
  const absl::StatusOr<v1::WorkerResponse> response =
      Call(request, options_.start_timeout);
  worker_.reset();  // A driver is opened in a fresh process.
  if (!response.ok()) return response.status();
  Backend::Enumeration found{.note = response->devices().note(),
                             .failure = response->devices().failure(),
                             .watches = response->devices().watches()};
  for (const v1::DeviceFacts& proto : response->devices().devices()) {
    found.devices.push_back(DeviceFactsFromProto(proto));
  }
  return found;
}

absl::StatusOr<v1::WorkerResponse> RemoteDevice::CallLoaded(
    const v1::WorkerRequest& request, int nice,
    std::chrono::milliseconds timeout) {
  SetNice(nice);
  absl::Status last;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (absl::Status started = Start(); !started.ok()) {
      return attempt == 0 ? NotTried(std::move(started)) : started;
    }
    if (absl::Status loaded = EnsureLoaded(); !loaded.ok()) {
      return attempt == 0 ? NotTried(std::move(loaded)) : loaded;
    }
    absl::StatusOr<v1::WorkerResponse> response = Call(request, timeout);
    if (response.ok() || worker_pid() > 0) return response;
    last = absl::IsCancelled(response.status()) ? Killed(response.status())
                                                : response.status();
    Log(LogLevel::kWarning, "worker",
        absl::StrCat("device ", options_.facts.uuid, ": ", last.message()));
    // Killed by somebody else (an operator, the kernel's OOM killer), out of
    // something that a fresh process may have, or ended by Call for what an
    // earlier candidate may have done to the device: that may be no fault of
    // this candidate, so it gets a second chance.
    const bool ended_by_call = worker_ == nullptr;
    if (!absl::IsResourceExhausted(last) && !ended_by_call) break;
  }
  if (absl::IsDeadlineExceeded(last) || absl::IsResourceExhausted(last) ||
      IsReferenceBroken(last)) {
    return last;
  }
  // Also where the device was lost again in a fresh process that had opened it.
  return absl::AbortedError(last.message());
}

absl::Status RemoteDevice::Killed(const absl::Status& how) const {
  if (OomKills() == oom_kills_) {
    return ExhaustedError(Resource::kKilled, how.message());
  }
  return ExhaustedError(
      Resource::kMemory,
      absl::StrCat(how.message(), ": the kernel ended it for want of memory",
                   MemoryLimitText()));
}

absl::Status RemoteDevice::Reopen() {
  worker_.reset();
  return Start();
}

absl::Status RemoteDevice::Start() {
  if (worker_pid() > 0) return absl::OkStatus();
  absl::Status status;
  Backoff pauses(kFirstPause, kLongestPause);
  const int attempts = given_up_ ? 1 : options_.max_failed_starts;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (attempt > 0) clock_.Sleep(pauses.Next());
    status = StartOnce();
    if (status.ok()) {
      given_up_ = false;
      return status;
    }
    if (absl::IsCancelled(status)) status = Killed(status);
    worker_.reset();
    Log(LogLevel::kWarning, "worker",
        absl::StrCat("device ", options_.facts.uuid, ": ", status.message()));
  }
  given_up_ = true;
  return absl::UnavailableError(absl::StrCat(
      "the worker does not start: ", ExhaustedResource(status).has_value()
                                         ? FailureReason(status)
                                         : std::string(status.message())));
}

absl::Status RemoteDevice::StartOnce() {
  loaded_ = false;
  kept_ = {};
  oom_kills_ = OomKills();
  const Clock::Duration begin = clock_.SteadyNow();
  std::vector<std::string> command = options_.command;
  if (nice_ > 0) command.insert(command.end(), {"--nice", absl::StrCat(nice_)});
  ASSIGN_OR_RETURN(worker_, WorkerProcess::Start(command));
  v1::WorkerRequest request;
  request.mutable_open()->set_device_uuid(options_.facts.uuid);
  request.mutable_open()->set_cache_dir(options_.cache_dir);
  ASSIGN_OR_RETURN(const v1::WorkerResponse response,
                   Call(request, options_.start_timeout));
  if (!response.has_opened()) {
    return absl::InternalError("the worker answered open with nonsense");
  }
  const DeviceFacts opened = DeviceFactsFromProto(response.opened());
  if (!SameDevice(opened, options_.facts)) {
    return absl::UnavailableError(
        "the device changed since it was listed (driver upgrade?); an agent "
        "that is attached looks for devices anew by itself");
  }
  Log(LogLevel::kDebug, "worker",
      absl::StrCat("device ", options_.facts.uuid, ": worker ", worker_->pid(),
                   " of nice ", nice_, " opened it in ",
                   ToSeconds(clock_.SteadyNow() - begin), " s"));
  return absl::OkStatus();
}

absl::Status RemoteDevice::EnsureLoaded() {
  if (loaded_) return absl::OkStatus();
  absl::StatusOr<v1::WorkerLoaded> loaded = SendKernel();
  if (loaded.ok() && loaded->kernel_unknown()) {
    kept_ = {};  // It goes whole.
    loaded = SendKernel();
  }
  if (!loaded.ok()) {
    if (absl::IsCancelled(loaded.status())) return Killed(loaded.status());
    if (!WorkerIsGone(loaded.status()) ||
        absl::IsResourceExhausted(loaded.status())) {
      return loaded.status();
    }
    return absl::UnavailableError(
        absl::StrCat("the worker died while loading the kernel: ",
                     loaded.status().message()));
  }
  if (loaded->kernel_unknown()) {
    return absl::InternalError("the worker answered load with nonsense");
  }
  loaded_ = true;
  return absl::OkStatus();
}

absl::StatusOr<v1::WorkerLoaded> RemoteDevice::SendKernel() {
  v1::WorkerRequest request;
  v1::WorkerLoad* load = request.mutable_load();
  load->set_specialisation(kernel_->specialisation);
  const Bytes* const kept = kept_.Find(kernel_->fingerprint);
  const bool named = kept != nullptr && SameBytes(*kept, kernel_->source_bytes);
  if (named) {
    load->mutable_kernel()->set_fingerprint(kernel_->fingerprint);
  } else if (kernel_->source_bytes == nullptr ||
             !load->mutable_kernel()->ParseFromString(*kernel_->source_bytes)) {
    return absl::InternalError("the kernel's source does not parse");
  }
  ASSIGN_OR_RETURN(const v1::WorkerResponse response,
                   Call(request, options_.start_timeout));
  const v1::WorkerLoaded& loaded = response.loaded();
  if (named || kernel_->fingerprint.empty()) return loaded;
  // A worker of an earlier release keeps none.
  if (kept_.limit() == 0) {
    kept_ = RecentMap<Bytes>(static_cast<size_t>(
        std::clamp(loaded.kept_kernels(), 0, kMaxKeptKernels)));
  }
  kept_.Put(kernel_->fingerprint, kernel_->source_bytes);
  return loaded;
}

absl::StatusOr<v1::WorkerResponse> RemoteDevice::Call(
    const v1::WorkerRequest& request, std::chrono::milliseconds timeout) {
  ASSIGN_OR_RETURN(v1::WorkerResponse response,
                   worker_->Call(request, timeout));
  if (!response.has_error()) return response;
  absl::Status status = FromWorkerError(response.error());
  const bool error_is_of_process =
      response.error().kind() == v1::WorkerError::DISK ||
      response.error().kind() == v1::WorkerError::PROCESSES;
  // Whatever such a process does next may fail for this reason alone. One that
  // is out of memory may be so at this problem only, and lives on.
  if (absl::IsUnavailable(status) || absl::IsAborted(status) ||
      error_is_of_process) {
    worker_.reset();
  }
  return status;
}

}  // namespace wavetune
