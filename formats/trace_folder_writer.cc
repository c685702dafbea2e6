#include "formats/trace_folder_writer.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/atomic_file.h"
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
  ASSIGN_OR_RETURN(std::unique_ptr<StagedFolder> staged,
                   StagedFolder::Open(path.string()));
  return std::unique_ptr<TraceFolderWriter>(
      new TraceFolderWriter(path.string(), replace, std::move(staged)));
}

absl::Status TraceFolderWriter::WriteFiles(const TraceFolder& trace) const {
  std::string device;
  google::protobuf::TextFormat::PrintToString(DeviceFactsToProto(trace.device),
                                              &device);
  const auto write = [this](const std::string& name,
                            const std::string& content) {
    return Write(absl::StrCat(staged_->path(), "/", name), content);
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
    fs::copy_file(readme, absl::StrCat(staged_->path(), "/", kReadme), error);
    if (error) return FileError("cannot copy", readme, error.value());
  }
  return absl::OkStatus();
}

absl::Status TraceFolderWriter::Commit(const TraceFolder& trace) {
  RETURN_IF_ERROR(WriteFiles(trace));
  // Somebody else may have written there since.
  RETURN_IF_ERROR(CheckTarget(dir_, replace_));
  return staged_->Publish(/*replace=*/true);
}

}  // namespace wavetune
