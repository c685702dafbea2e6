// Checks the layering of the tree by reading its #includes.
//
// The build already refuses most breaches at link time, but not a header-only
// one, and not one between two folders of the same library. A rule that only a
// reviewer enforces is broken within a month.
//
//   for (const Breach& b : CheckIncludes(ReadTree("/path/to/checkout")))
//   std::cerr << b.message;
//
// Thread-safe: no state.

#ifndef TESTS_COMPONENT_INCLUDE_BOUNDARY_H_
#define TESTS_COMPONENT_INCLUDE_BOUNDARY_H_

#include <string>
#include <vector>

namespace wavetune::testing {

// One source file: its path from the root of the checkout
// ("model/kernel/mapping.cc") and its text.
struct SourceFile {
  std::string path;
  std::string text;
};

struct Breach {
  std::string path;
  int line = 0;
  std::string include;  // as written between the quotes or angle brackets
  std::string message;  // "path:line: ..." with what is wrong and what to do
};

// Returns every C and C++ source of our folders below `root`, sorted by path.
// Kernels are data and left out.
//
// Errors: an unreadable file is reported as an empty one; a missing root gives
// an empty result.
std::vector<SourceFile> ReadTree(const std::string& root);

// Returns the breaches in `files`, in their order. Cannot fail.
std::vector<Breach> CheckIncludes(const std::vector<SourceFile>& files);

}  // namespace wavetune::testing

#endif  // TESTS_COMPONENT_INCLUDE_BOUNDARY_H_
