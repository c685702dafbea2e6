#include "profiler_agent/opencl/opencl_memory.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "profiler_agent/opencl/opencl_status.h"

namespace wavetune {

absl::StatusOr<size_t> AllocatableNow(const OpenClSession& session) {
  cl_ulong bytes = 0;
  clGetDeviceInfo(session.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(bytes),
                  &bytes, nullptr);
  return static_cast<size_t>(bytes);
}

absl::Status TooLittleMemory(const OpenClSession& session,
                             size_t wanted_bytes) {
  ASSIGN_OR_RETURN(const size_t most, AllocatableNow(session));
  return absl::ResourceExhaustedError(
      absl::StrCat("a buffer of ", wanted_bytes, " bytes is larger than the ",
                   most, " that the device allocates at once"));
}

absl::StatusOr<OpenClBuffer> AllocateMemory(const OpenClSession& session,
                                            size_t bytes) {
  cl_int code = CL_SUCCESS;
  OpenClBuffer buffer(clCreateBuffer(session.context, CL_MEM_READ_WRITE, bytes,
                                     nullptr, &code));
  if (code == CL_SUCCESS) return buffer;
  return OpenClStatus(code, absl::StrCat("allocating ", bytes, " bytes"));
}

absl::StatusOr<OpenClBuffer> SliceOf(const OpenClSession& /*session*/,
                                     cl_mem buffer, size_t offset,
                                     size_t bytes) {
  const cl_buffer_region region = {offset, bytes};
  cl_int code = CL_SUCCESS;
  OpenClBuffer slice(clCreateSubBuffer(
      buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code));
  if (code == CL_SUCCESS) return slice;
  return OpenClStatus(code, "slicing a buffer");
}

absl::Status CopyToDevice(const OpenClSession& session, cl_mem buffer,
                          absl::string_view content) {
  return OpenClStatus(
      clEnqueueWriteBuffer(session.queue, buffer, CL_TRUE, 0, content.size(),
                           content.data(), 0, nullptr, nullptr),
      "writing a buffer");
}

absl::StatusOr<std::string> CopyToHost(const OpenClSession& session,
                                       cl_mem buffer, size_t bytes) {
  std::string content(bytes, '\0');
  RETURN_IF_ERROR(
      OpenClStatus(clEnqueueReadBuffer(session.queue, buffer, CL_TRUE, 0, bytes,
                                       content.data(), 0, nullptr, nullptr),
                   "reading a buffer"));
  return content;
}

absl::Status CopyOnDevice(const OpenClSession& session, cl_mem from, cl_mem to,
                          size_t offset, size_t bytes) {
  return OpenClStatus(clEnqueueCopyBuffer(session.queue, from, to, 0, offset,
                                          bytes, 0, nullptr, nullptr),
                      "copying on the device");
}

absl::Status WriteZeros(const OpenClSession& session, cl_mem buffer,
                        size_t bytes) {
  RETURN_IF_ERROR(EnqueueZeroing(session, buffer, 1, bytes).status());
  return Finish(session);
}

}  // namespace wavetune
