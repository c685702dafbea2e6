// EtcdRegistry: the fleet's registry in etcd v3.
//
//   ASSIGN_OR_RETURN(auto options, ParseEtcdUrl("etcd://10.0.0.1:2379"));
//   ASSIGN_OR_RETURN(auto registry, EtcdRegistry::Create(options));
//
// Thread safety: thread-safe. Has a thread of watches, and one of the session
// from the first call on that needs one. A write of the session before etcd has
// granted it is FAILED_PRECONDITION.
#ifndef WAVETUNE_SERVER_FLEET_ETCD_ETCD_REGISTRY_H_
#define WAVETUNE_SERVER_FLEET_ETCD_ETCD_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/fleet/etcd/etcd_connection.h"
#include "server/fleet/etcd/etcd_options.h"
#include "server/fleet/etcd/etcd_session.h"
#include "server/fleet/etcd/etcd_watches.h"
#include "server/fleet/fleet_registry.h"

namespace wavetune {

class EtcdRegistry : public FleetRegistry {
 public:
  // Does not wait for etcd, which may be started later. Errors: as
  // EtcdConnection::Create.
  static absl::StatusOr<std::unique_ptr<EtcdRegistry>> Create(
      const EtcdOptions& options);

  ~EtcdRegistry() override;  // As Stop; then the session ends.

  void Stop() override;
  using FleetRegistry::Get;
  absl::StatusOr<FleetEntry> Get(absl::string_view key,
                                 size_t most_bytes) override;
  absl::StatusOr<int64_t> Read(absl::string_view prefix,
                               const FleetBounds& bounds,
                               const Taker& take) override;
  absl::StatusOr<int64_t> Commit(
      const std::vector<FleetWrite>& writes) override;
  std::unique_ptr<WatchHandle> Watch(absl::string_view prefix,
                                     const FleetBounds& bounds,
                                     Listener listener) override;
  absl::Status Session() override;
  std::unique_ptr<WatchHandle> OnSession(SessionListener listener) override;

 private:
  EtcdRegistry(const EtcdOptions& options,
               std::unique_ptr<EtcdConnection> connection);

  // Fetches a page; fewer entries where they are too large for one answer, and
  // of one that is, the key alone. Sets the request's limit to a good one for
  // the next page.
  absl::StatusOr<etcdserverpb::RangeResponse> Page(
      etcdserverpb::RangeRequest& request);

  const std::string root_;
  const std::unique_ptr<EtcdConnection> connection_;
  EtcdSession session_;
  EtcdWatches watches_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_ETCD_ETCD_REGISTRY_H_
