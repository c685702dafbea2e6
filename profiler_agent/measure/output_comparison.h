// How a candidate's outputs are judged against the reference's, on every
// backend.
//
// There are two rules:
// - The norm: ||out - reference||_2 <= tolerance ||reference||_2.
// - Each element: |out - reference| <= 8 tolerance * size. The size of an
//   element is the larger of its own value and the outputs' root mean square.
//   It grows where the terms of its sum are larger than those of others.
//
// Why the second rule: among 10^6 elements one may be off by twice the root
// mean square before the norm of a bf16 kernel (2e-3) shows it. Why 8: errors
// that a norm within the tolerance allows are alike in size, so that 8 times
// the tolerance is eight standard deviations or more.
//
// Both rules allow, beside the tolerance, errors that no kernel can avoid. One
// is a step of the output's type, as two sums may round apart. The other is the
// loss of sums in fp32, which is proportional to the sum of the magnitudes of
// the terms. Small problems need that, as a single output may be small by
// chance.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_OUTPUT_COMPARISON_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_OUTPUT_COMPARISON_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "model/kernel/argument.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Each element against the tolerance; see above.
inline constexpr double kElementToleranceFactor = 8;

// What the reference computed, and how far a candidate may be from it.
struct ExpectedOutput {
  std::string content;
  std::vector<float> limits;  // By element.
  double norm = 0;
  double norm_limit = 0;
};

struct ComparisonRule {
  double relative_tolerance = 0;  // 0: integers are equal, or wrong.
  // The share of the sum of an element's terms' magnitudes that sums in fp32
  // may lose.
  double sum_error = 0;
  // No element's terms sum up to more.
  double most_magnitude = 0;
  // The integers' values before, where the launch adds to them: their size is
  // the sum added. Empty: nothing.
  absl::string_view before = {};
};

// Returns the expected output. `magnitudes` are the reference's results for the
// magnitudes of its inputs, in the same type: the sum of the magnitudes of a
// sum's terms. Values that are not finite count as 0. Sizes are equal.
ExpectedOutput ExpectedFrom(ElementType type, std::string content,
                            absl::string_view magnitudes,
                            const ComparisonRule& rule);

// Returns the expected output where the reference is no sum, or its terms'
// sizes say little. Beside the tolerance an element may be off by 8 times its
// move, or the root mean square of all moves, when the inputs were moved a
// little. `nudged` are the reference's results for these, `before` as in
// ComparisonRule. All are finite, sizes equal.
ExpectedOutput ExpectedNear(ElementType type, std::string content,
                            absl::string_view nudged, double relative_tolerance,
                            absl::string_view before = {});

// Compares an output with the expected one; equal sizes. Errors: DATA_LOSS
// naming the output, where it is first wrong, how many elements are, and both
// values there.
absl::Status CompareOutput(const KernelSpec& spec, const Argument& argument,
                           const Problem& problem,
                           const ExpectedOutput& expected,
                           absl::string_view out);

// Returns the index of the first element that is NaN or infinite, or -1.
int64_t FirstNotFinite(ElementType type, absl::string_view content);

// Returns "row 3, column 7" of an output whose manifest multiplies two
// dimensions, "element 7" of others. Cannot fail.
std::string PlaceOf(const Argument& argument, const Problem& problem,
                    size_t index);

// Returns the error of a reference that cannot be compiled or run, which is not
// the candidate's fault: UNIMPLEMENTED, or `status` where the device is lost or
// out of memory.
absl::Status BrokenReference(const absl::Status& status);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_OUTPUT_COMPARISON_H_
