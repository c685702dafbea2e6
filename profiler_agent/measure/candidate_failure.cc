#include "profiler_agent/measure/candidate_failure.h"

#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/printable_text.h"
#include "model/kernel/exclusion.h"
#include "profiler_agent/measure/environment_error.h"

namespace wavetune {
namespace {

constexpr char kNotTried[] = "wavetune/not-tried";

absl::string_view Prefix(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return "does not compile: ";
    case absl::StatusCode::kDataLoss:
      return kWrongResult;
    case absl::StatusCode::kFailedPrecondition:
      return "cannot be launched: ";
    case absl::StatusCode::kAborted:
      return "crashed: ";
    case absl::StatusCode::kDeadlineExceeded:
      return "hung: ";
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
         status.code() == absl::StatusCode::kInternal ||
         status.code() == absl::StatusCode::kAborted;
}

absl::Status NotTried(absl::Status status) {
  status.SetPayload(kNotTried, absl::Cord());
  return status;
}

bool WasTried(const absl::Status& status) {
  return !status.GetPayload(kNotTried).has_value();
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
  const std::string text = BoundedText(status.message(), kMaxFailureBytes);
  const std::optional<Resource> exhausted = ExhaustedResource(status);
  if (exhausted.has_value()) {
    return absl::StrCat(ExhaustedName(*exhausted), ": ", text, "; ",
                        ExhaustedAdvice(*exhausted));
  }
  return absl::StrCat(Prefix(status.code()), text);
}

}  // namespace wavetune
