#include "profiler_agent/worker/test_kernels.h"

#include <cstdlib>
#include <iostream>

#include "formats/kernel_folder.h"
#include "profiler_agent/worker/kernel_source.h"

namespace wavetune {

v1::KernelSource TestKernelSource(const std::string& folder) {
  const absl::StatusOr<KernelFolder> loaded = LoadKernelFolder(folder);
  if (!loaded.ok()) {
    std::cerr << folder << ": " << loaded.status() << "\n";
    std::abort();
  }
  v1::KernelSource source = KernelSourceOf(*loaded);
  source.set_fingerprint(loaded->Fingerprint("opencl", "test"));
  return source;
}

LoadedKernel TestKernel(const std::string& folder) {
  const absl::StatusOr<LoadedKernel> kernel =
      LoadedKernelFromProto(TestKernelSource(folder));
  if (!kernel.ok()) {
    std::cerr << folder << ": " << kernel.status() << "\n";
    std::abort();
  }
  return *kernel;
}

}  // namespace wavetune
