#include "profiler_agent/cuda/cuda_handle.h"

#include "base/status_macros.h"
#include "profiler_agent/cuda/cuda_status.h"

namespace wavetune {

absl::StatusOr<CudaContext> CudaContext::Retain(const CudaDriver& driver,
                                                CUdevice device) {
  // Waiting sleeps: several workers compile on the cores meanwhile, and device
  // times do not depend on when the host wakes up.
  RETURN_IF_ERROR(CudaStatus(
      driver.cuDevicePrimaryCtxSetFlags(device, CU_CTX_SCHED_BLOCKING_SYNC),
      "configuring the device"));
  CUcontext context = nullptr;
  RETURN_IF_ERROR(CudaStatus(driver.cuDevicePrimaryCtxRetain(&context, device),
                             "opening the device"));
  CudaContext retained(driver, device);
  RETURN_IF_ERROR(
      CudaStatus(driver.cuCtxSetCurrent(context), "opening the device"));
  return retained;
}

CudaContext::~CudaContext() {
  if (driver_ != nullptr) driver_->cuDevicePrimaryCtxRelease(device_);
}

absl::StatusOr<CudaStream> CreateStream(const CudaDriver& driver) {
  CUstream stream = nullptr;
  RETURN_IF_ERROR(
      CudaStatus(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                 "creating a stream"));
  return CudaStream(stream, driver.cuStreamDestroy);
}

}  // namespace wavetune
