#include "formats/kernel_folder.h"

#include <zlib.h>

#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/own_files.h"
#include "base/printable_text.h"
#include "formats/kernel_spec.h"
#include "formats/manifest_text/declarations.h"
#include "formats/text_format.h"
#include "formats/types.h"
#include "model/kernel/device_implementation.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/kernel_validation.h"

namespace wavetune {
namespace {

// Manifests and sources are written by people; anything larger is a mistake.
constexpr size_t kMaxSourceBytes = size_t{4} << 20;

std::set<std::string> SourceNames(const v1::KernelSpec& spec) {
  std::set<std::string> names;
  for (const v1::Implementation& i : spec.implementations())
    names.insert(i.sources().begin(), i.sources().end());
  if (spec.has_correctness() && !spec.correctness().source().empty())
    names.insert(spec.correctness().source());
  return names;
}

// What some editors begin a file of UTF-8 with.
constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

// Returns a line without its comment.
absl::string_view WithoutComment(absl::string_view line) {
  char quote = '\0';
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '\0' && c == '#') return line.substr(0, i);
    if (c == '\\' && quote != '\0') {
      ++i;
    } else if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    }
  }
  return line;
}

// Comments may be in any encoding: nobody sends them on.
absl::Status CheckUtf8(absl::string_view text) {
  int number = 0;
  for (const absl::string_view whole : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view line = WithoutComment(whole);
    const size_t valid = Utf8Prefix(line);
    if (valid == line.size()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "line ", number, ", column ", valid + 1, ": the byte ",
        PrintableText(line.substr(valid, 1)),
        " is not UTF-8: save the file as UTF-8 (from Latin-1: iconv -f latin1 "
        "-t utf-8)"));
  }
  return absl::OkStatus();
}

// Reads a file of a kernel's folder: none of what a link out of it leads to,
// which would end up in what compilers say, for everybody to read.
absl::StatusOr<std::string> ReadWithin(const std::string& folder,
                                       const std::string& name,
                                       InputKind kind) {
  const absl::StatusOr<std::string> path = kind == InputKind::kOwnFile
                                               ? OwnPathWithin(folder, name)
                                               : PathWithin(folder, name);
  if (!path.ok()) return path.status();
  return ReadTextFile(*path, kMaxSourceBytes, kind);
}

// As ParseManifest: `proto` becomes the message, what is returned is bound from
// it.
absl::StatusOr<KernelSpec> ReadManifest(absl::string_view text,
                                        v1::KernelSpec& proto) {
  absl::ConsumePrefix(&text, kByteOrderMark);
  if (absl::Status status = CheckUtf8(text); !status.ok()) return status;
  if (absl::Status status = ParseTextFormat(text, &proto); !status.ok())
    return status;
  absl::StatusOr<KernelSpec> spec = KernelSpecFromProto(proto, text);
  if (!spec.ok()) return spec.status();
  if (absl::Status status = ValidateKernelSpec(*spec); !status.ok())
    return status;
  // What others read of the message is declared there, not in texts.
  ExpandDeclarations(ManifestPlaces(), proto);
  return spec;
}

}  // namespace

absl::StatusOr<v1::KernelSpec> ParseManifest(absl::string_view text) {
  v1::KernelSpec proto;
  const absl::StatusOr<KernelSpec> spec = ReadManifest(text, proto);
  if (!spec.ok()) return spec.status();
  return proto;
}

absl::StatusOr<KernelFolder> LoadKernelFolder(const std::string& path,
                                              InputKind kind) {
  KernelFolder folder;
  folder.path = path;
  const std::string manifest_path = absl::StrCat(path, "/manifest.textproto");
  absl::StatusOr<std::string> manifest =
      ReadWithin(path, "manifest.textproto", kind);
  if (!manifest.ok()) return manifest.status();
  folder.manifest = *std::move(manifest);
  absl::StatusOr<KernelSpec> spec = ReadManifest(folder.manifest, folder.proto);
  if (!spec.ok()) return AtPath(spec.status(), manifest_path);
  folder.spec = *std::move(spec);
  for (const std::string& name : SourceNames(folder.proto)) {
    absl::StatusOr<std::string> content = ReadWithin(path, name, kind);
    if (!content.ok()) return AtPath(content.status(), manifest_path);
    v1::SourceFile file;
    file.set_name(name);
    file.set_content(*std::move(content));
    folder.sources.push_back(std::move(file));
  }
  return folder;
}

v1::KernelSource KernelSourceOf(const KernelFolder& folder) {
  v1::KernelSource source;
  *source.mutable_spec() = folder.proto;
  source.mutable_files()->Add(folder.sources.begin(), folder.sources.end());
  return source;
}

std::string KernelFolder::Fingerprint(const std::string& backend,
                                      const std::string& compiler) const {
  // Every part is preceded by its name and length, so that no two different
  // folders give the same bytes.
  std::string bytes = "wavetune-fingerprint-1\n";
  auto add = [&bytes](absl::string_view name, absl::string_view content) {
    absl::StrAppend(&bytes, name, " ", content.size(), "\n", content, "\n");
  };
  add("manifest", manifest);
  for (const v1::SourceFile& file : sources) {
    add("name", file.name());
    add("content", file.content());
  }
  add("backend", backend);
  if (const Implementation* implementation = spec.ImplementationOf(backend)) {
    for (const std::string& option : implementation->compile_options)
      add("option", option);
  }
  add("compiler", compiler);
  return Sha256Hex(bytes);
}

std::string KernelFolder::Fingerprint(const DeviceFacts& device) const {
  const DeviceImplementation own = ImplementationFor(spec, device);
  return Fingerprint(own.implementation == nullptr
                         ? device.backend
                         : own.implementation->backend,
                     own.compiler);
}

absl::StatusOr<DeviceFacts> LoadDeviceFacts(const std::string& path) {
  absl::StatusOr<std::string> text = ReadTextFile(path, kMaxSourceBytes);
  if (!text.ok()) return text.status();
  v1::DeviceFacts proto;
  if (absl::Status status = ParseTextFormat(*text, &proto); !status.ok())
    return AtPath(status, path);
  if (proto.multiprocessors() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": multiprocessors must be at least 1"));
  }
  return DeviceFactsFromProto(proto);
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         size_t max_bytes, InputKind kind) {
  absl::StatusOr<InputFile> opened = InputFile::Open(path, kind);
  if (!opened.ok()) return opened.status();
  // gzdopen also reads plain files, unchanged.
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(
      gzdopen(opened->descriptor(), "rb"), gzclose);
  if (file == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot read ", path, ": out of memory"));
  }
  opened->Release();  // gzclose closes it.
  std::string content;
  std::string chunk(size_t{1} << 16, '\0');
  for (;;) {
    const int count =
        gzread(file.get(), chunk.data(), static_cast<unsigned>(chunk.size()));
    int code = Z_OK;
    const char* message = gzerror(file.get(), &code);
    // A gzip file cut short ends without an error from gzread; gzerror reports
    // it.
    if (count < 0 || code == Z_BUF_ERROR || code == Z_DATA_ERROR) {
      return absl::DataLossError(absl::StrCat(path, " is damaged: ", message));
    }
    if (count == 0) return content;
    content.append(chunk, 0, static_cast<size_t>(count));
    if (content.size() > max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, " is larger than ", max_bytes, " bytes"));
    }
  }
}

}  // namespace wavetune
