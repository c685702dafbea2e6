// TritonInstallation: the Triton that a Python interpreter has.
//
// Thread safety: functions; thread-safe.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_INSTALLATION_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_INSTALLATION_H_

#include <string>

#include "model/kernel/device.h"

namespace wavetune {

struct TritonInstallation {
  std::string python;   // The interpreter; as given, where it does not start.
  std::string version;  // "3.6.0"; empty: none, or none that can be used.
  std::string ptxas;    // "12.8.93".
  std::string ptxas_blackwell;  // From compute capability 10.0 on.
  // Why there is none, where somebody may wonder: the interpreter does not
  // start, or Triton is too old. Empty where it is just not installed.
  std::string note;
};

// Asks an interpreter (a path, or a name on PATH), without importing Triton:
// some 50 ms. Cannot fail: what is wrong is a note.
TritonInstallation FindTriton(const std::string& python);

// Returns what kernels are compiled by on devices of a compute capability
// (times ten), as fingerprints have it: "Triton 3.6.0, ptxas 12.8.93". Empty
// where there is none.
std::string TritonCompilerName(const TritonInstallation& installation,
                               int capability);

// Adds to the facts of a CUDA device what the interpreter has. Cannot fail.
void AddTriton(const TritonInstallation& installation, DeviceFacts& facts);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_INSTALLATION_H_
