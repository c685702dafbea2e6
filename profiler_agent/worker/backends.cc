#include "profiler_agent/worker/backends.h"

#include <algorithm>

#ifdef WAVETUNE_HAVE_CUDA
#include "profiler_agent/cuda/cuda_backend.h"
#endif
#include "profiler_agent/opencl/opencl_backend.h"
#include "profiler_agent/replay/replay_backend.h"

namespace wavetune {
namespace {

struct BuiltIn {
  const char* name;
  std::unique_ptr<Backend> (*create)(const BackendOptions& options);
};

// A new backend is one line here.
constexpr BuiltIn kBuiltIn[] = {
#ifdef WAVETUNE_HAVE_CUDA
    {"cuda",
     [](const BackendOptions& options) -> std::unique_ptr<Backend> {
       if (options.compile_only_architecture.empty()) {
         return std::make_unique<CudaBackend>(options.memory_cap);
       }
       return std::make_unique<CudaCompileBackend>(
           options.compile_only_architecture);
     }},
#endif
    {"opencl",
     [](const BackendOptions& options) -> std::unique_ptr<Backend> {
       return std::make_unique<OpenClBackend>(
           options.cache_dir, options.skip_nvidia_opencl, options.guard_pages);
     }},
    {"replay",
     [](const BackendOptions& options) -> std::unique_ptr<Backend> {
       return std::make_unique<ReplayBackend>(options.replay_traces,
                                              options.replay_judged);
     }},
};

const BuiltIn* Find(const std::string& name) {
  const auto* it =
      std::find_if(std::begin(kBuiltIn), std::end(kBuiltIn),
                   [&](const BuiltIn& entry) { return name == entry.name; });
  return it == std::end(kBuiltIn) ? nullptr : it;
}

}  // namespace

const std::vector<std::string>& DefaultBackends() {
  static const auto* const names =
      new std::vector<std::string>{"cuda", "opencl"};
  return *names;
}

bool IsBuiltIn(const std::string& name) { return Find(name) != nullptr; }

std::unique_ptr<Backend> CreateBackend(const std::string& name,
                                       const BackendOptions& options) {
  const BuiltIn* entry = Find(name);
  return entry == nullptr ? nullptr : entry->create(options);
}

}  // namespace wavetune
