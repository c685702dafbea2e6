// Stores that keep an entry for each record: of devices in column family
// devices, of use, workloads and heads of the fleet in column family kernels.
//
// Thread safety: the stores are thread-safe.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_ENTRY_STORES_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_ENTRY_STORES_H_

#include <memory>

#include "server/store/device_store.h"
#include "server/store/fleet_head_store.h"
#include "server/store/rocksdb_database.h"
#include "server/store/usage_store.h"
#include "server/store/workload_store.h"

namespace wavetune {

// `database` must outlive the stores.
std::unique_ptr<DeviceStore> MakeDeviceStore(RocksDbDatabase* database);
std::unique_ptr<UsageStore> MakeUsageStore(RocksDbDatabase* database);
std::unique_ptr<WorkloadStore> MakeWorkloadStore(RocksDbDatabase* database);
std::unique_ptr<FleetHeadStore> MakeFleetHeadStore(RocksDbDatabase* database);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_ENTRY_STORES_H_
