#include "model/row_kernel.h"

#include "model/row_kernel_impl.h"
#include "model/simd_path.h"

namespace wavetune {
namespace {

struct ScalarMask {
  bool set;
};

// One lane in an ordinary register.
struct Scalar {
  using Mask = ScalarMask;
  static constexpr int kWidth = 1;

  double value;

  static Scalar Load(const double* from) { return {*from}; }
  static Scalar Of(double value) { return {value}; }
  static Scalar FromIntegers(const int64_t* from) {
    return {static_cast<double>(*from)};
  }
  static ScalarMask MaskOf(uint64_t bits) { return {(bits & 1) != 0}; }
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
  // Baseline x86-64 has no instruction for it.
  friend Scalar Ceil(Scalar a) {
    const auto whole = static_cast<double>(static_cast<int64_t>(a.value));
    return {whole < a.value ? whole + 1 : whole};
  }
  friend Scalar Magnitude(Scalar a) { return {__builtin_fabs(a.value)}; }
  friend ScalarMask Greater(Scalar a, Scalar b) {
    return {a.value > b.value};
  }
  friend ScalarMask AtMost(Scalar a, Scalar b) {
    return {a.value <= b.value};
  }
  friend double Least(Scalar a) { return a.value; }
  friend Scalar Select(ScalarMask mask, Scalar a, Scalar b) {
    return mask.set ? a : b;
  }
};

ScalarMask Either(ScalarMask a, ScalarMask b) { return {a.set || b.set}; }
unsigned Bits(ScalarMask mask) { return mask.set ? 1 : 0; }

constexpr RowKernel kScalarRowKernel = MakeRowKernel<Scalar>();

}  // namespace

const RowKernel* FindRowKernel(SimdPath path) {
  switch (path) {
    case SimdPath::kScalar:
      return &kScalarRowKernel;
    case SimdPath::kNeon:
      return kNeonRowKernel;
    case SimdPath::kAvx2:
      return kAvx2RowKernel;
    case SimdPath::kAvx512:
      return kAvx512RowKernel;
  }
  return nullptr;
}

}  // namespace wavetune
