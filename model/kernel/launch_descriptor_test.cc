#include "model/kernel/launch_descriptor.h"

#include <cstring>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/argument.h"
#include "model/kernel/fold.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// G = ceil(n / BLOCK) rounded up to whole clusters of two where CLUSTER is 2;
// a map over b[n][k] where TMA is 1; shared memory of 100 * BLOCK.
class LaunchDescriptorTest : public ::testing::Test {
 protected:
  LaunchDescriptorTest() {
    const Expression n = Expression::OfDimension(0);
    const Expression k = Expression::OfDimension(1);
    const Expression block = Expression::OfParameter(0);
    const Expression cluster = Expression::OfParameter(1);
    spec_.dimensions = {{.name = "n"}, {.name = "k"}};
    spec_.parameters = {
        {.name = "BLOCK"}, {.name = "CLUSTER"}, {.name = "TMA"}};
    spec_.mapping.tiles = Expression::Product(
        {Expression::CeilDiv({n}, {block, cluster}), cluster});
    spec_.arguments = {{.name = "b",
                        .type = ElementType::kBfloat16,
                        .size = Expression::Product({n, k}),
                        .cold = true},
                       {.name = "n",
                        .role = ArgumentRole::kScalar,
                        .type = ElementType::kInt32,
                        .size = n}};
    // k % (8 * TMA) == 0 is 1 >= TMA where TMA is 0; BLOCK > 0 always holds.
    spec_.problem_predicates = {
        {Expression::Sum(
             {k, Expression::Product(
                     {Expression::Constant(8), Expression::OfParameter(2)})}),
         Relation::Operator::kMultipleOf, Expression::Constant(8)},
        {block, Relation::Operator::kGreater, Expression::Constant(0)}};
    cuda_.entry = "kernel";
    cuda_.block_size = {Expression::Constant(128)};
    cuda_.cluster_size = cluster;
    cuda_.shared_memory_bytes =
        Expression::Product({Expression::Constant(100), block});
    cuda_.persistent_if = {{Expression::OfParameter(2),
                            Relation::Operator::kEqual,
                            Expression::Constant(1)}};
    cuda_.tensor_maps = {{.argument = 0,
                          .extents = {k, n},
                          .box = {Expression::Constant(64), block},
                          .swizzle = TensorMap::Swizzle::k128Bytes,
                          .l2_promotion_bytes = 256,
                          .enabled_by = 2}};
  }

  LaunchDescriptor Describe(const Configuration& configuration) const {
    return DescribeLaunch(spec_, cuda_, "", configuration);
  }
  absl::StatusOr<TensorMapPlan> Plan(const Configuration& configuration,
                                     int64_t n, int64_t k) const {
    return PlanTensorMap(Describe(configuration).tensor_maps[0],
                         spec_.arguments[0], {n, k});
  }

  KernelSpec spec_;
  Implementation cuda_;
};

TEST_F(LaunchDescriptorTest, OnlyTheProblemIsLeftOpen) {
  const LaunchDescriptor launch = Describe({64, 2, 1});
  EXPECT_EQ(launch.entry, "kernel");
  EXPECT_EQ(ShapeOf(launch, {1000, 512}), (LaunchShape{.blocks = 16,
                                                       .block_size = 128,
                                                       .shared_bytes = 6400,
                                                       .cluster_size = 2,
                                                       .persistent = true}));
  EXPECT_EQ(ShapeOf(launch, {1, 1}).blocks, 2);
  EXPECT_FALSE(IsConstant(launch.blocks[0]));
  EXPECT_TRUE(IsConstant(launch.shared_bytes));
}

TEST_F(LaunchDescriptorTest, ColdIsAMatterOfMeasuring) {
  EXPECT_FALSE(Describe({64, 1, 1}).arguments[0].cold);
}

TEST_F(LaunchDescriptorTest, KeepsThePredicatesThatAProblemCanBreak) {
  const LaunchDescriptor launch = Describe({64, 1, 1});
  ASSERT_EQ(launch.problem_predicates.size(), 1u);
  EXPECT_TRUE(Holds(launch.problem_predicates[0], {5, 16}));
  EXPECT_FALSE(Holds(launch.problem_predicates[0], {5, 12}));
}

TEST_F(LaunchDescriptorTest, EverythingIsAMultipleOfOne) {
  spec_.problem_predicates = {{Expression::OfDimension(1),
                               Relation::Operator::kMultipleOf,
                               Expression::OfParameter(1)}};
  EXPECT_TRUE(Describe({64, 1, 1}).problem_predicates.empty());
  EXPECT_EQ(Describe({64, 2, 1}).problem_predicates.size(), 1u);
}

TEST_F(LaunchDescriptorTest, GroupsOfTheManifestGoBeforeTheMappings) {
  cuda_.blocks = {Expression::Constant(7)};
  EXPECT_EQ(ShapeOf(Describe({64, 1, 1}), {1000, 512}).blocks, 7);
}

TEST_F(LaunchDescriptorTest, AGridAndABlockMayHaveThreeSides) {
  const Expression n = Expression::OfDimension(0);
  const Expression block = Expression::OfParameter(0);
  cuda_.cluster_size.reset();
  cuda_.block_size = {Expression::Constant(32), Expression::OfParameter(1)};
  cuda_.blocks = {Expression::CeilDiv({n}, {block}), Expression::OfDimension(1),
                  Expression::Constant(3)};
  const LaunchDescriptor launch = Describe({64, 4, 0});
  const LaunchShape shape = ShapeOf(launch, {1000, 5});
  EXPECT_EQ(shape.block_size, (LaunchExtent{32, 4}));
  EXPECT_EQ(shape.blocks, (LaunchExtent{16, 5, 3}));
  EXPECT_EQ(shape.blocks.Total(), 240);
  EXPECT_EQ(BlocksToLaunch(shape, 10), shape.blocks);
}

TEST(LaunchExtentTest, IsWrittenAsItIsDeclared) {
  EXPECT_EQ(FormatExtent(36), "36");
  EXPECT_EQ(FormatExtent({4, 9}), "4 x 9");
  EXPECT_EQ(FormatExtent({4, 1, 9}), "4 x 1 x 9");
}

TEST(LaunchExtentTest, TheProductOfLongSidesSaturates) {
  EXPECT_EQ(LaunchExtent(kExpressionLimit, kExpressionLimit, 2).Total(),
            kOverLimit);
  EXPECT_EQ(LaunchExtent(kExpressionLimit, 2, 1).Total(), kOverLimit);
  EXPECT_EQ(LaunchExtent(kExpressionLimit, 1, 1).Total(), kExpressionLimit);
}

TEST(LaunchExtentTest, AGridIsShorterAlongYAndZ) {
  EXPECT_TRUE(FitsGrid({(int64_t{1} << 31) - 1, 65535, 65535}));
  EXPECT_FALSE(FitsGrid(int64_t{1} << 31));
  EXPECT_FALSE(FitsGrid({1, 65536}));
  EXPECT_FALSE(FitsGrid({1, 1, 65536}));
}

TEST_F(LaunchDescriptorTest, AMapHasItsNumbers) {
  const absl::StatusOr<TensorMapPlan> plan = Plan({128, 1, 1}, 3584, 4096);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->extents, ElementsAre(4096, 3584));
  EXPECT_EQ(plan->row_bytes, 8192u);
  EXPECT_THAT(plan->box, ElementsAre(64, 128));
  EXPECT_EQ(plan->type, ElementType::kBfloat16);
}

TEST_F(LaunchDescriptorTest, AMapThatIsNotEnabledSaysSo) {
  EXPECT_TRUE(Describe({64, 1, 1}).tensor_maps[0].enabled);
  EXPECT_FALSE(Describe({64, 1, 0}).tensor_maps[0].enabled);
}

TEST_F(LaunchDescriptorTest, SaysWhatTheHardwareCannotMap) {
  const absl::Status rows = Plan({128, 1, 1}, 64, 33).status();
  EXPECT_EQ(rows.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(rows.message()), HasSubstr("'b' has rows of 66"));
  EXPECT_THAT(std::string(Plan({512, 1, 1}, 64, 64).status().message()),
              HasSubstr("a box of 64 x 512"));
}

TEST(ScalarBytesTest, AreTheValueInItsType) {
  Argument argument{.name = "n", .type = ElementType::kInt32};
  int32_t narrow = 0;
  const auto bytes = [&argument](int64_t value) {
    argument.size = Expression::Constant(value);
    return ScalarBytes(argument, ProblemView(), Configuration());
  };
  std::memcpy(&narrow, bytes(77)->data(), 4);
  EXPECT_EQ(narrow, 77);
  EXPECT_EQ(bytes(int64_t{1} << 31).status().code(),
            absl::StatusCode::kFailedPrecondition);
  argument.type = ElementType::kBfloat16;
  EXPECT_EQ(*bytes(1), std::string("\x80\x3f", 2));
}

TEST(ScalarBytesTest, ANumberNeedsNoProblem) {
  Argument argument{
      .name = "scale", .type = ElementType::kFloat32, .number = 0.125};
  float scale = 0;
  std::memcpy(&scale,
              ScalarBytes(argument, ProblemView(), Configuration())->data(), 4);
  EXPECT_EQ(scale, 0.125f);
  argument.type = ElementType::kBfloat16;
  EXPECT_EQ(*ScalarBytes(argument, ProblemView(), Configuration()),
            std::string("\x00\x3e", 2));
}

TEST_F(LaunchDescriptorTest, TheThreadsOfATritonBlockAreThoseOfItsWarps) {
  const Implementation triton = {.backend = "triton", .entry = "kernel"};
  const Configuration configuration = {64, 1, 0};
  EXPECT_EQ(DescribeLaunch(spec_, triton, "", configuration).block_size,
            LaunchExtent(128));
  spec_.parameters[2].name = "num_warps";
  EXPECT_EQ(DescribeLaunch(spec_, triton, "", {64, 1, 8}).block_size,
            LaunchExtent(256));
}

}  // namespace
}  // namespace wavetune
