// DeviceFacts of an OpenCL device.
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_FACTS_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_FACTS_H_

#include <CL/cl.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/kernel/device.h"

namespace wavetune {

struct OpenClDeviceEntry {
  cl_device_id id = nullptr;
  DeviceFacts facts;
};

struct OpenClDeviceList {
  std::vector<OpenClDeviceEntry> entries;
  std::string note;  // Why there is none, where none was to be expected.
  // What a driver that is there failed with, a line each: devices that are
  // missing may be there another time.
  std::vector<std::string> failures;
};

// Returns every available device of every platform, in the driver's order;
// without NVIDIA's where `skip_nvidia`. A device of which the driver does not
// say all is left out: it would have other keys. Cannot fail.
OpenClDeviceList ListOpenClDevices(bool skip_nvidia = false);

// The parts of the facts that are made up here; pure, exposed for tests.

// Returns whether a device's vendor is NVIDIA, whatever platform drives it.
bool IsNvidia(uint32_t vendor_id);

// Returns "cpu-x86_64:skylake-avx512" or "gpu:<device name>". PoCL names its
// device "pthread-<LLVM CPU>-<marketing name>": only the LLVM name is kept,
// because it decides the code and a marketing name is no key.
std::string OpenClArchitecture(bool is_cpu, absl::string_view machine,
                               absl::string_view device_name);

// Returns "LLVM 15.0.6" where the platform version names it (PoCL), else the
// version of OpenCL C. It is part of a kernel's fingerprint; the driver's
// version is not, as a driver upgrade must leave tables usable as stale.
std::string OpenClCompilerVersion(absl::string_view platform_version,
                                  absl::string_view opencl_c_version);

// Returns the UUID of device number `index` of that name on a host: stable over
// restarts, distinct between hosts.
std::string OpenClUuid(absl::string_view host, absl::string_view platform_name,
                       absl::string_view device_name, int index);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_FACTS_H_
