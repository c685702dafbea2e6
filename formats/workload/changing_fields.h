// Which layers a field of a config.json may change, by its name.
//
// Why by name: there are more fields than anybody lists, and a new model has
// new ones. A name that sounds of widths, heads, experts or layers is taken for
// a field that changes them unless it is known to change nothing. A note says
// that a field leaves layers out; a wrong derivation says nothing.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FORMATS_WORKLOAD_CHANGING_FIELDS_H_
#define WAVETUNE_FORMATS_WORKLOAD_CHANGING_FIELDS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace wavetune {

// Returns a mask of LayerKind; 0: none. Cannot fail.
unsigned ChangedBy(absl::string_view field);

// Returns a note for each group of fields that change the same layers, and the
// mask of all of them.
struct LeftOut {
  unsigned kinds = 0;
  std::vector<std::string> notes;
};
LeftOut WhatChange(const std::vector<std::string>& fields);

// Returns "attention and experts" of a mask.
std::string KindsText(unsigned kinds);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_WORKLOAD_CHANGING_FIELDS_H_
