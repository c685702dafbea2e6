#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/socket_diagnosis.h"
#include "base/socket_paths.h"
#include "base/status_macros.h"
#include "cli/advice.h"
#include "cli/daemon.h"
#include "cli/interrupt.h"
#include "client/src/endpoint.h"
#include "formats/channel_credentials.h"
#include "formats/foreign_text.h"
#include "formats/status.h"
#include "google/protobuf/descriptor.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/impl/client_unary_call.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/impl/rpc_method.h"
#include "grpcpp/support/sync_stream.h"

namespace wavetune::cli {
namespace {

using google::protobuf::Message;
using google::protobuf::MessageLite;
using google::protobuf::MethodDescriptor;
using grpc::internal::RpcMethod;

// Cancels a call when the user interrupts: a signal handler may not do it, and
// the thread that reads the stream is blocked.
class CancelOnInterrupt {
 public:
  explicit CancelOnInterrupt(grpc::ClientContext* context)
      : thread_([this, context] {
          while (!done_.load()) {
            if (InterruptRequested()) {
              context->TryCancel();
              return;
            }
            SystemClock().Sleep(std::chrono::milliseconds(50));
          }
        }) {}
  ~CancelOnInterrupt() {
    done_.store(true);
    thread_.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

// Where the daemon had the request, and its disk or another call keeps it.
constexpr absl::string_view kMayBeDone =
    ". What was asked for may still be done: look before asking again "
    "(`wavetune status` says whether the store can be written)";

// Lists of a full store pass gRPC's 4 MiB; no answer is meant to pass this.
constexpr int kMaxResponseBytes = 64 << 20;

std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& endpoint,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxResponseBytes);
  PrepareForTcp(endpoint, &arguments);
  return grpc::CreateCustomChannel(endpoint, credentials, arguments);
}

// One socket of the daemon. Arguments may be in any encoding: requests are sent
// without foreign text, so that the daemon can say what it does not know.
class Socket {
 public:
  Socket(std::string endpoint, absl::string_view role,
         const std::shared_ptr<grpc::ChannelCredentials>& credentials,
         double timeout_s)
      : endpoint_(std::move(endpoint)),
        role_(role),
        timeout_s_(timeout_s),
        channel_(OpenChannel(endpoint_, credentials)) {}

  // The same socket, for calls that change something.
  Socket ForChanges() const {
    Socket socket = *this;
    socket.changes_ = true;
    return socket;
  }

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Whether the connection stands.
  bool Connected() const {
    return channel_->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY;
  }

  void SetDeadline(grpc::ClientContext* context) const {
    context->set_deadline(
        std::chrono::system_clock::now() +
        std::chrono::microseconds(static_cast<int64_t>(timeout_s_ * 1e6)));
  }

  // Says what to do where the daemon is not there at all, or another of its
  // sockets is. `was_there`: it had answered before.
  absl::Status Convert(const grpc::Status& grpc_status,
                       bool was_there = false) const {
    absl::Status status = FromGrpcStatus(grpc_status);
    if (absl::IsUnimplemented(status)) {
      for (const absl::string_view role : {"admin", "agent"}) {
        const std::string socket = absl::StrCat(role, ".sock");
        absl::string_view stem = endpoint_;
        if (role == role_ || !absl::ConsumeSuffix(&stem, socket)) continue;
        return absl::InvalidArgumentError(
            absl::StrCat(endpoint_, " is the ", role,
                         " socket; --endpoint and "
                         "WAVETUNE_ENDPOINT name the reader socket: ",
                         stem, "reader.sock"));
      }
    }
    const bool connected = Connected();
    if (absl::IsDeadlineExceeded(status) ||
        (absl::IsUnavailable(status) &&
         (!connected || (was_there && IsOverTcp(endpoint_))))) {
      return WhyNotReached(status, was_there,
                           changes_ && connected ? kMayBeDone : "");
    }
    return status;
  }

 private:
  // `more`: of what was asked for.
  absl::Status WhyNotReached(const absl::Status& status, bool was_there,
                             absl::string_view more) const {
    using Kind = SocketDiagnosis::Kind;
    const SocketDiagnosis why = DiagnoseSocket(endpoint_);
    absl::Status what(
        status.code(),
        absl::StrCat("cannot reach wavetuned at ", endpoint_, ": ",
                     why.text.empty() ? status.message() : why.text, more));
    const bool runs = why.kind == Kind::kNoPermission ||
                      why.kind == Kind::kRefused || why.kind == Kind::kSilent;
    if (runs) return what;
    // Its certificate was good a moment ago.
    if (was_there && IsOverTcp(endpoint_)) {
      return WithAdvice(what,
                        "it was there: was it stopped, or does something "
                        "between end connections that are silent for less "
                        "than half a minute?");
    }
    const std::string advice = AdviceForTcp(endpoint_);
    return WithAdvice(
        what,
        advice.empty()
            ? "start one with `wavetune up`, or say where it listens with "
              "--endpoint or WAVETUNE_ENDPOINT"
            : advice);
  }

  std::string endpoint_;
  std::string role_;  // "reader" or "admin".
  double timeout_s_;
  bool changes_ = false;
  std::shared_ptr<grpc::Channel> channel_;
};

// Returns the method that takes `request`: each has a request of its own, in
// the file of its service.
const MethodDescriptor& MethodOf(const Message& request,
                                 const Message& response) {
  const google::protobuf::FileDescriptor& file =
      *request.GetDescriptor()->file();
  const MethodDescriptor* found = nullptr;
  for (int i = 0; i < file.service_count(); ++i) {
    for (int j = 0; j < file.service(i)->method_count(); ++j) {
      const auto* const method = file.service(i)->method(j);
      if (method->input_type() == request.GetDescriptor()) found = method;
    }
  }
  // A message that is no request, or another method's response.
  if (found == nullptr || found->output_type() != response.GetDescriptor())
    std::abort();
  return *found;
}

class GrpcDaemon : public Daemon {
 public:
  GrpcDaemon(Socket reader, Socket admin)
      : reader_(std::move(reader)), admin_(std::move(admin)) {}

 protected:
  absl::Status Call(const Message& request, Message* response) override {
    const MethodDescriptor& method = MethodOf(request, *response);
    const Socket socket = SocketOf(method);
    grpc::ClientContext context;
    socket.SetDeadline(&context);
    return SayIfOlder(
        method, socket.Convert(grpc::internal::BlockingUnaryCall<
                               Message, Message, MessageLite, MessageLite>(
                    socket.channel().get(),
                    RpcMethod(NameOf(method).c_str(), RpcMethod::NORMAL_RPC),
                    &context, *Sendable(request), response)));
  }

  absl::Status Stream(const Message& request, Message* message,
                      absl::FunctionRef<void()> on_message) override {
    const MethodDescriptor& method = MethodOf(request, *message);
    const Socket socket = SocketOf(method);
    const std::string name = NameOf(method);
    grpc::ClientContext context;
    const std::unique_ptr<grpc::ClientReader<Message>> reader(
        grpc::internal::ClientReaderFactory<Message>::Create(
            socket.channel().get(),
            RpcMethod(name.c_str(), RpcMethod::SERVER_STREAMING), &context,
            *Sendable(request)));
    CancelOnInterrupt cancel(&context);
    bool was_there = socket.Connected();
    while (reader->Read(message)) {
      was_there = true;
      on_message();
    }
    return SayIfOlder(method, socket.Convert(reader->Finish(), was_there));
  }

 private:
  static std::string NameOf(const MethodDescriptor& method) {
    return absl::StrCat("/", method.service()->full_name(), "/", method.name());
  }

  static std::unique_ptr<Message> Sendable(const Message& request) {
    std::unique_ptr<Message> copy(request.New());
    copy->CopyFrom(request);
    EscapeForeignText(copy.get());
    return copy;
  }

  // An older daemon lacks the method that was called: gRPC says so without a
  // word, unlike a handler.
  static absl::Status SayIfOlder(const MethodDescriptor& method,
                                 absl::Status status) {
    if (!absl::IsUnimplemented(status) || !status.message().empty() ||
        method.name() == "GetUsage" || method.name() == "ListSamples") {
      return status;
    }
    const bool workloads =
        absl::StrContains(method.input_type()->name(), "Workload");
    return absl::FailedPreconditionError(absl::StrCat(
        "the daemon is older than this command",
        workloads ? " and knows no workloads" : "", ": upgrade wavetuned"));
  }

  Socket SocketOf(const MethodDescriptor& method) const {
    if (method.service()->name() == "AdminService") return admin_;
    return method.name() == "AddWorkload" ? reader_.ForChanges() : reader_;
  }

  const Socket reader_;
  const Socket admin_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Daemon>> ConnectGrpcDaemon(
    const std::string& reader_endpoint, double timeout_s) {
  if (!IsEndpoint(reader_endpoint)) {
    return absl::InvalidArgumentError(
        absl::StrCat("endpoint \"", reader_endpoint,
                     "\" is not valid; legal is ", kLegalEndpoints));
  }
  ASSIGN_OR_RETURN(const auto credentials, CredentialsFor(reader_endpoint));
  Socket reader(reader_endpoint, "reader", credentials, timeout_s);
  Socket admin = Socket(SiblingEndpoint(reader_endpoint, "admin"), "admin",
                        credentials, timeout_s)
                     .ForChanges();
  return std::make_shared<GrpcDaemon>(std::move(reader), std::move(admin));
}

}  // namespace wavetune::cli
