// A kernel's folder on disk: manifest and sources.
#ifndef WAVETUNE_FORMATS_KERNEL_FOLDER_H_
#define WAVETUNE_FORMATS_KERNEL_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/input_file.h"
#include "model/kernel/device.h"
#include "model/kernel/kernel_spec.h"
#include "proto/wavetune/v1/agent_service.pb.h"
#include "proto/wavetune/v1/kernel.pb.h"

namespace wavetune {

// A valid kernel folder.
struct KernelFolder {
  std::string path;
  v1::KernelSpec proto;
  KernelSpec spec;
  std::string manifest;                 // Text as read.
  std::vector<v1::SourceFile> sources;  // All files that implementations and
                                        // the reference name, sorted by name.

  // Returns the hex fingerprint for a backend and compiler: SHA-256 over
  // manifest, sources, compile options and compiler version.
  std::string Fingerprint(const std::string& backend,
                          const std::string& compiler) const;

  // Returns the same for what the device runs (ImplementationFor).
  std::string Fingerprint(const DeviceFacts& device) const;
};

// Returns the kernel as it is sent, without a fingerprint. Cannot fail.
v1::KernelSource KernelSourceOf(const KernelFolder& folder);

// Parses a manifest's text, converts and validates it. A byte order mark before
// the text is skipped. Errors: INVALID_ARGUMENT with line and column, or every
// fault, one a line. So it is for text that is not UTF-8 outside of comments:
// names and texts of a manifest are sent on as UTF-8.
absl::StatusOr<v1::KernelSpec> ParseManifest(absl::string_view text);

// Reads `path`/manifest.textproto and its sources. `kind` is kOwnFile where the
// kernel will run on nobody's explicit word. Then the folder, files, and the
// folders and links on their way must be ones that only root and this process's
// user can change (own_files.h). Errors: NOT_FOUND naming the missing file.
// INVALID_ARGUMENT as ParseManifest, also for a source name that leaves the
// folder. PERMISSION_DENIED for a link that leads out of it, and for one that
// others can write.
absl::StatusOr<KernelFolder> LoadKernelFolder(
    const std::string& path, InputKind kind = InputKind::kFile);

// Reads a DeviceFacts message in protobuf text format (the `--device` of
// `wavetune evaluate`). Errors: as above.
absl::StatusOr<DeviceFacts> LoadDeviceFacts(const std::string& path);

// Reads a file, decompressing it when it is gzip. Errors: as InputFile::Open;
// RESOURCE_EXHAUSTED above `max_bytes`, DATA_LOSS for a damaged gzip.
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         size_t max_bytes = size_t{256} << 20,
                                         InputKind kind = InputKind::kFile);

// Reads what a command line names: a pipe, too.
inline absl::StatusOr<std::string> ReadNamedTextFile(const std::string& path) {
  return ReadTextFile(path, size_t{256} << 20, InputKind::kFileOrPipe);
}

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_KERNEL_FOLDER_H_
