#include "profiler_agent/commands/export_plan.h"

#include <string>

#include "formats/kernel_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "tests/lib/export_tables.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using testing::FavouringTable;
using testing::GemmConfigurations;
using ::testing::HasSubstr;

class ExportPlanTest : public ::testing::Test {
 protected:
  ExportPlanTest()
      : spec_(LoadKernelFolder(WAVETUNE_SOURCE_DIR "/kernels/gemm_bf16")
                  .value()
                  .spec),
        table_(FavouringTable(spec_, std::string(64, 'a'), GemmConfigurations(),
                              0)) {}

  absl::Status Refusal() const {
    return PlanExport(spec_, table_, "").status();
  }

  KernelSpec spec_;
  Table table_;
};

TEST_F(ExportPlanTest, HoldsThePortfolioAndTheDefault) {
  const auto file = PlanExport(spec_, table_, "");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->candidates.size(), GemmConfigurations().size() + 1);
  EXPECT_EQ(file->candidates[1].cubin, "01.cubin");
  EXPECT_EQ(file->candidates[1].portfolio_index, 1);
  EXPECT_FALSE(file->candidates[1].is_default);
  EXPECT_EQ(file->candidates[4].cubin, "default.cubin");
  EXPECT_EQ(file->candidates[4].portfolio_index, -1);
  EXPECT_TRUE(file->candidates[4].is_default);
  EXPECT_EQ(file->candidates[4].configuration, spec_.default_configuration);
}

TEST_F(ExportPlanTest, ADefaultOfThePortfolioIsThereOnce) {
  table_.default_configuration = GemmConfigurations()[3];
  const auto file = PlanExport(spec_, table_, "");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->candidates.size(), GemmConfigurations().size());
  EXPECT_TRUE(file->candidates[3].is_default);
}

TEST_F(ExportPlanTest, LaunchesAsTheManifestSays) {
  const auto file = PlanExport(spec_, table_, "");
  ASSERT_TRUE(file.ok()) << file.status();
  // Clusters of two rows of 192, three consumers and a loader, persistent.
  const LaunchDescriptor& clustered = file->candidates[0].launch;
  EXPECT_EQ(ShapeOf(clustered, {1000, 1000, 4096}),
            (LaunchShape{.blocks = 6 * 6,
                         .block_size = 512,
                         .shared_bytes = 2048 + 2 * 64 * 4 * 384 + 8192 * 3,
                         .cluster_size = 2,
                         .persistent = true}));
  EXPECT_EQ(clustered.tensor_maps.size(), 3u);
  EXPECT_EQ(clustered.problem_predicates.size(), 2u);  // n % 8, k % 8.
  // The portable one takes every problem, and no maps.
  const LaunchDescriptor& portable = file->candidates[3].launch;
  EXPECT_TRUE(portable.problem_predicates.empty());
  EXPECT_FALSE(portable.tensor_maps[0].enabled);
  EXPECT_EQ(ShapeOf(portable, {17, 65, 33}).blocks, 4);
}

TEST_F(ExportPlanTest, RefusesATableOfAnotherKernelOrVersion) {
  table_.kernel = "other";
  EXPECT_EQ(Refusal().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Refusal().message()), HasSubstr("\"other\""));
  table_.kernel = spec_.name;
  table_.parameters[3] = "BLOCK_X";
  EXPECT_THAT(std::string(Refusal().message()), HasSubstr("reprofile"));
}

TEST_F(ExportPlanTest, RefusesAConfigurationThatTheManifestDoesNotAllow) {
  table_.sub_tables[0].portfolio[0].configuration = {1, 8, 17, 64, 64, 6,
                                                     1, 0, 1,  1,  1,  1};
  EXPECT_EQ(Refusal().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Refusal().message()), HasSubstr("manifest"));
}

TEST_F(ExportPlanTest, NamesTheSpecialisationsThereAre) {
  const absl::Status status = PlanExport(spec_, table_, "causal").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("it has: \"\""));
}

TEST_F(ExportPlanTest, RefusesAKernelWithoutCuda) {
  spec_.implementations[0].backend = "opencl";
  EXPECT_EQ(Refusal().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CapabilityOfTest, IsInTheSiliconKey) {
  Table table;
  table.silicon_key = testing::kH200Silicon;
  EXPECT_EQ(CapabilityOf(table).value(), 90);
  table.silicon_key = "backend=opencl;arch=x86_64;mp=2";
  const absl::Status status = CapabilityOf(table).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("backend=opencl"));
}

}  // namespace
}  // namespace wavetune
