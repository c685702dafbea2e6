// OpenClDevice: compiles, checks and measures kernels on one OpenCL device.
//
// Errors, besides Device's: a launch that faults on a CPU takes the process
// with it; that is what worker processes are for.
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_DEVICE_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_DEVICE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler_agent/measure/backend.h"
#include "profiler_agent/measure/measured_buffers.h"
#include "profiler_agent/measure/result_check.h"
#include "profiler_agent/opencl/opencl_compiler.h"
#include "profiler_agent/opencl/opencl_facts.h"
#include "profiler_agent/opencl/opencl_handle.h"
#include "profiler_agent/opencl/opencl_launch.h"
#include "profiler_agent/opencl/opencl_memory.h"

namespace wavetune {

class OpenClDevice : public Device {
 public:
  // Errors: UNAVAILABLE, as OpenClStatus.
  // `guard_pages`: checks on memory that ends, and begins, at a forbidden page
  // (guard_pages.h). Errors also: UNIMPLEMENTED where the device cannot.
  static absl::StatusOr<std::unique_ptr<OpenClDevice>> Open(
      const OpenClDeviceEntry& entry, const std::string& cache_dir,
      bool guard_pages = false);
  ~OpenClDevice() override;

  const DeviceFacts& facts() const override { return facts_; }
  absl::Status Load(LoadedKernel kernel) override;
  absl::StatusOr<Candidate> Prepare(
      const Configuration& configuration,
      const std::vector<Problem>& correctness_problems) override;
  absl::StatusOr<LaunchTimes> Measure(const Configuration& configuration,
                                      const Problem& problem, int warmup,
                                      int launches) override;
  void ObserveReference(ReferenceObserver observer) override {
    checker_.reference_watch().Observe(std::move(observer));
  }

 private:
  struct Burst;

  OpenClDevice(DeviceFacts facts, OpenClContext context, OpenClQueue queue,
               const OpenClSession& session, const std::string& cache_dir,
               bool guard_pages);

  absl::StatusOr<const CompiledKernel*> Compile(
      const Configuration& configuration);
  absl::StatusOr<const CompiledKernel*> CompileReference();
  // Without a candidate the reference alone runs.
  absl::Status Check(const CompiledKernel* candidate,
                     const Configuration& configuration,
                     const Problem& problem);
  // Launches on the buffers of a check, and waits.
  absl::Status LaunchOn(const CheckBuffers& buffers, cl_kernel kernel,
                        const OpenClLaunchShape& shape,
                        const Configuration& configuration,
                        const Problem& problem) const;
  // Returns the device times of launches in a row, in microseconds. `gated`:
  // none begins before all are enqueued, so that none waits for the host, and
  // on a CPU the thread that enqueues does not compete with the kernel.
  absl::StatusOr<std::vector<double>> TimeBurst(cl_kernel kernel,
                                                const OpenClLaunchShape& shape,
                                                int launches, bool gated);
  absl::Status EnqueueOne(cl_kernel kernel, const OpenClLaunchShape& shape,
                          cl_event gate, Burst& burst);

  DeviceFacts facts_;
  OpenClContext context_;
  OpenClQueue queue_;
  OpenClSession session_;
  OpenClCompiler compiler_;
  std::optional<LoadedKernel> kernel_;
  const Implementation* implementation_ = nullptr;  // In kernel_.
  std::string source_;                              // Expanded.
  std::map<Configuration, CompiledKernel> compiled_;
  std::optional<CompiledKernel> reference_;
  MeasuredBuffers<OpenClSession> buffers_;
  std::vector<std::unique_ptr<CheckMemory>> check_memories_;
  ResultChecker checker_;  // Its buffers go before the context.
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_DEVICE_H_
