#include "profiler_agent/opencl/opencl_status.h"

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

struct OpenClMeaning {
  cl_int code;
  const char* name;
  absl::StatusCode status;
};

// Not from <CL/cl_ext.h>: the ICD loader's "no platform".
constexpr cl_int kPlatformNotFound = -1001;

constexpr OpenClMeaning kOpenClMeanings[] = {
    {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND",
     absl::StatusCode::kUnavailable},
    {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE",
     absl::StatusCode::kUnavailable},
    {kPlatformNotFound, "CL_PLATFORM_NOT_FOUND_KHR",
     absl::StatusCode::kUnavailable},
    {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE",
     absl::StatusCode::kUnavailable},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE",
     absl::StatusCode::kResourceExhausted},
    {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY",
     absl::StatusCode::kResourceExhausted},
    {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE",
     absl::StatusCode::kResourceExhausted},
    // Drivers report too many registers or too much local memory with it, and
    // memory or threads of the host that ran out: what fails alone, too, is the
    // candidate's.
    {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES", absl::StatusCode::kInternal},
    {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE",
     absl::StatusCode::kFailedPrecondition},
    {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE",
     absl::StatusCode::kFailedPrecondition},
    {CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE",
     absl::StatusCode::kFailedPrecondition},
    {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS",
     absl::StatusCode::kFailedPrecondition},
    {CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX",
     absl::StatusCode::kFailedPrecondition},
    {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE",
     absl::StatusCode::kFailedPrecondition},
    {CL_INVALID_ARG_VALUE, "CL_INVALID_ARG_VALUE",
     absl::StatusCode::kFailedPrecondition},
    {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
     "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
     absl::StatusCode::kFailedPrecondition},
    {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE",
     absl::StatusCode::kInvalidArgument},
    {CL_COMPILE_PROGRAM_FAILURE, "CL_COMPILE_PROGRAM_FAILURE",
     absl::StatusCode::kInvalidArgument},
    {CL_LINK_PROGRAM_FAILURE, "CL_LINK_PROGRAM_FAILURE",
     absl::StatusCode::kInvalidArgument},
    {CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS",
     absl::StatusCode::kInvalidArgument},
    {CL_INVALID_COMPILER_OPTIONS, "CL_INVALID_COMPILER_OPTIONS",
     absl::StatusCode::kInvalidArgument},
    {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME",
     absl::StatusCode::kInvalidArgument},
    {CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE",
     absl::StatusCode::kInvalidArgument},
    {CL_INVALID_BINARY, "CL_INVALID_BINARY",
     absl::StatusCode::kInvalidArgument},
};

}  // namespace

absl::Status OpenClStatus(cl_int code, absl::string_view what) {
  if (code == CL_SUCCESS) return absl::OkStatus();
  for (const OpenClMeaning& meaning : kOpenClMeanings) {
    if (meaning.code == code) {
      return absl::Status(
          meaning.status,
          absl::StrCat(what, " failed with ", meaning.name, " (", code, ")"));
    }
  }
  return absl::InternalError(
      absl::StrCat(what, " failed with OpenCL error ", code));
}

}  // namespace wavetune
