// rocksdb::Status -> absl::Status, once.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_STATUS_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rocksdb/status.h"

namespace wavetune {

// Returns the caller's code for `status`; the message says what failed
// (`doing`, for example "write samples"), what RocksDB said, and what to do.
// Codes: RESOURCE_EXHAUSTED on a full disk, a used-up quota, a file that may
// not grow and without file descriptors. PERMISSION_DENIED where the operating
// system refuses. DATA_LOSS on damaged files. FAILED_PRECONDITION on files that
// a newer RocksDB wrote. NOT_FOUND. INTERNAL on other I/O errors and for those
// that only a bug can cause. Never UNAVAILABLE, which clients take for a daemon
// that does not answer. Cannot fail.
absl::Status FromRocksDb(const rocksdb::Status& status,
                         absl::string_view doing);

// True where a disk, a quota, a file or the descriptors have run out.
bool IsOutOfResource(const rocksdb::Status& status);

// True where the operating system refused access (RocksDB has no code for it).
bool IsPermissionDenied(const rocksdb::Status& status);

// True where somebody else holds the lock (no code for it either).
bool IsTryAgain(const rocksdb::Status& status);

// True where a file is sound and of a format that this library does not know.
bool IsNewerFormat(const rocksdb::Status& status);

// Says that a RocksDB of `version`, empty where that is not known, wrote what
// this build's cannot read.
std::string NewerRocksDbText(absl::string_view version);

// "7.8.3": of the library that this program was built with.
std::string RocksDbVersion();

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_STATUS_H_
