// ServeStream: the agent's side of one Attach stream, without gRPC.
#ifndef WAVETUNE_PROFILER_AGENT_LINK_AGENT_STREAM_H_
#define WAVETUNE_PROFILER_AGENT_LINK_AGENT_STREAM_H_

#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "profiler_agent/link/device_host.h"
#include "proto/wavetune/v1/agent_service.pb.h"

namespace wavetune {

// A two-way stream of messages. Read and Write may be called from two threads.
class MessageStream {
 public:
  virtual ~MessageStream() = default;
  // False at the end of the stream.
  virtual bool Read(v1::AttachResponse* message) = 0;
  virtual bool Write(const v1::AttachRequest& message) = 0;
};

// Passes reports on to whichever stream is attached. Thread-safe.
class ReportRelay {
 public:
  // `stream` may be nullptr: reports are dropped.
  void Attach(MessageStream* stream);
  void Report(const v1::AttachRequest& message);

  // Why devices are missing, a line each: whichever daemon is attached is told,
  // now and later. Returns whether they are others than before.
  bool TellProblems(const std::vector<std::string>& problems);

 private:
  void Send(const v1::AttachRequest& message);  // Holds mutex_.

  std::mutex mutex_;
  // Guarded by mutex_.
  MessageStream* stream_ = nullptr;
  v1::AttachRequest problems_;
};

struct AgentStreamOptions {
  std::string agent_name;  // Host and process, for people.
  std::string program_version;
  std::chrono::milliseconds heartbeat_interval{2'000};
};

// Says hello, then serves the daemon's requests until the stream ends; a
// heartbeat goes out all the while. Whatever runs is cancelled at the end.
// `hosts` report through `relay`. Returns OK when the daemon ended the stream
// after the hellos. Errors: UNAVAILABLE it ended before; FAILED_PRECONDITION
// the daemon speaks another version.
absl::Status ServeStream(MessageStream& stream, ReportRelay& relay,
                         const std::vector<std::unique_ptr<DeviceHost>>& hosts,
                         const AgentStreamOptions& options);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_LINK_AGENT_STREAM_H_
