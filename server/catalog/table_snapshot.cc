#include "server/catalog/table_snapshot.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"

namespace wavetune {

const PinRecord* TableSnapshot::PinOf(absl::string_view kernel,
                                      absl::string_view silicon_key) const {
  for (const PinRecord& pin : pins) {
    if (pin.kernel == kernel && pin.silicon_key == silicon_key) return &pin;
  }
  return nullptr;
}

void EraseKey(TableSnapshot& snapshot, const ProfileKey& key) {
  const auto is_of_key = [&](const ServingTable& t) {
    return t.record.key == key;
  };
  std::erase_if(snapshot.tables, is_of_key);
  std::erase_if(snapshot.withdrawn, is_of_key);
  std::erase_if(snapshot.left_out,
                [&](const LeftOutTable& t) { return t.key == key; });
}

void EraseReplacedLeftOut(TableSnapshot& snapshot) {
  std::erase_if(snapshot.left_out, [&](const LeftOutTable& left_out) {
    return std::any_of(snapshot.tables.begin(), snapshot.tables.end(),
                       [&](const ServingTable& t) {
                         return t.record.key.kernel == left_out.key.kernel &&
                                t.record.key.silicon_key ==
                                    left_out.key.silicon_key;
                       });
  });
}

void InsertByKey(std::vector<ServingTable>& tables, ServingTable table) {
  const auto place =
      std::lower_bound(tables.begin(), tables.end(), table,
                       [](const ServingTable& a, const ServingTable& b) {
                         return a.record.key < b.record.key;
                       });
  tables.insert(place, std::move(table));
}

TableSnapshot WithPromoted(TableSnapshot serving, ServingTable table) {
  EraseKey(serving, table.record.key);
  InsertByKey(serving.tables, std::move(table));
  EraseReplacedLeftOut(serving);
  return serving;
}

std::string PinnedText(const PinRecord& pin) {
  return absl::StrCat("kernel ", pin.kernel, " is pinned to table ",
                      ShortDigest(pin.digest), " by user ", pin.by,
                      pin.why.empty() ? "" : absl::StrCat(" (", pin.why, ")"),
                      ": wavetune tables unpin ", pin.kernel, " ends that");
}

std::map<std::string, std::string> TableSetOf(
    const std::vector<ServingTable>& tables) {
  std::map<std::string, const TableRecord*> newest;
  for (const ServingTable& table : tables) {
    const TableRecord*& entry = newest[table.record.key.kernel];
    if (entry == nullptr || entry->epoch < table.record.epoch) {
      entry = &table.record;
    }
  }
  std::map<std::string, std::string> digests;
  for (const auto& [kernel, record] : newest) digests[kernel] = record->digest;
  return digests;
}

std::string TableSetDigestOf(const std::vector<ServingTable>& tables) {
  return TableSetDigest(TableSetOf(tables));
}

}  // namespace wavetune
