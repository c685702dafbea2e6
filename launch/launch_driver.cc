#include "launch/launch_driver.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

// "libcuda.so" is in development packages only.
constexpr char kLibrary[] = "libcuda.so.1";

// The name that the loader knows: after cuda.h's mapping to versions.
#define WAVETUNE_TEXT_INNER(name) #name
#define WAVETUNE_TEXT(name) WAVETUNE_TEXT_INNER(name)

absl::StatusOr<LaunchDriver> LoadOnce() {
  // Never closed: drivers start threads.
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("launching needs the NVIDIA driver: ", dlerror()));
  }
  LaunchDriver driver;
#define WAVETUNE_LAUNCH_BIND(name)                                          \
  driver.name = reinterpret_cast<decltype(driver.name)>(                    \
      dlsym(library, WAVETUNE_TEXT(name)));                                 \
  if (driver.name == nullptr) {                                             \
    return absl::FailedPreconditionError(                                   \
        absl::StrCat("the NVIDIA driver has no ", WAVETUNE_TEXT(name),      \
                     ": it is too old; install one for CUDA 13 or newer")); \
  }
  WAVETUNE_LAUNCH_FUNCTIONS(WAVETUNE_LAUNCH_BIND)
#undef WAVETUNE_LAUNCH_BIND
  RETURN_IF_ERROR(driver.Check(driver.cuInit(0), "starting the NVIDIA driver"));
  return driver;
}

absl::StatusCode CodeOf(CUresult code) {
  switch (code) {
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
      return absl::StatusCode::kResourceExhausted;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status LaunchDriver::Check(CUresult code, absl::string_view what) const {
  if (code == CUDA_SUCCESS) return absl::OkStatus();
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(code, &name) != CUDA_SUCCESS) name = "unknown CUDA error";
  if (cuGetErrorString(code, &text) != CUDA_SUCCESS) text = "";
  return absl::Status(CodeOf(code), absl::StrCat(what, ": ", name, ": ", text));
}

absl::StatusOr<const LaunchDriver*> LoadLaunchDriver() {
  static const auto* const driver =
      new absl::StatusOr<LaunchDriver>(LoadOnce());
  if (!driver->ok()) return driver->status();
  return &**driver;
}

}  // namespace wavetune
