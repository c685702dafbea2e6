// TableSet: which table decides for which kernel. Its digest is what ranks of a
// job compare, and what a job is pinned to.
//
//   const TableSet set(TableSet::Tables{{"gemm_bf16", digest}});
//   std::string identity = set.Digest();
//
// The same function as the daemon's table-set digest: SHA-256 over the text
// below (base/digest.h).
#ifndef WAVETUNE_TABLE_SET_H_
#define WAVETUNE_TABLE_SET_H_

#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

class TableSet {
 public:
  using Tables = std::map<std::string, std::string>;

  TableSet() = default;
  explicit TableSet(Tables tables) : tables_(std::move(tables)) {}

  // Reads "kernel=digest,kernel=digest". Errors: INVALID_ARGUMENT naming the
  // entry that is none.
  static absl::StatusOr<TableSet> Parse(absl::string_view text);

  // {kernel -> hex digest of its table; empty: decides without a table}.
  const Tables& tables() const { return tables_; }

  // Returns "kernel=digest,kernel=digest", sorted by kernel. Cannot fail.
  std::string ToString() const;

  // Returns 64 hex digits. Cannot fail.
  std::string Digest() const;

  friend bool operator==(const TableSet&, const TableSet&) = default;

 private:
  Tables tables_;
};

}  // namespace wavetune

#endif  // WAVETUNE_TABLE_SET_H_
