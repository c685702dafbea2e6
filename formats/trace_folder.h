// TraceFolder: a recorded kernel on disk (docs/traces.md).
//
//   manifest.textproto     the kernel, with the backend "replay" alone, so that
//                          the folder is a kernel folder of its own
//   device.textproto       DeviceFacts
//   candidates.csv         formats/trace_candidates.h; may be missing
//                          where lines spell out their parameters
//   anchors.csv.gz         formats/trace.h: what a fit is made from
//   representative.csv.gz  every candidate at the manifest's representative
//                          problems; may be missing
//   exhaustive.csv.gz      every candidate at the problems that quality is
//                          judged on; never fitted
//
// A `.csv.gz` may also be a plain `.csv`.
//
// Thread safety: plain values, pure functions but for the file system.
#ifndef WAVETUNE_FORMATS_TRACE_FOLDER_H_
#define WAVETUNE_FORMATS_TRACE_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/trace_candidates.h"
#include "model/kernel/device.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/sample.h"
#include "proto/wavetune/v1/kernel.pb.h"

namespace wavetune {

struct TraceFolder {
  std::string manifest;  // Text.
  KernelSpec spec;
  DeviceFacts device;
  std::vector<TraceCandidate> candidates;
  std::vector<Sample> anchors;
  std::vector<Sample> representative;
  std::vector<Sample> exhaustive;
};

// Which files of measurements are read.
struct TraceParts {
  bool anchors = true;
  bool representative = true;
  bool exhaustive = true;
};

// Reads a trace. Files of measurements that are missing are empty. Errors:
// NOT_FOUND for a missing manifest or device, or where there is no file of
// measurements at all; INVALID_ARGUMENT with file, line and column; DATA_LOSS
// for a damaged gzip.
absl::StatusOr<TraceFolder> LoadTraceFolder(const std::string& path,
                                            const TraceParts& parts = {});

// Returns the text of a trace's manifest: `kernel` with the backend "replay"
// alone, which keeps the device predicates of `backend`, and without what only
// other backends need (sources, reference). `comment` comes first, its lines
// marked as such. Cannot fail.
std::string TraceManifest(const v1::KernelSpec& kernel,
                          const std::string& backend,
                          const std::string& comment);

// Returns OK if a recording of `recorded` answers for `kernel`: dimensions,
// parameters, specialisations and mapping agree. Errors: INVALID_ARGUMENT
// naming what differs.
absl::Status CheckSameKernel(const KernelSpec& recorded,
                             const KernelSpec& kernel);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_TRACE_FOLDER_H_
