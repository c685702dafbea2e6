// The daemon as the command line calls it: a method is named by its request.
//
//   ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
//   ASSIGN_OR_RETURN(const auto tables, daemon->Ask<v1::ListTablesResponse>(
//                                           v1::ListTablesRequest()));
//
// A new method of a service needs no line here. Tests put FakeDaemon
// (fake_daemon.h) in its place.
#ifndef WAVETUNE_CLI_DAEMON_H_
#define WAVETUNE_CLI_DAEMON_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "google/protobuf/message.h"
#include "proto/wavetune/v1/admin_service.pb.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "proto/wavetune/v1/table_service.pb.h"
#include "proto/wavetune/v1/usage_service.pb.h"
#include "proto/wavetune/v1/workload_service.pb.h"

namespace wavetune::cli {

class Daemon {
 public:
  virtual ~Daemon() = default;

  // Calls the method that takes `request` and returns one `Response`. Errors:
  // the daemon's; UNAVAILABLE or DEADLINE_EXCEEDED with what to do where it
  // cannot be reached. A daemon that is older than the method is
  // FAILED_PRECONDITION. Commands can do without GetUsage and ListSamples:
  // those are UNIMPLEMENTED then.
  template <typename Response>
  absl::StatusOr<Response> Ask(const google::protobuf::Message& request) {
    Response response;
    RETURN_IF_ERROR(Call(request, &response));
    return response;
  }

  // Calls a method that returns a stream, and `on_message` with each message
  // until it ends. Errors: as Ask; CANCELLED where the user interrupted.
  template <typename Response, typename Function>
  absl::Status Follow(const google::protobuf::Message& request,
                      const Function& on_message) {
    Response response;
    return Stream(request, &response, [&] { on_message(response); });
  }

 protected:
  virtual absl::Status Call(const google::protobuf::Message& request,
                            google::protobuf::Message* response) = 0;
  // Each message is in `message` when `on_message` is called.
  virtual absl::Status Stream(const google::protobuf::Message& request,
                              google::protobuf::Message* message,
                              absl::FunctionRef<void()> on_message) = 0;
};

// Returns the newest jobs; 0 means the daemon's default number. Errors: as Ask.
inline absl::StatusOr<v1::ListJobsResponse> ListJobs(Daemon& daemon,
                                                     int32_t limit) {
  v1::ListJobsRequest request;
  request.set_limit(limit);
  return daemon.Ask<v1::ListJobsResponse>(request);
}

// Returns a connection to the daemon whose reader socket is `endpoint`. Does
// not connect yet. Errors: INVALID_ARGUMENT for an endpoint that is none.
using ConnectFunction =
    std::function<absl::StatusOr<std::shared_ptr<Daemon>>(const std::string&)>;

// As ConnectFunction, over gRPC: only grpc_daemon.cc knows it. The admin socket
// is the reader socket's sibling. Unary calls time out after `timeout_s`;
// streams end when the user interrupts.
absl::StatusOr<std::shared_ptr<Daemon>> ConnectGrpcDaemon(
    const std::string& reader_endpoint, double timeout_s = 10);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_DAEMON_H_
