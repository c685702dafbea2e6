// InjectedBackend: any backend with what a file pretends of its devices
// (injected_facts.h): for drills and tests. Compilation, launches and checks
// stay the wrapped backend's.
//
// Thread safety: as the wrapped backend.
#ifndef WAVETUNE_PROFILER_AGENT_TESTING_INJECTED_BACKEND_H_
#define WAVETUNE_PROFILER_AGENT_TESTING_INJECTED_BACKEND_H_

#include <memory>
#include <string>
#include <utility>

#include "profiler_agent/measure/backend.h"

namespace wavetune {

class InjectedBackend : public Backend {
 public:
  // The file at `path` is read at each call that it matters to, bursts
  // included. Where it cannot be read or does not parse no device is found,
  // opened, watched or measured, and each says why: a drill that pretends
  // nothing would show nothing.
  InjectedBackend(std::unique_ptr<Backend> backend, std::string path)
      : backend_(std::move(backend)), path_(std::move(path)) {}

  std::string name() const override { return backend_->name(); }
  Enumeration Enumerate() override;
  absl::StatusOr<std::unique_ptr<Device>> Open(
      const std::string& device_uuid, const std::string& cache_dir) override;
  // Also of kinds that do not watch their devices.
  absl::StatusOr<DeviceState> ReadTelemetry(
      const std::string& device_uuid) override;
  absl::Status CheckHost() override { return backend_->CheckHost(); }

 private:
  const std::unique_ptr<Backend> backend_;
  const std::string path_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_TESTING_INJECTED_BACKEND_H_
