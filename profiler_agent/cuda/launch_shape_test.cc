#include "profiler_agent/cuda/launch_shape.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

// G = ceil(m / TILE); TILE threads; CLUSTER blocks a cluster; persistent where
// LOOP is 1; 1000 * TILE bytes of shared memory.
class LaunchShapeTest : public ::testing::Test {
 protected:
  LaunchShapeTest() {
    spec_.name = "k";
    spec_.dimensions = {{.name = "m"}};
    spec_.parameters = {
        {.name = "TILE"}, {.name = "CLUSTER"}, {.name = "LOOP"}};
    spec_.mapping.tiles = Expression::CeilDiv({Expression::OfDimension(0)},
                                              {Expression::OfParameter(0)});
    spec_.mapping.iterations_per_tile = Expression::Constant(1);
    Implementation cuda{.backend = "cuda"};
    cuda.block_size = {Expression::OfParameter(0)};
    cuda.shared_memory_bytes = Expression::Product(
        {Expression::Constant(1000), Expression::OfParameter(0)});
    cuda.cluster_size = Expression::OfParameter(1);
    cuda.persistent_if = {{Expression::OfParameter(2),
                           Relation::Operator::kEqual,
                           Expression::Constant(1)}};
    spec_.implementations = {cuda};
    facts_.architecture = "sm_90";
    facts_.max_group_size = 1024;
    facts_.max_shared_memory_bytes = 232448;
  }

  absl::StatusOr<CudaLaunchShape> ShapeAt(const Configuration& configuration,
                                          int64_t m) {
    return CudaShapeOf(spec_, spec_.implementations[0], "", configuration,
                       {.extents = {m}}, facts_);
  }
  std::string Refusal(const Configuration& configuration, int64_t m) {
    const absl::Status status = ShapeAt(configuration, m).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    return std::string(status.message());
  }

  KernelSpec spec_;
  DeviceFacts facts_;
};

TEST_F(LaunchShapeTest, GroupsAreTheMappingsTilesUnlessTheManifestSaysOther) {
  EXPECT_EQ(*ShapeAt({128, 1, 0}, 1000),
            (CudaLaunchShape{.blocks = 8,
                             .block_size = 128,
                             .shared_bytes = 128000,
                             .cluster_size = 1,
                             .persistent = false}));
  spec_.implementations[0].blocks = {Expression::Constant(4)};
  EXPECT_EQ(ShapeAt({128, 2, 1}, 1000)->blocks, 4);
}

TEST_F(LaunchShapeTest, PersistentWhereAllRelationsHoldAndThereAreAny) {
  EXPECT_TRUE(ShapeAt({128, 1, 1}, 1000)->persistent);
  EXPECT_FALSE(ShapeAt({128, 1, 0}, 1000)->persistent);
  spec_.implementations[0].persistent_if.clear();
  EXPECT_FALSE(ShapeAt({128, 1, 1}, 1000)->persistent);
}

TEST_F(LaunchShapeTest, NamesTheLimitThatIsExceeded) {
  EXPECT_THAT(Refusal({2048, 1, 0}, 1000), HasSubstr("threads: 2048"));
  EXPECT_THAT(Refusal({512, 1, 0}, 1000),
              HasSubstr("shared memory: 512000, the device allows 232448"));
  EXPECT_THAT(Refusal({1, 1, 0}, int64_t{1} << 31), HasSubstr("blocks:"));
  EXPECT_THAT(Refusal({128, 3, 0}, 1000), HasSubstr("no multiple"));
}

TEST_F(LaunchShapeTest, TheSidesOfAGridAndABlockHaveLimitsOfTheirOwn) {
  Implementation& cuda = spec_.implementations[0];
  cuda.block_size = {Expression::Constant(8), Expression::Constant(4),
                     Expression::OfParameter(0)};
  cuda.blocks = {Expression::Constant(3), Expression::OfDimension(0)};
  const absl::StatusOr<CudaLaunchShape> shape = ShapeAt({16, 1, 0}, 65535);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->blocks, (LaunchExtent{3, 65535}));
  EXPECT_EQ(shape->block_size, (LaunchExtent{8, 4, 16}));
  EXPECT_THAT(Refusal({16, 1, 0}, 65536),
              HasSubstr("it wants blocks: 3 x 65536, the device allows "
                        "2147483647 along x, 65535 along y and z"));
  EXPECT_THAT(Refusal({64, 1, 0}, 1), HasSubstr("threads: 2048"));
  cuda.block_size = {Expression::Constant(1), Expression::Constant(1),
                     Expression::OfParameter(0)};
  EXPECT_THAT(Refusal({128, 1, 0}, 1),
              HasSubstr("threads along z: 128, the device allows 64"));
}

TEST_F(LaunchShapeTest, ClustersNeedComputeCapabilityNine) {
  EXPECT_EQ(ShapeAt({128, 2, 0}, 1000)->cluster_size, 2);
  facts_.architecture = "sm_89";
  EXPECT_THAT(Refusal({128, 2, 0}, 1000), HasSubstr("this device has 8.9"));
  EXPECT_TRUE(ShapeAt({128, 1, 0}, 1000).ok());
}

TEST(CapacityTest, CountsResidentGroupsOrWholeClusters) {
  const CudaLaunchShape plain = {.blocks = 1000};
  EXPECT_EQ(CapacityOf(plain, 132, 2, 0), 264);
  // Clusters of four do not reach all of an H200's 132 multiprocessors.
  const CudaLaunchShape clustered = {.blocks = 1000, .cluster_size = 4};
  EXPECT_EQ(CapacityOf(clustered, 132, 1, 30), 120);
}

TEST(CapacityTest, APersistentKernelLaunchesNoMoreThanFit) {
  CudaLaunchShape shape = {.blocks = 1000, .persistent = true};
  EXPECT_EQ(BlocksToLaunch(shape, 132), 132);
  shape.blocks = 100;
  EXPECT_EQ(BlocksToLaunch(shape, 132), 100);
  shape = {.blocks = 1000, .persistent = false};
  EXPECT_EQ(BlocksToLaunch(shape, 132), 1000);
}

TEST(CapacityTest, AReferenceGetsExactlyItsWorkItems) {
  for (const int64_t items : {1, 2, 255, 256, 257, 1003, 1000000, 4097 * 515}) {
    const CudaLaunchShape shape = ReferenceShape(items);
    EXPECT_EQ(shape.blocks.Total() * shape.block_size.Total(), items);
    EXPECT_LE(shape.block_size.Total(), 256);
  }
  EXPECT_EQ(ReferenceShape(1 << 20).block_size, 256);
  EXPECT_EQ(ReferenceShape(1003).block_size, 59);
}

}  // namespace
}  // namespace wavetune
