#include "server/rocksdb_status.h"

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace wavetune {

bool IsPermissionDenied(const rocksdb::Status& status) {
  if (!status.IsIOError()) return false;
  const std::string text = status.ToString();
  for (int error : {EACCES, EPERM, EROFS}) {
    if (absl::StrContains(text, std::strerror(error))) return true;
  }
  return false;
}

absl::Status FromRocksDb(const rocksdb::Status& status,
                         absl::string_view doing) {
  if (status.ok()) return absl::OkStatus();
  const std::string text =
      absl::StrCat("cannot ", doing, ": ", status.ToString());
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::kSpaceLimit) {
    return absl::ResourceExhaustedError(absl::StrCat(
        text,
        ": the disk of the store is full; free space on it, writing goes "
        "on by itself (reads are not affected)"));
  }
  if (IsPermissionDenied(status)) {
    return absl::PermissionDeniedError(absl::StrCat(
        text,
        ": give the daemon's user read and write access to the store's "
        "directory and everything in it"));
  }
  switch (status.code()) {
    case rocksdb::Status::kNotFound:
      return absl::NotFoundError(text);
    case rocksdb::Status::kCorruption:
      return absl::DataLossError(
          absl::StrCat(text,
                       ": files of the store are damaged; stop the "
                       "daemon, check the disk, restore a backup"));
    case rocksdb::Status::kIOError:
    case rocksdb::Status::kTimedOut:
    case rocksdb::Status::kBusy:
    case rocksdb::Status::kTryAgain:
    case rocksdb::Status::kShutdownInProgress:
    case rocksdb::Status::kAborted:
    case rocksdb::Status::kIncomplete:
      return absl::InternalError(absl::StrCat(
          text,
          ": try again; if it stays, look at the kernel log for errors "
          "of the disk"));
    default:
      return absl::InternalError(absl::StrCat(text, ": report this"));
  }
}

}  // namespace wavetune
