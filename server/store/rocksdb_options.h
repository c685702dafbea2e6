// RocksDB's options for the store: a small, quiet database. The daemon shares
// its node with a serving process and stays under 128 MiB resident.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_OPTIONS_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_OPTIONS_H_

#include "rocksdb/env.h"
#include "rocksdb/options.h"

namespace wavetune {

// Returns options for the database and all column families; `env` as it is.
// Cannot fail.
rocksdb::Options StoreOptions(rocksdb::Env* env);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_OPTIONS_H_
