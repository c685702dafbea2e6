// EtcdConnection: calls of an etcd cluster, one of whose members answers.
//
// One member is used until it fails, then the next; each node begins with
// another one. Where the cluster asks for a user, the token is fetched, and
// fetched anew when it has expired or the users' rights have changed.
//
//   etcdserverpb::RangeResponse response;
//   RETURN_IF_ERROR(connection.Call(
//       Retry::kYes, [&](EtcdStubs& stubs, grpc::ClientContext* context) {
//         return stubs.kv->Range(context, request, &response);
//       }));
//
// Each call of a member has the options' time. Includes gRPC.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_FLEET_ETCD_ETCD_CONNECTION_H_
#define WAVETUNE_SERVER_FLEET_ETCD_ETCD_CONNECTION_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "etcd/etcdserver/etcdserverpb/rpc.grpc.pb.h"
#include "server/fleet/etcd/etcd_options.h"

namespace wavetune {

// What one member offers.
struct EtcdStubs {
  EtcdStubs(std::string at, const std::shared_ptr<grpc::Channel>& given);

  const std::string endpoint;
  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<etcdserverpb::KV::Stub> kv;
  const std::unique_ptr<etcdserverpb::Watch::Stub> watch;
  const std::unique_ptr<etcdserverpb::Lease::Stub> lease;
  const std::unique_ptr<etcdserverpb::Auth::Stub> auth;
};

class EtcdConnection {
 public:
  // Whether a call that was sent and not answered is made again.
  enum class Retry { kNo, kYes };
  using Function =
      std::function<grpc::Status(EtcdStubs&, grpc::ClientContext*)>;

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

  // Returns the stubs of a member that is connected, and prepares `context`
  // for a stream of it (no deadline), which ends when the member loses sight of
  // the others. Errors: as Call.
  absl::StatusOr<std::shared_ptr<EtcdStubs>> BeginStream(Context* context);

  // Returns what a call of `stubs` ended with, as Call would; where it is the
  // member that failed, the next one is used from now on.
  absl::Status EndOf(const std::shared_ptr<EtcdStubs>& stubs,
                     const grpc::Status& status);

  // Ends the calls that wait and the streams; later ones fail at once.
  void Shutdown();

  // Calls the member in use where it is connected, also after Shutdown, and
  // waits a second at most: what it ends with is of no matter.
  void CallAtEnd(const Function& function);

 private:
  EtcdConnection(EtcdOptions options,
                 std::shared_ptr<grpc::ChannelCredentials> credentials);

  std::shared_ptr<EtcdStubs> Current();
  // Uses the next member, where `failed` is still the current one; a connection
  // of the only one is kept.
  void MoveOn(const std::shared_ptr<EtcdStubs>& failed);
  // Waits until the member is connected. Errors: UNAVAILABLE with the reason.
  absl::Status AwaitConnected(EtcdStubs& stubs);
  absl::Status CallOnce(EtcdStubs& stubs, const Function& function,
                        grpc::Status* answer);
  // Fetches a token, where there is no other than `old` meanwhile.
  absl::Status Authenticate(EtcdStubs& stubs,
                            const std::optional<std::string>& old);
  std::optional<std::string> Token();
  bool Stopped();

  const EtcdOptions options_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  std::mutex authenticating_;  // Held while a token is fetched; before mutex_.
  std::mutex mutex_;
  // Guarded by mutex_.
  size_t endpoint_ = 0;
  std::shared_ptr<EtcdStubs> stubs_;
  std::optional<std::string> token_;  // Empty: etcd asks for no user.
  bool stopped_ = false;
  std::set<grpc::ClientContext*> contexts_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_ETCD_ETCD_CONNECTION_H_
