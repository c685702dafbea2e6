// Configuration: values for all tuning parameters of a kernel, in the order of
// KernelSpec::parameters.
//
// Trivially copyable, of fixed size, so that a decision can carry it by value
// on the launch path.
#ifndef WAVETUNE_CONFIGURATION_H_
#define WAVETUNE_CONFIGURATION_H_

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>

#include "absl/types/span.h"

namespace wavetune {

// Most tuning parameters of a kernel; a Configuration keeps this many values
// inline.
inline constexpr int kMaxParameters = 12;

class Configuration {
 public:
  Configuration() = default;
  // Takes the first kMaxParameters values.
  explicit Configuration(absl::Span<const int64_t> values)
      : size_(static_cast<int32_t>(
            std::min<size_t>(values.size(), kMaxParameters))) {
    std::copy_n(values.begin(), size_, values_.begin());
  }
  Configuration(std::initializer_list<int64_t> values)
      : Configuration(absl::MakeConstSpan(values.begin(), values.size())) {}

  int size() const { return size_; }
  int64_t operator[](int index) const {
    return values_[static_cast<size_t>(index)];
  }
  absl::Span<const int64_t> values() const {
    return absl::MakeConstSpan(values_.data(), static_cast<size_t>(size_));
  }

  // Lexicographic; unused slots are zero.
  friend bool operator==(const Configuration&, const Configuration&) = default;
  // NOLINTNEXTLINE(modernize-use-nullptr): a false report of clang-tidy 14.
  friend auto operator<=>(const Configuration&, const Configuration&) = default;

 private:
  std::array<int64_t, kMaxParameters> values_{};
  int32_t size_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_CONFIGURATION_H_
