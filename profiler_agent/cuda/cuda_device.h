// CudaDevice: compiles, checks and measures kernels on one NVIDIA GPU.
//
// Errors, besides Device's: after ABORTED the driver refuses everything in this
// process; whoever watches over the worker starts another.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_DEVICE_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_DEVICE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler_agent/cuda/cublas_lt.h"
#include "profiler_agent/cuda/cuda_compiler.h"
#include "profiler_agent/cuda/cuda_facts.h"
#include "profiler_agent/cuda/cuda_handle.h"
#include "profiler_agent/cuda/cuda_kernel.h"
#include "profiler_agent/cuda/cuda_launch.h"
#include "profiler_agent/cuda/cuda_memory.h"
#include "profiler_agent/cuda/cuda_program.h"
#include "profiler_agent/cuda/cuda_timer.h"
#include "profiler_agent/cuda/launch_shape.h"
#include "profiler_agent/cuda/throttle_watch.h"
#include "profiler_agent/measure/backend.h"
#include "profiler_agent/measure/measured_buffers.h"
#include "profiler_agent/measure/result_check.h"
#include "profiler_agent/measure/usual_check_memory.h"

namespace wavetune {

// Enqueues the work on buffers.
using LaunchOnBuffers = std::function<absl::Status(const CudaBuffers&)>;

class CudaDevice : public Device {
 public:
  // `memory_cap` as for CudaMemoryBudget. Errors: UNAVAILABLE; as CudaStatus
  // and CudaTimer::Create, a want of memory with the free bytes.
  static absl::StatusOr<std::unique_ptr<CudaDevice>> Open(
      const CudaDriver& driver, const Nvrtc& nvrtc,
      const CudaDeviceEntry& entry, const std::string& cache_dir,
      double memory_cap = kDefaultMemoryCap);
  ~CudaDevice() override;

  const DeviceFacts& facts() const override { return entry_.facts; }
  absl::Status Load(LoadedKernel kernel) override;
  absl::StatusOr<Candidate> Prepare(
      const Configuration& configuration,
      const std::vector<Problem>& correctness_problems) override;
  absl::StatusOr<LaunchTimes> Measure(const Configuration& configuration,
                                      const Problem& problem, int warmup,
                                      int launches) override;
  absl::StatusOr<LaunchTimes> MeasureVendorBaseline(const std::string& library,
                                                    const Problem& problem,
                                                    int warmup,
                                                    int launches) override;
  void ObserveReference(ReferenceObserver observer) override {
    checker_.reference_watch().Observe(std::move(observer));
  }

 private:
  // A launch's shape and how many of its blocks run at once.
  struct Admitted {
    CudaLaunchShape shape;
    CudaResidency residency;
  };

  CudaDevice(CudaDeviceEntry entry, CudaContext context, CudaStream stream,
             const CudaSession& session,
             std::unique_ptr<CudaMemoryBudget> memory,
             const CudaCompiler& compiler, const std::string& cache_dir);

  static absl::StatusOr<std::unique_ptr<CudaDevice>> OpenSession(
      const CudaDriver& driver, const CudaDeviceEntry& entry, double memory_cap,
      const CudaCompiler& compiler, const std::string& cache_dir);
  absl::StatusOr<Candidate> PrepareCandidate(
      const Configuration& configuration,
      const std::vector<Problem>& correctness_problems);
  absl::StatusOr<LaunchTimes> MeasureCandidate(
      const Configuration& configuration, const Problem& problem, int warmup,
      int launches);
  absl::StatusOr<LaunchTimes> MeasureLibrary(const VendorBaseline& baseline,
                                             const Problem& problem, int warmup,
                                             int launches);
  // Compares the library's results with the reference. A manifest may be wrong.
  absl::Status CheckLibrary(const VendorBaseline& baseline);
  // Warms up and times; the buffers are reserved.
  absl::StatusOr<LaunchTimes> Time(const LaunchOnBuffers& launch, int warmup,
                                   int launches);
  // Refuses configurations that are not worth measuring for a table.
  absl::Status CheckFit(const Configuration& configuration);
  // Returns where registers, shared memory and residency are looked at.
  Problem ShownProblem(const Configuration& configuration,
                       const std::vector<Problem>& problems) const;
  absl::StatusOr<const CudaKernel*> Compile(const Configuration& configuration,
                                            const Problem& problem);
  absl::StatusOr<const CudaKernel*> CompileForm(
      const Configuration& configuration, const TritonForm& form);
  absl::StatusOr<const CudaKernel*> CompileReference();
  // Whether the function takes what the manifest passes, where the driver says.
  absl::Status CheckArguments(const CudaKernel& kernel, size_t tensor_maps,
                              const std::string& entry) const;
  absl::StatusOr<Admitted> Admit(const CudaKernel& kernel,
                                 const Configuration& configuration,
                                 const Problem& problem);
  // Launches a candidate at a problem; outlived by this device and the kernel.
  absl::StatusOr<LaunchOnBuffers> LauncherOf(const CudaKernel& kernel,
                                             const Admitted& admitted,
                                             const Configuration& configuration,
                                             const Problem& problem) const;
  absl::Status Check(const Configuration& configuration,
                     const Problem& problem);
  // Compares what `launch` computes with the reference, within the tolerance of
  // `spec`. Without a launch the reference alone runs.
  absl::Status CheckAgainstReference(const KernelSpec& spec,
                                     const Configuration& configuration,
                                     const Problem& problem,
                                     LaunchOnBuffers launch,
                                     bool on_cancelling);
  // Returns `status`, or UNAVAILABLE where the device is gone: the driver often
  // reports that as a fault of the kernel.
  absl::Status Explained(const absl::Status& status) const;

  CudaDeviceEntry entry_;
  // In this order: the members below end before the stream and the context.
  CudaContext context_;
  CudaStream stream_;
  CudaSession session_;
  std::unique_ptr<CudaMemoryBudget> memory_;
  CudaCompiler compiler_;
  CudaProgram program_;
  std::optional<CudaTimer> timer_;
  ThrottleWatch throttle_;
  std::map<std::pair<Configuration, TritonForm>, CudaKernel> compiled_;
  std::optional<CudaKernel> reference_;
  std::optional<CublasLt> cublas_lt_;      // From its first use on.
  bool vendor_baselines_checked_ = false;  // Those of this kernel.
  MeasuredBuffers<CudaSession> buffers_;
  UsualCheckMemory<CudaSession> check_memory_;
  ResultChecker checker_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_DEVICE_H_
