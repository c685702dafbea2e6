// JointProblem: one of several launches whose configurations must agree.
//
// The two products of an expert layer share one configuration, since both read
// the rows in the order that its row tile gives them:
//
//   const std::vector<int64_t> slots = routing.Slots(tokens, local_experts);
//   const int64_t gate_up[] = {0, 2 * intermediate, hidden, top_k};
//   const int64_t down[] = {0, hidden, intermediate, top_k};
//   const wavetune::JointProblem layer[] = {{"gate_up", {gate_up, slots}},
//                                           {"down", {down, slots}}};
//   wavetune::Decision decisions[2];
//   tuner.ResolveTogether(layer, /*shared=*/{}, absl::MakeSpan(decisions));
//
// The slots are those of the launch where they are known, else expected ones
// (wavetune/expected_routing.h).
//
// Refers to a caller's extents, as ProblemView.
#ifndef WAVETUNE_JOINT_PROBLEM_H_
#define WAVETUNE_JOINT_PROBLEM_H_

#include "absl/strings/string_view.h"
#include "wavetune/problem.h"

namespace wavetune {

struct JointProblem {
  absl::string_view specialisation;  // Empty where the kernel has none.
  ProblemView problem;
};

// The most launches that are decided together.
inline constexpr int kMaxJointProblems = 4;

}  // namespace wavetune

#endif  // WAVETUNE_JOINT_PROBLEM_H_
