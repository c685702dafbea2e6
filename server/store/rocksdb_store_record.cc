#include "server/store/rocksdb_store_record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "base/log.h"
#include "rocksdb/version.h"
#include "server/store/rocksdb_open.h"
#include "server/store/rocksdb_status.h"

namespace wavetune {
namespace {

constexpr absl::string_view kFirstLine = "wavetune store 1";

std::string RecordPath(const std::string& path) {
  return absl::StrCat(path, "/STORE");
}

std::string Format(const StoreRecord& record) {
  return absl::StrCat(kFirstLine, "\nid ", record.store_id, "\nplace ",
                      record.place, "\nsequence ", record.sequence,
                      "\nmanifest ", record.manifest, "\nmanifest_bytes ",
                      record.manifest_bytes, "\nlog ", record.log, "\npath ",
                      absl::CEscape(record.path), "\nhost ", record.host,
                      "\nrocksdb ", record.rocksdb, "\n");
}

std::optional<StoreRecord> Parse(absl::string_view text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  StoreRecord record;
  if (lines.size() < 7 || lines[0] != kFirstLine) return std::nullopt;
  const auto value = [&](size_t line, absl::string_view name) {
    return lines[line].substr(0, name.size()) == name
               ? lines[line].substr(name.size())
               : absl::string_view();
  };
  record.store_id = std::string(value(1, "id "));
  record.place = std::string(value(2, "place "));
  if (!absl::SimpleAtoi(value(3, "sequence "), &record.sequence) ||
      !absl::SimpleAtoi(value(4, "manifest "), &record.manifest) ||
      !absl::SimpleAtoi(value(5, "manifest_bytes "), &record.manifest_bytes) ||
      !absl::SimpleAtoi(value(6, "log "), &record.log)) {
    return std::nullopt;
  }
  for (absl::string_view line : absl::MakeSpan(lines).subspan(7)) {
    if (absl::ConsumePrefix(&line, "path ")) {
      if (!absl::CUnescape(line, &record.path)) return std::nullopt;
    } else if (absl::ConsumePrefix(&line, "host ")) {
      record.host = std::string(line);
    } else if (absl::ConsumePrefix(&line, "rocksdb ")) {
      record.rocksdb = std::string(line);
    }
  }
  return record;
}

// What the machine is called for as long as it is the same one; a container
// may have a name alone.
std::string Host() {
  std::string id;
  std::getline(std::ifstream("/etc/machine-id"), id);
  if (!id.empty()) return id;
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

constexpr absl::string_view kManifestPrefix = "MANIFEST-";

// The number in "MANIFEST-000005"; 0 for any other name.
uint64_t ManifestNumber(absl::string_view name) {
  uint64_t number = 0;
  if (!absl::ConsumePrefix(&name, kManifestPrefix) ||
      !absl::SimpleAtoi(name, &number)) {
    return 0;
  }
  return number;
}

// The highest number of a write-ahead log; 0 for none.
uint64_t LastLogNumber(const std::string& path, rocksdb::Env* env) {
  std::vector<std::string> names;
  env->GetChildren(path, &names).PermitUncheckedError();
  uint64_t last = 0;
  for (const std::string& name : names) {
    absl::string_view digits = name;
    uint64_t number = 0;
    if (absl::ConsumeSuffix(&digits, ".log") &&
        absl::SimpleAtoi(digits, &number)) {
      last = std::max(last, number);
    }
  }
  return last;
}

rocksdb::Status WriteSynced(const std::string& path, const std::string& text,
                            rocksdb::Env* env) {
  std::unique_ptr<rocksdb::WritableFile> file;
  rocksdb::Status status = env->NewWritableFile(path, &file, {});
  if (!status.ok()) return status;
  status = file->Append(text);
  if (status.ok()) status = file->Sync();
  const rocksdb::Status closed = file->Close();
  return status.ok() ? closed : status;
}

rocksdb::Status SyncFolder(const std::string& path, rocksdb::Env* env) {
  std::unique_ptr<rocksdb::Directory> folder;
  rocksdb::Status status = env->NewDirectory(path, &folder);
  return status.ok() ? folder->Fsync() : status;
}

}  // namespace

std::optional<StoreRecord> ReadStoreRecord(const std::string& path,
                                           rocksdb::Env* env) {
  std::string text;
  const rocksdb::Status status =
      rocksdb::ReadFileToString(env, RecordPath(path), &text);
  if (status.IsNotFound() || status.IsPathNotFound()) return std::nullopt;
  std::optional<StoreRecord> record;
  if (status.ok()) record = Parse(text);
  if (!record.has_value()) {
    Log(LogLevel::kWarning, "store",
        absl::StrCat(
            RecordPath(path), " cannot be read and is written anew: ",
            status.ok() ? "it is no record of a store" : status.ToString()));
  }
  return record;
}

absl::Status WriteStoreRecord(const StoreRecord& record,
                              const std::string& path, rocksdb::Env* env) {
  const std::string temporary = RecordPath(path) + ".tmp";
  rocksdb::Status status = WriteSynced(temporary, Format(record), env);
  if (status.ok()) status = env->RenameFile(temporary, RecordPath(path));
  if (status.ok()) {
    status = SyncFolder(path, env);
  } else {
    env->DeleteFile(temporary).PermitUncheckedError();
  }
  return FromRocksDb(status, absl::StrCat("write ", RecordPath(path)));
}

std::string StorePlace(const std::string& path, rocksdb::Env* env) {
  if (env != rocksdb::Env::Default()) return "";
  struct statx info {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &info) != 0) {
    return "";
  }
  std::string place = absl::StrCat(info.stx_ino);
  if ((info.stx_mask & STATX_BTIME) != 0) {
    absl::StrAppend(&place, ".", info.stx_btime.tv_sec, ".",
                    info.stx_btime.tv_nsec);
  }
  return place;
}

StoreRecord RecordOfFolder(const std::string& path, rocksdb::Env* env) {
  StoreRecord record{.place = StorePlace(path, env),
                     .rocksdb = RocksDbVersion()};
  if (env != rocksdb::Env::Default()) return record;
  std::error_code error;
  record.path = std::filesystem::canonical(path, error).string();
  record.host = Host();
  return record;
}

bool IsCopy(const StoreRecord& before, const StoreRecord& now) {
  if (before.place.empty() || now.place.empty()) return false;
  if (before.place == now.place) return false;
  return before.path.empty() || before.path != now.path ||
         before.host != now.host;
}

bool IsOfNewerRocksDb(const StoreRecord& record) {
  const std::vector<std::string> parts = absl::StrSplit(record.rocksdb, '.');
  int major = 0;
  int minor = 0;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &major) ||
      !absl::SimpleAtoi(parts[1], &minor)) {
    return false;
  }
  return std::pair(major, minor) > std::pair(ROCKSDB_MAJOR, ROCKSDB_MINOR);
}

absl::Status CheckFilesAgainst(const StoreRecord& record,
                               const std::string& path, rocksdb::Env* env) {
  if (LastLogNumber(path, env) < record.log) {
    return DamagedStore(path, "its write-ahead log is missing");
  }
  std::string current;
  uint64_t bytes = 0;
  if (!rocksdb::ReadFileToString(env, path + "/CURRENT", &current).ok()) {
    return absl::OkStatus();  // RocksDB says what is wrong with it.
  }
  const absl::string_view name = absl::StripAsciiWhitespace(current);
  const uint64_t number = ManifestNumber(name);
  const bool same =
      number == record.manifest &&
      env->GetFileSize(absl::StrCat(path, "/", name), &bytes).ok();
  if (same && bytes < record.manifest_bytes) {
    return DamagedStore(path,
                        absl::StrCat("its manifest has ", bytes, " bytes and ",
                                     record.manifest_bytes, " were on disk"));
  }
  if (number != 0 && number < record.manifest) {
    return DamagedStore(path, "its manifest is older than the store");
  }
  return absl::OkStatus();
}

absl::Status CheckChangesAgainst(const StoreRecord& record,
                                 const std::string& path, uint64_t sequence) {
  if (sequence >= record.sequence) return absl::OkStatus();
  return DamagedStore(
      path, absl::StrCat("its write-ahead log ends at change ", sequence,
                         ", and ", record.sequence, " were on disk"));
}

void NoteChanges(rocksdb::DB& db, uint64_t sequence, const std::string& path,
                 rocksdb::Env* env, StoreRecord& record) {
  record.sequence = std::max(record.sequence, sequence);
  record.log = std::max(record.log, LastLogNumber(path, env));
  // The length that is known to be synced: another thread may be writing.
  std::vector<std::string> files;
  uint64_t bytes = 0;
  if (!db.GetLiveFiles(files, &bytes, /*flush_memtable=*/false).ok()) return;
  for (const std::string& file : files) {
    absl::string_view name = file;
    absl::ConsumePrefix(&name, "/");
    const uint64_t number = ManifestNumber(name);
    if (number == 0) continue;
    record.manifest = number;
    record.manifest_bytes = bytes;
  }
}

}  // namespace wavetune
