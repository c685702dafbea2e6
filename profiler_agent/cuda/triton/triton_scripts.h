// The Python that the agent runs, embedded by the build
// (cmake/WavetuneEmbed.cmake) from triton_server.py and triton_probe.py.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_SCRIPTS_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_SCRIPTS_H_

#include "absl/strings/string_view.h"

namespace wavetune::triton_scripts {

extern const absl::string_view kServer;
extern const absl::string_view kProbe;

}  // namespace wavetune::triton_scripts

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_SCRIPTS_H_
