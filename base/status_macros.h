// Early return on errors; the packaged abseil has no such macros.
//
//   RETURN_IF_ERROR(store->Append(key, generation, samples, {}));
//   ASSIGN_OR_RETURN(const SampleSet set, store->Load(key, generation));
#ifndef WAVETUNE_BASE_STATUS_MACROS_H_
#define WAVETUNE_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define WAVETUNE_CONCAT_INNER(a, b) a##b
#define WAVETUNE_CONCAT(a, b) WAVETUNE_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expression` is not OK.
#define RETURN_IF_ERROR(expression)                                           \
  do {                                                                        \
    if (::absl::Status wavetune_status = (expression); !wavetune_status.ok()) \
      return wavetune_status;                                                 \
  } while (false)

// Declares or assigns `target` from the value of a StatusOr, or returns its
// error. A `target` with a comma in it needs a type alias.
#define ASSIGN_OR_RETURN(target, expression)                                 \
  WAVETUNE_ASSIGN_OR_RETURN(WAVETUNE_CONCAT(wavetune_or_, __LINE__), target, \
                            expression)
#define WAVETUNE_ASSIGN_OR_RETURN(temporary, target, expression) \
  auto temporary = (expression);                                 \
  if (!temporary.ok()) return std::move(temporary).status();     \
  target = *std::move(temporary)

#endif  // WAVETUNE_BASE_STATUS_MACROS_H_
