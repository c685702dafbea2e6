#include "server/catalog/staleness_watch.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace wavetune {
void StalenessWatch::Look() {
  const std::shared_ptr<const TableSnapshot> serving = tables_->snapshot();
  const std::vector<std::string> now = staleness_->StaleReasons(*serving);
  std::map<std::pair<ProfileKey, std::string>, std::string> next;
  for (size_t i = 0; i < now.size(); ++i) {
    const TableRecord& table = serving->tables[i].record;
    const auto key = std::pair(table.key, table.digest);
    const auto before = reasons_.find(key);
    const std::string was = before == reasons_.end() ? "" : before->second;
    if (now[i] != was) {
      tables_->Remark(table, now[i], !now[i].empty() && judged_soon_(table));
    }
    next[key] = now[i];
  }
  reasons_ = std::move(next);
}

}  // namespace wavetune
