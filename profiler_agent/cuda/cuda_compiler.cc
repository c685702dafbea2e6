#include "profiler_agent/cuda/cuda_compiler.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace wavetune {
namespace {

// What every source is compiled with. -default-device: a kernel's source has
// device code only, so its constexpr functions need no __device__.
std::vector<std::string> AllOptions(const CudaArchitecture& architecture,
                                    const std::vector<std::string>& options) {
  std::vector<std::string> all = {
      absl::StrCat("--gpu-architecture=", architecture.target),
      "-default-device"};
  all.insert(all.end(), options.begin(), options.end());
  return all;
}

std::string KeyOf(const Nvrtc& nvrtc, CudaSource source,
                  std::vector<std::string> options) {
  nvrtc.Complete(&source, &options);
  std::vector<std::string> parts = {"cuda", nvrtc.version(), source.name,
                                    absl::StrCat(options.size())};
  parts.insert(parts.end(), options.begin(), options.end());
  for (const auto& [name, content] : source.files) {
    parts.push_back(name);
    parts.push_back(content);
  }
  return ProgramCache::Key(parts);
}

}  // namespace

CudaCompiler::CudaCompiler(const Nvrtc& nvrtc, CudaArchitecture architecture,
                           const std::string& directory)
    : nvrtc_(nvrtc),
      architecture_(std::move(architecture)),
      cache_(directory.empty() ? "" : absl::StrCat(directory, "/programs")) {}

absl::StatusOr<Cubin> CudaCompiler::Compile(
    const CudaSource& source, const std::vector<std::string>& options,
    const std::string& entry) const {
  const std::vector<std::string> all = AllOptions(architecture_, options);
  Cubin cubin = {.entry = entry, .key = KeyOf(nvrtc_, source, all)};
  if (std::optional<std::string> found = cache_.Find(cubin.key);
      found.has_value()) {
    cubin.code = *std::move(found);
    cubin.from_disk = true;
  } else {
    absl::StatusOr<std::string> code = nvrtc_.Compile(source, all);
    if (!code.ok()) return code.status();
    cubin.code = *std::move(code);
    const absl::Status stored = cache_.Store(cubin.key, cubin.code);
    if (!stored.ok()) LogOnce(LogLevel::kWarning, "cuda", stored.message());
  }
  if (HasKernel(cubin.code, entry)) return cubin;
  return absl::InvalidArgumentError(
      absl::StrCat(source.name, " has no kernel function '", entry,
                   "'; declare it extern \"C\" __global__, or correct the "
                   "manifest's entry"));
}

bool HasKernel(const std::string& cubin, const std::string& entry) {
  // A kernel's code is in a section of its own; section names end with a zero.
  const std::string section = absl::StrCat(".text.", entry);
  return cubin.find(section.c_str(), 0, section.size() + 1) !=
         std::string::npos;
}

}  // namespace wavetune
