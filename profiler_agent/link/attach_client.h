// StayAttached: keeps the agent attached to its daemon over gRPC.
//
// Thread safety: one call at a time.
#ifndef WAVETUNE_PROFILER_AGENT_LINK_ATTACH_CLIENT_H_
#define WAVETUNE_PROFILER_AGENT_LINK_ATTACH_CLIENT_H_

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "profiler_agent/link/agent_stream.h"

namespace wavetune {

struct AttachClientOptions {
  // "unix:///run/wavetune/agent.sock", a path, or "host:port", over TLS
  // (formats/channel_credentials.h).
  std::string endpoint;
  AgentStreamOptions stream;
  // How long a stop waits for running bursts and for the daemon's goodbye.
  std::chrono::milliseconds goodbye{2'000};
};

// Attaches, serves and attaches again, until `stop`; a daemon that goes away
// kills the batches, not the agent. On stop running batches are cancelled and
// reported before the stream is closed.
void StayAttached(const AttachClientOptions& options, ReportRelay& relay,
                  const std::vector<std::unique_ptr<DeviceHost>>& hosts,
                  const std::stop_token& stop);

// Returns whether an endpoint can be connected to as far as that shows here:
// its form, and over TCP the files of TLS. Errors: INVALID_ARGUMENT with the
// legal forms; as CredentialsFor (formats/channel_credentials.h).
absl::Status CheckEndpoint(const std::string& endpoint);

// Returns the gRPC target of an endpoint: a plain path becomes "unix:path".
std::string GrpcTarget(const std::string& endpoint);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_LINK_ATTACH_CLIENT_H_
