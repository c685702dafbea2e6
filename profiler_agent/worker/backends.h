// The backends that were compiled in.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_BACKENDS_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_BACKENDS_H_

#include <memory>
#include <string>
#include <vector>

#include "profiler_agent/measure/backend.h"

namespace wavetune {

struct BackendOptions {
  std::string cache_dir;                   // For drivers; empty: their own.
  std::vector<std::string> replay_traces;  // Folders.
  bool replay_judged = false;              // Answer at judged problems, too.
  int replay_devices = 1;                  // Pretended of each device.
  double replay_pace = 0;  // Bursts take so many times the recorded time.
  // "sm_90a": the CUDA backend compiles for it and launches nothing, so that it
  // needs no GPU. Empty: uses the machine's GPUs.
  std::string compile_only_architecture;
  // Memory that a CUDA worker's buffers may hold: up to 1 a part of the bytes
  // that are free without them, above 1 MiB.
  double memory_cap = 0.5;
  // What compiles Triton kernels for the CUDA backend: a path, or a name on
  // PATH.
  std::string python = "python3";
  // The OpenCL backend leaves NVIDIA's devices to the CUDA backend.
  bool skip_nvidia_opencl = false;
  // The OpenCL backend checks on memory with guard pages (CPU devices only).
  bool guard_pages = false;
  // A file of pretended facts of devices (testing/injected_facts.h); empty:
  // none. Builds with tests alone know it.
  std::string inject;
};

struct BackendAbilities {
  bool is_known = true;
  bool drives_hardware = false;
  bool has_guard_pages = false;
  bool compiles_alone = false;  // Without a device: for an architecture.
  // Measures NVIDIA's GPUs better than OpenCL, which lists them, too.
  bool claims_nvidia = false;
};

// Returns the names of the backends with an ability, built in or not.
std::vector<std::string> BackendsThat(bool BackendAbilities::*can);

// Returns whether `name` is one that CreateBackend knows.
bool IsBuiltIn(const std::string& name);

// Returns the backend, or nullptr where it was not compiled in.
std::unique_ptr<Backend> CreateBackend(const std::string& name,
                                       const BackendOptions& options);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_BACKENDS_H_
