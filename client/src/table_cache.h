// TableCache: tables fetched once, kept on local disk, so that a client decides
// while the daemon is down.
//
// Layout, in <dir>: <digest>.table holds a payload, and <digest>.info its
// TableInfo (serialized). <SHA-256 of a UUID>.device says which device class a
// device was served as, because one table serves every device of its class and
// names only the one that was profiled. <digest>.set holds a table set
// (wavetune/table_set.h). <digest>.withdrawn holds why a table is not to be
// used any more, as a daemon has said. Files are published by rename; a file
// that does not have its digest is ignored and removed. Many processes may
// share a cache.
//
// Thread safety: safe; all state is on disk.
#ifndef WAVETUNE_CLIENT_SRC_TABLE_CACHE_H_
#define WAVETUNE_CLIENT_SRC_TABLE_CACHE_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/wavetune/v1/types.pb.h"
#include "wavetune/table_set.h"

namespace wavetune {

// A table as it came from a daemon or the cache.
struct FetchedTable {
  v1::TableInfo info;
  std::string payload;
};

// Returns whether `a` was promoted before `b`: by epoch within one store, since
// clocks step back; else by time. Cannot fail.
bool IsOlder(const v1::TableInfo& a, const v1::TableInfo& b);

class TableCache {
 public:
  // An empty `dir` switches the cache off: nothing is found, nothing is kept.
  // So does one that others than root and this process's user can write, as
  // they would choose the launches: `problem` says so.
  explicit TableCache(std::string dir);

  // Why the cache is off though a folder was given; OK otherwise.
  const absl::Status& problem() const { return problem_; }

  // Keeps a table, and removes ones of the same kernel, fingerprint and device
  // class that are older (IsOlder) and that no kept set names. `device_uuid`
  // is the device the table was fetched for; empty where none was named.
  // Errors: the file system's, with the path.
  absl::Status Put(const FetchedTable& table,
                   const std::string& device_uuid = "") const;

  // Notes that a table computes wrong results, for as long as it is not Put
  // again. Errors: as Put.
  absl::Status Withdraw(const std::string& digest,
                        const std::string& why) const;
  // Returns why a table is not to be used; empty: nobody has said so.
  std::string WhyWithdrawn(const std::string& digest) const;

  // Returns a table by digest. Errors: NOT_FOUND; DATA_LOSS for a damaged file
  // (which is removed).
  absl::StatusOr<FetchedTable> Get(const std::string& digest) const;

  // Returns the cached tables of a kernel (all kernels if empty): the one
  // promoted last of each kernel, class and fingerprint, sorted by these.
  std::vector<v1::TableInfo> List(const std::string& kernel) const;

  // Returns whether a cached table is for a device: it was profiled there, or
  // the device was last served as the table's class.
  bool Serves(const v1::TableInfo& table, const std::string& device_uuid) const;

  // Keeps a table set, so that it is known by its digest. Errors: as Put.
  absl::Status PutSet(const TableSet& set) const;

  // Returns a table set by digest. Errors: as Get.
  absl::StatusOr<TableSet> GetSet(const std::string& digest) const;

  const std::string& dir() const { return dir_; }

 private:
  absl::Status MakeFolder() const;
  // Tables that a kept set names.
  std::set<std::string> DigestsInSets() const;
  std::string Path(const std::string& digest, const char* suffix) const;
  // Everything readable, sorted by identity.
  std::vector<v1::TableInfo> ListAll() const;

  std::string dir_;
  absl::Status problem_;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_TABLE_CACHE_H_
