#include "profiler_agent/opencl/opencl_check.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "model/status_macros.h"
#include "profiler_agent/opencl/opencl_status.h"

namespace wavetune {

absl::Status OpenClRun::AddBuffer(size_t argument, const std::string& content) {
  cl_int code = CL_SUCCESS;
  // It is copied from, whatever the parameter's type says.
  OpenClBuffer buffer(
      clCreateBuffer(session_.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                     content.size(), const_cast<char*>(content.data()), &code));
  if (code != CL_SUCCESS) {
    return OpenClStatus(code,
                        absl::StrCat("allocating ", content.size(), " bytes"));
  }
  buffers_[argument] = {std::move(buffer), content.size()};
  return absl::OkStatus();
}

absl::Status OpenClRun::Execute() {
  RETURN_IF_ERROR(SetScalars(kernel_, spec_, configuration_, problem_));
  RETURN_IF_ERROR(SetLocalMemory(kernel_, spec_, shape_));
  for (const auto& [argument, buffer] : buffers_) {
    RETURN_IF_ERROR(SetBuffer(kernel_, argument, buffer.first.get()));
  }
  ASSIGN_OR_RETURN(const OpenClEvent event,
                   EnqueueLaunch(session_, kernel_, shape_));
  RETURN_IF_ERROR(Finish(session_));
  return DeviceTimeUs(event.get()).status();
}

absl::StatusOr<std::string> OpenClRun::Content(size_t argument) {
  const auto& [buffer, bytes] = buffers_.at(argument);
  std::string content(bytes, '\0');
  const cl_int code =
      clEnqueueReadBuffer(session_.queue, buffer.get(), CL_TRUE, 0, bytes,
                          content.data(), 0, nullptr, nullptr);
  if (code != CL_SUCCESS) return OpenClStatus(code, "reading an output");
  return content;
}

LaunchShape ReferenceShape(const OpenClSession& session, int64_t items) {
  // One work item per index. On a CPU every other group size would be another
  // compilation (PoCL), so groups have one item there.
  const auto count = static_cast<size_t>(items);
  const size_t group = session.is_cpu ? 1 : std::gcd(count, size_t{64});
  return {.groups = count / group, .group_size = group};
}

}  // namespace wavetune
