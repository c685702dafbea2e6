#include "profiler_agent/cuda/cuda_device.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "model/kernel/argument.h"
#include "model/kernel/correctness_problems.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "profiler_agent/cuda/cuda_architecture.h"
#include "profiler_agent/cuda/cuda_arguments.h"
#include "profiler_agent/cuda/cuda_status.h"
#include "profiler_agent/measure/kernel_checks.h"
#include "profiler_agent/measure/output_comparison.h"

namespace wavetune {
namespace {

// A vendor library may round partial sums to the output's type (bf16, split k:
// 2.7e-3 where one rounding is 1.7e-3): what is checked is that it computes the
// same.
constexpr double kPeerToleranceFactor = 10;

// What a worker keeps for the check, host and device together: twice what the
// declared problems of gemm_bf16 take, which every candidate meets.
constexpr size_t kMostKeptBytes = size_t{256} << 20;

// More launches to warm up with where they are short.
constexpr int kShortWarmup = 4;
// A first launch this long is: no hiccup of the host takes as much.
constexpr double kSurelyLongUs = 2000;

absl::Status LaunchOn(const CudaSession& session, const CudaBuffers& buffers,
                      CUfunction function, const CudaLaunchShape& shape,
                      const LaunchExtent& blocks, CudaArguments& arguments) {
  for (const auto& [index, address] : buffers) {
    RETURN_IF_ERROR(arguments.SetBuffer(*session.driver, index, address));
  }
  return Launch(session, function, shape, blocks, arguments);
}

// Returns `launch` on a check's buffers, and waits for it.
CheckedLaunch OnCheckBuffers(const CudaSession& session,
                             LaunchOnBuffers launch) {
  return [&session, launch = std::move(launch)](const CheckBuffers& buffers) {
    CudaBuffers addresses;
    for (const auto& [argument, buffer] : buffers) {
      addresses[argument] =
          static_cast<const SessionCheckBuffer<CudaSession>*>(buffer)
              ->argument();
    }
    RETURN_IF_ERROR(launch(addresses));
    return Finish(session);
  };
}

// Returns what Triton's blocks write between themselves; empty: they do not.
absl::StatusOr<CudaMemory> ScratchOf(const CudaSession& session,
                                     const TritonLaunch& launch,
                                     const LaunchExtent& blocks) {
  if (launch.scratch_bytes == 0) return CudaMemory();
  return AllocateMemory(session, static_cast<size_t>(blocks.Total()) *
                                     static_cast<size_t>(launch.scratch_bytes));
}

// Why not even a context fits: others hold the device's memory.
absl::Status NoRoomToOpen(const CudaDeviceEntry& entry,
                          const absl::Status& status) {
  std::string free = "too little memory";
  if (entry.nvml.has_value()) {
    if (const std::optional<NvmlMemory> memory = entry.nvml->Memory()) {
      free = absl::StrCat("only ", memory->free >> 20, " of ",
                          memory->total >> 20, " MiB");
    }
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "GPU ", entry.facts.uuid, " has ", free,
      " free; another process holds the rest: stop it, or profile when it is "
      "gone (",
      status.message(), ")"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Open(
    const CudaDriver& driver, const Nvrtc& nvrtc, const CudaDeviceEntry& entry,
    const std::string& cache_dir, double memory_cap) {
  const CudaArchitecture architecture =
      CudaArchitectureOf(ComputeCapability(entry.facts));
  RETURN_IF_ERROR(
      CheckArchitecture(architecture, nvrtc.capabilities(), nvrtc.version()));
  absl::StatusOr<std::unique_ptr<CudaDevice>> device =
      OpenSession(driver, entry, memory_cap,
                  CudaCompiler(nvrtc, architecture, cache_dir), cache_dir);
  if (absl::IsResourceExhausted(device.status())) {
    return NoRoomToOpen(entry, device.status());
  }
  return device;
}

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::OpenSession(
    const CudaDriver& driver, const CudaDeviceEntry& entry, double memory_cap,
    const CudaCompiler& compiler, const std::string& cache_dir) {
  ASSIGN_OR_RETURN(CudaContext context,
                   CudaContext::Retain(driver, entry.device));
  ASSIGN_OR_RETURN(CudaStream stream, CreateStream(driver));
  auto memory = std::make_unique<CudaMemoryBudget>(memory_cap);
  const CudaSession session = {.driver = &driver,
                               .device = entry.device,
                               .stream = stream.get(),
                               .multiprocessors = entry.facts.multiprocessors,
                               .memory = memory.get()};
  std::unique_ptr<CudaDevice> device(
      new CudaDevice(entry, std::move(context), std::move(stream), session,
                     std::move(memory), compiler, cache_dir));
  ASSIGN_OR_RETURN(device->timer_,
                   CudaTimer::Create(session, device->compiler_));
  return device;
}

CudaDevice::CudaDevice(CudaDeviceEntry entry, CudaContext context,
                       CudaStream stream, const CudaSession& session,
                       std::unique_ptr<CudaMemoryBudget> memory,
                       const CudaCompiler& compiler,
                       const std::string& cache_dir)
    : entry_(std::move(entry)),
      context_(std::move(context)),
      stream_(std::move(stream)),
      session_(session),
      memory_(std::move(memory)),
      compiler_(compiler),
      program_(compiler_, entry_.facts, cache_dir),
      throttle_(entry_.nvml, SystemClock()),
      buffers_(session_, entry_.facts),
      check_memory_(session_),
      checker_({.candidate_memories = {&check_memory_},
                .reference_memory = &check_memory_,
                .most_kept_bytes = kMostKeptBytes}) {}

CudaDevice::~CudaDevice() = default;

absl::Status CudaDevice::Load(LoadedKernel kernel) {
  RETURN_IF_ERROR(program_.Load(std::move(kernel)));
  compiled_.clear();
  reference_.reset();
  checker_.Forget();
  vendor_baselines_checked_ = false;
  buffers_.Clear();
  return absl::OkStatus();
}

absl::StatusOr<Candidate> CudaDevice::Prepare(
    const Configuration& configuration,
    const std::vector<Problem>& correctness_problems) {
  if (!program_.loaded()) return NoKernelLoaded();
  RETURN_IF_ERROR(CheckConfiguration(program_.spec(), configuration));
  absl::StatusOr<Candidate> candidate =
      PrepareCandidate(configuration, correctness_problems);
  if (!candidate.ok()) return Explained(candidate.status());
  return candidate;
}

absl::StatusOr<LaunchTimes> CudaDevice::Measure(
    const Configuration& configuration, const Problem& problem, int warmup,
    int launches) {
  if (!program_.loaded()) return NoKernelLoaded();
  RETURN_IF_ERROR(
      CheckLaunch(program_.spec(), configuration, problem, launches));
  absl::StatusOr<LaunchTimes> times =
      MeasureCandidate(configuration, problem, warmup, launches);
  if (!times.ok()) return Explained(times.status());
  return times;
}

absl::StatusOr<LaunchTimes> CudaDevice::MeasureVendorBaseline(
    const std::string& library, const Problem& problem, int warmup,
    int launches) {
  if (!program_.loaded()) return NoKernelLoaded();
  RETURN_IF_ERROR(CheckProblem(program_.spec(), problem));
  ASSIGN_OR_RETURN(const VendorBaseline* const baseline,
                   FindVendorBaseline(program_.implementation(), library));
  absl::StatusOr<LaunchTimes> times =
      MeasureLibrary(*baseline, problem, warmup, launches);
  if (!times.ok()) return Explained(times.status());
  return times;
}

absl::StatusOr<Candidate> CudaDevice::PrepareCandidate(
    const Configuration& configuration,
    const std::vector<Problem>& correctness_problems) {
  const KernelSpec& spec = program_.spec();
  RETURN_IF_ERROR(CheckFit(configuration));
  ASSIGN_OR_RETURN(
      const std::vector<Problem> problems,
      ProblemsToCheckAt(spec, configuration, correctness_problems));
  if (spec.correctness.has_value()) {
    // All that can be laid at the reference's door first.
    if (!checker_.reference_watch().candidate_ran()) {
      for (const Problem& problem : problems) {
        RETURN_IF_ERROR(CheckAgainstReference(spec, configuration, problem,
                                              nullptr,
                                              /*on_cancelling=*/true));
      }
    }
    for (const Problem& problem : problems) {
      RETURN_IF_ERROR(Check(configuration, problem));
    }
  }
  const Problem shown = ShownProblem(configuration, problems);
  ASSIGN_OR_RETURN(const CudaKernel* const kernel,
                   Compile(configuration, shown));
  ASSIGN_OR_RETURN(const Admitted admitted,
                   Admit(*kernel, configuration, shown));
  return Candidate{
      .configuration = configuration,
      .tiles_per_wave = admitted.residency.tiles_per_wave,
      .blocks_per_multiprocessor = admitted.residency.blocks_per_multiprocessor,
      .registers = kernel->registers,
      .shared_memory_bytes =
          admitted.shape.shared_bytes + kernel->static_shared_bytes};
}

absl::StatusOr<LaunchTimes> CudaDevice::MeasureCandidate(
    const Configuration& configuration, const Problem& problem, int warmup,
    int launches) {
  ASSIGN_OR_RETURN(const CudaKernel* const kernel,
                   Compile(configuration, problem));
  ASSIGN_OR_RETURN(const Admitted admitted,
                   Admit(*kernel, configuration, problem));
  checker_.Forget();  // Makes room: batches check, or measure.
  checker_.reference_watch().CandidateRuns();
  const KernelSpec& spec = program_.spec();
  RETURN_IF_ERROR(buffers_.Reserve(spec, configuration, problem));
  ASSIGN_OR_RETURN(const LaunchOnBuffers launch,
                   LauncherOf(*kernel, admitted, configuration, problem));
  // A part of the launch's time. Checks put workspaces back themselves.
  return Time(
      [&](const CudaBuffers& buffers) {
        for (const auto& [index, address] : buffers) {
          if (!IsZeroedBy(spec.arguments[index], Zeroed::kEveryLaunch))
            continue;
          RETURN_IF_ERROR(WriteZeros(session_, address, buffers_.bytes(index)));
        }
        return launch(buffers);
      },
      warmup, launches);
}

absl::StatusOr<LaunchTimes> CudaDevice::MeasureLibrary(
    const VendorBaseline& baseline, const Problem& problem, int warmup,
    int launches) {
  if (!cublas_lt_.has_value()) {
    ASSIGN_OR_RETURN(cublas_lt_, CublasLt::Create(session_));
  }
  if (!vendor_baselines_checked_) RETURN_IF_ERROR(CheckLibrary(baseline));
  vendor_baselines_checked_ = true;
  checker_.Forget();  // Makes room.
  // A library has no parameters; the sizes of buffers may name them all the
  // same.
  const KernelSpec& spec = program_.spec();
  RETURN_IF_ERROR(buffers_.Reserve(spec, spec.default_configuration, problem));
  ASSIGN_OR_RETURN(CublasLtProduct product,
                   cublas_lt_->Prepare(spec, baseline, problem));
  return Time(
      [&](const CudaBuffers& buffers) { return product.Launch(buffers); },
      warmup, launches);
}

absl::Status CudaDevice::CheckLibrary(const VendorBaseline& baseline) {
  KernelSpec spec = program_.spec();
  if (!spec.correctness.has_value()) return absl::OkStatus();
  spec.correctness->relative_tolerance *= kPeerToleranceFactor;
  ASSIGN_OR_RETURN(const std::vector<Problem> problems,
                   CorrectnessProblems(spec, program_.specialisation(),
                                       spec.default_configuration));
  absl::Status refused;
  bool checked = false;
  for (const Problem& problem : problems) {
    absl::StatusOr<CublasLtProduct> product =
        cublas_lt_->Prepare(spec, baseline, problem);
    if (absl::IsInvalidArgument(product.status())) return product.status();
    if (!product.ok()) {  // It need not take every shape, but some.
      refused = product.status();
      continue;
    }
    RETURN_IF_ERROR(CheckAgainstReference(
        spec, spec.default_configuration, problem,
        [&](const CudaBuffers& buffers) { return product->Launch(buffers); },
        /*on_cancelling=*/false));
    checked = true;
  }
  return checked ? absl::OkStatus() : refused;
}

absl::StatusOr<LaunchTimes> CudaDevice::Time(const LaunchOnBuffers& launch,
                                             int warmup, int launches) {
  const auto next = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const CudaBuffers buffers, buffers_.Next());
    return launch(buffers);
  };
  LaunchTimes times;
  // To its end: a kernel that is loaded late, at its first launch, would
  // otherwise wait for a stream that waits for us.
  ASSIGN_OR_RETURN(times.warmup_us,
                   timer_->TimeTogether(std::max(1, warmup), next));
  double launch_us = times.warmup_us / std::max(1, warmup);
  if (launch_us < kSurelyLongUs) {
    // The first launch's time is the host's, or more; a few behind the gate say
    // how long one takes.
    ASSIGN_OR_RETURN(const std::vector<double> mean,
                     timer_->TimeGroups(1, kShortWarmup, next, [] {}));
    launch_us = mean.front();
    times.warmup_us += launch_us * kShortWarmup;
  }
  times.launches_per_timing = LaunchesPerGroup(launch_us);
  ASSIGN_OR_RETURN(times.launch_us,
                   timer_->TimeGroups(launches, times.launches_per_timing, next,
                                      [this] { throttle_.Poll(); }));
  times.host_stalled = timer_->TakeStalled();
  times.throttled = throttle_.throttled();
  times.throttle_reasons = throttle_.reasons();
  times.sm_clock_mhz =
      static_cast<int32_t>(std::lround(timer_->TakeClockMhz()));
  if (times.sm_clock_mhz == 0) times.sm_clock_mhz = throttle_.sm_clock_mhz();
  return times;
}

absl::Status CudaDevice::CheckFit(const Configuration& configuration) {
  for (const auto& [form, usual] : program_.UsualForms(configuration)) {
    ASSIGN_OR_RETURN(const CudaKernel* const kernel,
                     CompileForm(configuration, form));
    if (kernel->unfit.empty()) continue;
    return absl::InvalidArgumentError(kernel->unfit);
  }
  return absl::OkStatus();
}

Problem CudaDevice::ShownProblem(const Configuration& configuration,
                                 const std::vector<Problem>& problems) const {
  if (!program_.has_forms()) {
    return problems.empty() ? SmallestProblem(program_.spec())
                            : problems.back();
  }
  const auto usual = program_.UsualForms(configuration);
  return std::max_element(usual.begin(), usual.end(),
                          [](const auto& a, const auto& b) {
                            return a.second.weight < b.second.weight;
                          })
      ->second.problem;
}

absl::StatusOr<const CudaKernel*> CudaDevice::Compile(
    const Configuration& configuration, const Problem& problem) {
  return CompileForm(configuration, program_.FormAt(configuration, problem));
}

absl::StatusOr<const CudaKernel*> CudaDevice::CompileForm(
    const Configuration& configuration, const TritonForm& form) {
  std::pair<Configuration, TritonForm> key(configuration, form);
  if (auto it = compiled_.find(key); it != compiled_.end()) return &it->second;
  ASSIGN_OR_RETURN(CudaKernel kernel, LoadOrRecompile(session_, compiler_, [&] {
                     return program_.Compile(configuration, form);
                   }));
  RETURN_IF_ERROR(CheckArguments(kernel,
                                 program_.implementation().tensor_maps.size(),
                                 program_.implementation().entry));
  return &compiled_.emplace(std::move(key), std::move(kernel)).first->second;
}

absl::StatusOr<const CudaKernel*> CudaDevice::CompileReference() {
  if (reference_.has_value()) return &*reference_;
  const ReferenceWatch::Scope compiling(checker_.reference_watch());
  absl::StatusOr<CudaKernel> kernel = LoadOrRecompile(
      session_, compiler_, [this] { return program_.CompileReference(); });
  if (!kernel.ok()) {
    return absl::IsUnimplemented(kernel.status())
               ? kernel.status()
               : BrokenReference(kernel.status());
  }
  const absl::Status arguments = CheckArguments(
      *kernel, /*tensor_maps=*/0, program_.spec().correctness->entry);
  if (!arguments.ok()) return BrokenReference(arguments);
  reference_ = *std::move(kernel);
  return &*reference_;
}

absl::Status CudaDevice::CheckArguments(const CudaKernel& kernel,
                                        size_t tensor_maps,
                                        const std::string& entry) const {
  const std::optional<std::vector<size_t>> sizes =
      ParameterSizes(*session_.driver, kernel.function);
  if (!sizes.has_value()) return absl::OkStatus();
  return CheckParameterSizes(program_.spec(), tensor_maps, entry, *sizes,
                             kernel.triton);
}

absl::StatusOr<CudaDevice::Admitted> CudaDevice::Admit(
    const CudaKernel& kernel, const Configuration& configuration,
    const Problem& problem) {
  Admitted admitted;
  ASSIGN_OR_RETURN(admitted.shape,
                   CudaShapeOf(program_.spec(), program_.implementation(),
                               program_.specialisation(), configuration,
                               problem, facts(), kernel.triton));
  ASSIGN_OR_RETURN(admitted.residency,
                   AdmitShape(session_, kernel, admitted.shape));
  return admitted;
}

absl::Status CudaDevice::Check(const Configuration& configuration,
                               const Problem& problem) {
  ASSIGN_OR_RETURN(const CudaKernel* const kernel,
                   Compile(configuration, problem));
  ASSIGN_OR_RETURN(const Admitted admitted,
                   Admit(*kernel, configuration, problem));
  ASSIGN_OR_RETURN(LaunchOnBuffers launch,
                   LauncherOf(*kernel, admitted, configuration, problem));
  return CheckAgainstReference(program_.spec(), configuration, problem,
                               std::move(launch), /*on_cancelling=*/true);
}

absl::StatusOr<LaunchOnBuffers> CudaDevice::LauncherOf(
    const CudaKernel& kernel, const Admitted& admitted,
    const Configuration& configuration, const Problem& problem) const {
  ASSIGN_OR_RETURN(
      CudaArguments arguments,
      CudaArguments::Create(program_.spec(), &program_.implementation(),
                            configuration, problem));
  const LaunchExtent blocks =
      BlocksToLaunch(admitted.shape, admitted.residency.tiles_per_wave);
  std::shared_ptr<const CudaMemory> scratch;
  if (kernel.triton.has_value()) {
    ASSIGN_OR_RETURN(CudaMemory memory,
                     ScratchOf(session_, *kernel.triton, blocks));
    scratch = std::make_shared<const CudaMemory>(std::move(memory));
    arguments.BecomeTritons(*kernel.triton, scratch->get());
  }
  return [this, function = kernel.function, shape = admitted.shape, blocks,
          arguments, scratch](const CudaBuffers& buffers) mutable {
    return LaunchOn(session_, buffers, function, shape, blocks, arguments);
  };
}

absl::Status CudaDevice::CheckAgainstReference(
    const KernelSpec& spec, const Configuration& configuration,
    const Problem& problem, LaunchOnBuffers launch, bool on_cancelling) {
  ASSIGN_OR_RETURN(const CudaKernel* const kernel, CompileReference());
  // It takes no tensor maps.
  ASSIGN_OR_RETURN(
      CudaArguments arguments,
      CudaArguments::Create(spec, nullptr, configuration, problem));
  const CudaLaunchShape shape = ReferenceShape(
      Evaluate(spec.correctness->work_items, problem.View(), configuration));
  const bool alone = launch == nullptr;
  const CheckTask task = {
      .spec = spec,
      .configuration = configuration,
      .problem = problem,
      .candidate = OnCheckBuffers(session_, std::move(launch)),
      .reference = OnCheckBuffers(session_,
                                  [&](const CudaBuffers& buffers) {
                                    return LaunchOn(session_, buffers,
                                                    kernel->function, shape,
                                                    shape.blocks, arguments);
                                  }),
      .on_cancelling = on_cancelling};
  return alone ? checker_.RunReference(task) : checker_.Check(task);
}

absl::Status CudaDevice::Explained(const absl::Status& status) const {
  // UNIMPLEMENTED is what becomes of a reference that does not run.
  const bool may_be_loss = absl::IsAborted(status) ||
                           absl::IsInternal(status) ||
                           absl::IsUnimplemented(status);
  if (!may_be_loss || !throttle_.IsLost()) return status;
  return absl::UnavailableError(
      absl::StrCat("the GPU is lost, or must be reset: ", status.message()));
}

}  // namespace wavetune
