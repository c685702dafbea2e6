// Problem: the input sizes of one launch.
//
// Problem owns its extents; ProblemView refers to a caller's, so that a
// decision on the launch path allocates nothing:
//
//   tuner.Resolve({m, n, k});
//   tuner.Resolve({{0, n, k}, tokens_per_expert});  // dimension 0 is repeated
#ifndef WAVETUNE_PROBLEM_H_
#define WAVETUNE_PROBLEM_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace wavetune {

// Extents in the order of the kernel's dimensions. The slot of a repeated
// dimension is ignored; its elements are in `repeated`, 0 for one without work
// where the kernel allows it. A list of zeros alone is decided as a launch of
// one tile; it cannot be measured (CheckProblem).
struct ProblemView {
  absl::Span<const int64_t> extents;
  absl::Span<const int64_t> repeated;

  ProblemView() = default;
  // Implicit by design, so that a caller writes Resolve({m, n, k}).
  // NOLINTNEXTLINE(google-explicit-constructor)
  ProblemView(absl::Span<const int64_t> e, absl::Span<const int64_t> r = {})
      : extents(e), repeated(r) {}
  // The list lives until the end of the full expression, which is all that
  // Resolve needs: never name a view made from a list, it would dangle.
  // NOLINTNEXTLINE(google-explicit-constructor)
  ProblemView(std::initializer_list<int64_t> e,
              absl::Span<const int64_t> r = {})
      : extents(e.begin(), e.size()), repeated(r) {}
};

// A problem with a name of its specialisation (empty where the kernel has
// none).
struct Problem {
  std::vector<int64_t> extents;
  std::vector<int64_t> repeated;
  std::string specialisation;

  ProblemView View() const {
    return ProblemView(absl::MakeConstSpan(extents),
                       absl::MakeConstSpan(repeated));
  }

  friend bool operator==(const Problem&, const Problem&) = default;
  friend auto operator<=>(const Problem&, const Problem&) = default;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROBLEM_H_
