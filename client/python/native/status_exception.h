// Statuses of the C++ client as exceptions of the Python package
// (wavetune/errors.py): one class per code, the message whole.
//
//   absl::StatusOr<Tuner> tuner = client.GetTuner(kernel);
//   if (!tuner.ok()) ThrowStatus(tuner.status());
//
// Thread safety: the caller holds the GIL.
#ifndef WAVETUNE_CLIENT_PYTHON_NATIVE_STATUS_EXCEPTION_H_
#define WAVETUNE_CLIENT_PYTHON_NATIVE_STATUS_EXCEPTION_H_

#include "absl/status/status.h"

namespace wavetune::python {

// Throws nb::python_error with the exception of `status`, which is not OK.
[[noreturn]] void ThrowStatus(const absl::Status& status);

}  // namespace wavetune::python

#endif  // WAVETUNE_CLIENT_PYTHON_NATIVE_STATUS_EXCEPTION_H_
