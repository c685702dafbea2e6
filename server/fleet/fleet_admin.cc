#include "server/fleet/fleet_admin.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "model/kernel/kernel_spec.h"
#include "server/fleet/fleet_head.h"
#include "server/rpc/table_admin.h"

namespace wavetune {
namespace {

FleetTables::Order OrderFor(TableRecord table, const std::string& by,
                            const std::string& why) {
  return {
      .table = std::move(table), .by = absl::StrCat("user ", by), .why = why};
}

}  // namespace

FleetAdmin::FleetAdmin(Options options)
    : options_(std::move(options)),
      lookup_(options_.tables, options_.devices, options_.kernels,
              /*default_faults=*/nullptr) {}

absl::StatusOr<FleetAdmin::Place> FleetAdmin::PlaceFor(
    const v1::FleetPlace& place, const std::string& reason) const {
  RETURN_IF_ERROR(TableAdmin::CheckReason(reason));
  FleetTables* const fleet = options_.fleet();
  if (fleet == nullptr) {
    return absl::FailedPreconditionError(
        "this node is in no fleet: start wavetuned with --fleet "
        "(docs/fleet.md)");
  }
  if (place.kernel().empty())
    return absl::InvalidArgumentError("which kernel? Give its name");
  RETURN_IF_ERROR(options_.kernels->Spec(place.kernel()).status());
  std::map<std::string, DeviceFacts> classes;
  for (const DeviceFacts& device : lookup_.Devices(place.device_uuid()))
    classes.try_emplace(FleetClass(device), device);
  if (classes.empty()) {
    return absl::NotFoundError(
        place.device_uuid().empty()
            ? "this node has seen no device, so there is no class whose table "
              "could be meant"
            : absl::StrCat("no device ", place.device_uuid(),
                           ": wavetune status lists them"));
  }
  if (classes.size() > 1) {
    std::string choices;
    for (const auto& [fleet_class, device] : classes) {
      absl::StrAppend(&choices, "\n  --device ", device.uuid, ": class ",
                      fleet_class, ", ", device.label, ", ",
                      EnvironmentKey(device));
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "the devices of this node are of several classes: name one", choices));
  }
  return Place{fleet, place.kernel(), classes.begin()->second,
               classes.begin()->first};
}

bool FleetAdmin::IsOf(const Place& place, const TableRecord& record) {
  return record.key.kernel == place.kernel &&
         FleetClass(record.key) == place.fleet_class;
}

absl::Status FleetAdmin::Publish(const v1::PublishToFleetRequest& request,
                                 const std::string& by,
                                 v1::PublishToFleetResponse* response) {
  ASSIGN_OR_RETURN(const Place place,
                   PlaceFor(request.place(), request.reason()));
  ASSIGN_OR_RETURN(const TableMatch match,
                   lookup_.Find(place.kernel, place.device.uuid, ""));
  const TableRecord& table = match.serving.record;
  if (!IsOf(place, table)) {
    return absl::FailedPreconditionError(
        absl::StrCat("table ", ShortDigest(table.digest),
                     " serves, which is of another "
                     "class: ",
                     match.stale_reason,
                     ". Profile, or have it judged: wavetune reprofile "
                     "--kernel ",
                     place.kernel));
  }
  const std::string why =
      request.reason().empty() ? table.why : request.reason();
  ASSIGN_OR_RETURN(const FleetHead head,
                   place.fleet->Publish(OrderFor(table, by, why)));
  response->set_fleet_class(place.fleet_class);
  response->set_digest(head.digest);
  response->set_epoch(head.epoch);
  return absl::OkStatus();
}

absl::Status FleetAdmin::Freeze(const v1::FreezeInFleetRequest& request,
                                const std::string& by,
                                v1::FreezeInFleetResponse* response) {
  ASSIGN_OR_RETURN(const Place place,
                   PlaceFor(request.place(), request.reason()));
  response->set_fleet_class(place.fleet_class);
  return place.fleet->Freeze(place.fleet_class, place.kernel,
                             absl::StrCat("user ", by), request.reason());
}

absl::Status FleetAdmin::Unfreeze(const v1::UnfreezeInFleetRequest& request,
                                  v1::UnfreezeInFleetResponse* response) {
  ASSIGN_OR_RETURN(const Place place, PlaceFor(request.place(), ""));
  response->set_fleet_class(place.fleet_class);
  return place.fleet->Unfreeze(place.fleet_class, place.kernel);
}

absl::Status FleetAdmin::RollBack(const v1::RollBackFleetRequest& request,
                                  const std::string& by,
                                  v1::RollBackFleetResponse* response) {
  ASSIGN_OR_RETURN(const Place place,
                   PlaceFor(request.place(), request.reason()));
  const std::string silicon_key = SiliconKey(place.device);
  const auto snapshot = options_.tables->snapshot();
  if (const PinRecord* const pin = snapshot->PinOf(place.kernel, silicon_key))
    return absl::FailedPreconditionError(PinnedText(*pin));
  ASSIGN_OR_RETURN(const std::vector<TableRecord> history,
                   options_.tables->History(place.kernel, silicon_key));
  ASSIGN_OR_RETURN(const FleetTables::Earlier earlier,
                   place.fleet->FindEarlier(place.fleet_class, place.kernel,
                                            request.digest(), history));
  response->set_fleet_class(place.fleet_class);
  response->set_digest(earlier.head.digest);
  response->set_epoch(earlier.serving.epoch);
  response->set_halted(earlier.halts);
  if (!earlier.halts) response->set_replaced(earlier.serving.digest);
  if (earlier.halts) {
    if (request.dry_run()) return absl::OkStatus();
    return place.fleet->Halt(
        OrderFor({.key = earlier.head.key}, by, request.reason()));
  }
  ASSIGN_OR_RETURN(const TableRecord target,
                   place.fleet->RecordOf(earlier.head));
  if (request.dry_run()) return absl::OkStatus();
  FleetTables::Order order = OrderFor(target, by, request.reason());
  order.rolled_back = true;
  order.before = earlier.head.before;
  ASSIGN_OR_RETURN(const FleetHead head, place.fleet->Publish(order));
  response->set_epoch(head.epoch);
  return absl::OkStatus();
}

}  // namespace wavetune
