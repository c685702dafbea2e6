#include "model/table/kernel_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/kernel/device_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_check.h"
#include "model/testing/kernels.h"
#include "tests/lib/export_tables.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// BLOCK_M, BLOCK_N, BLOCK_K, NUM_STAGES, VECTOR, HOPPER, CLUSTER_M.
const Configuration kPlain = {16, 32, 16, 1, 1, 0, 1};
const Configuration kVectors = {64, 32, 32, 2, 4, 1, 2};

class CheckChoicesTest : public ::testing::Test {
 protected:
  // What is wrong with the table, which is one that clients take.
  std::string Fault(const DeviceFacts* device = nullptr) const {
    EXPECT_TRUE(CheckTable(table_).ok()) << CheckTable(table_);
    const absl::Status status = CheckChoices(spec_, table_, device);
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }
  SubTable& Sub() { return table_.sub_tables[0]; }
  static Relation MultipleOf(int32_t dimension, int64_t divisor) {
    return {.left = {{.coefficient = 1, .dimensions = {dimension}}},
            .op = Relation::Operator::kMultipleOf,
            .right = {{.coefficient = divisor}}};
  }

  KernelSpec spec_ = testing::HopperGemmSpec();
  Table table_ = testing::FavouringTable(spec_, std::string(64, 'a'),
                                         {kPlain, kVectors}, 0);
  const DeviceFacts device_ = {
      .uuid = "GPU-0", .backend = "cuda", .architecture = "sm_90"};
};

TEST_F(CheckChoicesTest, WhatFollowsFromTheManifestIsLegal) {
  ASSERT_EQ(Sub().predicates, std::vector<Relation>{MultipleOf(2, 4)});
  EXPECT_EQ(Fault(), "");
  spec_ = SpecForDevice(spec_, device_).value();
  EXPECT_EQ(Fault(&device_), "");
}

TEST_F(CheckChoicesTest, ACandidateThatARequirementExcludesIsRefused) {
  // HOPPER asks for VECTOR = 4; every value alone is declared.
  Sub().portfolio[1].configuration = {64, 32, 32, 2, 1, 1, 2};
  EXPECT_THAT(Fault(), AllOf(HasSubstr("VECTOR=1 HOPPER=1"),
                             HasSubstr("does not allow")));
}

TEST_F(CheckChoicesTest, ACandidateBesideTheManifestsListIsRefused) {
  spec_.configurations = {kPlain, spec_.default_configuration};
  EXPECT_THAT(Fault(), HasSubstr("does not allow"));
  spec_.configurations.push_back(kVectors);
  EXPECT_EQ(Fault(), "");
}

TEST_F(CheckChoicesTest, AConditionOnProblemsThatTheTableDoesNotHaveIsRefused) {
  Sub().predicates = {MultipleOf(2, 1)};
  EXPECT_THAT(Fault(), HasSubstr("also where k % 4 == 0 does not hold"));
  // It has it, but not for this group.
  Sub().predicates = {MultipleOf(2, 4)};
  EXPECT_EQ(Fault(), "");
  Sub().groups[1].predicates.clear();
  EXPECT_THAT(Fault(), HasSubstr("k % 4 == 0"));
}

TEST_F(CheckChoicesTest, EachMemberOfAGroupNeedsItsConditions) {
  // As kPlain, but for VECTOR: equal coordinates, so that they may share a row.
  Sub().portfolio.push_back(
      {.configuration = {16, 32, 16, 1, 4, 0, 1}, .tiles_per_wave = 132});
  EXPECT_EQ(Fault(), "");  // No group answers it.
  Sub().groups[0].models[0].segments[0].micro = {2};
  EXPECT_THAT(Fault(), HasSubstr("k % 4 == 0"));
}

TEST_F(CheckChoicesTest, AStricterConditionOnProblemsIsLegal) {
  Sub().predicates = {MultipleOf(2, 12)};
  EXPECT_EQ(Fault(), "");
  Sub().predicates = {MultipleOf(2, 6)};
  EXPECT_THAT(Fault(), HasSubstr("k % 4 == 0"));
}

TEST_F(CheckChoicesTest, AMissingPreconditionIsRefused) {
  spec_.preconditions = {testing::ConditionOf(MultipleOf(1, 2))};
  EXPECT_THAT(Fault(), HasSubstr("n % 2 == 0"));
}

TEST_F(CheckChoicesTest, ExtentsThatTheManifestDoesNotAllowAreRefused) {
  ++table_.dimensions[1].max;
  EXPECT_THAT(Fault(), HasSubstr("the table answers n from 1 to"));
  table_.dimensions[1].max = 64;
  EXPECT_EQ(Fault(), "");
}

TEST_F(CheckChoicesTest, WhatAlwaysHoldsInTheTablesRangesNeedsNoPredicate) {
  spec_.preconditions = {
      testing::ConditionOf({.left = {{.coefficient = 1, .dimensions = {1}}},
                            .op = Relation::Operator::kGreaterOrEqual,
                            .right = {{.coefficient = 8}}})};
  EXPECT_THAT(Fault(), HasSubstr("n >= 8"));
  table_.dimensions[1].min = 8;
  EXPECT_EQ(Fault(), "");
}

TEST_F(CheckChoicesTest, ADefaultIsLegalForEveryProblem) {
  table_.default_configuration = kPlain;
  EXPECT_EQ(Fault(), "");
  table_.default_configuration = kVectors;  // k % 4 == 0.
  EXPECT_THAT(Fault(), HasSubstr("default"));
  table_.default_configuration = {16, 32, 16, 1, 1, 1, 1};
  EXPECT_THAT(Fault(), HasSubstr("default"));
}

TEST_F(CheckChoicesTest, ASpecialisationThatTheManifestDoesNotHaveIsRefused) {
  Sub().specialisation = "causal";
  EXPECT_THAT(Fault(), AllOf(HasSubstr("another version"),
                             HasSubstr("no specialisation 'causal'")));
}

TEST_F(CheckChoicesTest, WhatADeviceIsNotMeantForOrCannotHoldIsRefused) {
  DeviceFacts older = device_;
  older.architecture = "sm_80";
  const KernelSpec manifest = spec_;
  spec_ = SpecForDevice(manifest, older).value();
  table_.default_configuration = spec_.default_configuration;
  EXPECT_THAT(Fault(&older), HasSubstr("HOPPER=1 CLUSTER_M=2, which"));
  spec_ = SpecForDevice(manifest, device_).value();
  table_.default_configuration = spec_.default_configuration;
  DeviceFacts smaller = device_;
  smaller.max_group_size = 255;
  EXPECT_THAT(Fault(&smaller),
              HasSubstr("a block: 256, the device allows 255"));
  spec_.implementations[0].shared_memory_bytes = Expression::Product(
      {Expression::Constant(8 << 10), Expression::OfParameter(0)});
  smaller = device_;
  smaller.max_shared_memory_bytes = 512 << 10;
  EXPECT_EQ(Fault(&smaller), "");
  smaller.max_shared_memory_bytes = 227 << 10;
  EXPECT_THAT(Fault(&smaller),
              HasSubstr("memory: 524288, the device allows 232448"));
  // A default of its own that no launch has room for.
  table_.default_configuration = kPlain;
  smaller.max_shared_memory_bytes = 100 << 10;
  EXPECT_THAT(Fault(&smaller),
              AllOf(HasSubstr("default"), HasSubstr("or the device, allows")));
}

}  // namespace
}  // namespace wavetune
