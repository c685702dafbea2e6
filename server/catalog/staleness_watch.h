// StalenessWatch: notices that a serving table became stale, or current again.
//
// What makes it so (another driver, another compiler, an edited source) happens
// outside of the daemon, so somebody has to look: each Look compares with the
// one before and tells those who watch tables of each change.
//
// Thread safety: one Look at a time.
#ifndef WAVETUNE_SERVER_CATALOG_STALENESS_WATCH_H_
#define WAVETUNE_SERVER_CATALOG_STALENESS_WATCH_H_

#include <map>
#include <string>
#include <utility>

#include "server/catalog/table_catalog.h"
#include "server/catalog/table_judge.h"

namespace wavetune {

class StalenessWatch {
 public:
  // Both outlive the watch.
  StalenessWatch(TableCatalog* tables, const TableJudge* judge)
      : tables_(tables), judge_(judge) {}

  // Cannot fail.
  void Look();

 private:
  TableCatalog* const tables_;
  const TableJudge* const judge_;
  std::map<std::pair<ProfileKey, std::string>, std::string> reasons_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_STALENESS_WATCH_H_
