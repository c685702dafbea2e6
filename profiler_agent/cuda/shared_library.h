// SharedLibrary: a library that may not be there, opened at run time.
//
// Why not linking: the agent must start on machines without an NVIDIA driver,
// and say so.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_SHARED_LIBRARY_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_SHARED_LIBRARY_H_

#include <dlfcn.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace wavetune {

class SharedLibrary {
 public:
  // Opens the first of `names` (paths, or names for the loader's search) that
  // can be opened. It stays open for ever: drivers start threads. Errors:
  // NOT_FOUND with the loader's message for the first.
  static absl::StatusOr<SharedLibrary> Open(
      const std::vector<std::string>& names);

  const std::string& name() const { return name_; }

  // Sets `function` to the symbol's address. Errors: NOT_FOUND.
  template <typename Function>
  absl::Status Bind(const char* symbol, Function** function) const {
    *function = reinterpret_cast<Function*>(dlsym(handle_, symbol));
    if (*function != nullptr) return absl::OkStatus();
    return absl::NotFoundError(
        absl::StrCat(name_, " has no function ", symbol, "; it is too old"));
  }

 private:
  SharedLibrary(std::string name, void* handle)
      : name_(std::move(name)), handle_(handle) {}

  std::string name_;
  void* handle_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_SHARED_LIBRARY_H_
