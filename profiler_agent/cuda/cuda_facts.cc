#include "profiler_agent/cuda/cuda_facts.h"

#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "profiler_agent/cuda/cuda_architecture.h"
#include "profiler_agent/cuda/cuda_status.h"

namespace wavetune {
namespace {

constexpr absl::string_view kPartitionMark = " MIG ";

absl::StatusOr<int> AttributeOf(const CudaDriver& driver, CUdevice device,
                                CUdevice_attribute attribute) {
  int value = 0;
  RETURN_IF_ERROR(
      CudaStatus(driver.cuDeviceGetAttribute(&value, attribute, device),
                 absl::StrCat("asking for device attribute ",
                              static_cast<int>(attribute))));
  return value;
}

absl::StatusOr<std::string> UuidOf(const CudaDriver& driver, CUdevice device,
                                   bool is_partition) {
  CUuuid uuid;
  RETURN_IF_ERROR(CudaStatus(driver.cuDeviceGetUuid(&uuid, device),
                             "asking for a device's UUID"));
  std::array<uint8_t, 16> bytes;
  static_assert(sizeof(uuid.bytes) == sizeof(bytes));
  std::memcpy(bytes.data(), uuid.bytes, sizeof(bytes));
  return CudaUuid(bytes, is_partition);
}

// What the driver itself says of a device.
absl::StatusOr<CudaDeviceEntry> DriverFacts(const CudaDriver& driver,
                                            CUdevice device) {
  const auto attribute = [&](CUdevice_attribute which) {
    return AttributeOf(driver, device, which);
  };
  CudaDeviceEntry entry{.device = device};
  DeviceFacts& facts = entry.facts;
  facts.backend = "cuda";
  char name[256] = {};
  RETURN_IF_ERROR(
      CudaStatus(driver.cuDeviceGetName(name, sizeof(name) - 1, device),
                 "asking for a device's name"));
  facts.label = name;
  facts.partition = PartitionOf(name);
  ASSIGN_OR_RETURN(facts.uuid,
                   UuidOf(driver, device, !facts.partition.empty()));
  ASSIGN_OR_RETURN(const int major,
                   attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  ASSIGN_OR_RETURN(const int minor,
                   attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  facts.architecture = CudaArchitectureName(10 * major + minor);
  ASSIGN_OR_RETURN(facts.multiprocessors,
                   attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  ASSIGN_OR_RETURN(facts.last_level_cache_bytes,
                   attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  ASSIGN_OR_RETURN(facts.max_group_size,
                   attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  ASSIGN_OR_RETURN(
      facts.max_shared_memory_bytes,
      attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  size_t memory = 0;
  RETURN_IF_ERROR(CudaStatus(driver.cuDeviceTotalMem(&memory, device),
                             "asking for a device's memory"));
  facts.memory_bytes = static_cast<int64_t>(memory);
  int version = 0;
  RETURN_IF_ERROR(CudaStatus(driver.cuDriverGetVersion(&version),
                             "asking for the driver's version"));
  facts.runtime = absl::StrCat("CUDA ", CudaVersionText(version));
  facts.driver = facts.runtime;
  return entry;
}

// What NVML knows better, or alone.
absl::Status AddNvmlFacts(const Nvml& nvml, CudaDeviceEntry& entry) {
  ASSIGN_OR_RETURN(NvmlFacts known, nvml.FactsOf(entry.facts.uuid));
  if (!known.driver.empty()) entry.facts.driver = std::move(known.driver);
  entry.nvml = known.device;
  // CUDA's total leaves out what this version of the driver keeps for itself
  // (some 0.3 to 3 %), and memory is part of the silicon key, which must
  // outlive the driver. Why not a rounded figure, equal with and without NVML:
  // wherever steps begin, some product's two figures fall on both sides of one.
  entry.facts.memory_bytes =
      known.memory_bytes.value_or(entry.facts.memory_bytes);
  entry.facts.power_limit_w = known.power_limit_w.value_or(0);
  return absl::OkStatus();
}

absl::StatusOr<CudaDeviceEntry> EntryOf(const CudaDriver& driver,
                                        const Nvml* nvml, int index) {
  CUdevice device = 0;
  RETURN_IF_ERROR(
      CudaStatus(driver.cuDeviceGet(&device, index), "asking for a GPU"));
  ASSIGN_OR_RETURN(CudaDeviceEntry entry, DriverFacts(driver, device));
  if (nvml != nullptr) RETURN_IF_ERROR(AddNvmlFacts(*nvml, entry));
  return entry;
}

}  // namespace

absl::StatusOr<CudaDeviceList> ListCudaDevices(const CudaDriver& driver,
                                               const Nvml* nvml,
                                               const std::string& compiler) {
  int count = 0;
  RETURN_IF_ERROR(CudaStatus(driver.cuDeviceGetCount(&count), "listing GPUs"));
  CudaDeviceList list;
  for (int i = 0; i < count; ++i) {
    absl::StatusOr<CudaDeviceEntry> entry = EntryOf(driver, nvml, i);
    if (!entry.ok()) {  // It must not hide the others.
      list.failures.push_back(
          absl::StrCat("GPU ", i, " is left out: ", entry.status().message()));
      continue;
    }
    entry->facts.compiler = compiler;
    list.entries.push_back(*std::move(entry));
  }
  return list;
}

std::string CudaUuid(const std::array<uint8_t, 16>& bytes, bool is_partition) {
  const std::string hex = absl::BytesToHexString(absl::string_view(
      reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  const absl::string_view digits = hex;
  return absl::StrCat(is_partition ? "MIG-" : "GPU-", digits.substr(0, 8), "-",
                      digits.substr(8, 4), "-", digits.substr(12, 4), "-",
                      digits.substr(16, 4), "-", digits.substr(20));
}

std::string PartitionOf(absl::string_view name) {
  const size_t mark = name.find(kPartitionMark);
  if (mark == absl::string_view::npos) return "";
  return std::string(name.substr(mark + kPartitionMark.size()));
}

}  // namespace wavetune
