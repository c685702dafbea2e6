#include "base/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

// More than every bound of ours needs. A hard limit is a billion in some
// containers, and there is code that visits every possible descriptor.
constexpr rlim_t kEnough = 65536;

}  // namespace

uint64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t soft = limit.rlim_cur;
  if (soft >= kEnough) return soft;
  limit.rlim_cur = std::min(limit.rlim_max, kEnough);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : soft;
}

absl::Status CheckDescriptorLimit(uint64_t descriptors) {
  if (descriptors >= kFewestDescriptors) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the process may open ", descriptors, " files, at least ",
      kFewestDescriptors,
      " are needed: raise the hard limit of open files (LimitNOFILE, ulimit "
      "-Hn)"));
}

}  // namespace wavetune
