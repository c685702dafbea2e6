// ConstantDivider: exact division by a divisor that is known beforehand, as a
// multiplication and a shift.
//
// Why: a decision divides extents by tile sizes for every row; a division
// instruction takes several times as long, and not every CPU pipelines it.
// Source: Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication", PLDI 1994, theorem 4.2.
//
// Thread safety: immutable.
#ifndef WAVETUNE_MODEL_DECIDE_CONSTANT_DIVIDER_H_
#define WAVETUNE_MODEL_DECIDE_CONSTANT_DIVIDER_H_

#include <bit>
#include <cstdint>

namespace wavetune {

class ConstantDivider {
 public:
  ConstantDivider() : ConstantDivider(1) {}

  // divisor in [1, 2^52].
  explicit ConstantDivider(int64_t divisor)
      : divisor_(static_cast<uint64_t>(divisor)) {
    // l = ceil(log2(d)) and m = ceil(2^(53 + l) / d): floor(n / d) is
    // floor(n * m / 2^(53 + l)) for every n below 2^53. m fits 54 bits.
    shift_ = std::bit_width(divisor_ - 1);
    const Wide power = Wide{1} << (53 + shift_);
    magic_ = static_cast<uint64_t>((power + divisor_ - 1) / divisor_);
  }

  // Returns floor(value / divisor); value in [0, 2^53).
  int64_t FloorDiv(int64_t value) const {
    return Quotient(static_cast<uint64_t>(value));
  }

  // Returns ceil(value / divisor); value in [0, 2^52].
  int64_t CeilDiv(int64_t value) const {
    return Quotient(static_cast<uint64_t>(value) + divisor_ - 1);
  }

  // Returns whether value is a multiple of the divisor; value in [0, 2^53).
  bool Divides(int64_t value) const {
    return static_cast<uint64_t>(FloorDiv(value)) * divisor_ ==
           static_cast<uint64_t>(value);
  }

  int64_t divisor() const { return static_cast<int64_t>(divisor_); }

 private:
  using Wide = unsigned __int128;

  // The dividend is moved up by 11 bits so that the high half of the product
  // is already divided by 2^53.
  int64_t Quotient(uint64_t value) const {
    const auto high = static_cast<uint64_t>((Wide{value << 11} * magic_) >> 64);
    return static_cast<int64_t>(high >> shift_);
  }

  uint64_t divisor_;
  uint64_t magic_ = 0;
  int shift_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_CONSTANT_DIVIDER_H_
