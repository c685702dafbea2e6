#include "profiler_agent/opencl/opencl_facts.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "profiler_agent/opencl/opencl_status.h"

namespace wavetune {
namespace {

std::string DeviceText(cl_device_id device, cl_device_info what) {
  size_t size = 0;
  if (clGetDeviceInfo(device, what, 0, nullptr, &size) != CL_SUCCESS) return "";
  std::string text(size, '\0');
  clGetDeviceInfo(device, what, size, text.data(), nullptr);
  return std::string(absl::StripAsciiWhitespace(text.c_str()));
}

std::string PlatformText(cl_platform_id platform, cl_platform_info what) {
  size_t size = 0;
  if (clGetPlatformInfo(platform, what, 0, nullptr, &size) != CL_SUCCESS) {
    return "";
  }
  std::string text(size, '\0');
  clGetPlatformInfo(platform, what, size, text.data(), nullptr);
  return std::string(absl::StripAsciiWhitespace(text.c_str()));
}

template <typename T>
T DeviceNumber(cl_device_id device, cl_device_info what) {
  T value = 0;
  if (clGetDeviceInfo(device, what, sizeof(value), &value, nullptr) !=
      CL_SUCCESS) {
    return 0;
  }
  return value;
}

DeviceFacts FactsOf(cl_platform_id platform, cl_device_id device) {
  utsname host = {};
  uname(&host);
  const std::string name = DeviceText(device, CL_DEVICE_NAME);
  const bool is_cpu =
      DeviceNumber<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU;

  DeviceFacts facts;
  facts.label = name;
  facts.backend = "opencl";
  facts.architecture = OpenClArchitecture(is_cpu, host.machine, name);
  facts.multiprocessors = static_cast<int32_t>(std::max<cl_uint>(
      1, DeviceNumber<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS)));
  // A CPU's memory is no fact of the device: a virtual machine's comes and goes
  // while it runs (6 to 9 GiB within minutes, as PoCL saw it), and another
  // silicon key would be another device.
  if (!is_cpu) {
    facts.memory_bytes = static_cast<int64_t>(
        DeviceNumber<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE));
  }
  facts.driver = DeviceText(device, CL_DRIVER_VERSION);
  facts.runtime = PlatformText(platform, CL_PLATFORM_VERSION);
  facts.compiler = OpenClCompilerVersion(
      facts.runtime, DeviceText(device, CL_DEVICE_OPENCL_C_VERSION));
  facts.last_level_cache_bytes = static_cast<int64_t>(
      DeviceNumber<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE));
  facts.max_group_size = static_cast<int64_t>(
      DeviceNumber<size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  facts.max_shared_memory_bytes = static_cast<int64_t>(
      DeviceNumber<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE));
  return facts;
}

std::vector<cl_device_id> DevicesOf(cl_platform_id platform) {
  cl_uint count = 0;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) !=
      CL_SUCCESS) {
    return {};
  }
  std::vector<cl_device_id> devices(count);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
  std::erase_if(devices, [](cl_device_id device) {
    return DeviceNumber<cl_bool>(device, CL_DEVICE_AVAILABLE) == CL_FALSE ||
           DeviceNumber<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE) ==
               CL_FALSE;
  });
  return devices;
}

}  // namespace

absl::StatusOr<std::vector<OpenClDeviceEntry>> ListOpenClDevices(
    bool skip_nvidia) {
  cl_uint count = 0;
  cl_int code = clGetPlatformIDs(0, nullptr, &count);
  if (code != CL_SUCCESS) {
    return absl::UnavailableError(
        absl::StrCat(OpenClStatus(code, "listing OpenCL platforms").message(),
                     "; install an OpenCL driver (on a CPU: pocl-opencl-icd)"));
  }
  std::vector<cl_platform_id> platforms(count);
  clGetPlatformIDs(count, platforms.data(), nullptr);

  utsname host = {};
  uname(&host);
  std::vector<OpenClDeviceEntry> entries;
  std::map<std::pair<std::string, std::string>, int> seen;
  for (cl_platform_id platform : platforms) {
    const std::string platform_name = PlatformText(platform, CL_PLATFORM_NAME);
    for (cl_device_id device : DevicesOf(platform)) {
      if (skip_nvidia &&
          IsNvidia(DeviceNumber<cl_uint>(device, CL_DEVICE_VENDOR_ID))) {
        continue;
      }
      DeviceFacts facts = FactsOf(platform, device);
      const int index = seen[{platform_name, facts.label}]++;
      facts.uuid = OpenClUuid(host.nodename, platform_name, facts.label, index);
      entries.push_back({device, std::move(facts)});
    }
  }
  return entries;
}

bool IsNvidia(uint32_t vendor_id) { return vendor_id == 0x10de; }

std::string OpenClArchitecture(bool is_cpu, absl::string_view machine,
                               absl::string_view device_name) {
  if (!is_cpu) return absl::StrCat("gpu:", device_name);
  std::vector<std::string> parts =
      absl::StrSplit(device_name, absl::MaxSplits('-', 8));
  std::vector<std::string> isa;
  for (size_t i = 1; i < parts.size(); ++i) {
    const bool llvm_name =
        !parts[i].empty() &&
        std::all_of(parts[i].begin(), parts[i].end(), [](unsigned char c) {
          return std::islower(c) || std::isdigit(c) || c == '_' || c == '.';
        });
    if (!llvm_name) break;
    isa.push_back(parts[i]);
  }
  return absl::StrCat(
      "cpu-", machine, ":",
      isa.empty() ? std::string(device_name) : absl::StrJoin(isa, "-"));
}

std::string OpenClCompilerVersion(absl::string_view platform_version,
                                  absl::string_view opencl_c_version) {
  for (absl::string_view part : absl::StrSplit(platform_version, ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (absl::StartsWith(part, "LLVM ")) return std::string(part);
  }
  return std::string(opencl_c_version);
}

std::string OpenClUuid(absl::string_view host, absl::string_view platform_name,
                       absl::string_view device_name, int index) {
  const std::string digest = Sha256Hex(
      absl::StrCat(host, "\n", platform_name, "\n", device_name, "\n", index));
  return absl::StrCat("CL-", digest.substr(0, 8), "-", digest.substr(8, 4), "-",
                      digest.substr(12, 4), "-", digest.substr(16, 4), "-",
                      digest.substr(20, 12));
}

}  // namespace wavetune
