#include "profiler_agent/opencl/opencl_compiler.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "profiler_agent/opencl/opencl_status.h"

namespace wavetune {
namespace {

// Compiler logs repeat themselves; the first errors are what matters.
constexpr size_t kMaxBuildLogBytes = 4000;

std::string BuildLog(cl_program program, cl_device_id device) {
  size_t size = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr,
                        &size);
  std::string log(size, '\0');
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(),
                        nullptr);
  std::string text(absl::StripAsciiWhitespace(log.c_str()));
  if (text.size() > kMaxBuildLogBytes) {
    text.resize(kMaxBuildLogBytes);
    absl::StrAppend(&text, " ...");
  }
  return text;
}

absl::StatusOr<OpenClKernel> CreateKernel(cl_program program,
                                          const std::string& entry) {
  cl_int code = CL_SUCCESS;
  OpenClKernel kernel(clCreateKernel(program, entry.c_str(), &code));
  if (code != CL_SUCCESS) {
    return OpenClStatus(code,
                        absl::StrCat("taking kernel function '", entry, "'"));
  }
  return kernel;
}

}  // namespace

OpenClCompiler::OpenClCompiler(const OpenClSession& session,
                               const DeviceFacts& facts,
                               const std::string& directory)
    : session_(session),
      device_key_(absl::StrCat(facts.architecture, "\n", facts.label, "\n",
                               facts.driver, "\n", facts.runtime)),
      cache_(directory.empty() || session.driver_keeps_programs
                 ? ""
                 : absl::StrCat(directory, "/programs")),
      keeps_(!directory.empty() && !session.driver_keeps_programs) {}

absl::StatusOr<CompiledKernel> OpenClCompiler::Build(const std::string& source,
                                                     const std::string& options,
                                                     const std::string& entry) {
  const std::string key =
      ProgramCache::Key({"opencl", source, options, device_key_});
  if (absl::StatusOr<CompiledKernel> found = BuildFromDisk(key, options, entry);
      found.ok()) {
    return found;
  }
  CompiledKernel compiled{.key = key};
  const char* text = source.c_str();
  const size_t size = source.size();
  cl_int code = CL_SUCCESS;
  compiled.program = OpenClProgramHandle(
      clCreateProgramWithSource(session_.context, 1, &text, &size, &code));
  if (code != CL_SUCCESS) return OpenClStatus(code, "creating a program");
  code = clBuildProgram(compiled.program.get(), 1, &session_.device,
                        options.c_str(), nullptr, nullptr);
  if (code != CL_SUCCESS) {
    const absl::Status status = OpenClStatus(code, "compiling");
    return absl::Status(
        status.code(),
        absl::StrCat(status.message(), " with options '", options,
                     "': ", BuildLog(compiled.program.get(), session_.device)));
  }
  ASSIGN_OR_RETURN(compiled.kernel,
                   CreateKernel(compiled.program.get(), entry));
  return compiled;
}

absl::StatusOr<CompiledKernel> OpenClCompiler::BuildFromDisk(
    const std::string& key, const std::string& options,
    const std::string& entry) {
  const std::optional<std::string> binary = cache_.Find(key);
  if (!binary.has_value()) return absl::NotFoundError("not in the cache");
  CompiledKernel compiled{.key = key, .from_disk = true};
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary->data());
  const size_t size = binary->size();
  cl_int binary_code = CL_SUCCESS;
  cl_int code = CL_SUCCESS;
  compiled.program = OpenClProgramHandle(
      clCreateProgramWithBinary(session_.context, 1, &session_.device, &size,
                                &bytes, &binary_code, &code));
  if (code == CL_SUCCESS) code = binary_code;
  if (code == CL_SUCCESS) {
    code = clBuildProgram(compiled.program.get(), 1, &session_.device,
                          options.c_str(), nullptr, nullptr);
  }
  if (code != CL_SUCCESS) {
    cache_.Remove(key);
    return OpenClStatus(code, "loading a cached program");
  }
  absl::StatusOr<OpenClKernel> kernel =
      CreateKernel(compiled.program.get(), entry);
  if (!kernel.ok()) {
    cache_.Remove(key);
    return kernel.status();
  }
  compiled.kernel = *std::move(kernel);
  return compiled;
}

void OpenClCompiler::Publish(const CompiledKernel& compiled) {
  if (compiled.from_disk || !keeps_) return;
  size_t size = 0;
  cl_program program = compiled.program.get();
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size,
                       nullptr) != CL_SUCCESS ||
      size == 0) {
    return;
  }
  std::string binary(size, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(binary.data());
  if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes,
                       nullptr) != CL_SUCCESS) {
    return;
  }
  const absl::Status stored = cache_.Store(compiled.key, binary);
  if (!stored.ok()) LogOnce(LogLevel::kWarning, "opencl", stored.message());
}

}  // namespace wavetune
