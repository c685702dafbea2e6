#include "client/c/api_error.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"

namespace wavetune::c_api {
namespace {

// A function's own: made when a thread first fails.
std::string& LastError() {
  thread_local std::string message;
  return message;
}

constexpr bool SameNumber(wavetune_status ours, absl::StatusCode theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(
    SameNumber(WAVETUNE_OK, absl::StatusCode::kOk) &&
    SameNumber(WAVETUNE_CANCELLED, absl::StatusCode::kCancelled) &&
    SameNumber(WAVETUNE_UNKNOWN, absl::StatusCode::kUnknown) &&
    SameNumber(WAVETUNE_INVALID_ARGUMENT, absl::StatusCode::kInvalidArgument) &&
    SameNumber(WAVETUNE_DEADLINE_EXCEEDED,
               absl::StatusCode::kDeadlineExceeded) &&
    SameNumber(WAVETUNE_NOT_FOUND, absl::StatusCode::kNotFound) &&
    SameNumber(WAVETUNE_ALREADY_EXISTS, absl::StatusCode::kAlreadyExists) &&
    SameNumber(WAVETUNE_PERMISSION_DENIED,
               absl::StatusCode::kPermissionDenied) &&
    SameNumber(WAVETUNE_RESOURCE_EXHAUSTED,
               absl::StatusCode::kResourceExhausted) &&
    SameNumber(WAVETUNE_FAILED_PRECONDITION,
               absl::StatusCode::kFailedPrecondition) &&
    SameNumber(WAVETUNE_ABORTED, absl::StatusCode::kAborted) &&
    SameNumber(WAVETUNE_OUT_OF_RANGE, absl::StatusCode::kOutOfRange) &&
    SameNumber(WAVETUNE_UNIMPLEMENTED, absl::StatusCode::kUnimplemented) &&
    SameNumber(WAVETUNE_INTERNAL, absl::StatusCode::kInternal) &&
    SameNumber(WAVETUNE_UNAVAILABLE, absl::StatusCode::kUnavailable) &&
    SameNumber(WAVETUNE_DATA_LOSS, absl::StatusCode::kDataLoss));

}  // namespace

wavetune_status CodeOf(const absl::Status& status) noexcept {
  const int code = static_cast<int>(status.code());
  return code <= WAVETUNE_DATA_LOSS ? static_cast<wavetune_status>(code)
                                    : WAVETUNE_UNKNOWN;
}

absl::Status IsNull(absl::string_view argument) {
  return absl::InvalidArgumentError(
      absl::StrCat("`", argument, "` is NULL; see wavetune.h"));
}

wavetune_status Report(const absl::Status& status) noexcept {
  if (status.ok()) return WAVETUNE_OK;
  std::string& last = LastError();
  try {
    last = PrintableText(status.message());
  } catch (...) {
    last = "out of memory";  // Short enough to be kept without allocating.
  }
  return CodeOf(status);
}

}  // namespace wavetune::c_api

const char* wavetune_last_error(void) {
  return wavetune::c_api::LastError().c_str();
}

const char* wavetune_status_name(wavetune_status status) {
  static constexpr const char* kNames[] = {"OK",
                                           "CANCELLED",
                                           "UNKNOWN",
                                           "INVALID_ARGUMENT",
                                           "DEADLINE_EXCEEDED",
                                           "NOT_FOUND",
                                           "ALREADY_EXISTS",
                                           "PERMISSION_DENIED",
                                           "RESOURCE_EXHAUSTED",
                                           "FAILED_PRECONDITION",
                                           "ABORTED",
                                           "OUT_OF_RANGE",
                                           "UNIMPLEMENTED",
                                           "INTERNAL",
                                           "UNAVAILABLE",
                                           "DATA_LOSS"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == WAVETUNE_DATA_LOSS + 1);
  // A C program may pass any number, which no C++ enumeration holds.
  static_assert(sizeof(status) == sizeof(uint32_t));
  uint32_t index = 0;
  std::memcpy(&index, &status, sizeof(index));
  return index <= WAVETUNE_DATA_LOSS ? kNames[index] : "UNKNOWN";
}
