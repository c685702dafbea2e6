#include "profiler_agent/measure/environment_error.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace wavetune {
namespace {

// Which resource, as a payload: the code alone means memory.
constexpr char kPayload[] = "wavetune/resource";

constexpr Resource kAll[] = {Resource::kMemory, Resource::kDisk,
                             Resource::kProcesses, Resource::kKilled};

// In lower case, as libraries, compilers and the C library say it.
constexpr std::pair<absl::string_view, Resource> kLastWords[] = {
    {"bad_alloc", Resource::kMemory},
    {"out of memory", Resource::kMemory},
    {"cannot allocate memory", Resource::kMemory},
    {"memory exhausted", Resource::kMemory},
    {"no space left on device", Resource::kDisk},
    {"disk quota exceeded", Resource::kDisk},
    {"read-only file system", Resource::kDisk},
    {"resource temporarily unavailable", Resource::kProcesses},
    {"pthread_create", Resource::kProcesses},
};

// A sanitizer's or debugger's frame names a function that was running, such as
// pthread_create, and no reason.
bool IsStackFrame(absl::string_view line) {
  line = absl::StripLeadingAsciiWhitespace(line);
  return absl::ConsumePrefix(&line, "#") && !line.empty() &&
         absl::ascii_isdigit(static_cast<unsigned char>(line.front()));
}

}  // namespace

absl::Status ExhaustedError(Resource resource, absl::string_view what) {
  absl::Status status = absl::ResourceExhaustedError(what);
  status.SetPayload(kPayload, absl::Cord(ExhaustedName(resource)));
  return status;
}

std::optional<Resource> ExhaustedResource(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return std::nullopt;
  const auto named = status.GetPayload(kPayload);
  if (!named.has_value()) return Resource::kMemory;
  for (const Resource resource : kAll) {
    if (*named == ExhaustedName(resource)) return resource;
  }
  return Resource::kMemory;
}

std::optional<Resource> ResourceNamedIn(absl::string_view line) {
  if (IsStackFrame(line)) return std::nullopt;
  const std::string lower = absl::AsciiStrToLower(line);
  for (const auto& [words, resource] : kLastWords) {
    if (absl::StrContains(lower, words)) return resource;
  }
  return std::nullopt;
}

absl::string_view ExhaustedName(Resource resource) {
  switch (resource) {
    case Resource::kMemory:
      return "out of memory";
    case Resource::kDisk:
      return "out of disk space";
    case Resource::kProcesses:
      return "out of processes";
    case Resource::kKilled:
      break;
  }
  return "killed";
}

absl::string_view ExhaustedAdvice(Resource resource) {
  switch (resource) {
    case Resource::kMemory:
      return "give the agent more memory (the limit of its cgroup, or that of "
             "the device), or start it with fewer --prepare-workers";
    case Resource::kDisk:
      return "free space where the agent keeps compiled programs, or start it "
             "with another --cache-dir";
    case Resource::kProcesses:
      return "raise the agent's limit on processes (TasksMax= of its unit, "
             "--pids-limit of its container, ulimit -u)";
    case Resource::kKilled:
      break;
  }
  return "find out who killed the agent's worker (the kernel's log names those "
         "that it ended for want of memory)";
}

}  // namespace wavetune
