// LaunchFile: launch.json, what an exported kernel needs to be launched beside
// its cubins.
//
//   std::string text = FormatLaunchFile(file);
//   ASSIGN_OR_RETURN(LaunchFile same, ParseLaunchFile(text));
//
// Why JSON of our own and not a protobuf message: launchers are written in any
// language, often without protobuf. Expressions are the manifest's text.
// docs/export.md documents every field.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_LAUNCH_LAUNCH_FILE_H_
#define WAVETUNE_LAUNCH_LAUNCH_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/kernel/launch_descriptor.h"
#include "wavetune/configuration.h"
#include "wavetune/dimension.h"

namespace wavetune {

// The version that FormatLaunchFile writes. Readers refuse others.
inline constexpr int kLaunchFileVersion = 2;

// Its name in an export's folder.
inline constexpr char kLaunchFileName[] = "launch.json";

// Where every buffer must lie, in bytes: what tensor maps and the widest loads
// of a thread need.
inline constexpr int64_t kBufferAlignment = 16;

// One compiled configuration.
struct LaunchCandidate {
  std::string specialisation;
  Configuration configuration;
  int32_t portfolio_index = -1;  // Decision::candidate; -1: the default, which
                                 // is not in the portfolio.
  bool is_default = false;       // What Resolve answers where it has no better.
  std::string cubin;             // File name, in the same folder.
  std::string sha256;            // The cubin's, hex.
  int64_t size_bytes = 0;
  LaunchDescriptor launch;
};

struct LaunchFile {
  std::string kernel;
  std::string fingerprint;        // The compiled kernel's.
  std::string table_digest;       // Where the portfolio is from.
  std::string table_fingerprint;  // Differs where that was allowed.
  std::string silicon_key;        // The table's.
  std::string environment_key;
  std::string architecture;  // "sm_90a".
  std::string compiler;      // "NVRTC 13.0".
  std::vector<Dimension> dimensions;
  std::vector<std::string> parameters;
  std::vector<LaunchCandidate> candidates;
};

// Returns the text. Parts of expressions that need no problem are written as
// numbers. Deterministic; cannot fail for what an export makes.
std::string FormatLaunchFile(const LaunchFile& file);

// Returns what a text says. Errors: INVALID_ARGUMENT naming the field for
// anything malformed, a name that is not declared or a file outside of the
// folder; UNIMPLEMENTED for another version.
absl::StatusOr<LaunchFile> ParseLaunchFile(absl::string_view text);

}  // namespace wavetune

#endif  // WAVETUNE_LAUNCH_LAUNCH_FILE_H_
