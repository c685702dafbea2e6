#include "profiler_agent/cuda/nvrtc.h"

#include <cuda.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "profiler_agent/cuda/shared_library.h"
#include "profiler_agent/measure/source_includes.h"

namespace wavetune {
namespace {

// Compiler logs repeat themselves; the first errors are what matters.
constexpr size_t kMaxNvrtcLogBytes = 4000;

// Where the loader looks, then where the toolkit of this build was, then where
// toolkits usually are, then where pip puts it beside the package that has this
// program inside (client/python/CMakeLists.txt). One name per major version:
// its functions are those of the header.
std::vector<std::string> LibraryNames() {
  const std::string name = absl::StrCat("libnvrtc.so.", CUDA_VERSION / 1000);
  std::vector<std::string> names = {name};
#ifdef WAVETUNE_CUDA_LIBRARY_DIR
  names.push_back(absl::StrCat(WAVETUNE_CUDA_LIBRARY_DIR, "/", name));
#endif
  names.push_back(absl::StrCat("/usr/local/cuda/lib64/", name));
  std::error_code error;
  names.push_back(
      absl::StrCat(std::filesystem::read_symlink("/proc/self/exe", error)
                       .parent_path()
                       .string(),
                   "/../../../nvidia/cu", CUDA_VERSION / 1000, "/lib/", name));
  return names;
}

// Whether a line opens another message of the compiler.
bool IsMessage(absl::string_view line) {
  return absl::StrContains(line, ": warning") ||
         absl::StrContains(line, ": error") ||
         absl::StrContains(line, ": catastrophic error") ||
         absl::StrContains(line, ": note") ||
         absl::StrContains(line, ": remark");
}

bool IsError(absl::string_view line) {
  return absl::StrContains(line, ": error") ||
         absl::StrContains(line, ": catastrophic error") ||
         // ptxas, and NVRTC itself on options.
         absl::StartsWith(line, "ptxas fatal") ||
         absl::StartsWith(line, "ptxas error") ||
         absl::StartsWith(line, "nvrtc: error");
}

// What a first CUDA source runs into: NVRTC has no headers of its own.
constexpr absl::string_view kNoHeaders =
    "NVRTC finds no headers: give the toolkit's by compile_options: "
    "\"-I/usr/local/cuda/include\", or write out what is needed";

std::string Shortened(std::string text) {
  if (text.size() > kMaxNvrtcLogBytes) {
    text.resize(kMaxNvrtcLogBytes);
    absl::StrAppend(&text, " ...");
  }
  return text;
}

}  // namespace

std::string UsefulLines(absl::string_view log) {
  std::vector<absl::string_view> useful;
  bool in_error = false;
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    line = absl::StripTrailingAsciiWhitespace(line);
    if (IsError(line)) {
      in_error = true;
    } else if (IsMessage(line) || line.empty()) {
      in_error = false;
    }
    if (in_error) useful.push_back(line);
  }
  return Shortened(useful.empty() ? std::string(absl::StripAsciiWhitespace(log))
                                  : absl::StrJoin(useful, "\n"));
}

std::string WithAdvice(std::string log) {
  if (absl::StrContains(log, "cannot open source file")) {
    absl::StrAppend(&log, "\n", kNoHeaders,
                    " (of a bfloat16 the bits: __float_as_uint(x) >> 16)");
  } else if (absl::StrContains(log, "\"INFINITY\" is undefined") ||
             absl::StrContains(log, "\"NAN\" is undefined")) {
    absl::StrAppend(&log, "\n", kNoHeaders,
                    " (__int_as_float(0x7f800000) is infinity, "
                    "__int_as_float(0x7fc00000) NaN)");
  }
  return log;
}

absl::StatusOr<const Nvrtc*> Nvrtc::Load() {
  static const auto* const nvrtc =
      new absl::StatusOr<Nvrtc>(LoadFrom(LibraryNames()));
  if (!nvrtc->ok()) return nvrtc->status();
  return &**nvrtc;
}

absl::StatusOr<Nvrtc> Nvrtc::LoadFrom(const std::vector<std::string>& names) {
  const absl::StatusOr<SharedLibrary> library = SharedLibrary::Open(names);
  if (!library.ok()) {
    return absl::NotFoundError(absl::StrCat(
        "NVRTC, the CUDA compiler, is missing: install it (Debian and Ubuntu: "
        "cuda-nvrtc-",
        CUDA_VERSION / 1000, "-", CUDA_VERSION % 1000 / 10,
        ") or put its folder into LD_LIBRARY_PATH (",
        library.status().message(), ")"));
  }
  Nvrtc nvrtc;
#define WAVETUNE_NVRTC_BIND(name) \
  RETURN_IF_ERROR(library->Bind(#name, &nvrtc.nvrtc_.name));
  WAVETUNE_NVRTC_FUNCTIONS(WAVETUNE_NVRTC_BIND)
#undef WAVETUNE_NVRTC_BIND
  int major = 0;
  int minor = 0;
  RETURN_IF_ERROR(nvrtc.Check(nvrtc.nvrtc_.nvrtcVersion(&major, &minor),
                              "asking NVRTC for its version"));
  nvrtc.version_ = absl::StrCat("NVRTC ", major, ".", minor);
  int count = 0;
  RETURN_IF_ERROR(nvrtc.Check(nvrtc.nvrtc_.nvrtcGetNumSupportedArchs(&count),
                              "asking NVRTC for its architectures"));
  nvrtc.capabilities_.resize(static_cast<size_t>(count));
  RETURN_IF_ERROR(nvrtc.Check(
      nvrtc.nvrtc_.nvrtcGetSupportedArchs(nvrtc.capabilities_.data()),
      "asking NVRTC for its architectures"));
  return nvrtc;
}

absl::Status Nvrtc::Check(nvrtcResult code, absl::string_view what) const {
  if (code == NVRTC_SUCCESS) return absl::OkStatus();
  const std::string message =
      absl::StrCat(what, " failed with ", nvrtc_.nvrtcGetErrorString(code),
                   " (", static_cast<int>(code), ")");
  switch (code) {
    case NVRTC_ERROR_COMPILATION:
    case NVRTC_ERROR_INVALID_OPTION:
    case NVRTC_ERROR_INVALID_INPUT:
      return absl::InvalidArgumentError(message);
    case NVRTC_ERROR_OUT_OF_MEMORY:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::InternalError(message);
  }
}

std::string Nvrtc::Log(nvrtcProgram program) const {
  size_t size = 0;
  if (nvrtc_.nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS) return "";
  std::string log(size, '\0');
  nvrtc_.nvrtcGetProgramLog(program, log.data());
  return log.c_str();  // It ends with a zero.
}

absl::StatusOr<std::string> Nvrtc::Compile(
    const CudaSource& source, const std::vector<std::string>& options) const {
  const auto main = source.files.find(source.name);
  if (main == source.files.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "source file '", source.name,
        "' was not sent with the kernel; list it in the manifest and put it ",
        "into the kernel's folder"));
  }
  RETURN_IF_ERROR(CheckIncludes(source.files, source.name));
  std::vector<const char*> names;
  std::vector<const char*> contents;
  for (const auto& [name, content] : source.files) {
    if (name == source.name) continue;
    names.push_back(name.c_str());
    contents.push_back(content.c_str());
  }
  nvrtcProgram program = nullptr;
  RETURN_IF_ERROR(
      Check(nvrtc_.nvrtcCreateProgram(
                &program, main->second.c_str(), source.name.c_str(),
                static_cast<int>(names.size()), contents.data(), names.data()),
            "creating a program"));
  absl::StatusOr<std::string> cubin = CompileProgram(program, options);
  nvrtc_.nvrtcDestroyProgram(&program);
  return cubin;
}

absl::StatusOr<std::string> Nvrtc::CompileProgram(
    nvrtcProgram program, const std::vector<std::string>& options) const {
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  const nvrtcResult code = nvrtc_.nvrtcCompileProgram(
      program, static_cast<int>(texts.size()), texts.data());
  if (code != NVRTC_SUCCESS) {
    const absl::Status status = Check(code, "compiling");
    return absl::Status(status.code(),
                        absl::StrCat(status.message(), " with options '",
                                     absl::StrJoin(options, " "), "': ",
                                     WithAdvice(UsefulLines(Log(program)))));
  }
  size_t size = 0;
  RETURN_IF_ERROR(Check(nvrtc_.nvrtcGetCUBINSize(program, &size),
                        "reading the machine code"));
  if (size == 0) {  // The target was a virtual one ("compute_90").
    return absl::InternalError("the compiler gave no machine code");
  }
  std::string cubin(size, '\0');
  RETURN_IF_ERROR(Check(nvrtc_.nvrtcGetCUBIN(program, cubin.data()),
                        "reading the machine code"));
  return cubin;
}

}  // namespace wavetune
