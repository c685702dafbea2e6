#include "client/src/table_cache.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/digest.h"
#include "base/own_files.h"
#include "base/status_macros.h"
#include "client/src/table_files.h"
#include "model/table/table_codec.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

auto IdentityOf(const v1::TableInfo& info) {
  return std::tie(info.kernel(), info.silicon_key(), info.environment_key(),
                  info.fingerprint());
}

absl::Status Publish(const std::string& path, absl::string_view content) {
  const std::error_code error = WriteFileAtomically(path, content);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot write ", path, ": ", error.message()));
}

}  // namespace

TableCache::TableCache(std::string dir) : dir_(std::move(dir)) {
  if (dir_.empty()) return;
  problem_ = CheckOwnFolder(dir_, StickyFolder::kRefused);
  // One that is not there yet, or no folder, is for Put to tell of.
  if (!absl::IsPermissionDenied(problem_)) {
    problem_ = absl::OkStatus();
    return;
  }
  problem_ = absl::Status(problem_.code(),
                          absl::StrCat("tables are not cached in ", dir_, ": ",
                                       problem_.message()));
  dir_.clear();
}

bool IsOlder(const v1::TableInfo& a, const v1::TableInfo& b) {
  // A clock may step back, an epoch does not; but it is its store's.
  const auto epochs = [](const v1::TableInfo& info) {
    return std::make_tuple(info.epoch(), info.promoted_at_us(), info.digest());
  };
  if (a.store_id() == b.store_id()) return epochs(a) < epochs(b);
  return std::make_tuple(a.promoted_at_us(), a.digest()) <
         std::make_tuple(b.promoted_at_us(), b.digest());
}

std::string TableCache::Path(const std::string& digest,
                             const char* suffix) const {
  return absl::StrCat(dir_, "/", digest, suffix);
}

absl::Status TableCache::MakeFolder() const {
  const absl::Status made = MakeOwnFolder(dir_);
  if (made.ok()) return absl::OkStatus();
  return absl::Status(
      made.code(),
      absl::StrCat("the table cache is not usable: ", made.message()));
}

absl::Status TableCache::Put(const FetchedTable& table,
                             const std::string& device_uuid) const {
  if (dir_.empty()) return absl::OkStatus();
  if (!IsSha256Hex(table.info.digest()))
    return absl::InvalidArgumentError(
        absl::StrCat("\"", table.info.digest(), "\" is no table digest"));
  RETURN_IF_ERROR(MakeFolder());
  // The payload first: an info file promises that its payload is there.
  RETURN_IF_ERROR(Publish(Path(table.info.digest(), ".table"), table.payload));
  RETURN_IF_ERROR(Publish(Path(table.info.digest(), ".info"),
                          table.info.SerializeAsString()));
  if (!device_uuid.empty()) {
    v1::TableInfo device_class;
    device_class.set_device_uuid(device_uuid);
    device_class.set_silicon_key(table.info.silicon_key());
    device_class.set_environment_key(table.info.environment_key());
    RETURN_IF_ERROR(Publish(Path(Sha256Hex(device_uuid), ".device"),
                            device_class.SerializeAsString()));
  }
  std::error_code error;
  fs::remove(Path(table.info.digest(), ".withdrawn"), error);
  const std::set<std::string> in_sets = DigestsInSets();
  for (const v1::TableInfo& other : ListAll()) {
    if (in_sets.count(other.digest()) == 0 &&
        IdentityOf(other) == IdentityOf(table.info) &&
        IsOlder(other, table.info)) {
      fs::remove(Path(other.digest(), ".info"), error);
      fs::remove(Path(other.digest(), ".table"), error);
      fs::remove(Path(other.digest(), ".withdrawn"), error);
    }
  }
  return absl::OkStatus();
}

absl::Status TableCache::Withdraw(const std::string& digest,
                                  const std::string& why) const {
  if (dir_.empty()) return absl::OkStatus();
  if (!IsSha256Hex(digest))
    return absl::InvalidArgumentError(
        absl::StrCat("\"", digest, "\" is no table digest"));
  RETURN_IF_ERROR(MakeFolder());
  return Publish(Path(digest, ".withdrawn"), why);
}

std::string TableCache::WhyWithdrawn(const std::string& digest) const {
  if (dir_.empty() || !IsSha256Hex(digest)) return "";
  return ReadTableFile(Path(digest, ".withdrawn"), InputKind::kOwnFile)
      .value_or("");
}

absl::Status TableCache::PutSet(const TableSet& set) const {
  if (dir_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(MakeFolder());
  return Publish(Path(set.Digest(), ".set"), set.ToString());
}

absl::StatusOr<TableSet> TableCache::GetSet(const std::string& digest) const {
  if (dir_.empty() || !IsSha256Hex(digest))
    return absl::NotFoundError(absl::StrCat("no cached table set ", digest));
  const std::string path = Path(digest, ".set");
  ASSIGN_OR_RETURN(const std::string text,
                   ReadTableFile(path, InputKind::kOwnFile));
  absl::StatusOr<TableSet> set = TableSet::Parse(text);
  if (set.ok() && set->Digest() == digest) return set;
  std::error_code error;
  fs::remove(path, error);
  return absl::DataLossError(absl::StrCat("cached table set ", path,
                                          " was damaged and has been removed"));
}

std::set<std::string> TableCache::DigestsInSets() const {
  std::set<std::string> digests;
  std::error_code error;
  for (fs::directory_iterator it(dir_, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != ".set") continue;
    const absl::StatusOr<TableSet> set = GetSet(it->path().stem().string());
    if (!set.ok()) continue;
    for (const auto& [kernel, digest] : set->tables()) digests.insert(digest);
  }
  return digests;
}

absl::StatusOr<FetchedTable> TableCache::Get(const std::string& digest) const {
  if (dir_.empty() || !IsSha256Hex(digest))
    return absl::NotFoundError(absl::StrCat("no cached table ", digest));
  FetchedTable table;
  ASSIGN_OR_RETURN(table.payload,
                   ReadTableFile(Path(digest, ".table"), InputKind::kOwnFile));
  absl::StatusOr<std::string> info =
      ReadTableFile(Path(digest, ".info"), InputKind::kOwnFile);
  if (Sha256Hex(table.payload) != digest || !info.ok() ||
      !table.info.ParseFromString(*info)) {
    std::error_code error;
    fs::remove(Path(digest, ".info"), error);
    fs::remove(Path(digest, ".table"), error);
    return absl::DataLossError(
        absl::StrCat("cached table ", Path(digest, ".table"),
                     " was damaged and has been removed"));
  }
  return table;
}

bool TableCache::Serves(const v1::TableInfo& table,
                        const std::string& device_uuid) const {
  if (table.device_uuid() == device_uuid) return true;
  absl::StatusOr<std::string> bytes = ReadTableFile(
      Path(Sha256Hex(device_uuid), ".device"), InputKind::kOwnFile);
  v1::TableInfo device_class;
  return bytes.ok() && device_class.ParseFromString(*bytes) &&
         device_class.device_uuid() == device_uuid &&
         device_class.silicon_key() == table.silicon_key() &&
         device_class.environment_key() == table.environment_key();
}

std::vector<v1::TableInfo> TableCache::ListAll() const {
  std::vector<v1::TableInfo> result;
  if (dir_.empty()) return result;
  std::error_code error;
  for (fs::directory_iterator it(dir_, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != ".info") continue;
    absl::StatusOr<std::string> bytes =
        ReadTableFile(it->path().string(), InputKind::kOwnFile);
    v1::TableInfo info;
    if (!bytes.ok() || !info.ParseFromString(*bytes) ||
        info.digest() != it->path().stem().string())
      continue;
    result.push_back(std::move(info));
  }
  std::sort(result.begin(), result.end(),
            [](const v1::TableInfo& a, const v1::TableInfo& b) {
              return IdentityOf(a) != IdentityOf(b)
                         ? IdentityOf(a) < IdentityOf(b)
                         : a.digest() < b.digest();
            });
  return result;
}

std::vector<v1::TableInfo> TableCache::List(const std::string& kernel) const {
  std::vector<v1::TableInfo> result;
  for (v1::TableInfo& info : ListAll()) {
    if (!kernel.empty() && info.kernel() != kernel) continue;
    if (result.empty() || IdentityOf(result.back()) != IdentityOf(info)) {
      result.push_back(std::move(info));
    } else if (IsOlder(result.back(), info)) {
      result.back() = std::move(info);
    }
  }
  return result;
}

}  // namespace wavetune
