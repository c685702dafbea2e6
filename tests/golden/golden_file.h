// Golden files: results that must have the same bytes on every compiler and
// CPU, committed under tests/golden/data.
//
//   ExpectGolden("digests.txt", text);
//
// After an intended change, WAVETUNE_UPDATE_GOLDEN=1 build/dev/bin/golden_test
// rewrites the files in the source tree; the diff then shows what changed for
// every table in the field.
#ifndef WAVETUNE_TESTS_GOLDEN_GOLDEN_FILE_H_
#define WAVETUNE_TESTS_GOLDEN_GOLDEN_FILE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace wavetune::testing {

// Returns the bytes of tests/golden/data/`name`; empty where there is no such
// file.
std::string ReadGolden(const std::string& name);

// Fails the test unless `content` is what tests/golden/data/`name` holds; names
// the first byte that differs. With WAVETUNE_UPDATE_GOLDEN=1 writes the file
// instead.
void ExpectGolden(const std::string& name, absl::string_view content);

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_GOLDEN_GOLDEN_FILE_H_
