#include "profiler_agent/cuda/sm_clock.h"

#include <map>

#include "base/status_macros.h"
#include "launch/launch_config.h"
#include "profiler_agent/cuda/cuda_status.h"

namespace wavetune {
namespace {

// Both counters at a tick of the coarser one (32 ns on an H200, a microsecond
// elsewhere).
constexpr char kLookSource[] = R"(
__device__ unsigned long long now() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}
struct Look {
  unsigned long long nanoseconds, cycles, multiprocessor;
};
extern "C" __global__ void look_at_clock(Look* looks) {
  unsigned int multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  const unsigned long long before = now();
  unsigned long long tick = before;
  for (int i = 0; i < 1000 && tick == before; ++i) tick = now();
  looks[blockIdx.x] = {tick, (unsigned long long)clock64(), multiprocessor};
}
)";

// As on the device.
struct OneLook {
  uint64_t nanoseconds = 0;
  uint64_t cycles = 0;
  uint64_t multiprocessor = 0;
};

}  // namespace

absl::StatusOr<SmClock> SmClock::Create(const CudaSession& session,
                                        const CudaCompiler& compiler) {
  SmClock clock(session);
  ASSIGN_OR_RETURN(clock.look_, LoadOrRecompile(session, compiler, [&] {
                     return compiler.Compile(
                         {.name = "look_at_clock.cu",
                          .files = {{"look_at_clock.cu", kLookSource}}},
                         {}, "look_at_clock");
                   }));
  ASSIGN_OR_RETURN(clock.looks_, AllocateMapped(session, 2 * clock.Blocks() *
                                                             sizeof(OneLook)));
  return clock;
}

// Two for each multiprocessor: nearly all of them take one then.
size_t SmClock::Blocks() const {
  return 2 * static_cast<size_t>(session_.multiprocessors);
}

absl::Status SmClock::Read(Mark mark) {
  CUdeviceptr address = looks_.device;
  if (mark == Mark::kEnd) address += Blocks() * sizeof(OneLook);
  void* parameters[] = {&address};
  const LaunchConfig config(CudaLaunchShape(), static_cast<int64_t>(Blocks()),
                            session_.stream);
  return CudaStatus(session_.driver->cuLaunchKernelEx(
                        config.get(), look_.function, parameters, nullptr),
                    "looking at the clock");
}

std::optional<SmClock::Span> SmClock::Read() const {
  const auto* const looks = static_cast<const OneLook*>(looks_.host.get());
  std::map<uint64_t, OneLook> begins;
  for (size_t i = 0; i < Blocks(); ++i) {
    begins[looks[i].multiprocessor] = looks[i];
  }
  Span span;
  for (size_t i = Blocks(); i < 2 * Blocks(); ++i) {
    const auto begin = begins.find(looks[i].multiprocessor);
    if (begin == begins.end()) continue;
    // Never seen: a counter that began anew.
    if (looks[i].cycles <= begin->second.cycles ||
        looks[i].nanoseconds <= begin->second.nanoseconds) {
      continue;
    }
    span.Add(
        {.cycles = static_cast<double>(looks[i].cycles - begin->second.cycles),
         .nanoseconds = static_cast<double>(looks[i].nanoseconds -
                                            begin->second.nanoseconds)});
  }
  if (span.nanoseconds == 0) return std::nullopt;
  return span;
}

}  // namespace wavetune
