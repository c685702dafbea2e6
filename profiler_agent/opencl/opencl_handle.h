// Owning handles of OpenCL objects.
//
// Why not the C++ bindings: opencl.hpp of Debian 12 adds seconds to every
// translation unit and hides error codes behind out-parameters that are easily
// left out.
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_HANDLE_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_HANDLE_H_

#include <CL/cl.h>

#include <utility>

namespace wavetune {

// Releases its object at the end. Movable.
template <typename T, cl_int (*kRelease)(T)>
class OpenClHandle {
 public:
  OpenClHandle() = default;
  explicit OpenClHandle(T object) : object_(object) {}
  OpenClHandle(OpenClHandle&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)) {}
  OpenClHandle& operator=(OpenClHandle&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~OpenClHandle() {
    if (object_ != nullptr) kRelease(object_);
  }

  T get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T object_ = nullptr;
};

using OpenClContext = OpenClHandle<cl_context, clReleaseContext>;
using OpenClQueue = OpenClHandle<cl_command_queue, clReleaseCommandQueue>;
using OpenClProgramHandle = OpenClHandle<cl_program, clReleaseProgram>;
using OpenClKernel = OpenClHandle<cl_kernel, clReleaseKernel>;
using OpenClBuffer = OpenClHandle<cl_mem, clReleaseMemObject>;
using OpenClEvent = OpenClHandle<cl_event, clReleaseEvent>;

// What all of a device's parts share. The context and queue outlive them.
struct OpenClSession {
  using Memory = OpenClBuffer;
  using Slice = OpenClBuffer;
  // On a CPU a copy takes as long from anywhere.
  static constexpr bool kRestoresOnDevice = false;
  static constexpr bool kTellsWhatIsFree = false;

  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;  // In order, with profiling.
  bool is_cpu = false;
  // The driver keeps compiled programs on disk itself (PoCL, by content, in
  // POCL_CACHE_DIR).
  bool driver_keeps_programs = false;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_HANDLE_H_
