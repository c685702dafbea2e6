// StoreMigrations: how stores of earlier schema versions become this one's.
//
// One step a version; docs/storage.md lists the versions. Tested on stores that
// earlier releases wrote (tests/data/stores).
//
// Thread safety: pure function.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_MIGRATIONS_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_MIGRATIONS_H_

#include <vector>

#include "server/store/rocksdb_database.h"

namespace wavetune {

// Returns all steps, for RocksDbDatabase::Options.
std::vector<RocksDbDatabase::Migration> StoreMigrations();

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_MIGRATIONS_H_
