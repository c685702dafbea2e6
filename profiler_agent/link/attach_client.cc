#include "profiler_agent/link/attach_client.h"

#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/socket_diagnosis.h"
#include "base/socket_paths.h"
#include "base/status_macros.h"
#include "formats/channel_credentials.h"
#include "formats/status.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "profiler_agent/measure/environment_error.h"
#include "profiler_agent/measure/stop_wait.h"
#include "proto/wavetune/v1/agent_service.grpc.pb.h"

namespace wavetune {
namespace {

using Hosts = std::vector<std::unique_ptr<DeviceHost>>;
using ReaderWriter =
    grpc::ClientReaderWriter<v1::AttachRequest, v1::AttachResponse>;

// Between two attempts to attach.
constexpr std::chrono::milliseconds kFirstWait(100);
constexpr std::chrono::seconds kLongestWait(5);
// Kernel sources travel in one message.
constexpr int kMaxMessageBytes = 64 << 20;

class GrpcStream : public MessageStream {
 public:
  explicit GrpcStream(std::unique_ptr<ReaderWriter> stream)
      : stream_(std::move(stream)) {}

  bool Read(v1::AttachResponse* message) override {
    return stream_->Read(message);
  }
  bool Write(const v1::AttachRequest& message) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return !half_closed_ && stream_->Write(message);
  }
  // Nothing more will be written; the daemon is expected to end the stream.
  void HalfClose() {
    const std::lock_guard<std::mutex> lock(mutex_);
    half_closed_ = true;
    stream_->WritesDone();
  }
  // After Read returned false.
  absl::Status Finish() { return FromGrpcStatus(stream_->Finish()); }

 private:
  std::unique_ptr<ReaderWriter> stream_;
  std::mutex mutex_;
  bool half_closed_ = false;
};

absl::StatusOr<std::shared_ptr<grpc::Channel>> CreateChannel(
    const std::string& target) {
  ASSIGN_OR_RETURN(const auto credentials, CredentialsFor(target));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  // A fresh connection each time: the shared pool has a backoff of its own,
  // which grows to minutes while the daemon is away.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  PrepareForTcp(target, &arguments);
  return grpc::CreateCustomChannel(target, credentials, arguments);
}

// Ends a stream in order when `stop` is requested: batches are cancelled and
// reported, then our side is closed; a daemon that does not end its side in
// time is left.
class Goodbye {
 public:
  Goodbye(const AttachClientOptions& options, const Hosts& hosts,
          ReportRelay& relay, GrpcStream& stream, grpc::ClientContext& context,
          const std::stop_token& stop)
      : waiter_([&, stop](const std::stop_token& ended) {
          if (!WaitForStop(stop, ended)) return;
          for (const auto& host : hosts) host->CancelAll();
          for (const auto& host : hosts) host->WaitUntilIdle();
          relay.Attach(nullptr);
          stream.HalfClose();
          if (!SleepOrStop(options.goodbye, ended)) context.TryCancel();
        }) {}

 private:
  std::jthread waiter_;  // Stopped when the stream has ended.
};

absl::Status AttachOnce(const AttachClientOptions& options, ReportRelay& relay,
                        const Hosts& hosts, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel,
                   CreateChannel(GrpcTarget(options.endpoint)));
  const std::unique_ptr<v1::AgentService::Stub> stub =
      v1::AgentService::NewStub(channel);
  grpc::ClientContext context;
  GrpcStream stream(stub->Attach(&context));
  absl::Status served;
  try {
    const Goodbye goodbye(options, hosts, relay, stream, context, stop);
    served = ServeStream(stream, relay, hosts, options.stream);
  } catch (const std::system_error& error) {  // std::thread has no other way.
    relay.Attach(nullptr);
    served = ExhaustedError(
        Resource::kProcesses,
        absl::StrCat("the agent cannot start a thread (", error.what(),
                     "): ", ExhaustedAdvice(Resource::kProcesses)));
  }
  // Where it is us who refuse, the stream is open, and Finish would wait for
  // ever. Where the daemon has ended it, it has said why.
  const bool refused =
      absl::IsFailedPrecondition(served) || absl::IsResourceExhausted(served);
  if (refused) context.TryCancel();
  const absl::Status finished = stream.Finish();
  // The daemon's own words (why it refused us) are better than ours.
  if (refused) return served;
  if (!finished.ok()) return finished;
  return served;
}

}  // namespace

absl::Status CheckEndpoint(const std::string& endpoint) {
  if (!IsEndpoint(GrpcTarget(endpoint))) {
    return absl::InvalidArgumentError(absl::StrCat("endpoint \"", endpoint,
                                                   "\" is not valid; legal is ",
                                                   kLegalEndpoints));
  }
  return CredentialsFor(GrpcTarget(endpoint)).status();
}

std::string GrpcTarget(const std::string& endpoint) {
  if (absl::StartsWith(endpoint, "/") || absl::StartsWith(endpoint, ".")) {
    return absl::StrCat("unix:", endpoint);
  }
  return endpoint;
}

void StayAttached(const AttachClientOptions& options, ReportRelay& relay,
                  const std::vector<std::unique_ptr<DeviceHost>>& hosts,
                  const std::stop_token& stop) {
  Backoff backoff(kFirstWait, kLongestWait);
  std::string last_error;
  while (!stop.stop_requested()) {
    const Clock::Duration begin = SystemClock().SteadyNow();
    const absl::Status status = AttachOnce(options, relay, hosts, stop);
    if (stop.stop_requested()) return;
    const Clock::Duration took = SystemClock().SteadyNow() - begin;
    if (took > kLongestWait) backoff.Reset();  // It was attached for a while.
    std::string error =
        status.ok() ? "it ended the stream" : std::string(status.message());
    if (absl::IsUnavailable(status)) {
      const std::string advice = AdviceForTcp(GrpcTarget(options.endpoint));
      if (!advice.empty()) absl::StrAppend(&error, "; ", advice);
      const SocketDiagnosis why = DiagnoseSocket(GrpcTarget(options.endpoint));
      // A daemon that answers has said why itself.
      if (!why.text.empty() && why.kind != SocketDiagnosis::Kind::kSilent) {
        error = why.text;
      }
    }
    if (error != last_error) {  // Not once per attempt.
      Log(LogLevel::kWarning, "agent",
          absl::StrCat("not attached to the daemon at ", options.endpoint, ": ",
                       error, "; trying again"));
      last_error = error;
    }
    if (SleepOrStop(backoff.Next(), stop)) return;
  }
}

}  // namespace wavetune
