// ManifestPlaces: where in a manifest a text's byte is.
//
// Thread safety: const functions may be called at once.
#ifndef WAVETUNE_FORMATS_MANIFEST_TEXT_PLACES_H_
#define WAVETUNE_FORMATS_MANIFEST_TEXT_PLACES_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "proto/wavetune/v1/kernel.pb.h"

namespace wavetune {

class ManifestPlaces {
 public:
  // `manifest` must outlive this; empty where a message came without its file.
  explicit ManifestPlaces(absl::string_view manifest = {})
      : manifest_(manifest) {}

  // Returns "line 12, column 34" of byte `at` of a text, or "column 5 of its
  // text" where the file is not known. Cannot fail.
  std::string Of(const v1::ManifestText& text, size_t at) const;

 private:
  absl::string_view manifest_;
};

// Returns the line and column, from 1 on, of a byte. Cannot fail.
std::string LineAndColumn(absl::string_view text, size_t at);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_MANIFEST_TEXT_PLACES_H_
