#include "profiler_agent/candidate_failure.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/printable_text.h"

namespace wavetune {
namespace {

absl::string_view Prefix(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return "does not compile: ";
    case absl::StatusCode::kDataLoss:
      return "wrong result: ";
    case absl::StatusCode::kFailedPrecondition:
      return "cannot be launched: ";
    case absl::StatusCode::kAborted:
      return "crashed: ";
    case absl::StatusCode::kDeadlineExceeded:
      return "hung: ";
    case absl::StatusCode::kResourceExhausted:
      return "out of memory: ";
    case absl::StatusCode::kUnavailable:
      return "device lost: ";
    default:
      return "";
  }
}

}  // namespace

bool IsDeviceLost(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable;
}

bool IsReferenceBroken(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnimplemented;
}

bool MayPass(const absl::Status& status) {
  return status.code() == absl::StatusCode::kResourceExhausted ||
         status.code() == absl::StatusCode::kInternal;
}

bool ExcludesCandidate(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDeadlineExceeded:
      return true;
    default:
      return false;
  }
}

std::string FailureReason(const absl::Status& status) {
  return absl::StrCat(Prefix(status.code()),
                      BoundedText(status.message(), kMaxFailureBytes));
}

}  // namespace wavetune
