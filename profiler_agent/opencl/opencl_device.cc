#include "profiler_agent/opencl/opencl_device.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "model/kernel/argument.h"
#include "model/kernel/device_implementation.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "profiler_agent/measure/kernel_checks.h"
#include "profiler_agent/measure/output_comparison.h"
#include "profiler_agent/measure/usual_check_memory.h"
#include "profiler_agent/opencl/guard_pages.h"
#include "profiler_agent/opencl/opencl_arguments.h"
#include "profiler_agent/opencl/opencl_source.h"
#include "profiler_agent/opencl/opencl_status.h"

namespace wavetune {

// Launches that were enqueued, with what must live until they are done.
struct OpenClDevice::Burst {
  // Zeroing of workspaces is a part of a launch: `first` begins it.
  struct Timed {
    cl_event first = nullptr;
    cl_event launch = nullptr;
  };
  std::vector<Timed> launches;
  std::vector<OpenClEvent> events;
  std::vector<OpenClBuffer> slices;
};

namespace {

bool IsPocl(cl_device_id device) {
  cl_platform_id platform = nullptr;
  char name[64] = {};
  clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(cl_platform_id), &platform,
                  nullptr);
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name,
                    nullptr);
  return absl::string_view(name) == "Portable Computing Language";
}

// Returns the options of a check; `memories` gets what they name. The reference
// is run in usual memory, candidates in that, and the last time where an
// argument ends at a page that nobody may touch; between `guard_pages` they are
// run in nothing but such memory.
ResultCheckerOptions CheckerOptions(
    const OpenClSession& session, bool guard_pages,
    std::vector<std::unique_ptr<CheckMemory>>& memories) {
  const auto guarded = [&](GuardPageMemory::Side side) {
    memories.push_back(std::make_unique<GuardPageMemory>(session, side));
    return memories.back().get();
  };
  ResultCheckerOptions options;
  memories.push_back(
      std::make_unique<UsualCheckMemory<OpenClSession>>(session));
  options.reference_memory = memories.front().get();
  if (guard_pages) {
    options.candidate_memories = {guarded(GuardPageMemory::Side::kEnd),
                                  guarded(GuardPageMemory::Side::kBegin)};
  } else {
    options.candidate_memories = {options.reference_memory};
    if (session.is_cpu && IsPocl(session.device)) {
      options.last_memory = guarded(GuardPageMemory::Side::kEnd);
    }
  }
  return options;
}

// Returns the launch of a reference of `items` work items: one per index. On a
// CPU every other group size would be another compilation (PoCL), so blocks
// have one item there.
OpenClLaunchShape ReferenceShape(const OpenClSession& session, int64_t items) {
  const int64_t group = session.is_cpu ? 1 : std::gcd(items, int64_t{64});
  return {.blocks = items / group, .block_size = group};
}

}  // namespace

absl::StatusOr<std::unique_ptr<OpenClDevice>> OpenClDevice::Open(
    const OpenClDeviceEntry& entry, const std::string& cache_dir,
    bool guard_pages) {
  cl_int code = CL_SUCCESS;
  OpenClContext context(
      clCreateContext(nullptr, 1, &entry.id, nullptr, nullptr, &code));
  if (code != CL_SUCCESS) return OpenClStatus(code, "opening the device");
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES,
                                            CL_QUEUE_PROFILING_ENABLE, 0};
  OpenClQueue queue(clCreateCommandQueueWithProperties(context.get(), entry.id,
                                                       properties, &code));
  if (code != CL_SUCCESS) return OpenClStatus(code, "creating a queue");
  cl_device_type type = 0;
  clGetDeviceInfo(entry.id, CL_DEVICE_TYPE, sizeof(type), &type, nullptr);
  const bool is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  if (guard_pages && !is_cpu) {
    return absl::UnimplementedError(absl::StrCat(
        "guard pages are for CPU devices; ", entry.facts.label, " is none"));
  }
  if (entry.facts.last_level_cache_bytes <= 0) {
    LogOnce(LogLevel::kWarning, entry.facts.backend,
            absl::StrCat("device ", entry.facts.uuid,
                         " does not tell its cache's size; a usual one is "
                         "assumed"));
  }
  const OpenClSession session = {.device = entry.id,
                                 .context = context.get(),
                                 .queue = queue.get(),
                                 .is_cpu = is_cpu,
                                 .driver_keeps_programs = IsPocl(entry.id)};
  return std::unique_ptr<OpenClDevice>(
      new OpenClDevice(entry.facts, std::move(context), std::move(queue),
                       session, cache_dir, guard_pages));
}

OpenClDevice::OpenClDevice(DeviceFacts facts, OpenClContext context,
                           OpenClQueue queue, const OpenClSession& session,
                           const std::string& cache_dir, bool guard_pages)
    : facts_(std::move(facts)),
      context_(std::move(context)),
      queue_(std::move(queue)),
      session_(session),
      compiler_(session, facts_, cache_dir),
      buffers_(session_, facts_),
      checker_(CheckerOptions(session_, guard_pages, check_memories_)) {}

OpenClDevice::~OpenClDevice() = default;

absl::Status OpenClDevice::Load(LoadedKernel kernel) {
  ASSIGN_OR_RETURN(const Implementation* const implementation,
                   FindImplementation(kernel.spec, facts_));
  if (implementation->sources.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel ", kernel.spec.name,
                     " names no sources for the backend 'opencl'"));
  }
  ASSIGN_OR_RETURN(source_,
                   ExpandSource(kernel.files, implementation->sources.front()));
  compiled_.clear();
  reference_.reset();
  checker_.Forget();
  buffers_.Clear();
  kernel_ = std::move(kernel);
  implementation_ = ImplementationFor(kernel_->spec, facts_).implementation;
  return absl::OkStatus();
}

absl::StatusOr<Candidate> OpenClDevice::Prepare(
    const Configuration& configuration,
    const std::vector<Problem>& correctness_problems) {
  if (!kernel_.has_value()) return NoKernelLoaded();
  RETURN_IF_ERROR(CheckConfiguration(kernel_->spec, configuration));
  ASSIGN_OR_RETURN(const CompiledKernel* const compiled,
                   Compile(configuration));

  ASSIGN_OR_RETURN(
      const std::vector<Problem> problems,
      ProblemsToCheckAt(kernel_->spec, configuration, correctness_problems));
  // All that can be laid at the reference's door first.
  if (!checker_.reference_watch().candidate_ran()) {
    for (const Problem& problem : problems) {
      RETURN_IF_ERROR(Check(nullptr, configuration, problem));
    }
  }
  for (const Problem& problem : problems) {
    RETURN_IF_ERROR(Check(compiled, configuration, problem));
  }
  compiler_.Publish(*compiled);

  Candidate candidate{.configuration = configuration};
  cl_ulong local_memory = 0;
  clGetKernelWorkGroupInfo(compiled->kernel.get(), session_.device,
                           CL_KERNEL_LOCAL_MEM_SIZE, sizeof(local_memory),
                           &local_memory, nullptr);
  candidate.shared_memory_bytes = static_cast<int64_t>(local_memory);
  // OpenCL does not say how many blocks are resident. A CPU runs one per core;
  // on other devices one is the safe assumption.
  candidate.blocks_per_multiprocessor = 1;
  candidate.tiles_per_wave = facts_.multiprocessors;
  return candidate;
}

absl::StatusOr<LaunchTimes> OpenClDevice::Measure(
    const Configuration& configuration, const Problem& problem, int warmup,
    int launches) {
  if (!kernel_.has_value()) return NoKernelLoaded();
  RETURN_IF_ERROR(CheckLaunch(kernel_->spec, configuration, problem, launches));
  ASSIGN_OR_RETURN(const CompiledKernel* const compiled,
                   Compile(configuration));
  ASSIGN_OR_RETURN(
      const OpenClLaunchShape shape,
      ShapeOf(kernel_->spec, *implementation_, kernel_->specialisation,
              configuration, problem, facts_));
  checker_.Forget();  // Makes room: batches check, or measure.
  checker_.reference_watch().CandidateRuns();
  RETURN_IF_ERROR(buffers_.Reserve(kernel_->spec, configuration, problem));
  cl_kernel kernel = compiled->kernel.get();
  RETURN_IF_ERROR(SetScalars(kernel, kernel_->spec, configuration, problem));
  RETURN_IF_ERROR(SetLocalMemory(kernel, kernel_->spec, shape));
  // Warm-up first and to its end: with PoCL the first launch of another grid
  // may still generate code.
  ASSIGN_OR_RETURN(
      const std::vector<double> warm,
      TimeBurst(kernel, shape, std::max(1, warmup), /*gated=*/false));
  LaunchTimes times;
  times.warmup_us = std::accumulate(warm.begin(), warm.end(), 0.0);
  ASSIGN_OR_RETURN(times.launch_us,
                   TimeBurst(kernel, shape, launches, /*gated=*/true));
  return times;
}

absl::StatusOr<std::vector<double>> OpenClDevice::TimeBurst(
    cl_kernel kernel, const OpenClLaunchShape& shape, int launches,
    bool gated) {
  OpenClEvent gate;
  if (gated) {
    cl_int code = CL_SUCCESS;
    gate = OpenClEvent(clCreateUserEvent(session_.context, &code));
    if (code != CL_SUCCESS) return OpenClStatus(code, "creating an event");
  }
  Burst burst;
  absl::Status status;
  for (int i = 0; i < launches && status.ok(); ++i) {
    status = EnqueueOne(kernel, shape, i == 0 ? gate.get() : nullptr, burst);
  }
  // Also after an error.
  if (gate) clSetUserEventStatus(gate.get(), CL_COMPLETE);
  if (absl::Status finished = Finish(session_); status.ok()) status = finished;
  RETURN_IF_ERROR(status);
  std::vector<double> times_us;
  for (const Burst::Timed& timed : burst.launches) {
    ASSIGN_OR_RETURN(times_us.emplace_back(),
                     DeviceTimeUs(timed.first, timed.launch));
  }
  return times_us;
}

absl::StatusOr<const CompiledKernel*> OpenClDevice::Compile(
    const Configuration& configuration) {
  if (auto it = compiled_.find(configuration); it != compiled_.end()) {
    return &it->second;
  }
  ASSIGN_OR_RETURN(
      CompiledKernel compiled,
      compiler_.Build(
          source_,
          BuildOptions(kernel_->spec, &configuration, kernel_->specialisation,
                       implementation_->compile_options),
          implementation_->entry));
  RETURN_IF_ERROR(CheckArguments(
      compiled.kernel.get(), implementation_->entry, kernel_->spec,
      LocalMemoryOf(*implementation_, configuration)));
  return &compiled_.emplace(configuration, std::move(compiled)).first->second;
}

absl::StatusOr<const CompiledKernel*> OpenClDevice::CompileReference() {
  if (reference_.has_value()) return &*reference_;
  const std::optional<Correctness>& correctness = kernel_->spec.correctness;
  if (!correctness.has_value()) {
    return absl::UnimplementedError(
        absl::StrCat("kernel ", kernel_->spec.name,
                     " declares no reference to check its results against; add "
                     "'correctness' to its manifest"));
  }
  const ReferenceWatch::Scope compiling(checker_.reference_watch());
  const absl::StatusOr<std::string> source =
      ExpandSource(kernel_->files, correctness->source);
  if (!source.ok()) return BrokenReference(source.status());
  absl::StatusOr<CompiledKernel> compiled = compiler_.Build(
      *source,
      BuildOptions(kernel_->spec, nullptr, kernel_->specialisation,
                   correctness->compile_options),
      correctness->entry);
  if (!compiled.ok()) return BrokenReference(compiled.status());
  const absl::Status arguments =
      CheckArguments(compiled->kernel.get(), correctness->entry, kernel_->spec,
                     LocalMemory::kNone);
  if (!arguments.ok()) return BrokenReference(arguments);
  reference_ = *std::move(compiled);
  return &*reference_;
}

absl::Status OpenClDevice::Check(const CompiledKernel* candidate,
                                 const Configuration& configuration,
                                 const Problem& problem) {
  const bool first_use = !reference_.has_value();
  ASSIGN_OR_RETURN(const CompiledKernel* const reference, CompileReference());
  ASSIGN_OR_RETURN(
      const OpenClLaunchShape shape,
      ShapeOf(kernel_->spec, *implementation_, kernel_->specialisation,
              configuration, problem, facts_));
  const OpenClLaunchShape reference_shape =
      ReferenceShape(session_, Evaluate(kernel_->spec.correctness->work_items,
                                        problem.View(), configuration));
  const CheckTask task = {
      .spec = kernel_->spec,
      .configuration = configuration,
      .problem = problem,
      .candidate =
          [&](const CheckBuffers& buffers) {
            return LaunchOn(buffers, candidate->kernel.get(), shape,
                            configuration, problem);
          },
      .reference =
          [&](const CheckBuffers& buffers) {
            return LaunchOn(buffers, reference->kernel.get(), reference_shape,
                            configuration, problem);
          }};
  absl::Status status =
      candidate == nullptr ? checker_.RunReference(task) : checker_.Check(task);
  if (status.ok() && first_use) compiler_.Publish(*reference);
  return status;
}

absl::Status OpenClDevice::LaunchOn(const CheckBuffers& buffers,
                                    cl_kernel kernel,
                                    const OpenClLaunchShape& shape,
                                    const Configuration& configuration,
                                    const Problem& problem) const {
  RETURN_IF_ERROR(SetScalars(kernel, kernel_->spec, configuration, problem));
  RETURN_IF_ERROR(SetLocalMemory(kernel, kernel_->spec, shape));
  for (const auto& [argument, buffer] : buffers) {
    const auto* own =
        static_cast<const SessionCheckBuffer<OpenClSession>*>(buffer);
    RETURN_IF_ERROR(SetBuffer(kernel, argument, own->argument().get()));
  }
  ASSIGN_OR_RETURN(const OpenClEvent event,
                   EnqueueLaunch(session_, kernel, shape));
  RETURN_IF_ERROR(Finish(session_));
  return DeviceTimeUs(event.get(), event.get()).status();
}

absl::Status OpenClDevice::EnqueueOne(cl_kernel kernel,
                                      const OpenClLaunchShape& shape,
                                      cl_event gate, Burst& burst) {
  // The queue is in order: what waits for the gate holds the rest.
  const size_t begin = burst.events.size();
  ASSIGN_OR_RETURN(MeasuredBuffers<OpenClSession>::Slices slices,
                   buffers_.Next());
  for (auto& [index, slice] : slices) {
    RETURN_IF_ERROR(SetBuffer(kernel, index, slice.get()));
    burst.slices.push_back(std::move(slice));
    const Argument& argument = kernel_->spec.arguments[index];
    if (!IsZeroedBy(argument, Zeroed::kEveryLaunch)) continue;
    ASSIGN_OR_RETURN(
        OpenClEvent zeroing,
        EnqueueZeroing(session_, burst.slices.back().get(),
                       ElementBytes(argument.type), buffers_.bytes(index),
                       std::exchange(gate, nullptr)));
    burst.events.push_back(std::move(zeroing));
  }
  ASSIGN_OR_RETURN(OpenClEvent event,
                   EnqueueLaunch(session_, kernel, shape, gate));
  burst.events.push_back(std::move(event));
  burst.launches.push_back(
      {burst.events[begin].get(), burst.events.back().get()});
  return absl::OkStatus();
}

}  // namespace wavetune
