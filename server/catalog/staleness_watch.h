// StalenessWatch: notices that a serving table became stale, or current again.
//
// The causes (another driver, another compiler, an edited source) lie outside
// of the daemon, so somebody has to look. Each Look compares with the one
// before and tells those who watch tables of each change.
//
// Thread safety: one Look at a time.
#ifndef WAVETUNE_SERVER_CATALOG_STALENESS_WATCH_H_
#define WAVETUNE_SERVER_CATALOG_STALENESS_WATCH_H_

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "server/catalog/node_staleness.h"
#include "server/catalog/table_catalog.h"

namespace wavetune {

class StalenessWatch {
 public:
  // Both outlive the watch. `judged_soon`: whether a stale table is judged anew
  // without anybody asking (DriftWatch::WillJudge).
  StalenessWatch(
      TableCatalog* tables, const NodeStaleness* staleness,
      std::function<bool(const TableRecord&)> judged_soon =
          [](const TableRecord&) { return false; })
      : tables_(tables),
        staleness_(staleness),
        judged_soon_(std::move(judged_soon)) {}

  // Cannot fail.
  void Look();

 private:
  TableCatalog* const tables_;
  const NodeStaleness* const staleness_;
  const std::function<bool(const TableRecord&)> judged_soon_;
  std::map<std::pair<ProfileKey, std::string>, std::string> reasons_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_STALENESS_WATCH_H_
