// Backend and Device: how a worker process reaches hardware (or a recorded
// trace).
//
// A worker runs one Device for its whole life (worker/worker_main.h
// speaks the pipe); implementations are CudaBackend, OpenClBackend and
// ReplayBackend. A Device may crash or hang its process: the agent restarts it
// and excludes the candidate at fault. Contract suite:
// profiler_agent/measure/backend_contract_test.h.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_BACKEND_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_BACKEND_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernel/device.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/sample.h"
#include "profiler_agent/measure/reference_use.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

// A kernel as a worker needs it.
struct LoadedKernel {
  KernelSpec spec;
  std::string fingerprint;
  std::map<std::string, std::string>
      files;  // Name relative to the kernel's folder -> content.
  std::string specialisation;
  // The serialized v1::KernelSource that all of this came from: what a device
  // in another process (worker/remote_device.h) passes on. nullptr for the
  // others.
  std::shared_ptr<const std::string> source_bytes;

  // Returns the kernel of one specialisation: that, and the spec as it has it
  // (KernelSpec::Of). Of a kernel that is none's yet. Cannot fail.
  LoadedKernel Of(const std::string& wanted) const;
};

// Device times of launches.
struct LaunchTimes {
  // Device time of one launch; one value per timing, in order.
  std::vector<double> launch_us;
  // Launches in a row that a timing is the mean of: more than one where a
  // launch is so short that the marks around it would count.
  int launches_per_timing = 1;
  double warmup_us = 0;  // Device time of the warm-up.
  bool throttled = false;
  uint32_t throttle_reasons = 0;  // Bits: model/kernel/throttling.h.
  // Mean clock of the multiprocessors while they ran; 0 if unknown.
  int32_t sm_clock_mhz = 0;
  // Launches began before all were enqueued: times may hold the host's pauses.
  bool host_stalled = false;
  bool suspect = false;  // A recording's sample that was: not to be trusted.

  // Returns the device time of all launches and of the warm-up, where that is
  // known, in microseconds.
  double DeviceTimeUs() const;

  // Takes other launches and what the device said of them: what either was
  // throttled by, the lower known clock, `other`'s launches_per_timing. So
  // DeviceTimeUs() holds afterwards only where both timed equally many.
  void Add(const LaunchTimes& other);

  // Whether a burst is worth another one.
  bool disturbed() const { return throttled || host_stalled; }
};

// X-macro over launch facts that samples carry. The second argument names how
// two bursts combine (backend.cc). wavetune.v1.WorkerTimes has fields of these
// names; whoever adds bursts up, passes them on or makes a sample of them goes
// through this list.
#define WAVETUNE_LAUNCH_FACTS(FACT) \
  FACT(throttled, OfEither)         \
  FACT(throttle_reasons, OfEither)  \
  FACT(sm_clock_mhz, LowerKnown)    \
  FACT(suspect, OfEither)

// One opened device. Used by one thread.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceFacts& facts() const = 0;

  // Takes a kernel; later calls refer to it. Errors: INVALID_ARGUMENT when this
  // backend cannot run it (says why).
  virtual absl::Status Load(LoadedKernel kernel) = 0;

  // Compiles a configuration (or takes it from the cache) and compares its
  // results with the reference at each problem (result_check.h). It is launched
  // several times with poisoned outputs, on random data and on data whose sums
  // cancel. Results must be within the tolerance in norm and in each element,
  // and nothing may be written or read outside of an argument.
  //
  // Errors: INVALID_ARGUMENT where it does not compile (with the compiler's
  //         log). FAILED_PRECONDITION where it cannot be launched here
  //         (resources). DATA_LOSS for wrong results. ABORTED where a launch
  //         failed while it ran. UNAVAILABLE where the device was lost.
  //         RESOURCE_EXHAUSTED where something ran out. UNIMPLEMENTED where no
  //         candidate can be checked (the reference is missing or broken, no
  //         problem was given).
  virtual absl::StatusOr<Candidate> Prepare(
      const Configuration& configuration,
      const std::vector<Problem>& correctness_problems) = 0;

  // Warms up with `warmup` launches at least and returns `launches` timings.
  // Errors: as Prepare; OUT_OF_RANGE for a problem that is not
  // legal; NOT_FOUND for one that was not recorded (replay).
  virtual absl::StatusOr<LaunchTimes> Measure(
      const Configuration& configuration, const Problem& problem, int warmup,
      int launches) = 0;

  // Does the same with a vendor library that the manifest names as a vendor
  // baseline, on the buffers that Measure uses. It compares its result with the
  // reference first, once a kernel. Errors: as Measure; INVALID_ARGUMENT where
  // the manifest names no such vendor baseline; UNIMPLEMENTED where the library
  // is not there (says what to install).
  virtual absl::StatusOr<LaunchTimes> MeasureVendorBaseline(
      const std::string& library, const Problem& problem, int warmup,
      int launches);

  // Tells `observer` from now on when a reference runs in this process. Cannot
  // fail; those without references never tell.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): others keep it.
  virtual void ObserveReference(ReferenceObserver /*observer*/) {}

  // What comes next.
  enum class Use { kPrepare, kMeasure };
  // Does what the next call of that use would begin with and takes a while:
  // starts a process, opens the device, hands over the kernel. Cannot fail:
  // what goes wrong shows with that call.
  virtual void WarmUp(Use /*use*/) {}

  // Ends the device's own process, where it has one, and so frees what that
  // holds; the next call starts it anew. Cannot fail.
  virtual void Release() {}
};

// A kind of device.
class Backend {
 public:
  struct Enumeration {
    std::vector<DeviceFacts> devices;
    // Why there are none, or fewer than there might be; for people.
    std::string note;
    // An error cut the list short, so that it says nothing of what is missing:
    // which, and what to do. Empty: the list is whole.
    std::string failure;
    bool watches = false;  // ReadTelemetry() answers.
  };

  virtual ~Backend() = default;

  // "opencl", "cuda" or "replay".
  virtual std::string name() const = 0;

  // Lists the devices that can be opened. Cannot fail: a missing driver is a
  // note, one that does not answer a failure.
  virtual Enumeration Enumerate() = 0;

  // Opens a device. `cache_dir` keeps compiled programs (empty: none). Errors:
  // NOT_FOUND for an unknown UUID, UNAVAILABLE.
  virtual absl::StatusOr<std::unique_ptr<Device>> Open(
      const std::string& device_uuid, const std::string& cache_dir) = 0;

  // Returns a device's present state without opening it; `busy` is left empty.
  // Errors: UNAVAILABLE where the device itself is lost (says what to do);
  // UNIMPLEMENTED for kinds without telemetry; NOT_FOUND; others where nobody
  // could look.
  virtual absl::StatusOr<DeviceState> ReadTelemetry(
      const std::string& /*device_uuid*/) {
    return absl::UnimplementedError(name() + " does not watch devices");
  }

  // Checks that the host still gives this process what compiling and launching
  // need. Asked after a failure: if this fails, too, no candidate is at fault.
  // Errors: RESOURCE_EXHAUSTED (environment_error.h).
  virtual absl::Status CheckHost() { return absl::OkStatus(); }
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_BACKEND_H_
