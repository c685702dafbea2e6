#include "cli/no_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace wavetune::cli {
namespace {

std::string ReprofileAdvice(const std::string& kernel) {
  return absl::StrCat("; run `wavetune reprofile --kernel ", kernel, "`");
}

// What a verdict begins with; what follows is what it rests on.
std::string FirstClause(const std::string& message) {
  return message.substr(0, message.find("; "));
}

}  // namespace

const v1::JobInfo* LastProfile(const v1::ListJobsResponse& jobs,
                               const std::string& kernel,
                               const std::string& device) {
  for (const v1::JobInfo& job : jobs.jobs()) {
    if (job.kind() != "reprofile" || job.kernel() != kernel) continue;
    const auto& devices = job.device_uuids();
    if (device.empty() || job.device_uuid() == device ||
        std::find(devices.begin(), devices.end(), device) != devices.end()) {
      return &job;
    }
  }
  return nullptr;
}

bool WasRefused(const v1::JobInfo& job) {
  return job.state() == v1::FAILED ||
         (job.state() == v1::SUCCEEDED && job.digest().empty());
}

std::string NoTableText(const std::string& kernel, const v1::JobInfo* last) {
  if (last == nullptr) {
    return absl::StrCat("never profiled", ReprofileAdvice(kernel));
  }
  switch (last->state()) {
    case v1::QUEUED:
    case v1::RUNNING:
      return absl::StrCat("job ", last->id(),
                          " profiles it: `wavetune jobs show ", last->id(),
                          " --wait` waits");
    case v1::FAILED:
      return absl::StrCat("job ", last->id(), " failed: ", last->message());
    case v1::SUCCEEDED:
      if (!WasRefused(*last)) break;  // What it promoted was ended since.
      return absl::StrCat("refused: job ", last->id(), ": ",
                          FirstClause(last->message()),
                          "; see `wavetune tables rejected ", kernel, "`");
    default:
      break;
  }
  return absl::StrCat("no table", ReprofileAdvice(kernel));
}

}  // namespace wavetune::cli
