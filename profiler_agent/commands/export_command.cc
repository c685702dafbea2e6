#include "profiler_agent/commands/export_command.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/kernel/kernel_space.h"
#include "profiler_agent/commands/export_folder.h"
#include "profiler_agent/commands/export_plan.h"

#ifdef WAVETUNE_HAVE_CUDA
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "base/digest.h"
#include "formats/kernel_folder.h"
#include "model/table/table_codec.h"
#include "nlohmann/json.hpp"
#include "profiler_agent/cuda/cuda_architecture.h"
#include "profiler_agent/cuda/cuda_compile_device.h"
#include "profiler_agent/worker/kernel_source.h"
#endif

namespace wavetune {

#ifndef WAVETUNE_HAVE_CUDA

absl::Status RunExportCommand(const ExportCommandOptions&, std::ostream&) {
  return absl::UnavailableError(
      "this build has no CUDA compiler: exporting needs WaveTune built with "
      "the CUDA toolkit (headers of CUDA 13 or newer; configure with "
      "-DWAVETUNE_CUDA=ON)");
}

#else

namespace {

using Json = nlohmann::ordered_json;

// Sets the architecture of an export, and opens its compiler.
absl::StatusOr<std::unique_ptr<CudaCompileDevice>> OpenCompiler(
    const ExportCommandOptions& options, const Table& table, LaunchFile& file) {
  ASSIGN_OR_RETURN(const int capability, CapabilityOf(table));
  CudaArchitecture architecture = CudaArchitectureOf(capability);
  if (!options.architecture.empty()) {
    ASSIGN_OR_RETURN(architecture, ParseCudaArchitecture(options.architecture));
  }
  if (architecture.capability != capability) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the table is for ", CudaArchitectureName(capability), ", not for ",
        architecture.target, ": its choices mean nothing there"));
  }
  file.architecture = architecture.target;
  return CudaCompileDevice::Open(architecture.target, options.cache_dir,
                                 options.python);
}

// Sets the fingerprint of an export. Errors: FAILED_PRECONDITION where it is
// not the table's.
absl::Status CheckFingerprint(const ExportCommandOptions& options,
                              const KernelFolder& folder,
                              const DeviceFacts& facts, LaunchFile& file) {
  file.compiler = facts.compiler;
  file.fingerprint = folder.Fingerprint(facts.backend, facts.compiler);
  if (file.fingerprint == file.table_fingerprint || options.ignore_fingerprint)
    return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the table was measured with fingerprint ",
      file.table_fingerprint.substr(0, 12), "; ", folder.path,
      " compiled with ", facts.compiler, " has ",
      file.fingerprint.substr(0, 12),
      ": its sources were edited since, or the compiler is another. Reprofile "
      "the kernel, or give --ignore-fingerprint"));
}

absl::Status CompileOne(const CudaCompileDevice& device, const KernelSpec& spec,
                        LaunchCandidate& candidate, std::string& code) {
  absl::StatusOr<Cubin> cubin = device.Compile(candidate.configuration);
  if (!cubin.ok()) {
    return absl::Status(
        cubin.status().code(),
        absl::StrCat(FormatConfiguration(spec, candidate.configuration), ": ",
                     cubin.status().message()));
  }
  code = std::move(cubin->code);
  candidate.sha256 = Sha256Hex(code);
  candidate.size_bytes = static_cast<int64_t>(code.size());
  return absl::OkStatus();
}

// Compiles the candidates from `begin` to `end`, of one specialisation.
// Returns the first failure in their order, if any.
absl::Status CompileRange(const CudaCompileDevice& device,
                          const KernelSpec& spec, int threads, size_t begin,
                          size_t end, LaunchFile& file,
                          std::map<std::string, std::string>& codes) {
  std::vector<std::string*> code;
  for (size_t i = begin; i < end; ++i) {
    code.push_back(&codes[file.candidates[i].cubin]);
  }
  std::vector<absl::Status> statuses(end - begin);
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < statuses.size(); i = next++) {
      statuses[i] =
          CompileOne(device, spec, file.candidates[begin + i], *code[i]);
    }
  };
  std::vector<std::jthread> workers;
  const size_t wanted = static_cast<size_t>(std::max(threads, 1));
  for (size_t i = 1; i < std::min(wanted, statuses.size()); ++i) {
    try {
      workers.emplace_back(work);
    } catch (const std::system_error&) {  // The limit on processes: fewer do.
      break;
    }
  }
  work();
  workers.clear();  // Waits.
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

// Returns the files of an export but for launch.json.
absl::StatusOr<std::map<std::string, std::string>> CompileAll(
    CudaCompileDevice& device, const KernelFolder& folder, int threads,
    LaunchFile& file) {
  ASSIGN_OR_RETURN(const LoadedKernel kernel,
                   LoadedKernelFromProto(KernelSourceOf(folder)));
  std::map<std::string, std::string> codes;
  const size_t size = file.candidates.size();
  for (size_t begin = 0, end = 0; begin < size; begin = end) {
    const std::string& name = file.candidates[begin].specialisation;
    while (end < size && file.candidates[end].specialisation == name) ++end;
    RETURN_IF_ERROR(device.Load(kernel.Of(name)));
    RETURN_IF_ERROR(
        CompileRange(device, folder.spec, threads, begin, end, file, codes));
  }
  return codes;
}

void Print(std::ostream& out, const ExportCommandOptions& options,
           const KernelSpec& spec, const LaunchFile& file) {
  Json candidates = Json::array();
  for (const LaunchCandidate& candidate : file.candidates) {
    const std::string text = FormatConfiguration(spec, candidate.configuration);
    candidates.push_back({{"specialisation", candidate.specialisation},
                          {"configuration", text},
                          {"default", candidate.is_default},
                          {"cubin", candidate.cubin},
                          {"sha256", candidate.sha256},
                          {"size_bytes", candidate.size_bytes}});
    if (options.json) continue;
    out << candidate.cubin << "  " << text
        << (candidate.is_default ? "  (default)" : "") << "\n";
  }
  if (!options.json) {
    out << file.candidates.size() << " configurations of " << file.kernel
        << " for " << file.architecture << ", table "
        << ShortDigest(file.table_digest) << ", in " << options.out_dir << "\n";
    return;
  }
  out << Json{{"out", options.out_dir},
              {"kernel", file.kernel},
              {"architecture", file.architecture},
              {"fingerprint", file.fingerprint},
              {"table_digest", file.table_digest},
              {"candidates", std::move(candidates)}}
             .dump(2, ' ', false, Json::error_handler_t::replace)
      << "\n";
}

}  // namespace

absl::Status RunExportCommand(const ExportCommandOptions& options,
                              std::ostream& out) {
  // Before minutes of compiling.
  RETURN_IF_ERROR(CheckExportFolder(options.out_dir, options.force));
  ASSIGN_OR_RETURN(const KernelFolder folder,
                   LoadKernelFolder(options.kernel_dir));
  ASSIGN_OR_RETURN(const std::string payload,
                   ReadTextFile(options.table_path, kMaxPayloadBytes));
  ASSIGN_OR_RETURN(const Table table, DecodeTable(payload));
  ASSIGN_OR_RETURN(LaunchFile file,
                   PlanExport(folder.spec, table, options.specialisation));
  file.table_digest = Sha256Hex(payload);
  ASSIGN_OR_RETURN(const std::unique_ptr<CudaCompileDevice> device,
                   OpenCompiler(options, table, file));
  RETURN_IF_ERROR(CheckFingerprint(options, folder, device->facts(), file));
  ASSIGN_OR_RETURN(auto files,
                   CompileAll(*device, folder, options.threads, file));
  files[kLaunchFileName] = FormatLaunchFile(file);
  RETURN_IF_ERROR(WriteExportFolder(options.out_dir, files, options.force));
  Print(out, options, folder.spec, file);
  return absl::OkStatus();
}

#endif  // WAVETUNE_HAVE_CUDA

}  // namespace wavetune
