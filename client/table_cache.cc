#include "client/table_cache.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/digest.h"
#include "model/status_macros.h"
#include "model/table_codec.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

// Writes beside the target and renames, so that readers see the old file or the
// new one, never a part.
absl::Status Publish(const std::string& path, const std::string& content) {
  static std::atomic<int> counter{0};
  const std::string temporary =
      absl::StrCat(path, ".", getpid(), ".", counter.fetch_add(1));
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.flush();
    if (!file.good()) {
      const std::string why = std::strerror(errno);
      std::remove(temporary.c_str());
      return absl::UnavailableError(
          absl::StrCat("cannot write ", path, ": ", why));
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    return absl::UnavailableError(
        absl::StrCat("cannot write ", path, ": ", why));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadAll(const std::string& path, size_t max_bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file.good())
    return absl::NotFoundError(absl::StrCat(path, " is not there"));
  std::string content;
  content.resize(max_bytes + 1);
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<size_t>(file.gcount()));
  if (content.size() > max_bytes)
    return absl::DataLossError(absl::StrCat(path, " is larger than any table"));
  return content;
}

bool IsDigest(const std::string& text) {
  return text.size() == 64 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

auto IdentityOf(const v1::TableInfo& info) {
  return std::tie(info.kernel(), info.silicon_key(), info.environment_key(),
                  info.fingerprint());
}

}  // namespace

std::string TableCache::Path(const std::string& digest,
                             const char* suffix) const {
  return absl::StrCat(dir_, "/", digest, suffix);
}

absl::Status TableCache::Put(const FetchedTable& table) const {
  if (dir_.empty()) return absl::OkStatus();
  std::error_code error;
  fs::create_directories(dir_, error);
  if (error)
    return absl::UnavailableError(absl::StrCat("cannot create the table cache ",
                                               dir_, ": ", error.message()));
  // The payload first: an info file promises that its payload is there.
  RETURN_IF_ERROR(Publish(Path(table.info.digest(), ".table"), table.payload));
  RETURN_IF_ERROR(Publish(Path(table.info.digest(), ".info"),
                          table.info.SerializeAsString()));
  for (const v1::TableInfo& other : List(table.info.kernel())) {
    if (IdentityOf(other) != IdentityOf(table.info) ||
        other.digest() == table.info.digest())
      continue;
    fs::remove(Path(other.digest(), ".info"), error);
    fs::remove(Path(other.digest(), ".table"), error);
  }
  return absl::OkStatus();
}

absl::StatusOr<FetchedTable> TableCache::Get(const std::string& digest) const {
  if (dir_.empty() || !IsDigest(digest))
    return absl::NotFoundError(absl::StrCat("no cached table ", digest));
  FetchedTable table;
  ASSIGN_OR_RETURN(table.payload,
                   ReadAll(Path(digest, ".table"), kMaxPayloadBytes));
  absl::StatusOr<std::string> info =
      ReadAll(Path(digest, ".info"), kMaxPayloadBytes);
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

std::vector<v1::TableInfo> TableCache::List(const std::string& kernel) const {
  std::vector<v1::TableInfo> result;
  if (dir_.empty()) return result;
  std::error_code error;
  for (fs::directory_iterator it(dir_, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != ".info") continue;
    absl::StatusOr<std::string> bytes =
        ReadAll(it->path().string(), kMaxPayloadBytes);
    v1::TableInfo info;
    if (!bytes.ok() || !info.ParseFromString(*bytes) ||
        info.digest() != it->path().stem().string())
      continue;
    if (kernel.empty() || info.kernel() == kernel)
      result.push_back(std::move(info));
  }
  std::sort(result.begin(), result.end(),
            [](const v1::TableInfo& a, const v1::TableInfo& b) {
              return std::make_tuple(IdentityOf(a), a.digest()) <
                     std::make_tuple(IdentityOf(b), b.digest());
            });
  return result;
}

}  // namespace wavetune
