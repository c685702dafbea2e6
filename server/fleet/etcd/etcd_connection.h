// EtcdConnection: calls of an etcd cluster, one of whose members answers.
//
// One member is used until it fails, then the next. Where the cluster asks for
// a user, the token is fetched, and fetched anew when it has expired.
//
//   etcdserverpb::RangeResponse response;
//   RETURN_IF_ERROR(connection.Call(
//       Retry::kYes, [&](EtcdStubs& stubs, grpc::ClientContext* context) {
//         return stubs.kv->Range(context, request, &response);
//       }));
//
// Deadlines are gRPC's. Includes gRPC. Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_FLEET_ETCD_ETCD_CONNECTION_H_
#define WAVETUNE_SERVER_FLEET_ETCD_ETCD_CONNECTION_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "etcd/etcdserver/etcdserverpb/rpc.grpc.pb.h"
#include "server/fleet/etcd/etcd_options.h"

namespace wavetune {

// What one member offers.
struct EtcdStubs {
  EtcdStubs(std::string endpoint,
            const std::shared_ptr<grpc::Channel>& channel);

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

  // Errors: INVALID_ARGUMENT for endpoints that are no "host:port"; as
  // ReadTlsFiles. Connects with the first call.
  static absl::StatusOr<std::unique_ptr<EtcdConnection>> Create(
      const EtcdOptions& options);

  // Calls until a member answers, each once. Errors: the answer, as a status
  // with what to do; UNAVAILABLE naming every endpoint where none answers.
  absl::Status Call(Retry retry, const Function& function);

  // Returns the stubs of a member that is connected, and prepares `context`
  // for a stream of it (no deadline), which ends when the member loses sight of
  // the others. Errors: as Call.
  absl::StatusOr<std::shared_ptr<EtcdStubs>> BeginStream(
      grpc::ClientContext* context);

  // Returns what a call of `stubs` ended with, as Call would; where it is the
  // member that failed, the next one is used from now on.
  absl::Status EndOf(const std::shared_ptr<EtcdStubs>& stubs,
                     const grpc::Status& status);

 private:
  EtcdConnection(EtcdOptions options,
                 std::shared_ptr<grpc::ChannelCredentials> credentials);

  std::shared_ptr<EtcdStubs> Current();
  // Uses the next member, where `failed` is still the current one.
  void MoveOn(const std::shared_ptr<EtcdStubs>& failed);
  // Waits until the member is connected. Errors: UNAVAILABLE with the reason.
  absl::Status AwaitConnected(EtcdStubs& stubs) const;
  absl::Status CallOnce(EtcdStubs& stubs, const Function& function,
                        grpc::Status* answer);
  absl::Status Authenticate(EtcdStubs& stubs);
  void Prepare(grpc::ClientContext* context);

  const EtcdOptions options_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  std::mutex mutex_;
  // Guarded by mutex_.
  size_t endpoint_ = 0;
  std::shared_ptr<EtcdStubs> stubs_;
  std::string token_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_ETCD_ETCD_CONNECTION_H_
