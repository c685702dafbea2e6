// Options that a caller filled in with an older or newer wavetune.h.
//
//   ASSIGN_OR_RETURN(const wavetune_tuner_options options,
//                    ReadOptions(caller, sizeof(wavetune_tuner_options)));
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLIENT_C_OPTION_STRUCT_H_
#define WAVETUNE_CLIENT_C_OPTION_STRUCT_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace wavetune::c_api {

// Returns the caller's options as this library knows them: members that an
// older header lacks are zero, and NULL is all zero. `first_size` is the size
// in version 1.0 of the header.
// Errors: INVALID_ARGUMENT for a struct_size below that, and where a member
// that only a newer header knows is not zero: it would be ignored.
template <typename Options>
absl::StatusOr<Options> ReadOptions(const Options* caller, size_t first_size) {
  Options options = {};
  if (caller == nullptr) return options;
  const size_t size = caller->struct_size;
  if (size < first_size || size > 4096) {
    return absl::InvalidArgumentError(absl::StrCat(
        "struct_size is ", size,
        "; start from the WAVETUNE_..._OPTIONS_INIT macro, which sets it"));
  }
  const char* bytes = reinterpret_cast<const char*>(caller);
  if (size > sizeof(Options) &&
      std::any_of(bytes + sizeof(Options), bytes + size,
                  [](char byte) { return byte != 0; })) {
    return absl::InvalidArgumentError(absl::StrCat(
        "options of ", size, " bytes set what this library (", sizeof(Options),
        " bytes) does not know; install a newer libwavetune.so"));
  }
  std::memcpy(&options, bytes, std::min(size, sizeof(Options)));
  return options;
}

}  // namespace wavetune::c_api

#endif  // WAVETUNE_CLIENT_C_OPTION_STRUCT_H_
