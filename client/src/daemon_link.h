// DaemonLink: the calls to one daemon, each with a deadline, all of which can
// be cut off. Includes no gRPC.
//
// A process that was forked while its parent used gRPC calls without it, on
// connections of its own (client/src/plain_link.h): what the parent had is
// neither used nor touched.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_CLIENT_SRC_DAEMON_LINK_H_
#define WAVETUNE_CLIENT_SRC_DAEMON_LINK_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/src/fork_guard.h"
#include "client/src/plain_link.h"
#include "client/src/table_cache.h"
#include "client/usage/usage_sender.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "proto/wavetune/v1/table_service.pb.h"
#include "proto/wavetune/v1/workload_service.pb.h"
#include "wavetune/table_set.h"

namespace wavetune {

class DaemonLink {
 public:
  static constexpr std::chrono::seconds kLookAgain{5};

  // Returns whether to go on.
  using OnNotice = std::function<bool(const v1::WatchTablesResponse&)>;

  // `endpoint` is a gRPC target. Does not connect yet. A daemon over TCP whose
  // certificate files cannot be used here is one that cannot be reached: calls
  // say why, and the files are looked at again every kLookAgain. Errors:
  // INVALID_ARGUMENT for something that is no target, and as
  // TlsFilesFromEnvironment.
  static absl::StatusOr<std::unique_ptr<DaemonLink>> Open(
      const std::string& endpoint, double timeout_s);
  ~DaemonLink();

  const std::string& endpoint() const { return endpoint_; }

  // Errors of all calls: the daemon's; UNAVAILABLE where it cannot be reached;
  // DEADLINE_EXCEEDED where it does not answer in time; CANCELLED.
  absl::StatusOr<FetchedTable> GetTable(const v1::GetTableRequest& request);
  absl::StatusOr<v1::ListDevicesResponse> ListDevices();
  absl::StatusOr<v1::ListKernelsResponse> ListKernels();
  absl::StatusOr<TableSet> GetTableSet(const std::string& digest);
  absl::Status AnnounceTableSet(const TableSet& set);
  // FAILED_PRECONDITION from a daemon that is older than workloads.
  absl::StatusOr<v1::AddWorkloadResponse> AddWorkload(
      const v1::AddWorkloadRequest& request);

  // Gives every notice to `on_notice` until the stream ends, which has no
  // deadline, or that returns false. Returns why it ended; never OK.
  absl::Status WatchTables(const v1::WatchTablesRequest& request,
                           const OnNotice& on_notice);

  // Returns what sends reports of use to this daemon. May outlive the link;
  // Cancel does not end it.
  std::unique_ptr<UsageSender> MakeUsageSender() const;

  // Ends all calls, now and from now on, as CANCELLED.
  void Cancel();

 private:
  class Impl;
  DaemonLink(std::string endpoint, double timeout_s, bool may_use_grpc);

  absl::Status WatchPlainly(const v1::WatchTablesRequest& request,
                            const OnNotice& on_notice);
  // Whether gRPC is the parent's, or cannot be used.
  bool plain() const { return impl() == nullptr; }
  // Returns nullptr for plain(); else what stays while the link does.
  Impl* impl() const;
  // Makes impl_, or notes why it cannot be. Holds mutex_.
  void TryToOpen() const;

  const std::string endpoint_;
  const double timeout_s_;
  const bool may_use_grpc_;
  const uint32_t born_ = ForkGeneration();
  mutable PlainLink plain_;   // Refuses calls while impl_ cannot be made.
  mutable std::mutex mutex_;  // Not in forked children: another generation.
  // Guarded by mutex_. impl_ is made once.
  mutable std::unique_ptr<Impl> impl_;
  mutable absl::Status problem_;
  mutable std::chrono::steady_clock::time_point tried_;
  bool cancelled_ = false;
};

// The daemon cannot be asked; something else may answer.
bool IsUnreachable(const absl::Status& status);

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_DAEMON_LINK_H_
