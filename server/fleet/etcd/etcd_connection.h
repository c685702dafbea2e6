// EtcdConnection: calls of an etcd cluster, one of whose members answers.
//
// One member is used until it fails, then the next; each node begins with
// another one. Where the cluster asks for a user, the token is fetched, and
// fetched anew when it has expired or the users' rights have changed.
//
//   etcdserverpb::RangeResponse response;
//   RETURN_IF_ERROR(connection.Call(
//       Retry::kYes, [&](EtcdMember& member, grpc::ClientContext* context) {
//         return member.Ask("/etcdserverpb.KV/Range", context, request,
//                           &response);
//       }));
//
// Each call of a member has the options' time. Answers are looked at before
// they are parsed: two bytes on the wire can become a hundred in memory, and
// who answers may be no etcd. Includes gRPC.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_FLEET_ETCD_ETCD_CONNECTION_H_
#define WAVETUNE_SERVER_FLEET_ETCD_ETCD_CONNECTION_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/status.h"
#include "google/protobuf/descriptor.h"
#include "server/fleet/etcd/etcd.pb.h"
#include "server/fleet/etcd/etcd_options.h"

namespace wavetune {

// What etcd answers, or why it is none.
template <typename Message>
struct EtcdAnswer {
  Message message;
  absl::Status status;
};

template <typename Request, typename Response>
using EtcdStream = grpc::ClientReaderWriter<Request, EtcdAnswer<Response>>;

struct EtcdMember {
  // Does a call of "/etcdserverpb.Service/Method". Errors: what it answers;
  // RESOURCE_EXHAUSTED for an answer that would take too much memory, INTERNAL
  // for one that cannot be parsed.
  template <typename Request, typename Response>
  grpc::Status Ask(const char* method, grpc::ClientContext* context,
                   const Request& request, Response* response) const {
    using grpc::internal::RpcMethod;
    EtcdAnswer<Response> answer;
    grpc::Status status = grpc::internal::BlockingUnaryCall(
        channel.get(), RpcMethod(method, RpcMethod::NORMAL_RPC), context,
        request, &answer);
    if (!status.ok()) return status;
    *response = std::move(answer.message);
    return ToGrpcStatus(answer.status);
  }

  // Begins one whose messages go both ways.
  template <typename Request, typename Response>
  std::unique_ptr<EtcdStream<Request, Response>> Open(
      const char* method, grpc::ClientContext* context) const {
    using grpc::internal::RpcMethod;
    using Factory =
        grpc::internal::ClientReaderWriterFactory<Request,
                                                  EtcdAnswer<Response>>;
    return std::unique_ptr<EtcdStream<Request, Response>>(Factory::Create(
        channel.get(), RpcMethod(method, RpcMethod::BIDI_STREAMING), context));
  }

  const std::string endpoint;
  const std::shared_ptr<grpc::Channel> channel;
};

// Errors: RESOURCE_EXHAUSTED for bytes that would take too much memory when
// they are parsed, INTERNAL for those that are no message of `type`.
absl::Status CheckEtcdAnswer(const google::protobuf::Descriptor& type,
                             const grpc::ByteBuffer& bytes);

class EtcdConnection {
 public:
  // Whether a call that was sent and not answered is made again.
  enum class Retry { kNo, kYes };
  using Function =
      std::function<grpc::Status(EtcdMember&, grpc::ClientContext*)>;

  // A context that Shutdown cancels. Ends before the connection.
  class Context : public grpc::ClientContext {
   public:
    explicit Context(EtcdConnection* connection);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

   private:
    EtcdConnection* const connection_;
  };

  // Connects with the first call, so whether etcd is there, and takes the
  // user, is said then. Errors: INVALID_ARGUMENT for no endpoint, or one that
  // is no "host:port"; as ReadTlsFiles.
  static absl::StatusOr<std::unique_ptr<EtcdConnection>> Create(
      const EtcdOptions& options);

  // Calls until a member answers, each once. Errors: the answer, as a status
  // with what to do; UNAVAILABLE naming every endpoint where none answers, or
  // after Shutdown.
  absl::Status Call(Retry retry, const Function& function);

  // Returns a member that is connected, and prepares `context`
  // for a stream of it (no deadline), which ends when the member loses sight of
  // the others. Errors: as Call.
  absl::StatusOr<std::shared_ptr<EtcdMember>> BeginStream(Context* context);

  // Returns what a call of `member` ended with, as Call would; where it is the
  // member that failed, the next one is used from now on.
  absl::Status EndOf(const std::shared_ptr<EtcdMember>& member,
                     const grpc::Status& status);

  // Ends the calls that wait and the streams; later ones fail at once.
  void Shutdown();

  // Calls the member in use where it is connected, also after Shutdown, and
  // waits a second at most: what it ends with is of no matter.
  void CallAtEnd(const Function& function);

 private:
  EtcdConnection(EtcdOptions options,
                 std::shared_ptr<grpc::ChannelCredentials> credentials);

  std::shared_ptr<EtcdMember> Current();
  // Uses the next member, where `failed` is still the current one; a connection
  // of the only one is kept.
  void MoveOn(const std::shared_ptr<EtcdMember>& failed);
  // Waits until the member is connected. Errors: UNAVAILABLE with the reason.
  absl::Status AwaitConnected(EtcdMember& member);
  absl::Status CallOnce(EtcdMember& member, const Function& function,
                        grpc::Status* answer);
  // Fetches a token, where there is no other than `old` meanwhile.
  absl::Status Authenticate(EtcdMember& member,
                            const std::optional<std::string>& old);
  std::optional<std::string> Token();
  bool Stopped();

  const EtcdOptions options_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  std::mutex authenticating_;  // Held while a token is fetched; before mutex_.
  std::mutex mutex_;
  // Guarded by mutex_.
  size_t endpoint_ = 0;
  std::shared_ptr<EtcdMember> member_;
  std::optional<std::string> token_;  // Empty: etcd asks for no user.
  bool stopped_ = false;
  std::set<grpc::ClientContext*> contexts_;
};

}  // namespace wavetune

namespace grpc {

// Takes the bytes. Never fails: what is wrong is in the answer.
template <typename Message>
class SerializationTraits<wavetune::EtcdAnswer<Message>> {
 public:
  static Status Deserialize(ByteBuffer* bytes,
                            wavetune::EtcdAnswer<Message>* answer) {
    answer->message.Clear();
    answer->status = wavetune::CheckEtcdAnswer(*Message::descriptor(), *bytes);
    if (answer->status.ok() &&
        !SerializationTraits<Message>::Deserialize(bytes, &answer->message)
             .ok()) {
      answer->status = absl::InternalError("what etcd answers cannot be read");
    }
    bytes->Clear();
    return Status::OK;
  }
};

}  // namespace grpc

#endif  // WAVETUNE_SERVER_FLEET_ETCD_ETCD_CONNECTION_H_
