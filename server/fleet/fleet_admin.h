// FleetAdmin: what operators do with the tables of a fleet. Knows no gRPC.
//
//   RETURN_IF_ERROR(admin.RollBack(request, /*by=*/"0", &response));
//
// A request names a kernel and, where the devices of this node are of several
// classes, a device; its class is meant.
//
// Thread safety: thread-safe. Calls wait for the registry, seconds at most.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_ADMIN_H_
#define WAVETUNE_SERVER_FLEET_FLEET_ADMIN_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernel/device.h"
#include "proto/wavetune/v1/admin_service.pb.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/kernel_catalog.h"
#include "server/catalog/table_catalog.h"
#include "server/catalog/table_lookup.h"
#include "server/fleet/fleet_tables.h"

namespace wavetune {

class FleetAdmin {
 public:
  // Pointers outlive the object.
  struct Options {
    // nullptr: the node is in no fleet.
    std::function<FleetTables*()> fleet;
    TableCatalog* tables = nullptr;
    AgentDirectory* devices = nullptr;
    KernelCatalog* kernels = nullptr;
  };

  explicit FleetAdmin(Options options);

  // All: FAILED_PRECONDITION where the node is in no fleet, and listing the
  // devices where they are of several classes. NOT_FOUND for an unknown device
  // or kernel, and where there is no device. INVALID_ARGUMENT for too long a
  // reason. `by`: the user, as TableRecord::by.

  // Makes what serves here the fleet's. Errors: as FleetTables::Publish;
  // NOT_FOUND where nothing serves; FAILED_PRECONDITION where what serves is
  // of another class.
  absl::Status Publish(const v1::PublishToFleetRequest& request,
                       const std::string& by,
                       v1::PublishToFleetResponse* response);
  // Errors: as FleetTables::Freeze and Unfreeze.
  absl::Status Freeze(const v1::FreezeInFleetRequest& request,
                      const std::string& by,
                      v1::FreezeInFleetResponse* response);
  absl::Status Unfreeze(const v1::UnfreezeInFleetRequest& request,
                        v1::UnfreezeInFleetResponse* response);
  // Makes what the class had accepted before the fleet's, or halts the rollout
  // that is under way; with `dry_run` it says what it would do. Errors: as
  // FleetTables::FindEarlier, Publish and Halt; FAILED_PRECONDITION where the
  // kernel is pinned here, or the table was shown wrong.
  absl::Status RollBack(const v1::RollBackFleetRequest& request,
                        const std::string& by,
                        v1::RollBackFleetResponse* response);

 private:
  struct Place {
    FleetTables* fleet = nullptr;
    std::string kernel;
    DeviceFacts device;  // One of the class.
    std::string fleet_class;
  };
  absl::StatusOr<Place> PlaceFor(const v1::FleetPlace& place,
                                 const std::string& reason) const;
  // Whether a table is of the place's class.
  static bool IsOf(const Place& place, const TableRecord& record);

  const Options options_;
  const TableLookup lookup_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_ADMIN_H_
