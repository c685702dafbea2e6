// EtcdRegistry: the fleet's registry in etcd v3.
//
//   ASSIGN_OR_RETURN(auto options, ParseEtcdUrl("etcd://10.0.0.1:2379"));
//   ASSIGN_OR_RETURN(auto registry, EtcdRegistry::Create(options));
//
// Stubs are generated from etcd's own protos
// (server/fleet/etcd/CMakeLists.txt).
//
// Thread safety: thread-safe. Has a thread of watches, and one of the session
// from the first call on that needs one: a write that is of the session before
// etcd has granted it is FAILED_PRECONDITION.
#ifndef WAVETUNE_SERVER_FLEET_ETCD_ETCD_REGISTRY_H_
#define WAVETUNE_SERVER_FLEET_ETCD_ETCD_REGISTRY_H_

#include <memory>
#include <string>
#include <vector>

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
  absl::StatusOr<FleetEntry> Get(absl::string_view key) override;
  absl::StatusOr<FleetListing> List(absl::string_view prefix) override;
  absl::StatusOr<int64_t> Commit(
      const std::vector<FleetWrite>& writes) override;
  absl::StatusOr<int64_t> DeleteBelow(absl::string_view prefix) override;
  std::unique_ptr<WatchHandle> Watch(absl::string_view prefix,
                                     Listener listener) override;
  bool HasSession() override;
  std::unique_ptr<WatchHandle> OnSession(SessionListener listener) override;

 private:
  EtcdRegistry(const EtcdOptions& options,
               std::unique_ptr<EtcdConnection> connection);

  const std::string root_;
  const std::unique_ptr<EtcdConnection> connection_;
  EtcdSession session_;
  EtcdWatches watches_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_ETCD_ETCD_REGISTRY_H_
