#include "server/fleet/registry_bounds.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "server/rpc/request_bounds.h"

namespace wavetune {

void CutEntry(size_t most_bytes, FleetEntry& entry) {
  if (entry.value.size() <= most_bytes) return;
  std::string().swap(entry.value);  // Assigning would keep its memory.
  entry.cut = true;
}

bool EntryBudget::IsOurs(absl::string_view key) const {
  return absl::StartsWith(key, prefix_) &&
         key.size() <= FleetRegistry::kMaxKeyBytes;
}

absl::Status EntryBudget::Take(FleetEntry& entry) {
  CutEntry(bounds_.entry_bytes, entry);
  const size_t size = entry.key.size() + entry.value.size();
  Forget(entry.key);
  if (sizes_.size() >= bounds_.entries || bytes_ + size > bounds_.all_bytes) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "the registry has more beneath %s than a node reads (%d entries, %d "
        "KiB): somebody fills it; delete what does not belong there (etcdctl "
        "get --keys-only, docs/fleet.md)",
        prefix_, bounds_.entries, bounds_.all_bytes / kKiB));
  }
  sizes_[entry.key] = size;
  bytes_ += size;
  return absl::OkStatus();
}

void EntryBudget::Forget(const std::string& key) {
  const auto known = sizes_.find(key);
  if (known == sizes_.end()) return;
  bytes_ -= known->second;
  sizes_.erase(known);
}

void EntryBudget::Clear() {
  sizes_.clear();
  bytes_ = 0;
}

absl::StatusOr<size_t> CheckEntry(absl::string_view place,
                                  absl::string_view bytes, size_t most_bytes,
                                  const google::protobuf::Descriptor& type) {
  const auto cost = ParsedBytes(type, bytes, most_bytes);
  if (cost.ok()) return cost;
  return absl::DataLossError(absl::StrCat(
      "what is at ", place, " is no ", type.name(),
      absl::IsResourceExhausted(cost.status()) ? ": it has too many entries"
                                               : ""));
}

absl::Status ParseEntry(absl::string_view place, absl::string_view bytes,
                        size_t most_bytes, google::protobuf::Message* message,
                        size_t* parsed_bytes) {
  const google::protobuf::Descriptor& type = *message->GetDescriptor();
  ASSIGN_OR_RETURN(const size_t cost,
                   CheckEntry(place, bytes, most_bytes, type));
  if (!message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError(
        absl::StrCat("what is at ", place, " is no ", type.name()));
  }
  if (parsed_bytes != nullptr) *parsed_bytes = cost;
  return absl::OkStatus();
}

}  // namespace wavetune
