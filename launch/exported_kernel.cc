#include "wavetune/exported_kernel.h"

#include <cstddef>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/input_file.h"
#include "base/status_macros.h"
#include "launch/launch_driver.h"
#include "launch/launch_file.h"
#include "launch/loaded_candidate.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

// Programs are some MiB at most.
constexpr size_t kMaxFileBytes = size_t{256} << 20;

absl::StatusOr<std::string> ReadFile(const fs::path& path) {
  absl::StatusOr<std::string> content =
      ReadInputFile(path.string(), kMaxFileBytes);
  if (content.ok()) return content;
  return absl::Status(
      content.status().code(),
      absl::StrCat(content.status().message(),
                   "; `wavetune kernels export` writes such a folder"));
}

absl::StatusOr<std::string> ReadCubin(const fs::path& dir,
                                      const LaunchCandidate& candidate) {
  ASSIGN_OR_RETURN(std::string code, ReadFile(dir / candidate.cubin));
  if (Sha256Hex(code) == candidate.sha256) return code;
  return absl::DataLossError(absl::StrCat(
      (dir / candidate.cubin).string(), " is not what ", kLaunchFileName,
      " was written with; export the kernel again"));
}

absl::StatusOr<LaunchTarget> TargetOf(const LaunchDriver& driver) {
  CUcontext context = nullptr;
  RETURN_IF_ERROR(driver.Check(driver.cuCtxGetCurrent(&context),
                               "asking for the current context"));
  if (context == nullptr) {
    return absl::FailedPreconditionError(
        "no CUDA context is current in this thread: call cudaSetDevice and "
        "cudaFree(nullptr), or cuCtxSetCurrent, first");
  }
  LaunchTarget target{.driver = &driver};
  CUdevice device = 0;
  RETURN_IF_ERROR(driver.Check(driver.cuCtxGetDevice(&device),
                               "asking for the current device"));
  RETURN_IF_ERROR(driver.Check(
      driver.cuDeviceGetAttribute(&target.multiprocessors,
                                  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                  device),
      "asking for the device's multiprocessors"));
  RETURN_IF_ERROR(driver.Check(
      driver.cuDeviceGetAttribute(
          &target.max_shared_bytes,
          CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device),
      "asking for the device's shared memory"));
  return target;
}

absl::Status UnknownSpecialisation(const LaunchFile& file,
                                   const std::string& wanted) {
  std::set<std::string> known;
  for (const LaunchCandidate& candidate : file.candidates) {
    known.insert(absl::StrCat("\"", candidate.specialisation, "\""));
  }
  return absl::NotFoundError(absl::StrCat(
      "the export of kernel ", file.kernel, " has no specialisation \"", wanted,
      "\"; it has: ", absl::StrJoin(known, ", ")));
}

int RepeatedDimension(const std::vector<Dimension>& dimensions) {
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i].repeated) return static_cast<int>(i);
  }
  return -1;
}

bool InRange(const Dimension& dimension, absl::Span<const int64_t> extents) {
  for (const int64_t extent : extents) {
    if (extent < dimension.min || extent > dimension.max) return false;
  }
  return true;
}

}  // namespace

struct ExportedKernel::State {
  LaunchFile file;  // Without its candidates.
  int repeated_dimension = -1;
  std::vector<LoadedCandidate> candidates;

  absl::Status CheckProblem(const ProblemView& problem) const {
    if (problem.extents.size() != file.dimensions.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("kernel ", file.kernel, " has ", file.dimensions.size(),
                       " dimensions, not ", problem.extents.size()));
    }
    for (size_t i = 0; i < file.dimensions.size(); ++i) {
      const Dimension& dimension = file.dimensions[i];
      const bool repeated = static_cast<int>(i) == repeated_dimension;
      if (InRange(dimension, repeated ? problem.repeated
                                      : problem.extents.subspan(i, 1))) {
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", dimension.name, " of kernel ", file.kernel,
                       " takes ", dimension.min, " to ", dimension.max));
    }
    return absl::OkStatus();
  }

  // `hint`: a portfolio index that is likely it.
  const LoadedCandidate* Find(const Configuration& configuration,
                              size_t hint) const {
    if (hint < candidates.size() &&
        candidates[hint].candidate().configuration == configuration) {
      return &candidates[hint];
    }
    for (const LoadedCandidate& loaded : candidates) {
      if (loaded.candidate().configuration == configuration) return &loaded;
    }
    return nullptr;
  }

  absl::Status Launch(CUstream stream, const Configuration& configuration,
                      size_t hint, const ProblemView& problem,
                      absl::Span<void* const> buffers) const {
    const LoadedCandidate* const loaded = Find(configuration, hint);
    if (loaded == nullptr) {
      return absl::NotFoundError(absl::StrCat(
          "configuration (", absl::StrJoin(configuration.values(), ", "),
          ") of kernel ", file.kernel, " is not in the export of table ",
          ShortDigest(file.table_digest),
          ": export the table that decides, and load that"));
    }
    RETURN_IF_ERROR(CheckProblem(problem));
    return loaded->Launch(stream, problem, repeated_dimension, buffers);
  }
};

ExportedKernel::ExportedKernel(std::unique_ptr<State> state)
    : state_(std::move(state)) {}

ExportedKernel::~ExportedKernel() = default;

absl::StatusOr<std::unique_ptr<ExportedKernel>> ExportedKernel::Load(
    const std::string& dir, const std::string& specialisation) {
  ASSIGN_OR_RETURN(const LaunchDriver* const driver, LoadLaunchDriver());
  return LoadWith(*driver, dir, specialisation);
}

absl::StatusOr<std::unique_ptr<ExportedKernel>> ExportedKernel::LoadWith(
    const LaunchDriver& driver, const std::string& dir,
    const std::string& specialisation) {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadFile(fs::path(dir) / kLaunchFileName));
  auto state = std::make_unique<State>();
  ASSIGN_OR_RETURN(state->file, ParseLaunchFile(text));
  state->repeated_dimension = RepeatedDimension(state->file.dimensions);
  ASSIGN_OR_RETURN(const LaunchTarget target, TargetOf(driver));
  for (const LaunchCandidate& candidate : state->file.candidates) {
    if (candidate.specialisation != specialisation) continue;
    ASSIGN_OR_RETURN(const std::string code, ReadCubin(dir, candidate));
    absl::StatusOr<LoadedCandidate> loaded =
        LoadedCandidate::Load(target, candidate, code);
    if (!loaded.ok()) {
      return absl::Status(
          loaded.status().code(),
          absl::StrCat(loaded.status().message(), " (", dir, ", made for ",
                       state->file.architecture, ")"));
    }
    state->candidates.push_back(*std::move(loaded));
  }
  if (state->candidates.empty()) {
    return UnknownSpecialisation(state->file, specialisation);
  }
  state->file.candidates.clear();
  return std::unique_ptr<ExportedKernel>(new ExportedKernel(std::move(state)));
}

absl::Status ExportedKernel::Launch(CUstream_st* stream,
                                    const Decision& decision,
                                    const ProblemView& problem,
                                    absl::Span<void* const> buffers) const {
  return state_->Launch(stream, decision.configuration, decision.candidate,
                        problem, buffers);
}

absl::Status ExportedKernel::Launch(CUstream_st* stream,
                                    const Configuration& configuration,
                                    const ProblemView& problem,
                                    absl::Span<void* const> buffers) const {
  return state_->Launch(stream, configuration, 0, problem, buffers);
}

std::vector<Configuration> ExportedKernel::configurations() const {
  std::vector<Configuration> result;
  for (const LoadedCandidate& loaded : state_->candidates) {
    result.push_back(loaded.candidate().configuration);
  }
  return result;
}

const std::string& ExportedKernel::kernel() const {
  return state_->file.kernel;
}

const std::string& ExportedKernel::table_digest() const {
  return state_->file.table_digest;
}

}  // namespace wavetune
