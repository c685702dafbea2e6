#include "model/kernel/constraint_counts.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::wavetune::testing::GemmSpec;
using ::wavetune::testing::Par;

// parameters[first] * parameters[second] <= limit.
Condition AtMost(int first, int second, int64_t limit) {
  return {Expression::Product({Par(first), Par(second)}),
          Relation::Operator::kLessOrEqual, Expression::Constant(limit)};
}

TEST(ConstraintCountsTest, CountsWhatEachExcludesByItselfAndAlone) {
  const KernelSpec spec = GemmSpec();
  const ConstraintCounts counts = CountConstraints(spec, EnumerateSpace(spec));
  EXPECT_EQ(counts.combinations, 32);
  ASSERT_THAT(counts.constraints, SizeIs(1));
  EXPECT_EQ(counts.constraints[0].alone, 8);
  EXPECT_EQ(counts.constraints[0].only, 8);
  EXPECT_THAT(ConstraintRemarks(spec, counts), IsEmpty());
}

TEST(ConstraintCountsTest, AgreesWithTryingEveryCombination) {
  KernelSpec spec = GemmSpec();
  spec.constraints.push_back(AtMost(2, 3, 32));
  spec.constraints.push_back(AtMost(0, 4, 64));
  const ConstraintCounts counts = CountConstraints(spec, EnumerateSpace(spec));
  KernelSpec all = spec;
  all.constraints.clear();
  std::vector<int64_t> alone(spec.constraints.size());
  std::vector<int64_t> only(spec.constraints.size());
  for (const Configuration& configuration : EnumerateConfigurations(all)) {
    std::vector<size_t> broken;
    for (size_t i = 0; i < spec.constraints.size(); ++i) {
      if (!Holds(spec.constraints[i], ProblemView(), configuration))
        broken.push_back(i);
    }
    for (const size_t i : broken) ++alone[i];
    if (broken.size() == 1) ++only[broken[0]];
  }
  for (size_t i = 0; i < spec.constraints.size(); ++i) {
    EXPECT_EQ(counts.constraints[i].alone, alone[i]) << i;
    EXPECT_EQ(counts.constraints[i].only, only[i]) << i;
  }
}

TEST(ConstraintCountsTest, CountsInAListOfConfigurations) {
  KernelSpec spec = GemmSpec();
  KernelSpec all = spec;
  all.constraints.clear();
  spec.configurations = EnumerateConfigurations(all);
  spec.configurations.resize(20);
  const auto excluded =
      static_cast<int64_t>(20 - EnumerateConfigurations(spec).size());
  const ConstraintCounts counts = CountConstraints(spec, EnumerateSpace(spec));
  EXPECT_EQ(counts.combinations, 20);
  EXPECT_EQ(counts.constraints[0].alone, excluded);
  EXPECT_EQ(counts.constraints[0].only, excluded);
}

TEST(ConstraintCountsTest, NamesWhatExcludesEverythingOrNothing) {
  KernelSpec spec = GemmSpec();
  spec.constraints.push_back(AtMost(0, 1, 1));
  spec.constraints.push_back(AtMost(0, 1, 1000000));
  const std::vector<std::string> remarks =
      ConstraintRemarks(spec, CountConstraints(spec, EnumerateSpace(spec)));
  EXPECT_THAT(
      remarks,
      ElementsAre(
          HasSubstr("'BLOCK_M * BLOCK_N <= 4096' excludes nothing that"),
          HasSubstr("'BLOCK_M * BLOCK_N <= 1' excludes everything"),
          HasSubstr("'BLOCK_M * BLOCK_N <= 1000000' excludes nothing: every")));
}

TEST(ConstraintCountsTest, WhatAnotherSpecialisationNeedsMayExcludeNothing) {
  KernelSpec spec = GemmSpec();
  spec.constraints.push_back(AtMost(0, 1, 1000000));
  const ConstraintCounts counts = CountConstraints(spec, EnumerateSpace(spec));
  EXPECT_THAT(ConstraintRemarks(spec, counts, {true, true}), IsEmpty());
  EXPECT_THAT(ConstraintRemarks(spec, counts, {true, false}), SizeIs(1));
  // What excludes everything leaves nothing to launch here.
  spec.constraints.push_back(AtMost(0, 1, 1));
  EXPECT_THAT(
      ConstraintRemarks(spec, CountConstraints(spec, EnumerateSpace(spec)),
                        {true, true, true}),
      ElementsAre(HasSubstr("excludes everything")));
}

TEST(ConstraintCountsTest, CountsInSpacesThatCannotBeTriedWhole) {
  // 12 parameters of 8 values are 7e10 combinations; each equals the one
  // before.
  KernelSpec spec = GemmSpec();
  spec.parameters.clear();
  spec.constraints.clear();
  for (int i = 0; i < 12; ++i) {
    spec.parameters.push_back(
        {.name = "P" + std::to_string(i), .values = {1, 2, 3, 4, 5, 6, 7, 8}});
    if (i == 0) continue;
    spec.constraints.emplace_back(Par(i - 1), Relation::Operator::kEqual,
                                  Par(i));
  }
  const ConstraintCounts counts = CountConstraints(spec, EnumerateSpace(spec));
  EXPECT_EQ(counts.combinations, int64_t{1} << 36);
  ASSERT_THAT(counts.constraints, SizeIs(11));
  EXPECT_EQ(counts.constraints[0].alone, (int64_t{1} << 36) / 8 * 7);
  EXPECT_EQ(counts.constraints[0].only, 56);
}

TEST(ConstraintCountsTest, LeavesOutWhatTakesTooLongToCount) {
  KernelSpec spec = GemmSpec();
  spec.constraints.clear();
  for (Parameter& parameter : spec.parameters) {
    parameter.values.clear();
    for (int64_t value = 1; value <= 20; ++value)
      parameter.values.push_back(value);
  }
  spec.constraints.emplace_back(
      Expression::Product({Par(0), Par(1), Par(2), Par(3), Par(4)}),
      Relation::Operator::kLessOrEqual, Expression::Constant(1000));
  const ConstraintCounts counts = CountConstraints(spec, EnumerateSpace(spec));
  EXPECT_EQ(counts.combinations, 3200000);
  EXPECT_EQ(counts.constraints[0].alone, std::nullopt);
  EXPECT_THAT(ConstraintRemarks(spec, counts), IsEmpty());
}

}  // namespace
}  // namespace wavetune
