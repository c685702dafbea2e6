#include "server/store/rocksdb_status.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rocksdb/version.h"

namespace wavetune {

std::string RocksDbVersion() {
  return absl::StrCat(ROCKSDB_MAJOR, ".", ROCKSDB_MINOR, ".", ROCKSDB_PATCH);
}

std::string NewerRocksDbText(absl::string_view version) {
  return absl::StrCat("a newer RocksDB",
                      version.empty() ? "" : absl::StrCat(" (", version, ")"),
                      " has written to it than this build's ",
                      RocksDbVersion());
}

namespace {

// RocksDB has a code for ENOSPC and the operating system's text for the rest.
bool Says(const rocksdb::Status& status, std::initializer_list<int> errors) {
  const std::string text = status.ToString();
  return std::any_of(errors.begin(), errors.end(), [&](int error) {
    return absl::StrContains(text, std::strerror(error));
  });
}

// What ran out, and what to do about it; empty where nothing did.
absl::string_view ResourceThatRanOut(const rocksdb::Status& status) {
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::kSpaceLimit ||
      Says(status, {ENOSPC})) {
    return "the disk of the store is full; free space on it, writing goes on "
           "by itself (reads are not affected)";
  }
  if (Says(status, {EDQUOT})) {
    return "the disk quota of the store's user or folder is used up; raise it "
           "or free space, writing goes on by itself (reads are not affected)";
  }
  if (Says(status, {EFBIG})) {
    return "a file of the store may not grow further; raise the daemon's limit "
           "on file sizes (ulimit -f, LimitFSIZE= of its unit) to 64 MiB at "
           "least and restart it (reads are not affected)";
  }
  if (Says(status, {EMFILE, ENFILE})) {
    return "the daemon has no file descriptors left; close connections or "
           "raise its limit (ulimit -n, LimitNOFILE= of its unit), writing "
           "goes on by itself when some are free";
  }
  return "";
}

}  // namespace

bool IsTryAgain(const rocksdb::Status& status) {
  return status.IsIOError() && Says(status, {EAGAIN});
}

bool IsPermissionDenied(const rocksdb::Status& status) {
  return status.IsIOError() && Says(status, {EACCES, EPERM, EROFS});
}

bool IsNewerFormat(const rocksdb::Status& status) {
  if (!status.IsCorruption() && !status.IsNotSupported() &&
      !status.IsInvalidArgument()) {
    return false;
  }
  const std::string text = status.ToString();
  // What passed its checksum and is of a kind that this library does not know.
  constexpr absl::string_view kTexts[] = {
      "Corrupt or unsupported", "Unknown Footer version",
      "VersionEdit: unknown tag", "custom field not supported"};
  return std::any_of(std::begin(kTexts), std::end(kTexts),
                     [&text](absl::string_view known) {
                       return absl::StrContains(text, known);
                     });
}

bool IsOutOfResource(const rocksdb::Status& status) {
  return !status.ok() && !ResourceThatRanOut(status).empty();
}

absl::Status FromRocksDb(const rocksdb::Status& status,
                         absl::string_view doing) {
  if (status.ok()) return absl::OkStatus();
  const std::string text =
      absl::StrCat("cannot ", doing, ": ", status.ToString());
  const absl::string_view resource = ResourceThatRanOut(status);
  if (!resource.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat(text, ": ", resource));
  }
  if (IsPermissionDenied(status)) {
    return absl::PermissionDeniedError(absl::StrCat(
        text,
        ": give the daemon's user read and write access to the store's "
        "directory and everything in it"));
  }
  if (IsNewerFormat(status)) {
    return absl::FailedPreconditionError(absl::StrCat(
        text, ": ", NewerRocksDbText(""),
        "; start the newer build again (if there was none, it is damaged: "
        "restore a backup)"));
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
