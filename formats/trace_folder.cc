#include "formats/trace_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "formats/kernel_folder.h"
#include "formats/kernel_spec.h"
#include "formats/trace.h"
#include "google/protobuf/text_format.h"
#include "model/kernel/backend_traits.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

// Returns `folder`/`name`.csv.gz or .csv, whichever is there; else empty.
std::string Find(const std::string& folder, const std::string& name) {
  for (const char* ending : {".csv.gz", ".csv"}) {
    std::string path = absl::StrCat(folder, "/", name, ending);
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return "";
}

class Loader {
 public:
  explicit Loader(std::string path) : path_(std::move(path)) {}

  absl::StatusOr<TraceFolder> Load(const TraceParts& parts) {
    RETURN_IF_ERROR(ReadKernel());
    ASSIGN_OR_RETURN(trace_.device,
                     LoadDeviceFacts(absl::StrCat(path_, "/device.textproto")));
    RETURN_IF_ERROR(ReadCandidates());
    bool found = false;
    if (parts.anchors) {
      RETURN_IF_ERROR(ReadSamples("anchors", trace_.anchors, found));
    }
    if (parts.representative) {
      RETURN_IF_ERROR(
          ReadSamples("representative", trace_.representative, found));
    }
    if (parts.exhaustive) {
      RETURN_IF_ERROR(ReadSamples("exhaustive", trace_.exhaustive, found));
    }
    if (found) return std::move(trace_);
    return absl::NotFoundError(absl::StrCat(
        path_,
        " has no measurements (anchors.csv.gz, representative.csv.gz, "
        "exhaustive.csv.gz): name the folder of a trace, or record one with "
        "`wavetune bench KERNEL --shapes FILE --record ",
        path_, "`"));
  }

 private:
  absl::Status ReadKernel() {
    const std::string path = absl::StrCat(path_, "/manifest.textproto");
    ASSIGN_OR_RETURN(trace_.manifest, ReadTextFile(path));
    const absl::StatusOr<v1::KernelSpec> kernel =
        ParseManifest(trace_.manifest);
    if (!kernel.ok()) return AtPath(kernel.status(), path);
    ASSIGN_OR_RETURN(trace_.spec, KernelSpecFromProto(*kernel));
    return absl::OkStatus();
  }

  absl::Status ReadCandidates() {
    const std::string path = Find(path_, "candidates");
    if (path.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string csv, ReadTextFile(path));
    absl::StatusOr<std::vector<TraceCandidate>> candidates =
        ParseTraceCandidates(trace_.spec, trace_.device, csv);
    if (!candidates.ok()) return AtPath(candidates.status(), path);
    trace_.candidates = *std::move(candidates);
    listed_ = true;
    return absl::OkStatus();
  }

  absl::Status ReadSamples(const std::string& name,
                           std::vector<Sample>& samples, bool& found) {
    const std::string path = Find(path_, name);
    if (path.empty()) return absl::OkStatus();
    found = true;
    ASSIGN_OR_RETURN(const std::string csv, ReadTextFile(path));
    absl::StatusOr<Trace> trace =
        ParseTrace(trace_.spec, trace_.device, csv,
                   listed_ ? &trace_.candidates : nullptr);
    if (!trace.ok()) return AtPath(trace.status(), path);
    samples = std::move(trace->samples);
    if (!listed_) AddCandidates(*trace);
    return absl::OkStatus();
  }

  // Lines that spell out their candidate bring its facts, too. Those of the
  // first file count: only anchors have to know the residency.
  void AddCandidates(const Trace& trace) {
    const std::vector<std::string> names = trace_.spec.SpecialisationNames();
    for (size_t i = 0; i < names.size(); ++i) {
      for (const Candidate& c : trace.candidates_by_specialisation[i]) {
        if (seen_.emplace(names[i], c.configuration).second) {
          trace_.candidates.push_back({names[i], c});
        }
      }
    }
  }

  const std::string path_;
  TraceFolder trace_;
  bool listed_ = false;
  std::set<std::pair<std::string, Configuration>> seen_;
};

bool SameParameters(const KernelSpec& a, const KernelSpec& b) {
  return std::equal(
      a.parameters.begin(), a.parameters.end(), b.parameters.begin(),
      b.parameters.end(), [](const Parameter& x, const Parameter& y) {
        return x.name == y.name && x.role == y.role && x.values == y.values;
      });
}

bool SameSpecialisations(const KernelSpec& a, const KernelSpec& b) {
  return std::equal(a.specialisations.begin(), a.specialisations.end(),
                    b.specialisations.begin(), b.specialisations.end(),
                    [](const Specialisation& x, const Specialisation& y) {
                      return x.name == y.name && x.defines == y.defines &&
                             x.mapping == y.mapping;
                    });
}

// As ImplementationFor, of a message: what was recorded had the compiler.
const v1::Implementation* RecordedFrom(const v1::KernelSpec& kernel,
                                       const std::string& backend) {
  const v1::Implementation* other = nullptr;
  for (const v1::Implementation& implementation : kernel.implementations()) {
    if (implementation.backend() == backend) return &implementation;
    if (TraitsOf(implementation.backend()).devices == backend) {
      other = &implementation;
    }
  }
  return other;
}

}  // namespace

absl::StatusOr<TraceFolder> LoadTraceFolder(const std::string& path,
                                            const TraceParts& parts) {
  return Loader(path).Load(parts);
}

std::string TraceManifest(const v1::KernelSpec& kernel,
                          const std::string& backend,
                          const std::string& comment) {
  v1::KernelSpec recorded = kernel;
  recorded.clear_implementations();
  recorded.clear_correctness();
  recorded.clear_correctness_problems();
  v1::Implementation& replay = *recorded.add_implementations();
  replay.set_backend("replay");
  const v1::Implementation* const recorded_from = RecordedFrom(kernel, backend);
  if (recorded_from != nullptr) {
    *replay.mutable_device_predicates() = recorded_from->device_predicates();
  }
  std::string text;
  for (const absl::string_view line : absl::StrSplit(comment, '\n')) {
    absl::StrAppend(&text, "# ", line, "\n");
  }
  std::string fields;
  google::protobuf::TextFormat::PrintToString(recorded, &fields);
  return absl::StrCat(text, fields);
}

absl::Status CheckSameKernel(const KernelSpec& recorded,
                             const KernelSpec& kernel) {
  const auto differs = [&](const char* what) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the kernel ", kernel.name, " has other ", what,
        " than the one that was recorded: serve the trace's own manifest "
        "(wavetuned --kernels-dir with the folder around the trace), or record "
        "the kernel again"));
  };
  if (recorded.dimensions != kernel.dimensions) return differs("dimensions");
  if (!SameParameters(recorded, kernel)) return differs("parameters");
  if (!SameSpecialisations(recorded, kernel)) {
    return differs("specialisations");
  }
  if (!(recorded.mapping == kernel.mapping)) return differs("mappings");
  return absl::OkStatus();
}

}  // namespace wavetune
