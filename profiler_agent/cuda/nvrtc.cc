#include "profiler_agent/cuda/nvrtc.h"

#include <cuda.h>
#include <dlfcn.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
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

// What sources use as if it were a part of the language, constant as there.
constexpr std::pair<const char*, const char*> kUsualMacros[] = {
    {"INFINITY", "__builtin_bit_cast(float,0x7f800000)"},
    {"NAN", "__builtin_bit_cast(float,0x7fc00000)"}};

bool InWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Whether a source makes `name` itself: #define NAME, NAME = x or NAME{x}. A
// macro would make nonsense of it.
bool Makes(absl::string_view source, absl::string_view name) {
  for (size_t at = source.find(name); at != absl::string_view::npos;
       at = source.find(name, at + 1)) {
    absl::string_view before = source.substr(0, at);
    absl::string_view after = source.substr(at + name.size());
    if ((!before.empty() && InWord(before.back())) ||
        (!after.empty() && InWord(after.front()))) {
      continue;
    }
    before = absl::StripTrailingAsciiWhitespace(before);
    after = absl::StripLeadingAsciiWhitespace(after);
    if (absl::EndsWith(before, "define") || absl::StartsWith(after, "{") ||
        (absl::StartsWith(after, "=") && !absl::StartsWith(after, "=="))) {
      return true;
    }
  }
  return false;
}

// Stand for the toolkit's headers where these are not installed: the types, and
// their conversions, which round to nearest even as those do.
constexpr std::pair<const char*, const char*> kOwnHeaders[] = {
    {"cuda_bf16.h", R"(#pragma once
struct __align__(2) __nv_bfloat16 { unsigned short bits; };
__device__ inline float __bfloat162float(__nv_bfloat16 value) {
  return __uint_as_float(unsigned(value.bits) << 16);
}
__device__ inline __nv_bfloat16 __float2bfloat16(float value) {
  __nv_bfloat16 rounded;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded.bits) : "f"(value));
  return rounded;
}
)"},
    {"cuda_fp16.h", R"(#pragma once
struct __align__(2) __half { unsigned short bits; };
typedef __half half;
__device__ inline float __half2float(__half value) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
}
__device__ inline __half __float2half(float value) {
  __half rounded;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(rounded.bits) : "f"(value));
  return rounded;
}
)"}};

// Returns where the headers of the library at `path` are, empty where they are
// not: beside it in toolkits and in NVIDIA's packages for Python, or where
// Debian puts those of libraries.
std::string HeadersBeside(const std::string& path) {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::canonical(path, error).parent_path();
  if (error) return "";
  for (const char* place : {"../include", "../../include",
                            "../../cuda_runtime/include", "../../../include"}) {
    const std::filesystem::path headers = (folder / place).lexically_normal();
    if (std::filesystem::exists(headers / "cuda_bf16.h", error))
      return headers.string();
  }
  return "";
}

bool NamesFolder(const std::string& option) {
  return absl::StartsWith(option, "-I") ||
         absl::StartsWith(option, "--include-path");
}

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
    absl::StrAppend(
        &log,
        "\nNVRTC finds the headers of its own toolkit where they are installed "
        "(Debian and Ubuntu: cuda-cudart-dev; pip: nvidia-cuda-runtime), and "
        "none of C++'s library: name another folder by compile_options: "
        "\"-I/usr/local/cuda/include\", or write out what is needed");
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
        "; beside a wheel of WaveTune: pip install nvidia-cuda-nvrtc==",
        CUDA_VERSION / 1000, ".*) or put its folder into LD_LIBRARY_PATH (",
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
  Dl_info loaded = {};
  if (dladdr(reinterpret_cast<void*>(nvrtc.nvrtc_.nvrtcVersion), &loaded) !=
      0) {
    nvrtc.headers_ = HeadersBeside(loaded.dli_fname);
  }
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

void Nvrtc::Complete(CudaSource* source,
                     std::vector<std::string>* options) const {
  if (headers_.empty() && absl::c_none_of(*options, NamesFolder))
    source->files.insert(std::begin(kOwnHeaders), std::end(kOwnHeaders));
  std::vector<std::string> all;
  for (const auto& [name, value] : kUsualMacros) {
    if (absl::c_none_of(source->files, [&, macro = name](const auto& file) {
          return Makes(file.second, macro);
        })) {
      all.push_back(absl::StrCat("-D", name, "=", value));
    }
  }
  all.insert(all.end(), options->begin(), options->end());
  // Behind the caller's own.
  if (!headers_.empty()) {
    all.push_back(absl::StrCat("-I", headers_));
    all.push_back(absl::StrCat("-I", headers_, "/cccl"));
  }
  *options = std::move(all);
}

absl::StatusOr<std::string> Nvrtc::Compile(
    const CudaSource& given, const std::vector<std::string>& options) const {
  CudaSource source = given;
  std::vector<std::string> all = options;
  Complete(&source, &all);
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
  absl::StatusOr<std::string> cubin = CompileProgram(program, all, options);
  nvrtc_.nvrtcDestroyProgram(&program);
  return cubin;
}

absl::StatusOr<std::string> Nvrtc::CompileProgram(
    nvrtcProgram program, const std::vector<std::string>& all,
    const std::vector<std::string>& options) const {
  std::vector<const char*> texts;
  for (const std::string& option : all) texts.push_back(option.c_str());
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
