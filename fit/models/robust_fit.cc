#include "fit/models/robust_fit.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace wavetune {
namespace {

// All found on the H200 Triton traces (docs/decisions/0001); the second digits
// are flat.
constexpr double kRidge = 1e-3;          // 1e-4 and 1e-2 cost 0.1-0.3 %.
constexpr int kReweightings = 8;         // Converged to the eighth.
constexpr double kResidualFloor = 0.02;  // About the noise of one sample.
constexpr double kLeastRatio = 0.1;      // Of predicted to measured.
constexpr double kGradientEnd = 1e-10;   // Of normalised equations.
constexpr double kPositive = 1e-14;      // Smaller entries count as zero.
constexpr int kMaxOuterSteps = 3 * kTerms;

using TermSet = std::array<bool, kTerms>;

// Solves the equations of `members` only, by elimination; zero elsewhere.
TermVector SolveMembers(const TermMatrix& a, const TermVector& b,
                        const TermSet& members) {
  std::array<size_t, kTerms> index{};
  size_t n = 0;
  for (size_t i = 0; i < kTerms; ++i) {
    if (members[i]) index[n++] = i;
  }
  TermMatrix m{};
  TermVector r{};
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) m[i][j] = a[index[i]][index[j]];
    r[i] = b[index[i]];
  }
  for (size_t p = 0; p < n; ++p) {
    for (size_t i = p + 1; i < n; ++i) {
      const double factor = m[i][p] / m[p][p];
      for (size_t j = p; j < n; ++j) m[i][j] -= factor * m[p][j];
      r[i] -= factor * r[p];
    }
  }
  TermVector x{};
  for (size_t i = n; i-- > 0;) {
    double sum = r[i];
    for (size_t j = i + 1; j < n; ++j) sum -= m[i][j] * x[index[j]];
    x[index[i]] = sum / m[i][i];
  }
  return x;
}

// Returns the index of the steepest descent outside of `members`, or kTerms.
size_t SteepestTerm(const TermMatrix& a, const TermVector& b,
                    const TermVector& x, const TermSet& members) {
  size_t best = kTerms;
  double steepest = kGradientEnd;
  for (size_t i = 0; i < kTerms; ++i) {
    if (members[i]) continue;
    const double gradient = b[i] - Dot(a[i], x);
    if (gradient > steepest) {
      steepest = gradient;
      best = i;
    }
  }
  return best;
}

// Moves x towards `target` until its first member reaches zero, and drops the
// members that are zero then. Returns false if the target itself is positive.
bool StepToBoundary(const TermVector& target, TermVector& x, TermSet& members) {
  bool blocked = false;
  double step = 1;
  for (size_t i = 0; i < kTerms; ++i) {
    if (!members[i] || target[i] > 0) continue;
    const double limit = x[i] > 0 ? x[i] / (x[i] - target[i]) : 0;
    if (!blocked || limit < step) step = limit;
    blocked = true;
  }
  if (!blocked) return false;
  for (size_t i = 0; i < kTerms; ++i) {
    if (!members[i]) continue;
    // The entry that was added last starts at zero and may point below it.
    x[i] += step * (target[i] - x[i]);
    if (!(x[i] > kPositive)) {
      x[i] = 0;
      members[i] = false;
    }
  }
  return true;
}

// The weighted normal equations of the relative residuals.
void Accumulate(absl::Span<const Equation> equations,
                absl::Span<const double> weight, TermMatrix& a, TermVector& b) {
  a = {};
  b = {};
  for (size_t r = 0; r < equations.size(); ++r) {
    TermVector z;
    for (size_t i = 0; i < kTerms; ++i) {
      z[i] = equations[r].terms[i] / equations[r].latency_us;
    }
    for (size_t i = 0; i < kTerms; ++i) {
      const double weighted = weight[r] * z[i];
      for (size_t j = 0; j <= i; ++j) a[i][j] += weighted * z[j];
      b[i] += weighted;
    }
  }
  for (size_t i = 0; i < kTerms; ++i) {
    for (size_t j = i + 1; j < kTerms; ++j) a[i][j] = a[j][i];
  }
}

// Scales to a unit diagonal, adds the ridge, solves, scales back.
TermVector SolveNormalised(TermMatrix a, TermVector b) {
  TermVector scale;
  for (size_t i = 0; i < kTerms; ++i) {
    scale[i] = a[i][i] > 0 ? std::sqrt(a[i][i]) : 1;
  }
  for (size_t i = 0; i < kTerms; ++i) {
    for (size_t j = 0; j < kTerms; ++j) a[i][j] = a[i][j] / scale[i] / scale[j];
    a[i][i] += kRidge;
    b[i] = b[i] / scale[i];
  }
  TermVector x = SolveNonNegative(a, b);
  for (size_t i = 0; i < kTerms; ++i) x[i] = x[i] / scale[i];
  return x;
}

}  // namespace

double Dot(const TermVector& x, const TermVector& y) {
  double sum = 0;
  for (size_t i = 0; i < kTerms; ++i) sum += x[i] * y[i];
  return sum;
}

TermVector SolveNonNegative(const TermMatrix& a, const TermVector& b) {
  TermVector x{};
  TermSet members{};
  for (int outer = 0; outer < kMaxOuterSteps; ++outer) {
    const size_t entering = SteepestTerm(a, b, x, members);
    if (entering == kTerms) break;
    members[entering] = true;
    // Each pass drops a member or ends, so there are at most kTerms.
    for (size_t pass = 0; pass <= kTerms; ++pass) {
      const TermVector target = SolveMembers(a, b, members);
      if (!StepToBoundary(target, x, members)) {
        x = target;
        break;
      }
    }
  }
  return x;
}

TermVector SolveRelative(absl::Span<const Equation> equations,
                         absl::Span<const double> weight) {
  TermMatrix a;
  TermVector b;
  Accumulate(equations, weight, a, b);
  return SolveNormalised(a, b);
}

double ErrorOfRatio(double ratio) {
  return std::abs(ratio - 1) / std::sqrt(ratio);
}

RobustError RobustErrorOf(const Equation& equation, double predicted_us) {
  const double ratio =
      std::max(kLeastRatio, predicted_us / equation.latency_us);
  // The slope of the error over that of the squared error.
  const double error = ErrorOfRatio(ratio);
  return {error, equation.weight * (ratio + 1) / (2 * ratio * ratio) /
                     std::max(kResidualFloor, error)};
}

TermVector FitRelative(absl::Span<const Equation> equations) {
  std::vector<double> weight;
  weight.reserve(equations.size());
  for (const Equation& equation : equations) weight.push_back(equation.weight);
  TermVector theta{};
  for (int round = 0; round <= kReweightings; ++round) {
    theta = SolveRelative(equations, weight);
    if (round == kReweightings) break;
    for (size_t r = 0; r < equations.size(); ++r) {
      weight[r] =
          RobustErrorOf(equations[r], Dot(equations[r].terms, theta)).weight;
    }
  }
  return theta;
}

}  // namespace wavetune
