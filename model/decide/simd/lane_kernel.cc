#include "model/decide/simd/lane_kernel.h"

#include <bit>

#include "model/decide/simd/lane_kernel_impl.h"
#include "model/decide/simd/simd_path.h"

namespace wavetune {
namespace {

struct ScalarMask {
  bool set;
};

// One lane in an ordinary register.
struct Scalar {
  using Mask = ScalarMask;
  using Single = Scalar;
  struct Sixteen;
  static constexpr int kWidth = 1;

  double value;

  static Scalar Load(const double* from) { return {*from}; }
  static Scalar Of(double value) { return {value}; }
  static Scalar FromIntegers(const int64_t* from) {
    return {static_cast<double>(*from)};
  }
  static Scalar OfInteger(const int64_t* from) { return FromIntegers(from); }
  static ScalarMask MaskOf(uint64_t bits) { return {(bits & 1) != 0}; }
  static Scalar OfBits(uint64_t bits) { return {std::bit_cast<double>(bits)}; }
  static ScalarMask MaskAt(Scalar words, int first) {
    return {(std::bit_cast<uint64_t>(words.value) >> first & 1) != 0};
  }
  static ScalarMask Outside(const int64_t* from, int64_t min, int64_t max) {
    return {*from < min || *from > max};
  }
  void Store(double* to) const { *to = value; }

  friend Scalar operator+(Scalar a, Scalar b) { return {a.value + b.value}; }
  friend Scalar operator-(Scalar a, Scalar b) { return {a.value - b.value}; }
  friend Scalar operator*(Scalar a, Scalar b) { return {a.value * b.value}; }
  friend Scalar operator/(Scalar a, Scalar b) { return {a.value / b.value}; }
  friend Scalar Max(Scalar a, Scalar b) {
    return {a.value > b.value ? a.value : b.value};
  }
  friend Scalar Min(Scalar a, Scalar b) {
    return {a.value < b.value ? a.value : b.value};
  }
  // Baseline x86-64 has no instruction for it. From 2^52 on doubles are whole,
  // so that adding that much rounds to a neighbour; no branch, as which one
  // cannot be predicted.
  friend Scalar Ceil(Scalar a) {
    const double near = (a.value + 0x1p52) - 0x1p52;
    const uint64_t all = uint64_t{0} - static_cast<uint64_t>(near < a.value);
    return {near + std::bit_cast<double>(std::bit_cast<uint64_t>(1.0) & all)};
  }
  friend Scalar Magnitude(Scalar a) { return {__builtin_fabs(a.value)}; }
  friend ScalarMask Greater(Scalar a, Scalar b) { return {a.value > b.value}; }
  friend ScalarMask AtMost(Scalar a, Scalar b) { return {a.value <= b.value}; }
  friend Scalar LeastOfAll(Scalar a) { return a; }
  friend Scalar Select(ScalarMask mask, Scalar a, Scalar b) {
    return mask.set ? a : b;
  }
};

struct Scalar::Sixteen {
  double values[16];

  void Set(int at, Scalar one) { values[at] = one.value; }
  Scalar Pick(const int64_t* place) const { return {values[*place]}; }
  static int64_t PlaceOf(int index) { return index; }
};

ScalarMask Either(ScalarMask a, ScalarMask b) { return {(a.set | b.set) != 0}; }
unsigned Bits(ScalarMask mask) { return mask.set ? 1 : 0; }

constexpr LaneKernel kScalarLaneKernel = MakeLaneKernel<Scalar>();

}  // namespace

const LaneKernel* FindLaneKernel(SimdPath path) {
  switch (path) {
    case SimdPath::kScalar:
      return &kScalarLaneKernel;
    case SimdPath::kNeon:
      return kNeonLaneKernel;
    case SimdPath::kAvx2:
      return kAvx2LaneKernel;
    case SimdPath::kAvx512:
      return kAvx512LaneKernel;
  }
  return nullptr;
}

}  // namespace wavetune
