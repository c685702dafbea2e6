// StoreFileSystem: the file system that RocksDB sees. It does not say how much
// space is free, so that RocksDB leaves recovering from a full disk to us
// (rocksdb_options.cc has the reason).
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_FILE_SYSTEM_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_FILE_SYSTEM_H_

#include <memory>
#include <string>

#include "rocksdb/file_system.h"

namespace wavetune {

class StoreFileSystem : public rocksdb::FileSystemWrapper {
 public:
  explicit StoreFileSystem(const std::shared_ptr<rocksdb::FileSystem>& base)
      : rocksdb::FileSystemWrapper(base) {}

  const char* Name() const override { return "StoreFileSystem"; }
  rocksdb::IOStatus GetFreeSpace(const std::string& /*path*/,
                                 const rocksdb::IOOptions& /*options*/,
                                 uint64_t* /*bytes*/,
                                 rocksdb::IODebugContext* /*debug*/) override {
    return rocksdb::IOStatus::NotSupported("recovery is not RocksDB's");
  }
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_FILE_SYSTEM_H_
