#include "profiler_agent/opencl/opencl_facts.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "profiler_agent/opencl/opencl_status.h"

namespace wavetune {
namespace {

// Not from <CL/cl_ext.h>: the ICD loader's "no platform".
constexpr cl_int kNoPlatform = -1001;

// What a device or platform says. The first question that fails is kept: what
// it would have answered goes into keys.
class Questions {
 public:
  template <typename T>
  T Number(cl_device_id device, cl_device_info what) {
    T value = 0;
    Keep(clGetDeviceInfo(device, what, sizeof(value), &value, nullptr), what);
    return value;
  }
  std::string Text(cl_device_id device, cl_device_info what) {
    return TextOf(what, [&](size_t size, void* text, size_t* needed) {
      return clGetDeviceInfo(device, what, size, text, needed);
    });
  }
  std::string Text(cl_platform_id platform, cl_platform_info what) {
    return TextOf(what, [&](size_t size, void* text, size_t* needed) {
      return clGetPlatformInfo(platform, what, size, text, needed);
    });
  }

  const absl::Status& status() const { return status_; }

 private:
  template <typename Ask>
  std::string TextOf(cl_uint what, const Ask& ask) {
    size_t size = 0;
    Keep(ask(0, nullptr, &size), what);
    std::string text(size, '\0');
    Keep(ask(size, text.data(), nullptr), what);
    return std::string(absl::StripAsciiWhitespace(text.c_str()));
  }
  void Keep(cl_int code, cl_uint what) {
    // A driver that does not know the question never will.
    if (!status_.ok() || code == CL_INVALID_VALUE) return;
    status_ =
        OpenClStatus(code, absl::StrCat("asking for fact 0x", absl::Hex(what)));
  }

  absl::Status status_;
};

DeviceFacts FactsOf(cl_platform_id platform, cl_device_id device,
                    Questions& ask) {
  utsname host = {};
  uname(&host);
  const std::string name = ask.Text(device, CL_DEVICE_NAME);
  const bool is_cpu =
      ask.Number<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU;

  DeviceFacts facts;
  facts.label = name;
  facts.backend = "opencl";
  facts.architecture = OpenClArchitecture(is_cpu, host.machine, name);
  facts.multiprocessors = static_cast<int32_t>(std::max<cl_uint>(
      1, ask.Number<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS)));
  // A CPU's memory is no fact of the device: a virtual machine's comes and goes
  // while it runs (6 to 9 GiB within minutes, as PoCL saw it), and another
  // silicon key would be another device.
  if (!is_cpu) {
    facts.memory_bytes = static_cast<int64_t>(
        ask.Number<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE));
  }
  facts.driver = ask.Text(device, CL_DRIVER_VERSION);
  facts.runtime = ask.Text(platform, CL_PLATFORM_VERSION);
  facts.compiler = OpenClCompilerVersion(
      facts.runtime, ask.Text(device, CL_DEVICE_OPENCL_C_VERSION));
  facts.last_level_cache_bytes = static_cast<int64_t>(
      ask.Number<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE));
  facts.max_group_size = static_cast<int64_t>(
      ask.Number<size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  facts.max_shared_memory_bytes = static_cast<int64_t>(
      ask.Number<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE));
  return facts;
}

// A list of OpenCL's: `count` of nothing to say how many, then that many.
// `none` is the code for an empty one.
template <typename T, typename List>
absl::StatusOr<std::vector<T>> All(cl_int none, const List& list,
                                   absl::string_view what) {
  cl_uint count = 0;
  cl_int code = list(0, nullptr, &count);
  if (code == none) return std::vector<T>();
  std::vector<T> all(count);
  if (code == CL_SUCCESS && count > 0) code = list(count, all.data(), nullptr);
  if (code != CL_SUCCESS) return OpenClStatus(code, what);
  return all;
}

class Lister {
 public:
  explicit Lister(bool skip_nvidia) : skip_nvidia_(skip_nvidia) {
    uname(&host_);
  }

  OpenClDeviceList List() {
    const absl::StatusOr<std::vector<cl_platform_id>> platforms =
        All<cl_platform_id>(kNoPlatform, clGetPlatformIDs,
                            "listing OpenCL platforms");
    if (!platforms.ok()) {
      list_.failures.emplace_back(platforms.status().message());
    } else if (platforms->empty()) {
      list_.note =
          "no OpenCL platform; install an OpenCL driver (on a CPU: "
          "pocl-opencl-icd)";
    } else {
      for (cl_platform_id platform : *platforms) AddPlatform(platform);
      if (list_.entries.empty() && list_.failures.empty()) {
        list_.note = "OpenCL is installed, but no platform has a device";
      }
    }
    return std::move(list_);
  }

 private:
  void AddPlatform(cl_platform_id platform) {
    Questions ask;
    const std::string name = ask.Text(platform, CL_PLATFORM_NAME);
    absl::Status status = ask.status();
    if (status.ok()) {
      const absl::StatusOr<std::vector<cl_device_id>> devices =
          All<cl_device_id>(
              CL_DEVICE_NOT_FOUND,
              [&](cl_uint room, cl_device_id* all, cl_uint* count) {
                return clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, room, all,
                                      count);
              },
              "listing devices");
      status = devices.status();
      if (devices.ok()) {
        for (cl_device_id device : *devices) AddDevice(platform, name, device);
      }
    }
    if (!status.ok()) {
      list_.failures.push_back(
          absl::StrCat("platform ", name, ": ", status.message()));
    }
  }

  void AddDevice(cl_platform_id platform, const std::string& platform_name,
                 cl_device_id device) {
    Questions ask;
    if (skip_nvidia_ &&
        IsNvidia(ask.Number<cl_uint>(device, CL_DEVICE_VENDOR_ID))) {
      return;
    }
    const bool compiles =
        ask.Number<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE) != CL_FALSE;
    const bool available =
        ask.Number<cl_bool>(device, CL_DEVICE_AVAILABLE) != CL_FALSE;
    DeviceFacts facts = FactsOf(platform, device, ask);
    if (ask.status().ok() && !compiles) return;
    // Counted also where it is left out: the others keep their UUIDs.
    const int index = seen_[{platform_name, facts.label}]++;
    if (!ask.status().ok() || !available) {
      list_.failures.push_back(absl::StrCat(
          facts.label.empty() ? "a device" : facts.label, " of ", platform_name,
          " is left out: ",
          ask.status().ok() ? "its driver says that it is not available now"
                            : ask.status().message()));
      return;
    }
    facts.uuid = OpenClUuid(host_.nodename, platform_name, facts.label, index);
    list_.entries.push_back({device, std::move(facts)});
  }

  const bool skip_nvidia_;
  utsname host_ = {};
  std::map<std::pair<std::string, std::string>, int> seen_;
  OpenClDeviceList list_;
};

}  // namespace

OpenClDeviceList ListOpenClDevices(bool skip_nvidia) {
  return Lister(skip_nvidia).List();
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
