#include "profiler_agent/cuda/cuda_status.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

using Code = absl::StatusCode;

struct CodeMeaning {
  CUresult code;
  const char* name;
  Code status;
};

#define WAVETUNE_MEANING(code, status) \
  { code, #code, status }

constexpr CodeMeaning kMeanings[] = {
    WAVETUNE_MEANING(CUDA_ERROR_OUT_OF_MEMORY, Code::kResourceExhausted),

    // The device, its driver or our place on it is gone.
    WAVETUNE_MEANING(CUDA_ERROR_NOT_INITIALIZED, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_DEINITIALIZED, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_STUB_LIBRARY, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_DEVICE_UNAVAILABLE, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_NO_DEVICE, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_INVALID_DEVICE, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_DEVICE_NOT_LICENSED, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_ECC_UNCORRECTABLE, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_NVLINK_UNCORRECTABLE, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_OPERATING_SYSTEM, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_SYSTEM_NOT_READY, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
                     Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_MPS_CONNECTION_FAILED, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_MPS_RPC_FAILURE, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_MPS_SERVER_NOT_READY, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
                     Code::kUnavailable),
    // Another client's fault took the shared server down.
    WAVETUNE_MEANING(CUDA_ERROR_MPS_CLIENT_TERMINATED, Code::kUnavailable),
    WAVETUNE_MEANING(CUDA_ERROR_EXTERNAL_DEVICE, Code::kUnavailable),

    // A kernel did it. The context is unusable from then on.
    WAVETUNE_MEANING(CUDA_ERROR_ILLEGAL_ADDRESS, Code::kAborted),
    WAVETUNE_MEANING(CUDA_ERROR_LAUNCH_TIMEOUT, Code::kAborted),
    WAVETUNE_MEANING(CUDA_ERROR_ASSERT, Code::kAborted),
    WAVETUNE_MEANING(CUDA_ERROR_HARDWARE_STACK_ERROR, Code::kAborted),
    WAVETUNE_MEANING(CUDA_ERROR_ILLEGAL_INSTRUCTION, Code::kAborted),
    WAVETUNE_MEANING(CUDA_ERROR_MISALIGNED_ADDRESS, Code::kAborted),
    WAVETUNE_MEANING(CUDA_ERROR_INVALID_ADDRESS_SPACE, Code::kAborted),
    WAVETUNE_MEANING(CUDA_ERROR_INVALID_PC, Code::kAborted),
    WAVETUNE_MEANING(CUDA_ERROR_LAUNCH_FAILED, Code::kAborted),
    WAVETUNE_MEANING(CUDA_ERROR_CONTAINED, Code::kAborted),
    WAVETUNE_MEANING(CUDA_ERROR_TENSOR_MEMORY_LEAK, Code::kAborted),
    WAVETUNE_MEANING(CUDA_ERROR_CONTEXT_IS_DESTROYED, Code::kAborted),
    WAVETUNE_MEANING(CUDA_ERROR_INVALID_CONTEXT, Code::kAborted),
    WAVETUNE_MEANING(CUDA_ERROR_UNKNOWN, Code::kAborted),

    // Asked for what this device does not do.
    WAVETUNE_MEANING(CUDA_ERROR_INVALID_VALUE, Code::kFailedPrecondition),
    WAVETUNE_MEANING(CUDA_ERROR_INVALID_IMAGE, Code::kFailedPrecondition),
    WAVETUNE_MEANING(CUDA_ERROR_NO_BINARY_FOR_GPU, Code::kFailedPrecondition),
    WAVETUNE_MEANING(CUDA_ERROR_INVALID_PTX, Code::kFailedPrecondition),
    WAVETUNE_MEANING(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                     Code::kFailedPrecondition),
    WAVETUNE_MEANING(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                     Code::kFailedPrecondition),
    WAVETUNE_MEANING(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                     Code::kFailedPrecondition),
    WAVETUNE_MEANING(CUDA_ERROR_NOT_PERMITTED, Code::kFailedPrecondition),
    WAVETUNE_MEANING(CUDA_ERROR_NOT_SUPPORTED, Code::kFailedPrecondition),
    WAVETUNE_MEANING(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                     Code::kFailedPrecondition),

    WAVETUNE_MEANING(CUDA_ERROR_NOT_FOUND, Code::kInvalidArgument),
};

#undef WAVETUNE_MEANING

// What an operator does about it; empty where that is not known.
absl::string_view AdviceFor(CUresult code) {
  switch (code) {
    case CUDA_ERROR_SYSTEM_NOT_READY:
      return "; is the fabric manager up? systemctl status "
             "nvidia-fabricmanager";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      return "; libcuda is not of the version of the NVIDIA kernel module: "
             "reboot, or unload and load the module";
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
      return "; another process has it for itself, or its compute mode "
             "prohibits contexts: nvidia-smi -q -d COMPUTE";
    default:
      return "";
  }
}

}  // namespace

absl::Status CudaStatus(CUresult code, absl::string_view what) {
  if (code == CUDA_SUCCESS) return absl::OkStatus();
  const auto* meaning = std::find_if(
      std::begin(kMeanings), std::end(kMeanings),
      [code](const CodeMeaning& entry) { return entry.code == code; });
  if (meaning == std::end(kMeanings)) {
    return absl::InternalError(
        absl::StrCat(what, " failed with CUDA error ", static_cast<int>(code)));
  }
  return absl::Status(
      meaning->status,
      absl::StrCat(what, " failed with ", meaning->name, " (",
                   static_cast<int>(code), ")", AdviceFor(code)));
}

absl::Status CudaRunStatus(CUresult code, absl::string_view what) {
  absl::Status status = CudaStatus(code, what);
  if (status.ok() || absl::IsUnavailable(status) ||
      absl::IsResourceExhausted(status)) {
    return status;
  }
  return absl::AbortedError(status.message());
}

}  // namespace wavetune
