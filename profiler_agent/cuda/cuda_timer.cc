#include "profiler_agent/cuda/cuda_timer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "launch/launch_config.h"
#include "profiler_agent/cuda/cuda_memory.h"
#include "profiler_agent/cuda/cuda_status.h"

namespace wavetune {
namespace {

// Gives up after two seconds of the device's clock, so that nothing hangs when
// the host does: the launches then run, timed less well, and it says so. Why a
// kernel and not cuStreamWaitValue32: it works wherever kernels do (memory
// operations are an option of the driver), and cannot wait for ever.
constexpr char kHoldSource[] = R"(
__device__ unsigned long long now() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}
extern "C" __global__ void hold(volatile int* gate) {
  const unsigned long long start = now();
  while (!gate[0]) {
    if (now() - start < 2000000000ull) continue;
    gate[1] = 1;
    return;
  }
}
)";

// Launches behind one closed gate. A stream takes about a thousand commands
// until the host has to wait for it, which would be for ever (or two seconds).
constexpr int kMaxBurst = 128;

// A group of launches this long hides the events around it
// (docs/decisions/0025).
constexpr double kGroupUs = 200;
constexpr int kMostPerGroup = 16;

}  // namespace

int LaunchesPerGroup(double launch_us) {
  if (!(launch_us > 0)) return 1;
  return static_cast<int>(
      std::clamp(std::ceil(kGroupUs / launch_us), 1.0, double{kMostPerGroup}));
}

absl::StatusOr<CudaTimer> CudaTimer::Create(const CudaSession& session,
                                            const CudaCompiler& compiler) {
  CudaTimer timer(session);
  ASSIGN_OR_RETURN(
      timer.hold_, LoadOrRecompile(session, compiler, [&] {
        return compiler.Compile(
            {.name = "hold.cu", .files = {{"hold.cu", kHoldSource}}}, {},
            "hold");
      }));
  ASSIGN_OR_RETURN(timer.clock_, SmClock::Create(session, compiler));
  ASSIGN_OR_RETURN(timer.gate_, AllocateMapped(session, 2 * sizeof(int)));
  return timer;
}

absl::StatusOr<double> CudaTimer::TimeTogether(int count,
                                               const LaunchOne& launch) {
  RETURN_IF_ERROR(ReserveEvents(2));
  RETURN_IF_ERROR(Record(0));
  absl::Status status;
  for (int i = 0; i < count && status.ok(); ++i) status = launch();
  if (status.ok()) status = Record(1);
  // A fault of an earlier launch, not what it made of a later call.
  if (absl::Status end = Finish(session_); !end.ok()) status = end;
  if (!status.ok()) return status;
  return MicrosecondsBetween(0, 1);
}

absl::StatusOr<std::vector<double>> CudaTimer::TimeGroups(
    int count, int group, const LaunchOne& launch,
    const std::function<void()>& while_running) {
  const int most = std::max(1, kMaxBurst / group);
  std::vector<double> times;
  while (static_cast<int>(times.size()) < count) {
    const int groups = std::min(count - static_cast<int>(times.size()), most);
    absl::Status status = ReserveEvents(static_cast<size_t>(groups) + 1);
    if (status.ok()) status = CloseGate();
    if (status.ok()) status = EnqueueBurst(groups, group, launch);
    SetGate(true);  // Also after an error.
    if (status.ok() && times.empty()) while_running();
    if (absl::Status end = Finish(session_); !end.ok()) status = end;
    if (!status.ok()) return status;
    if (const auto span = clock_->Read()) span_.Add(*span);
    for (int i = 0; i < groups; ++i) {
      const auto event = static_cast<size_t>(i);
      ASSIGN_OR_RETURN(const double us, MicrosecondsBetween(event, event + 1));
      times.push_back(us / group);
    }
  }
  return times;
}

absl::Status CudaTimer::EnqueueBurst(int groups, int group,
                                     const LaunchOne& launch) {
  RETURN_IF_ERROR(clock_->Read(SmClock::Mark::kBegin));
  RETURN_IF_ERROR(Record(0));
  for (int i = 0; i < groups; ++i) {
    for (int j = 0; j < group; ++j) RETURN_IF_ERROR(launch());
    // The end of a group is the start of the next: fewer commands between
    // them, and nothing else runs on the stream.
    RETURN_IF_ERROR(Record(static_cast<size_t>(i) + 1));
  }
  return clock_->Read(SmClock::Mark::kEnd);
}

absl::Status CudaTimer::ReserveEvents(size_t count) {
  while (events_.size() < count) {
    CUevent event = nullptr;
    RETURN_IF_ERROR(
        CudaStatus(session_.driver->cuEventCreate(&event, CU_EVENT_DEFAULT),
                   "creating an event"));
    events_.emplace_back(event, session_.driver->cuEventDestroy);
  }
  return absl::OkStatus();
}

absl::Status CudaTimer::Record(size_t event) {
  return CudaStatus(
      session_.driver->cuEventRecord(events_[event].get(), session_.stream),
      "recording an event");
}

absl::StatusOr<double> CudaTimer::MicrosecondsBetween(size_t first,
                                                      size_t last) {
  float milliseconds = 0;
  RETURN_IF_ERROR(CudaRunStatus(
      session_.driver->cuEventElapsedTime(&milliseconds, events_[first].get(),
                                          events_[last].get()),
      "reading a launch's time"));
  if (!(milliseconds > 0)) {
    return absl::InternalError(absl::StrCat("the driver timed a launch at ",
                                            milliseconds,
                                            " ms; its clock is not usable"));
  }
  return static_cast<double>(milliseconds) * 1000;
}

absl::Status CudaTimer::CloseGate() {
  SetGate(false);
  CUdeviceptr address = gate_.device;
  void* parameters[] = {&address};
  const LaunchConfig config(CudaLaunchShape(), 1, session_.stream);
  return CudaStatus(session_.driver->cuLaunchKernelEx(
                        config.get(), hold_.function, parameters, nullptr),
                    "holding the stream");
}

bool CudaTimer::TakeStalled() {
  return std::atomic_ref<int>(static_cast<int*>(gate_.host.get())[1])
             .exchange(0, std::memory_order_seq_cst) != 0;
}

double CudaTimer::TakeClockMhz() {
  return std::exchange(span_, SmClock::Span()).Mhz();
}

void CudaTimer::SetGate(bool open) {
  std::atomic_ref<int>(*static_cast<int*>(gate_.host.get()))
      .store(open ? 1 : 0, std::memory_order_seq_cst);
}

}  // namespace wavetune
