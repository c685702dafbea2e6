// A CUDA driver, NVML, and the list of OpenCL's platforms of a machine that is
// not ready yet: one library under three names.
//
// What the calls answer stands in the file $LATE_DRIVER, a key and a number a
// line, and is read with each call:
//   cuInit, cuDeviceGetCount, cuDeviceGet1 (of GPU 1 alone), nvmlInit, nvml (of
//   all others), clGetPlatformIDs: codes gpus: how many there are; twins: 1
//   where all have one UUID
// What is not there is 0, of gpus 1. Nothing can be launched.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long Answer(const char* key, long otherwise) {
  const char* path = getenv("LATE_DRIVER");
  FILE* file = path == NULL ? NULL : fopen(path, "re");
  if (file == NULL) return otherwise;
  char name[64];
  long value = 0;
  long answer = otherwise;
  while (fscanf(file, "%63s %ld", name, &value) == 2) {
    if (strcmp(name, key) == 0) answer = value;
  }
  fclose(file);
  return answer;
}

// ---- CUDA

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuInit(unsigned flags) {
  (void)flags;
  return (int)Answer("cuInit", 0);
}
int cuDeviceGetCount(int* count) {
  *count = (int)Answer("gpus", 1);
  return (int)Answer("cuDeviceGetCount", 0);
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return index == 1 ? (int)Answer("cuDeviceGet1", 0) : 0;
}
int cuDeviceGetName(char* name, int size, int device) {
  (void)device;
  snprintf(name, (size_t)size, "NVIDIA H100 80GB HBM3");
  return 0;
}
int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  memset(uuid, Answer("twins", 0) ? 0 : 0x10 + device, 16);
  return 0;
}
int cuDeviceGetUuid(unsigned char* uuid, int device) {
  return cuDeviceGetUuid_v2(uuid, device);
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  (void)device;
  *bytes = 84987740160;  // Less than NVML's: another class of device.
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  switch (attribute) {
    case 75:  // Compute capability 9.0.
      *value = 9;
      break;
    case 16:  // Multiprocessors.
      *value = 132;
      break;
    case 38:  // L2 cache.
      *value = 52428800;
      break;
    case 1:  // Threads of a block.
      *value = 1024;
      break;
    case 97:  // Shared memory of a block.
      *value = 232448;
      break;
    default:
      *value = 0;
  }
  return 0;
}

#define FAILS(name) \
  int name(void) { return 999; }
FAILS(cuDevicePrimaryCtxSetFlags_v2)
FAILS(cuDevicePrimaryCtxRetain)
FAILS(cuDevicePrimaryCtxRelease_v2)
FAILS(cuCtxSetCurrent)
FAILS(cuStreamCreate)
FAILS(cuStreamDestroy_v2)
FAILS(cuStreamSynchronize)
FAILS(cuEventCreate)
FAILS(cuEventDestroy_v2)
FAILS(cuEventRecord)
FAILS(cuEventElapsedTime)
FAILS(cuEventElapsedTime_v2)
FAILS(cuModuleLoadData)
FAILS(cuModuleUnload)
FAILS(cuModuleGetFunction)
FAILS(cuFuncGetAttribute)
FAILS(cuFuncSetAttribute)
FAILS(cuOccupancyMaxActiveBlocksPerMultiprocessor)
FAILS(cuOccupancyMaxActiveClusters)
FAILS(cuLaunchKernelEx)
FAILS(cuTensorMapEncodeTiled)
FAILS(cuMemAlloc_v2)
FAILS(cuMemFree_v2)
FAILS(cuMemGetInfo_v2)
FAILS(cuMemHostAlloc)
FAILS(cuMemFreeHost)
FAILS(cuMemHostGetDevicePointer_v2)
FAILS(cuMemcpyHtoDAsync_v2)
FAILS(cuMemcpyDtoHAsync_v2)
FAILS(cuMemcpyDtoDAsync_v2)
FAILS(cuMemsetD8Async)

// ---- NVML

static int Nvml(void) { return (int)Answer("nvml", 0); }

int nvmlInit_v2(void) { return (int)Answer("nvmlInit", 0); }
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  snprintf(text, size, "580.65.06");
  return Nvml();
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  (void)uuid;
  *device = (void*)8;
  return Nvml();
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* memory) {
  (void)device;
  memory[0] = 85520809984ULL;
  memory[2] = 1000000000ULL;
  memory[1] = memory[0] - memory[2];
  return Nvml();
}
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  (void)device;
  *milliwatts = 700000;
  return Nvml();
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  (void)device;
  (void)type;
  *mhz = 1980;
  return Nvml();
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* percent) {
  (void)device;
  percent[0] = percent[1] = 0;
  return Nvml();
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count,
                                            void* processes) {
  (void)device;
  (void)processes;
  *count = 0;
  return Nvml();
}
int nvmlDeviceGetCurrentClocksEventReasons(void* device,
                                           unsigned long long* reasons) {
  (void)device;
  *reasons = 0;
  return Nvml();
}

// ---- OpenCL, where it is preloaded

int clGetPlatformIDs(unsigned room, void** platforms, unsigned* count) {
  int (*real)(unsigned, void**, unsigned*) = (int (*)(
      unsigned, void**, unsigned*))dlsym(RTLD_NEXT, "clGetPlatformIDs");
  const int code = (int)Answer("clGetPlatformIDs", 0);
  return code != 0 || real == NULL ? code : real(room, platforms, count);
}
