// KernelFaults: collects what is wrong with a kernel spec, and the checks that
// several of its parts share. The working part of ValidateKernelSpec
// (model/kernel/kernel_validation.h).
//
// Thread safety: used by one thread.
#ifndef WAVETUNE_MODEL_KERNEL_KERNEL_FAULTS_H_
#define WAVETUNE_MODEL_KERNEL_KERNEL_FAULTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/kernel/condition.h"
#include "model/kernel/mapping.h"

namespace wavetune {

struct KernelSpec;

// Returns whether `name` is [a-z][a-z0-9_]*, at most 64 characters.
bool IsLowerName(absl::string_view name);

// Returns whether `name` is [A-Za-z][A-Za-z0-9_]*, at most 64 characters, or
// starts with an underscore where `underscore` allows that.
bool IsIdentifier(absl::string_view name, bool underscore = false);

class KernelFaults {
 public:
  // What a condition may name: parameters, and in kDimensions dimensions, in
  // kDevice DeviceFacts; kProblem: dimensions alone.
  enum class Scope { kParameters, kDimensions, kDevice, kProblem };

  // `spec` must outlive this.
  explicit KernelFaults(const KernelSpec& spec) : spec_(spec) {}

  // One line each: the field, what is wrong and what to do.
  const std::vector<std::string>& lines() const { return lines_; }
  size_t size() const { return lines_.size(); }

  template <typename... Parts>
  void Add(const Parts&... parts) {
    lines_.push_back(absl::StrCat(parts...));
  }

  // `seen` holds names already used, in lower case: traces match columns
  // without regard to case.
  void CheckUnique(absl::string_view field, const std::string& name,
                   std::set<std::string>& seen);

  // A kernel is its folder: nothing outside enters its fingerprint.
  void CheckSource(const std::string& field, const std::string& source);

  // Checks what a condition names, and that it can be evaluated.
  void CheckCondition(const std::string& field, const Condition& condition,
                      Scope scope);

  // Divisors and factors of a grid are at least 1.
  void CheckPositive(const std::string& field,
                     const std::vector<int32_t>& parameters);

  // Checks the form of an expression, and that no value of a parameter makes
  // it 0 if it must be positive. A sum may have terms that are 0, but not all.
  // Returns whether the expression can be evaluated.
  bool CheckExpression(const std::string& field,
                       const std::optional<Expression>& expression,
                       bool positive = true);

  // Checks the form of an expression over parameters and constants, and that
  // no divisor in it can be 0. Returns whether it can be evaluated.
  bool CheckParameterExpression(const std::string& field,
                                const Expression& expression);

 private:
  void CheckSide(const std::string& field, const Expression& side, Scope scope);
  void CheckNames(const std::string& field, const Expression& side,
                  Scope scope);
  bool CanBeZero(int32_t parameter) const;
  // Whether a parameter that can be 0 makes the expression 0, or divides in
  // it; appends those parameters.
  bool CanBeZero(const Expression& expression,
                 std::vector<int32_t>& parameters) const;
  void CollectZeroDivisors(const Expression& expression,
                           std::vector<int32_t>& parameters) const;

  const KernelSpec& spec_;
  std::vector<std::string> lines_;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_KERNEL_FAULTS_H_
