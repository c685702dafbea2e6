#include "profiler_agent/cuda/cuda_driver.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "profiler_agent/cuda/cuda_status.h"
#include "profiler_agent/cuda/shared_library.h"

namespace wavetune {
namespace {

// "libcuda.so" is in development packages only.
constexpr char kDriverLibrary[] = "libcuda.so.1";

// The name that the loader knows: after cuda.h's mapping to versions.
#define WAVETUNE_TEXT_INNER(name) #name
#define WAVETUNE_TEXT(name) WAVETUNE_TEXT_INNER(name)

absl::Status NoDevice() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return absl::NotFoundError(
      visible == nullptr ? "the NVIDIA driver finds no GPU"
                         : absl::StrCat("the NVIDIA driver finds no GPU; "
                                        "CUDA_VISIBLE_DEVICES is '",
                                        visible, "'"));
}

}  // namespace

absl::StatusOr<CudaDriver> LoadCudaDriverFrom(const std::string& library) {
  const absl::StatusOr<SharedLibrary> opened = SharedLibrary::Open({library});
  if (!opened.ok()) {
    return absl::NotFoundError(
        absl::StrCat("no NVIDIA driver (", opened.status().message(), ")"));
  }
  CudaDriver driver;
  // The version first: an old driver lacks some of the functions.
  RETURN_IF_ERROR(
      opened->Bind("cuDriverGetVersion", &driver.cuDriverGetVersion));
  int version = 0;
  RETURN_IF_ERROR(CudaStatus(driver.cuDriverGetVersion(&version),
                             "asking for the driver's version"));
  RETURN_IF_ERROR(CheckDriverVersion(version, CUDA_VERSION));
#define WAVETUNE_CUDA_BIND(name) \
  RETURN_IF_ERROR(opened->Bind(WAVETUNE_TEXT(name), &driver.name));
  WAVETUNE_CUDA_FUNCTIONS(WAVETUNE_CUDA_BIND)
#undef WAVETUNE_CUDA_BIND
  if (!opened->Bind("cuFuncGetParamInfo", &driver.func_get_param_info).ok()) {
    driver.func_get_param_info = nullptr;
  }
  const CUresult code = driver.cuInit(0);
  if (code == CUDA_ERROR_NO_DEVICE) return NoDevice();
  if (code == CUDA_ERROR_STUB_LIBRARY) {
    return absl::NotFoundError(absl::StrCat("no NVIDIA driver (", library,
                                            " is the stub of a CUDA toolkit)"));
  }
  RETURN_IF_ERROR(CudaStatus(code, "starting the NVIDIA driver"));
  return driver;
}

absl::StatusOr<const CudaDriver*> LoadCudaDriver() {
  static const auto* const driver =
      new absl::StatusOr<CudaDriver>(LoadCudaDriverFrom(kDriverLibrary));
  if (!driver->ok()) return driver->status();
  return &**driver;
}

absl::Status CheckDriverVersion(int driver_version, int toolkit_version) {
  if (driver_version / 1000 >= toolkit_version / 1000) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the NVIDIA driver is for CUDA ", CudaVersionText(driver_version),
      ", older than the CUDA ", CudaVersionText(toolkit_version),
      " that kernels are compiled with; upgrade the driver, or build WaveTune "
      "with a toolkit of CUDA ",
      driver_version / 1000));
}

std::string CudaVersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

}  // namespace wavetune
