#include "server/catalog/staleness_watch.h"

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
  const std::vector<std::string> now = judge_->StaleReasons(*serving);
  std::map<std::pair<ProfileKey, std::string>, std::string> next;
  for (size_t i = 0; i < now.size(); ++i) {
    const TableRecord& table = serving->tables[i].record;
    const auto key = std::pair(table.key, table.digest);
    const auto before = reasons_.find(key);
    const std::string was = before == reasons_.end() ? "" : before->second;
    if (now[i] != was) {
      log_(Line(table, now[i]));
      tables_->Remark(table, now[i]);
    }
    next[key] = now[i];
  }
  reasons_ = std::move(next);
}

}  // namespace wavetune
