#include "profiler_agent/opencl/opencl_check.h"

#include <cstddef>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "model/mapping.h"
#include "model/status_macros.h"
#include "profiler_agent/buffer_values.h"
#include "profiler_agent/opencl/opencl_status.h"
#include "profiler_agent/output_comparison.h"

namespace wavetune {
namespace {

absl::StatusOr<OpenClBuffer> CreateBuffer(const OpenClSession& session,
                                          std::string content) {
  cl_int code = CL_SUCCESS;
  OpenClBuffer buffer(clCreateBuffer(session.context,
                                     CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                     content.size(), content.data(), &code));
  if (code != CL_SUCCESS) {
    return OpenClStatus(code,
                        absl::StrCat("allocating ", content.size(), " bytes"));
  }
  return buffer;
}

absl::StatusOr<std::string> ReadBuffer(const OpenClSession& session,
                                       cl_mem buffer, size_t bytes) {
  std::string content(bytes, '\0');
  const cl_int code =
      clEnqueueReadBuffer(session.queue, buffer, CL_TRUE, 0, bytes,
                          content.data(), 0, nullptr, nullptr);
  if (code != CL_SUCCESS) return OpenClStatus(code, "reading an output");
  return content;
}

// Runs one kernel with poisoned outputs of its own.
class Run {
 public:
  Run(const OpenClSession& session, const OpenClCheck& check,
      const Problem& problem)
      : session_(session), check_(check), problem_(problem) {}

  absl::Status Execute(cl_kernel kernel, const LaunchShape& shape,
                       uint64_t seed) {
    const KernelSpec& spec = *check_.spec;
    RETURN_IF_ERROR(SetScalars(kernel, spec, check_.configuration, problem_));
    RETURN_IF_ERROR(SetLocalMemory(kernel, spec, shape));
    for (size_t i = 0; i < spec.arguments.size(); ++i) {
      if (spec.arguments[i].role == ArgumentRole::kScalar) continue;
      RETURN_IF_ERROR(AddBuffer(kernel, i, seed + i));
    }
    absl::StatusOr<OpenClEvent> event = EnqueueLaunch(session_, kernel, shape);
    if (!event.ok()) return event.status();
    RETURN_IF_ERROR(Finish(session_));
    return DeviceTimeUs(event->get()).status();
  }

  // Content of an output, guard included.
  absl::StatusOr<std::string> Output(size_t argument) const {
    const auto& [buffer, bytes] = buffers_.at(argument);
    return ReadBuffer(session_, buffer.get(), bytes);
  }

 private:
  absl::Status AddBuffer(cl_kernel kernel, size_t index, uint64_t seed) {
    const Argument& argument = check_.spec->arguments[index];
    const absl::StatusOr<size_t> bytes =
        BufferBytes(argument, problem_, check_.configuration);
    if (!bytes.ok()) return bytes.status();
    const size_t elements = *bytes / ElementBytes(argument.type);
    std::string content =
        CheckedContent(*check_.spec, argument, problem_, elements, seed);
    const size_t size = content.size();
    absl::StatusOr<OpenClBuffer> buffer =
        CreateBuffer(session_, std::move(content));
    if (!buffer.ok()) return buffer.status();
    const cl_mem memory = buffer->get();
    buffers_[index] = {*std::move(buffer), size};
    return SetBuffer(kernel, index, memory);
  }

  const OpenClSession& session_;
  const OpenClCheck& check_;
  const Problem& problem_;
  std::map<size_t, std::pair<OpenClBuffer, size_t>> buffers_;
};

// The reference runs one work item per index. On a CPU every other group size
// would be another compilation (PoCL), so groups have one item there.
LaunchShape ReferenceShape(const OpenClSession& session,
                           const OpenClCheck& check, const Problem& problem) {
  const auto items =
      static_cast<size_t>(Evaluate(check.spec->correctness->work_items,
                                   problem.View(), check.configuration));
  const size_t group = session.is_cpu ? 1 : std::gcd(items, size_t{64});
  return {.groups = items / group, .group_size = group};
}

}  // namespace

absl::Status CheckResults(const OpenClSession& session,
                          const OpenClCheck& check, const Problem& problem,
                          uint64_t seed) {
  const KernelSpec& spec = *check.spec;
  Run candidate(session, check, problem);
  Run reference(session, check, problem);
  RETURN_IF_ERROR(candidate.Execute(check.candidate, check.shape, seed));
  RETURN_IF_ERROR(BrokenReference(reference.Execute(
      check.reference, ReferenceShape(session, check, problem), seed)));
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    if (spec.arguments[i].role != ArgumentRole::kOutput) continue;
    const absl::StatusOr<std::string> out = candidate.Output(i);
    if (!out.ok()) return out.status();
    const absl::StatusOr<std::string> wanted = reference.Output(i);
    if (!wanted.ok()) return wanted.status();
    absl::Status equal =
        CompareOutputs(spec, spec.arguments[i], problem, *out, *wanted);
    if (!equal.ok()) return equal;
  }
  return absl::OkStatus();
}

}  // namespace wavetune
