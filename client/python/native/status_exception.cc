#include "client/python/native/status_exception.h"

#include <string>

#include "base/printable_text.h"
#include "nanobind/nanobind.h"

namespace wavetune::python {
namespace {

namespace nb = nanobind;

const char* ExceptionName(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return "InvalidArgumentError";
    case absl::StatusCode::kNotFound:
      return "NotFoundError";
    case absl::StatusCode::kFailedPrecondition:
      return "FailedPreconditionError";
    case absl::StatusCode::kUnavailable:
      return "UnavailableError";
    case absl::StatusCode::kDeadlineExceeded:
      return "DeadlineExceededError";
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return "PermissionDeniedError";
    case absl::StatusCode::kDataLoss:
      return "DataLossError";
    default:
      return "Error";
  }
}

}  // namespace

void ThrowStatus(const absl::Status& status) {
  const nb::object type = nb::module_::import_("wavetune.errors")
                              .attr(ExceptionName(status.code()));
  PyErr_SetString(type.ptr(), PrintableText(status.message()).c_str());
  throw nb::python_error();
}

}  // namespace wavetune::python
