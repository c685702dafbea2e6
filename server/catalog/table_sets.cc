#include "server/catalog/table_sets.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"

namespace wavetune {
namespace {

// Nothing that has a meaning in the text under a set's digest.
bool IsKernelName(const std::string& name) {
  return !name.empty() && name.size() <= TableSets::kMaxNameLength &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isgraph(static_cast<unsigned char>(c)) &&
                  c != '=' && c != ',';
         });
}

size_t SizeOf(const TableSets::Set& set) {
  size_t bytes = 0;
  for (const auto& [kernel, digest] : set)
    bytes += kernel.size() + digest.size();
  return bytes;
}

}  // namespace

absl::StatusOr<std::string> TableSets::Announce(const Set& set) {
  if (set.empty() || set.size() > kMaxEntries) {
    return absl::InvalidArgumentError(
        absl::StrCat("a table set has 1 to ", kMaxEntries,
                     " kernels, this has ", set.size()));
  }
  for (const auto& [kernel, digest] : set) {
    if (IsKernelName(kernel) && IsSha256Hex(digest)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", kernel, "\" -> \"", digest,
        "\" is no kernel with the digest of a table (64 lower-case hexadecimal "
        "digits)"));
  }
  const std::string identity = TableSetDigest(set);
  std::lock_guard lock(mutex_);
  std::erase(order_, identity);
  order_.push_back(identity);
  if (sets_.emplace(identity, set).second) bytes_ += SizeOf(set);
  while (order_.size() > kMaxSets || bytes_ > kMaxBytes) {
    const auto oldest = sets_.find(order_.front());
    bytes_ -= SizeOf(oldest->second);
    sets_.erase(oldest);
    order_.pop_front();
  }
  return identity;
}

std::optional<TableSets::Set> TableSets::Find(const std::string& digest) const {
  std::lock_guard lock(mutex_);
  const auto it = sets_.find(digest);
  if (it == sets_.end()) return std::nullopt;
  return it->second;
}

}  // namespace wavetune
