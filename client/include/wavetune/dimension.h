// Dimension: one extent of a kernel's problems, as its author declares it.
#ifndef WAVETUNE_DIMENSION_H_
#define WAVETUNE_DIMENSION_H_

#include <cstdint>
#include <limits>
#include <string>

namespace wavetune {

// Most dimensions of a kernel; Problem keeps this many extents inline.
inline constexpr int kMaxDimensions = 8;

// Largest extent where a manifest sets none.
inline constexpr int64_t kDefaultMaxExtent =
    std::numeric_limits<int32_t>::max();

// One extent of a problem.
struct Dimension {
  std::string name;
  bool repeated = false;  // A list of extents (tokens per expert); at most one
                          // dimension of a kernel.
  int64_t min = 1;        // 0 for a repeated one whose elements may be without
                          // work (an expert without tokens).
  int64_t max = kDefaultMaxExtent;

  friend bool operator==(const Dimension&, const Dimension&) = default;
};

}  // namespace wavetune

#endif  // WAVETUNE_DIMENSION_H_
