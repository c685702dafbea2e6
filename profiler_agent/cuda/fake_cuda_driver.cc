#include "profiler_agent/cuda/fake_cuda_driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace wavetune {
namespace {

FakeCudaDriver* current = nullptr;

constexpr double kLaunchUs = 10;
constexpr double kZeroingUs = 2;

}  // namespace

FakeCudaDriver::FakeCudaDriver() : previous_(current) {
  current = this;
  BindDevice();
  BindMemory();
  BindModules();
  BindStream();
  for (const char* const own : {"hold", "look_at_clock"}) {
    AddKernel(own, [](const FakeLaunch&) { return CUDA_SUCCESS; });
  }
}

FakeCudaDriver::~FakeCudaDriver() { current = previous_; }

void FakeCudaDriver::AddKernel(const std::string& entry, FakeKernel kernel) {
  kernels_[entry] = std::move(kernel);
}

void FakeCudaDriver::BindDevice() {
  driver_.cuDriverGetVersion = [](int* version) {
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
  };
  driver_.cuDeviceGetCount = [](int* count) {
    *count = current->devices_;
    return CUDA_SUCCESS;
  };
  driver_.cuDeviceGet = [](CUdevice* device, int index) {
    *device = index;
    return CUDA_SUCCESS;
  };
  driver_.cuDeviceGetName = [](char* name, int size, CUdevice) {
    std::snprintf(name, static_cast<size_t>(size), "NVIDIA Fake MIG 1g.1gb");
    return CUDA_SUCCESS;
  };
  driver_.cuDeviceGetUuid = [](CUuuid* uuid, CUdevice) {
    std::memset(uuid, 0xab, sizeof(*uuid));
    return CUDA_SUCCESS;
  };
  driver_.cuDeviceTotalMem = [](size_t* bytes, CUdevice) {
    *bytes = kTotalBytes;
    return CUDA_SUCCESS;
  };
  driver_.cuDeviceGetAttribute = [](int* value, CUdevice_attribute attribute,
                                    CUdevice device) {
    if (device == current->silent_device_) return CUDA_ERROR_UNKNOWN;
    static const auto* const values = new std::map<CUdevice_attribute, int>{
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 8},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 6},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, kMultiprocessors},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 1 << 20},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 100 << 10}};
    *value = values->at(attribute);
    return CUDA_SUCCESS;
  };
  driver_.cuDevicePrimaryCtxSetFlags = [](CUdevice, unsigned) {
    return CUDA_SUCCESS;
  };
  driver_.cuDevicePrimaryCtxRetain = [](CUcontext*, CUdevice) {
    if (current->open_result_ != CUDA_SUCCESS) return current->open_result_;
    return current->fault_;
  };
  driver_.cuDevicePrimaryCtxRelease = [](CUdevice) { return CUDA_SUCCESS; };
  driver_.cuCtxSetCurrent = [](CUcontext) { return CUDA_SUCCESS; };
}

void FakeCudaDriver::BindMemory() {
  driver_.cuMemGetInfo = [](size_t* free_bytes, size_t* total_bytes) {
    *free_bytes = current->free_bytes();
    *total_bytes = kTotalBytes;
    return current->fault_;
  };
  driver_.cuMemAlloc = [](CUdeviceptr* address, size_t bytes) {
    if (current->fault_ != CUDA_SUCCESS) return current->fault_;
    if (bytes > current->free_bytes()) return CUDA_ERROR_OUT_OF_MEMORY;
    *address = reinterpret_cast<CUdeviceptr>(std::malloc(bytes));
    current->allocations_[*address] = bytes;
    current->allocated_bytes_ += bytes;
    return CUDA_SUCCESS;
  };
  driver_.cuMemFree = [](CUdeviceptr address) {
    const auto it = current->allocations_.find(address);
    if (it == current->allocations_.end()) return CUDA_ERROR_INVALID_VALUE;
    std::free(reinterpret_cast<void*>(address));
    current->allocated_bytes_ -= it->second;
    current->allocations_.erase(it);
    return current->fault_;
  };
  driver_.cuMemHostAlloc = [](void** memory, size_t bytes, unsigned) {
    *memory = std::calloc(1, bytes);
    return CUDA_SUCCESS;
  };
  driver_.cuMemFreeHost = [](void* memory) {
    std::free(memory);
    return CUDA_SUCCESS;
  };
  driver_.cuMemHostGetDevicePointer = [](CUdeviceptr* address, void* memory,
                                         unsigned) {
    *address = reinterpret_cast<CUdeviceptr>(memory);
    return CUDA_SUCCESS;
  };
  driver_.cuMemcpyHtoDAsync = [](CUdeviceptr to, const void* from, size_t bytes,
                                 CUstream) {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return current->fault_;
  };
  driver_.cuMemcpyDtoHAsync = [](void* to, CUdeviceptr from, size_t bytes,
                                 CUstream) {
    std::memcpy(to, reinterpret_cast<void*>(from), bytes);
    return current->fault_;
  };
  driver_.cuMemcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                 CUstream) {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from),
                bytes);
    return current->fault_;
  };
  driver_.cuMemsetD8Async = [](CUdeviceptr to, unsigned char value,
                               size_t bytes, CUstream) {
    current->clock_us_ += kZeroingUs;
    std::memset(reinterpret_cast<void*>(to), value, bytes);
    return current->fault_;
  };
}

void FakeCudaDriver::BindModules() {
  driver_.cuModuleLoadData = [](CUmodule*, const void*) {
    if (current->refused_modules_ > 0) {
      --current->refused_modules_;
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    return current->fault_;
  };
  driver_.cuModuleUnload = [](CUmodule) { return CUDA_SUCCESS; };
  // A function is the address of its entry's name.
  driver_.cuModuleGetFunction = [](CUfunction* function, CUmodule,
                                   const char* entry) {
    const auto it = current->kernels_.find(entry);
    if (it == current->kernels_.end()) return CUDA_ERROR_NOT_FOUND;
    *function = reinterpret_cast<CUfunction>(
        const_cast<std::string*>(&it->first));  // Never written through.
    return CUDA_SUCCESS;
  };
  driver_.cuFuncGetAttribute = [](int* value, CUfunction_attribute attribute,
                                  CUfunction) {
    *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? 32 : 16;
    return CUDA_SUCCESS;
  };
  driver_.cuFuncSetAttribute = [](CUfunction, CUfunction_attribute, int) {
    return CUDA_SUCCESS;
  };
  driver_.cuOccupancyMaxActiveBlocksPerMultiprocessor =
      [](int* blocks, CUfunction, int, size_t) {
        *blocks = kGroupsPerMultiprocessor;
        return CUDA_SUCCESS;
      };
  driver_.cuLaunchKernelEx = [](const CUlaunchConfig* config,
                                CUfunction function, void** parameters,
                                void**) {
    return current->Launch(
        *config, *reinterpret_cast<const std::string*>(function), parameters);
  };
}

void FakeCudaDriver::BindStream() {
  driver_.cuStreamCreate = [](CUstream*, unsigned) { return CUDA_SUCCESS; };
  driver_.cuStreamDestroy = [](CUstream) { return CUDA_SUCCESS; };
  driver_.cuStreamSynchronize = [](CUstream) { return current->fault_; };
  driver_.cuEventCreate = [](CUevent* event, unsigned) {
    static uintptr_t next = 0;
    *event = reinterpret_cast<CUevent>(++next);
    return CUDA_SUCCESS;
  };
  driver_.cuEventDestroy = [](CUevent) { return CUDA_SUCCESS; };
  driver_.cuEventRecord = [](CUevent event, CUstream) {
    current->events_[event] = current->clock_us_;
    return current->fault_;
  };
  driver_.cuEventElapsedTime = [](float* milliseconds, CUevent first,
                                  CUevent last) {
    *milliseconds = static_cast<float>(
        (current->events_.at(last) - current->events_.at(first)) / 1000);
    return current->fault_;
  };
}

CUresult FakeCudaDriver::Launch(const CUlaunchConfig& config,
                                const std::string& entry, void** parameters) {
  if (fault_ != CUDA_SUCCESS) return fault_;
  clock_us_ += kLaunchUs;
  if (entry != "hold" && entry != "look_at_clock") {
    ++launches_;
    last_blocks_ = config.gridDimX;
  }
  // What a launch does wrong shows when somebody waits for it.
  fault_ = kernels_.at(entry)(
      {.blocks = int64_t{config.gridDimX} * config.gridDimY * config.gridDimZ,
       .block_size =
           int64_t{config.blockDimX} * config.blockDimY * config.blockDimZ,
       .parameters = parameters});
  return CUDA_SUCCESS;
}

}  // namespace wavetune
