// TableCache: tables fetched once, kept on local disk, so that a client decides
// while the daemon is down.
//
// Layout: <dir>/<digest>.table holds a payload, <dir>/<digest>.info its
// TableInfo (serialized). Files are published by rename; a file that does not
// have its digest is ignored and removed. Many processes may share a cache.
//
// Thread safety: safe; all state is on disk.
#ifndef WAVETUNE_CLIENT_TABLE_CACHE_H_
#define WAVETUNE_CLIENT_TABLE_CACHE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/wavetune/v1/types.pb.h"

namespace wavetune {

// A table as it came from a daemon or the cache.
struct FetchedTable {
  v1::TableInfo info;
  std::string payload;
};

class TableCache {
 public:
  // An empty `dir` switches the cache off: nothing is found, nothing is kept.
  explicit TableCache(std::string dir) : dir_(std::move(dir)) {}

  // Keeps a table, replacing older ones of the same kernel, fingerprint and
  // device class. Errors: the file system's, with the path.
  absl::Status Put(const FetchedTable& table) const;

  // Returns a table by digest. Errors: NOT_FOUND; DATA_LOSS for a damaged file
  // (which is removed).
  absl::StatusOr<FetchedTable> Get(const std::string& digest) const;

  // Returns what is cached for a kernel (all kernels if empty), sorted by
  // kernel, class, fingerprint.
  std::vector<v1::TableInfo> List(const std::string& kernel) const;

  const std::string& dir() const { return dir_; }

 private:
  std::string Path(const std::string& digest, const char* suffix) const;

  std::string dir_;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_TABLE_CACHE_H_
