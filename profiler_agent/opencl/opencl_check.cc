#include "profiler_agent/opencl/opencl_check.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "profiler_agent/opencl/opencl_status.h"

namespace wavetune {
namespace {

class UsualBuffer : public OpenClCheckBuffer {
 public:
  UsualBuffer(const OpenClSession& session, OpenClBuffer whole,
              OpenClBuffer argument, size_t bytes)
      : session_(session),
        whole_(std::move(whole)),
        argument_(std::move(argument)),
        bytes_(bytes) {}

  cl_mem argument() const override { return argument_.get(); }

  absl::Status Write(absl::string_view whole) override {
    return WriteOpenClBuffer(session_, whole_.get(), whole);
  }

  absl::StatusOr<std::string> Read() override {
    return ReadOpenClBuffer(session_, whole_.get(), bytes_);
  }

 private:
  const OpenClSession& session_;
  OpenClBuffer whole_;
  OpenClBuffer argument_;  // A part of it.
  size_t bytes_;           // Of the whole.
};

}  // namespace

absl::StatusOr<std::unique_ptr<CheckBuffer>> OpenClCheckMemory::Allocate(
    const Argument& argument, size_t bytes) {
  const Guards guards = GuardsOf(argument, bytes);
  const size_t size = guards.front + bytes + guards.behind;
  cl_int code = CL_SUCCESS;
  OpenClBuffer whole(clCreateBuffer(session_.context, CL_MEM_READ_WRITE, size,
                                    nullptr, &code));
  if (code != CL_SUCCESS) {
    return OpenClStatus(code, absl::StrCat("allocating ", size, " bytes for '",
                                           argument.name, "'"));
  }
  const cl_buffer_region region = {guards.front, bytes};
  OpenClBuffer part(clCreateSubBuffer(whole.get(), CL_MEM_READ_WRITE,
                                      CL_BUFFER_CREATE_TYPE_REGION, &region,
                                      &code));
  if (code != CL_SUCCESS) return OpenClStatus(code, "slicing a buffer");
  return std::make_unique<UsualBuffer>(session_, std::move(whole),
                                       std::move(part), size);
}

absl::Status SetCheckBuffers(cl_kernel kernel, const CheckBuffers& buffers) {
  for (const auto& [argument, buffer] : buffers) {
    RETURN_IF_ERROR(
        SetBuffer(kernel, argument,
                  static_cast<const OpenClCheckBuffer*>(buffer)->argument()));
  }
  return absl::OkStatus();
}

absl::Status LaunchAndFinish(const OpenClSession& session, cl_kernel kernel,
                             const OpenClLaunchShape& shape) {
  ASSIGN_OR_RETURN(const OpenClEvent event,
                   EnqueueLaunch(session, kernel, shape));
  RETURN_IF_ERROR(Finish(session));
  return DeviceTimeUs(event.get(), event.get()).status();
}

absl::Status WriteOpenClBuffer(const OpenClSession& session, cl_mem buffer,
                               absl::string_view content) {
  return OpenClStatus(
      clEnqueueWriteBuffer(session.queue, buffer, CL_TRUE, 0, content.size(),
                           content.data(), 0, nullptr, nullptr),
      "writing a buffer");
}

absl::StatusOr<std::string> ReadOpenClBuffer(const OpenClSession& session,
                                             cl_mem buffer, size_t bytes) {
  std::string content(bytes, '\0');
  const cl_int code =
      clEnqueueReadBuffer(session.queue, buffer, CL_TRUE, 0, bytes,
                          content.data(), 0, nullptr, nullptr);
  if (code != CL_SUCCESS) return OpenClStatus(code, "reading a buffer");
  return content;
}

OpenClLaunchShape ReferenceShape(const OpenClSession& session, int64_t items) {
  // One work item per index. On a CPU every other group size would be another
  // compilation (PoCL), so blocks have one item there.
  const int64_t group = session.is_cpu ? 1 : std::gcd(items, int64_t{64});
  return {.blocks = items / group, .block_size = group};
}

}  // namespace wavetune
