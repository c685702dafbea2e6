#include "profiler_agent/worker/backends.h"

#include <algorithm>
#include <utility>

#ifdef WAVETUNE_HAVE_CUDA
#include "profiler_agent/cuda/cuda_backend.h"
#endif
#include "profiler_agent/opencl/opencl_backend.h"
#include "profiler_agent/replay/replay_backend.h"
#ifdef WAVETUNE_INJECTION
#include "profiler_agent/testing/injected_backend.h"
#endif

namespace wavetune {
namespace {

struct Known {
  const char* name;
  BackendAbilities can;
  // nullptr: not compiled in.
  std::unique_ptr<Backend> (*create)(const BackendOptions& options);
};

// A new backend is one entry here.
constexpr Known kKnown[] = {
    {"cuda",
     {.drives_hardware = true, .compiles_alone = true, .claims_nvidia = true},
#ifdef WAVETUNE_HAVE_CUDA
     [](const BackendOptions& options) -> std::unique_ptr<Backend> {
       if (options.compile_only_architecture.empty()) {
         return std::make_unique<CudaBackend>(options.memory_cap,
                                              options.python);
       }
       return std::make_unique<CudaCompileBackend>(
           options.compile_only_architecture, options.python);
     }},
#else
     nullptr},
#endif
    {"opencl",
     {.drives_hardware = true, .has_guard_pages = true},
     [](const BackendOptions& options) -> std::unique_ptr<Backend> {
       return std::make_unique<OpenClBackend>(
           options.cache_dir, options.skip_nvidia_opencl, options.guard_pages);
     }},
    {"replay",
     {},
     [](const BackendOptions& options) -> std::unique_ptr<Backend> {
       return std::make_unique<ReplayBackend>(
           ReplayBackend::Options{.folders = options.replay_traces,
                                  .judged = options.replay_judged,
                                  .devices = options.replay_devices,
                                  .pace = options.replay_pace});
     }},
};

const Known* FindBuiltIn(const std::string& name) {
  const auto* it = std::find_if(
      std::begin(kKnown), std::end(kKnown), [&](const Known& entry) {
        return name == entry.name && entry.create != nullptr;
      });
  return it == std::end(kKnown) ? nullptr : it;
}

}  // namespace

std::vector<std::string> BackendsThat(bool BackendAbilities::*can) {
  std::vector<std::string> names;
  for (const Known& entry : kKnown) {
    if (entry.can.*can) names.emplace_back(entry.name);
  }
  return names;
}

bool IsBuiltIn(const std::string& name) { return FindBuiltIn(name) != nullptr; }

std::unique_ptr<Backend> CreateBackend(const std::string& name,
                                       const BackendOptions& options) {
  const Known* entry = FindBuiltIn(name);
  if (entry == nullptr) return nullptr;
  std::unique_ptr<Backend> backend = entry->create(options);
#ifdef WAVETUNE_INJECTION
  if (!options.inject.empty()) {
    return std::make_unique<InjectedBackend>(std::move(backend),
                                             options.inject);
  }
#endif
  return backend;
}

}  // namespace wavetune
