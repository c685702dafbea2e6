#include "profiler_agent/cuda/shared_library.h"

namespace wavetune {

absl::StatusOr<SharedLibrary> SharedLibrary::Open(
    const std::vector<std::string>& names) {
  std::string reason = "no name was given";
  for (const std::string& name : names) {
    // RTLD_LOCAL: two versions of one library must not mix their symbols.
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return SharedLibrary(name, handle);
    const char* message = dlerror();
    if (&name == &names.front() && message != nullptr) reason = message;
  }
  return absl::NotFoundError(reason);
}

}  // namespace wavetune
