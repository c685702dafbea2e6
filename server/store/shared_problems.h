// SharedProblems: weighted problems of a job's record. Records are copied with
// each step of a job's progress; these are shared by the copies.
//
// Thread safety: as a value; what it holds never changes.
#ifndef WAVETUNE_SERVER_STORE_SHARED_PROBLEMS_H_
#define WAVETUNE_SERVER_STORE_SHARED_PROBLEMS_H_

#include <memory>
#include <utility>
#include <vector>

#include "model/kernel/weighted_problem.h"

namespace wavetune {

class SharedProblems {
 public:
  SharedProblems() = default;
  explicit SharedProblems(std::vector<WeightedProblem> problems)
      : problems_(std::make_shared<const std::vector<WeightedProblem>>(
            std::move(problems))) {}

  const std::vector<WeightedProblem>& get() const {
    static const auto* const kNone = new std::vector<WeightedProblem>;
    return problems_ == nullptr ? *kNone : *problems_;
  }

  friend bool operator==(const SharedProblems& a, const SharedProblems& b) {
    return a.problems_ == b.problems_ || a.get() == b.get();
  }

 private:
  std::shared_ptr<const std::vector<WeightedProblem>> problems_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_SHARED_PROBLEMS_H_
