// Errors of the C ABI: absl::Status and exceptions become a wavetune_status
// and this thread's message.
//
//   return Guarded([&]() -> absl::Status {
//     if (client == nullptr) return IsNull("client");
//     ...
//     return absl::OkStatus();
//   });
//
// Thread safety: the message is the thread's own.
#ifndef WAVETUNE_CLIENT_C_API_ERROR_H_
#define WAVETUNE_CLIENT_C_API_ERROR_H_

#include <exception>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "wavetune/wavetune.h"

namespace wavetune::c_api {

// Returns INVALID_ARGUMENT for an argument that may not be NULL.
absl::Status IsNull(absl::string_view argument);

// Returns the code of a status; WAVETUNE_UNKNOWN for one without a number here.
wavetune_status CodeOf(const absl::Status& status) noexcept;

// Returns the code of a status and keeps its message for
// wavetune_last_error(); a success keeps the message before it. Cannot fail:
// without memory for the message there is a shorter one.
wavetune_status Report(const absl::Status& status) noexcept;

// Reports what `function` returns or throws: nothing may unwind into C. What
// we call throws nothing by itself; memory may run out.
template <typename Function>
wavetune_status Guarded(Function&& function) noexcept {
  try {
    return Report(std::forward<Function>(function)());
  } catch (const std::bad_alloc&) {
    return Report(absl::ResourceExhaustedError("out of memory"));
  } catch (const std::exception& error) {
    return Report(absl::InternalError(error.what()));
  } catch (...) {
    return Report(absl::InternalError("an unknown exception"));
  }
}

}  // namespace wavetune::c_api

#endif  // WAVETUNE_CLIENT_C_API_ERROR_H_
