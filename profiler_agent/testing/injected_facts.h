// InjectedFacts: what a drill or a test pretends of devices, from a file.
//
//   # Of every device, until a [UUID] names one.
//   driver = 590.12
//   power_limit_w = 350
//   slower = 1.3 where m <= 16, BM = 64
//
//   [GPU-1]
//   throttle_reasons = 0x40
//   other_processes = 2
//
// Keys: driver, runtime, power_limit_w, throttle_reasons (bits as in
// model/kernel/throttling.h), utilisation_percent, other_processes, slower. A
// later line replaces an earlier one of its key and device. A line of a device
// replaces one of every device. All lines of `slower` that apply multiply. A
// condition names a parameter or a dimension of the kernel, with =, <, <=, >
// or >=.
//
// Why a file that is read each time: drills change it under running processes,
// and all of them see the same. Replace it with a rename, so that nobody reads
// half of it.
//
// Thread safety: a plain value.
#ifndef WAVETUNE_PROFILER_AGENT_TESTING_INJECTED_FACTS_H_
#define WAVETUNE_PROFILER_AGENT_TESTING_INJECTED_FACTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/kernel/device.h"
#include "profiler_agent/measure/backend.h"

namespace wavetune {

// Pretended facts of one device; an absent one is as it is.
struct InjectedDeviceFacts {
  // "BM = 64".
  struct Condition {
    std::string name;
    std::string comparison;
    int64_t value = 0;
  };
  // Launches take `factor` times as long where all conditions hold.
  struct Slower {
    double factor = 1;
    std::vector<Condition> where;
  };

  std::optional<std::string> driver;
  std::optional<std::string> runtime;
  std::optional<int32_t> power_limit_w;
  std::optional<uint32_t> throttle_reasons;
  std::optional<int32_t> utilisation_percent;
  std::optional<int32_t> other_processes;
  std::vector<Slower> slower;

  // Put into the facts, the state or the times of a device. Cannot fail.
  void ApplyTo(DeviceFacts& facts) const;
  void ApplyTo(DeviceState& state) const;
  // `factor` of SlowerBy.
  void ApplyTo(LaunchTimes& times, double factor) const;

  // Returns how many times as long a launch takes. `configuration` is nullptr
  // for a vendor's library, which has no parameters. A line with a name that
  // the kernel does not have never applies; the log says so once. Cannot fail.
  double SlowerBy(const KernelSpec& spec, const Configuration* configuration,
                  const Problem& problem) const;
};

class InjectedFacts {
 public:
  // Returns what the text says. Errors: INVALID_ARGUMENT with the number of the
  // line, what is wrong with it, and the right form.
  static absl::StatusOr<InjectedFacts> Parse(absl::string_view text);

  // Reads a file that only root and this user can change. Errors: as Parse with
  // the path before it; NOT_FOUND; PERMISSION_DENIED with the chmod that helps;
  // RESOURCE_EXHAUSTED above 64 KiB.
  static absl::StatusOr<InjectedFacts> Read(const std::string& path);

  // Returns the pretended facts of a device. Cannot fail.
  InjectedDeviceFacts Of(const std::string& uuid) const;

 private:
  // By UUID; "" is every device.
  std::map<std::string, InjectedDeviceFacts> devices_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_TESTING_INJECTED_FACTS_H_
