// TableSnapshot: what serves at one revision, and how one follows from another.
//
// Thread safety: plain values, pure functions.
#ifndef WAVETUNE_SERVER_CATALOG_TABLE_SNAPSHOT_H_
#define WAVETUNE_SERVER_CATALOG_TABLE_SNAPSHOT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/decide/compiled_table.h"
#include "server/store/records.h"

namespace wavetune {

// A table that serves, or served; `table` may be nullptr where a list says so.
struct ServingTable {
  TableRecord record;
  std::shared_ptr<const CompiledTable> table;
};

// A table that should serve but cannot be read.
struct LeftOutTable {
  ProfileKey key;
  std::string why;  // Which table, why, and what to do.
};

// What serves at one revision.
struct TableSnapshot {
  std::vector<ServingTable> tables;  // Sorted by key.
  // Withdrawn tables that were not replaced since; sorted by key. The tables
  // are in memory, as they say what their kernel's default is; nullptr:
  // unreadable.
  std::vector<ServingTable> withdrawn;
  // What could not be read when the catalog was loaded, sorted by key; without
  // those for whose kernel and silicon another one serves.
  std::vector<LeftOutTable> left_out;
  std::vector<PinRecord> pins;  // Sorted by kernel, then silicon.
  uint64_t revision = 0;

  // Returns the pin of a kernel on a silicon; nullptr: there is none.
  const PinRecord* PinOf(absl::string_view kernel,
                         absl::string_view silicon_key) const;
};

// Removes what serves, was withdrawn or left out, for a key.
void EraseKey(TableSnapshot& snapshot, const ProfileKey& key);

// Removes tables that were left out but are not missed. That of a kernel as it
// was before an upgrade would be listed for ever, as no other gets its key.
void EraseReplacedLeftOut(TableSnapshot& snapshot);

// Inserts a table at its place in a list that is sorted by key.
void InsertByKey(std::vector<ServingTable>& tables, ServingTable table);

// Returns what serves once `table` does for its key.
TableSnapshot WithPromoted(TableSnapshot serving, ServingTable table);

// Says who pinned what, why, and how that ends.
std::string PinnedText(const PinRecord& pin);

// Return {kernel -> digest} of `tables`, and its digest; where a kernel has
// several, the last promoted counts. Cannot fail.
std::map<std::string, std::string> TableSetOf(
    const std::vector<ServingTable>& tables);
std::string TableSetDigestOf(const std::vector<ServingTable>& tables);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_TABLE_SNAPSHOT_H_
