// What a manifest declares as text, put into the fields of its message
// (docs/manifest.md).
//
//   dimensions: "m, n <= 65536, tokens[]"
//   arguments: "in cold b[k, n] bfloat16, out c[m, n] float32, m int32"
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FORMATS_MANIFEST_TEXT_DECLARATIONS_H_
#define WAVETUNE_FORMATS_MANIFEST_TEXT_DECLARATIONS_H_

#include <string>
#include <vector>

#include "formats/manifest_text/places.h"
#include "proto/wavetune/v1/kernel.pb.h"

namespace wavetune {

// Replaces every dimension, parameter, specialisation, configuration, argument
// and grid of problems that is a text by what it says, one or several in its
// place. Their expressions stay texts. Parameters' defaults become
// `default_configuration`. Returns the faults, each with its path and place;
// faulty declarations are left out.
std::vector<std::string> ExpandDeclarations(const ManifestPlaces& places,
                                            v1::KernelSpec& spec);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_MANIFEST_TEXT_DECLARATIONS_H_
