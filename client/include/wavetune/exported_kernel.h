// ExportedKernel: what `wavetune kernels export` wrote, loaded and ready to be
// launched.
//
//   auto gemm = wavetune::ExportedKernel::Load("gemm_bf16.export").value();
//   wavetune::Decision d = tuner.Resolve({m, n, k});
//   absl::Status status = gemm->Launch(stream, d, {m, n, k}, {a, b, c});
//
// Why: a decision is a configuration. This is the shortest way from there to a
// running kernel, launched as it was measured: same machine code, tensor maps,
// clusters, shared memory, blocks.
//
// Works with the driver API and the runtime API (a cudaStream_t is a CUstream),
// also while a stream is captured into a CUDA graph. All that capture forbids
// happens in Load. A graph keeps the decisions made while it was captured; it
// must not outlive the ExportedKernel.
//
// The CUDA driver is loaded at run time; nothing of CUDA is needed to build
// against this header.
//
// Thread safety: Launch may be called from any number of threads, with the
// context current that was current in Load.
#ifndef WAVETUNE_EXPORTED_KERNEL_H_
#define WAVETUNE_EXPORTED_KERNEL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "wavetune/configuration.h"
#include "wavetune/decision.h"
#include "wavetune/problem.h"

// As cuda.h and the runtime's headers declare it.
struct CUstream_st;

namespace wavetune {

struct LaunchDriver;

class ExportedKernel {
 public:
  // Loads launch.json and the cubins in folder `dir` for one specialisation
  // into the CUDA context that is current in this thread.
  //
  // Errors: NOT_FOUND for a missing file or specialisation. DATA_LOSS for a
  // cubin that is not the one that was exported. As ParseLaunchFile.
  // FAILED_PRECONDITION without a driver or a current context, or where the
  // code is for another GPU or does not fit into this one. INTERNAL for other
  // errors of CUDA.
  // Cost: milliseconds a configuration.
  static absl::StatusOr<std::unique_ptr<ExportedKernel>> Load(
      const std::string& dir, const std::string& specialisation = "");

  // The same with another driver, which must outlive it; for tests.
  static absl::StatusOr<std::unique_ptr<ExportedKernel>> LoadWith(
      const LaunchDriver& driver, const std::string& dir,
      const std::string& specialisation);

  // Unloads the code: nothing may run it any more. Its context may be gone.
  ~ExportedKernel();
  ExportedKernel(const ExportedKernel&) = delete;
  ExportedKernel& operator=(const ExportedKernel&) = delete;

  // Enqueues a launch of a decision's configuration. Does not wait for it.
  // Workspaces that every launch finds zeroed are zeroed first, on the stream;
  // those that are zeroed once are zero already.
  //
  // Shapes: problem as for Tuner::Resolve; `buffers` are the device addresses
  //         of the kernel's buffer arguments in the manifest's order, dense and
  //         row major, each a multiple of 16 bytes.
  // Errors: NOT_FOUND for a configuration that was not exported (the table was
  //         swapped for one with another portfolio: export it, and load both).
  //         INVALID_ARGUMENT for a problem that this configuration does not
  //         take, or buffers that are wrong in number or alignment.
  //         FAILED_PRECONDITION for a launch that CUDA cannot do,
  //         RESOURCE_EXHAUSTED where memory is short, INTERNAL for its other
  //         errors. Nothing was enqueued, but the zeroing of workspaces where
  //         it is cuLaunchKernelEx that fails.
  // Cost:   no allocation for up to 8 tensor maps and 16 arguments; what
  //         cuLaunchKernelEx, a cuTensorMapEncodeTiled per map and a
  //         cuMemsetD8Async per workspace to zero take.
  absl::Status Launch(CUstream_st* stream, const Decision& decision,
                      const ProblemView& problem,
                      absl::Span<void* const> buffers) const;

  // The same for a configuration, for example to warm all of them up.
  absl::Status Launch(CUstream_st* stream, const Configuration& configuration,
                      const ProblemView& problem,
                      absl::Span<void* const> buffers) const;

  // The configurations that can be launched, in the portfolio's order; the
  // default is among them.
  std::vector<Configuration> configurations() const;

  const std::string& kernel() const;
  // Hex digest of the table whose portfolio was exported.
  const std::string& table_digest() const;

 private:
  struct State;
  explicit ExportedKernel(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace wavetune

#endif  // WAVETUNE_EXPORTED_KERNEL_H_
