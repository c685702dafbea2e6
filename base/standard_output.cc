#include "base/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

// `error` is 0 where an earlier write failed, whose reason is gone.
absl::Status NotWritten(int error) {
  return absl::InternalError(
      absl::StrCat("the output could not be written",
                   error == 0 ? "" : absl::StrCat(": ", std::strerror(error)),
                   "; what has arrived is not all of it"));
}

}  // namespace

absl::Status FinishOutput(std::ostream& out) {
  errno = 0;
  out.flush();
  return out.good() ? absl::OkStatus() : NotWritten(errno);
}

absl::Status FinishStandardOutput() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  return flushed && std::ferror(stdout) == 0 ? absl::OkStatus()
                                             : NotWritten(errno);
}

}  // namespace wavetune
