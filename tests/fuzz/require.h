// What a fuzz target promises.
#ifndef WAVETUNE_TESTS_FUZZ_REQUIRE_H_
#define WAVETUNE_TESTS_FUZZ_REQUIRE_H_

#include <cstdio>
#include <cstdlib>

namespace wavetune {

// Aborts, naming the promise, where it does not hold.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

}  // namespace wavetune

#endif  // WAVETUNE_TESTS_FUZZ_REQUIRE_H_
