#include "server/staleness_watch.h"

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

constexpr size_t kShownDigits = 16;

std::string Line(const TableRecord& table, const std::string& reason) {
  const std::string subject = absl::StrCat(
      "table ", table.digest.substr(0, kShownDigits), " of kernel \"",
      table.key.kernel, "\" (", table.device_label, ")");
  if (reason.empty()) return absl::StrCat(subject, " is current again");
  return absl::StrCat(subject, " is STALE, it serves on: ", reason,
                      ". Profile it anew: wavetune reprofile --kernel ",
                      table.key.kernel);
}

}  // namespace

void StalenessWatch::Look() {
  const std::shared_ptr<const TableSnapshot> serving = tables_->snapshot();
  std::vector<TableRecord> records;
  for (const ServingTable& table : serving->tables) {
    records.push_back(table.record);
  }
  const std::vector<std::string> now = judge_->StaleReasons(records);
  std::map<std::pair<ProfileKey, std::string>, std::string> next;
  for (size_t i = 0; i < records.size(); ++i) {
    const auto key = std::pair(records[i].key, records[i].digest);
    const auto before = reasons_.find(key);
    const std::string was = before == reasons_.end() ? "" : before->second;
    if (now[i] != was) {
      log_(Line(records[i], now[i]));
      tables_->Remark(records[i], now[i]);
    }
    next[key] = now[i];
  }
  reasons_ = std::move(next);
}

}  // namespace wavetune
