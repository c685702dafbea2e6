#include "formats/trace_folder_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "formats/trace.h"
#include "formats/types.h"
#include "google/protobuf/text_format.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

constexpr char kManifest[] = "manifest.textproto";
constexpr char kReadme[] = "README.md";
// What a trace consists of.
constexpr const char* kFiles[] = {kManifest,
                                  kReadme,
                                  "device.textproto",
                                  "candidates.csv",
                                  "candidates.csv.gz",
                                  "anchors.csv",
                                  "anchors.csv.gz",
                                  "representative.csv",
                                  "representative.csv.gz",
                                  "exhaustive.csv",
                                  "exhaustive.csv.gz"};

absl::Status FileError(const std::string& what, const std::string& path,
                       int error) {
  const std::string message =
      absl::StrCat(what, " ", path, ": ", std::strerror(error));
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(
          absl::StrCat(message, "; choose a folder that you may write to"));
    case ENOENT:
      return absl::NotFoundError(
          absl::StrCat(message, "; make the folder around it first"));
    case ENOTDIR:
      return absl::FailedPreconditionError(
          absl::StrCat(message, "; choose a path whose parents are folders"));
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(
          absl::StrCat(message, "; free some space"));
    default:
      return absl::InternalError(message);
  }
}

absl::Status CheckTarget(const std::string& dir, bool replace) {
  std::error_code error;
  const fs::file_status status = fs::status(dir, error);
  if (!fs::exists(status)) return absl::OkStatus();
  if (!fs::is_directory(status)) {
    return absl::InvalidArgumentError(absl::StrCat(
        dir,
        " is a file: name a folder for the trace that does not exist yet"));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(dir, error)) {
    const std::string name = entry.path().filename().string();
    if (std::find(std::begin(kFiles), std::end(kFiles), name) !=
        std::end(kFiles)) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        dir, " holds ", name,
        ", which is no part of a trace: name another folder, or an empty one"));
  }
  if (error) return FileError("cannot read", dir, error.value());
  if (fs::exists(absl::StrCat(dir, "/", kManifest), error) && !replace) {
    return absl::AlreadyExistsError(absl::StrCat(
        dir,
        " holds a trace: add --replace to put the new one in its place, "
        "or name another folder"));
  }
  return absl::OkStatus();
}

// Puts what was written onto the disk, so that a rename never comes first.
absl::Status Sync(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return FileError("cannot open", path, errno);
  const int failed = fsync(fileno(file)) == 0 ? 0 : errno;
  std::fclose(file);
  // Some file systems cannot sync a folder.
  if (failed == 0 || failed == EINVAL) return absl::OkStatus();
  return FileError("cannot write", path, failed);
}

// Plain, or compressed where the name ends in .gz.
absl::Status Write(const std::string& path, const std::string& content) {
  const bool compressed = path.ends_with(".gz");
  errno = 0;
  gzFile file = gzopen(path.c_str(), compressed ? "wb9" : "wbT");
  if (file == nullptr) return FileError("cannot write", path, errno);
  const int written =
      gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  const int write_error = errno;
  const int closed = gzclose(file);
  if ((written <= 0 && !content.empty()) || closed != Z_OK) {
    return FileError("cannot write", path,
                     write_error == 0 ? EIO : write_error);
  }
  return Sync(path);
}

// Exchanges two folders, in one step where the file system can. The paths are
// absolute, so that they are relative to no folder (-1).
absl::Status Exchange(const std::string& from, const std::string& to) {
  if (renameat2(-1, from.c_str(), -1, to.c_str(), RENAME_EXCHANGE) == 0) {
    return absl::OkStatus();
  }
  const std::string aside = absl::StrCat(from, ".old");
  if (rename(to.c_str(), aside.c_str()) != 0) {
    return FileError("cannot replace", to, errno);
  }
  if (rename(from.c_str(), to.c_str()) != 0) {
    const int error = errno;
    rename(aside.c_str(), to.c_str());
    return FileError("cannot replace", to, error);
  }
  if (rename(aside.c_str(), from.c_str()) != 0) {
    return FileError("cannot remove", aside, errno);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TraceFolderWriter>> TraceFolderWriter::Open(
    const std::string& dir, bool replace) {
  if (dir.empty()) {
    return absl::InvalidArgumentError("name a folder for the trace");
  }
  std::error_code error;
  fs::path path = fs::absolute(dir, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // A trailing slash.
  RETURN_IF_ERROR(CheckTarget(path.string(), replace));
  std::string staging =
      (path.parent_path() /
       absl::StrCat(".", path.filename().string(), ".recording-XXXXXX"))
          .string();
  if (mkdtemp(staging.data()) == nullptr) {
    return FileError("cannot write into", path.parent_path().string(), errno);
  }
  chmod(staging.c_str(), 0755);
  return std::unique_ptr<TraceFolderWriter>(
      new TraceFolderWriter(path.string(), staging));
}

TraceFolderWriter::~TraceFolderWriter() {
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
}

absl::Status TraceFolderWriter::WriteFiles(const TraceFolder& trace) const {
  std::string device;
  google::protobuf::TextFormat::PrintToString(DeviceFactsToProto(trace.device),
                                              &device);
  const auto write = [this](const std::string& name,
                            const std::string& content) {
    return Write(absl::StrCat(staging_, "/", name), content);
  };
  const auto samples = [&trace](const std::vector<Sample>& of) {
    return FormatTrace(trace.spec, trace.candidates, of);
  };
  RETURN_IF_ERROR(write(kManifest, trace.manifest));
  RETURN_IF_ERROR(write("device.textproto", device));
  RETURN_IF_ERROR(write("candidates.csv",
                        FormatTraceCandidates(trace.spec, trace.candidates)));
  RETURN_IF_ERROR(write("anchors.csv.gz", samples(trace.anchors)));
  RETURN_IF_ERROR(
      write("representative.csv.gz", samples(trace.representative)));
  RETURN_IF_ERROR(write("exhaustive.csv.gz", samples(trace.exhaustive)));
  const std::string readme = absl::StrCat(dir_, "/", kReadme);
  std::error_code error;
  if (fs::exists(readme, error)) {
    fs::copy_file(readme, absl::StrCat(staging_, "/", kReadme), error);
    if (error) return FileError("cannot copy", readme, error.value());
  }
  return Sync(staging_);
}

absl::Status TraceFolderWriter::Swap() const {
  std::error_code ignored;
  // An empty folder, or none, is replaced in one step.
  if (!fs::exists(dir_, ignored) || fs::is_empty(dir_, ignored)) {
    if (rename(staging_.c_str(), dir_.c_str()) == 0) return absl::OkStatus();
    return FileError("cannot write", dir_, errno);
  }
  return Exchange(staging_, dir_);
}

absl::Status TraceFolderWriter::Commit(const TraceFolder& trace) {
  RETURN_IF_ERROR(WriteFiles(trace));
  RETURN_IF_ERROR(Swap());
  return Sync(fs::path(dir_).parent_path().string());
}

}  // namespace wavetune
