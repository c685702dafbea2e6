// OpenClCompiler: sources to kernels, through the cache on disk.
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_COMPILER_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_COMPILER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernel/device.h"
#include "profiler_agent/measure/program_cache.h"
#include "profiler_agent/opencl/opencl_handle.h"

namespace wavetune {

// A kernel that can be launched.
struct CompiledKernel {
  OpenClProgramHandle program;
  OpenClKernel kernel;
  std::string key;  // The cache entry's.
  bool from_disk = false;
};

// Used by one thread.
class OpenClCompiler {
 public:
  // Entries depend on the device's architecture, driver and runtime.
  // `directory` empty, or a driver that keeps programs itself: nothing is kept
  // here. PoCL's own cache is in the same folder and shared by all workers.
  // Asking it for a binary as well would compile every kernel a second time,
  // for any block size (docs/decisions/0016).
  OpenClCompiler(const OpenClSession& session, const DeviceFacts& facts,
                 const std::string& directory);

  // Returns the kernel function `entry` of a self-contained source. An entry of
  // the cache that the driver refuses is removed and built again. Errors:
  // INVALID_ARGUMENT with the compiler's log, as OpenClStatus otherwise.
  absl::StatusOr<CompiledKernel> Build(const std::string& source,
                                       const std::string& options,
                                       const std::string& entry);

  // Puts a kernel's program into the cache. Call it after the first launch,
  // when the driver has generated all of its code. Failing to is no error: the
  // program is compiled again next time.
  void Publish(const CompiledKernel& compiled);

 private:
  absl::StatusOr<CompiledKernel> BuildFromDisk(const std::string& key,
                                               const std::string& options,
                                               const std::string& entry);

  OpenClSession session_;
  std::string device_key_;
  ProgramCache cache_;
  bool keeps_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_COMPILER_H_
