// wavetune kernels check.
#include <filesystem>
#include <fstream>

#include "cli/command_line_fixture.h"
#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/source_paths.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;

class KernelsCheckTest : public CommandLineFixture {};

TEST_F(KernelsCheckTest, KernelsCheckDescribesAValidKernel) {
  EXPECT_EQ(Run({"kernels", "check", WAVETUNE_SOURCE_DIR "/kernels"}), kExitOk)
      << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("gemm_f32: valid"));
  EXPECT_EQ(Run({"kernels", "check", WAVETUNE_SOURCE_DIR "/kernels/gemm_f32",
                 "--json"}),
            kExitOk);
  EXPECT_EQ(Output()["kernels"][0]["name"], "gemm_f32");
  EXPECT_GT(Output()["kernels"][0]["configurations"], 0);
}

TEST_F(KernelsCheckTest, KernelsCheckLooksAtTheTablesBesideAKernel) {
  namespace fs = std::filesystem;
  const fs::path kernel = fs::path(::testing::TempDir()) / "ships_tables";
  fs::remove_all(kernel);
  fs::copy(WAVETUNE_SOURCE_DIR "/kernels/gemm_f32", kernel,
           fs::copy_options::recursive);
  fs::create_directories(kernel / "tables");
  std::ofstream(kernel / "tables/h200.table") << "nonsense";
  EXPECT_NE(Run({"kernels", "check", kernel.string()}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("tables/h200.table: is no table"));
  EXPECT_THAT(err_.str(), HasSubstr("1 tables that lie beside kernels"));
  EXPECT_NE(Run({"kernels", "check", kernel.string(), "--json"}), kExitOk);
  const Json ships = Output()["kernels"][0]["ships"];
  EXPECT_TRUE(ships["tables"].empty());
  EXPECT_EQ(ships["refused"].size(), 1u);
  fs::remove_all(kernel);
}

TEST_F(KernelsCheckTest, KernelsCheckSaysWhereCandidatesAreChecked) {
  const char* const folder = WAVETUNE_SOURCE_DIR "/kernels/gemm_f32";
  EXPECT_EQ(Run({"kernels", "check", folder}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("m=17 n=67 k=33"));
  EXPECT_THAT(out_.str(), HasSubstr("m=3 n=63 k=31"));
  EXPECT_EQ(Run({"kernels", "check", folder, "--json"}), kExitOk);
  const Json checked = Output()["kernels"][0]["checked_at"];
  EXPECT_EQ(checked["declared"].size(), 3u);
  EXPECT_EQ(checked["edges_of_default"].size(), 5u);
}

TEST_F(KernelsCheckTest, KernelsCheckSaysWhichConstraintExcludesHowMuch) {
  const char* const folder = WAVETUNE_SOURCE_DIR "/kernels/gemm_f32";
  EXPECT_EQ(Run({"kernels", "check", folder}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("of 256 combinations by itself"));
  EXPECT_EQ(Run({"kernels", "check", folder, "--json"}), kExitOk);
  const Json kernel = Output()["kernels"][0];
  EXPECT_EQ(kernel["combinations"], 256);
  EXPECT_EQ(kernel["constraints"][0]["constraint"], "BLOCK_M * VECTORS <= 24");
  EXPECT_EQ(kernel["constraints"][0]["excluded_by_itself"], 32);
  EXPECT_EQ(
      kernel["constraints"][0]["excluded_by_it_alone"],
      256 - 132 - kernel["constraints"][1]["excluded_by_itself"].get<int>());
  EXPECT_TRUE(kernel["remarks"].empty());
}

TEST_F(KernelsCheckTest, KernelsCheckSaysWhereTilesAreNotFullButCountAsWhole) {
  // It counts whole tiles, and skips rows and keys that are not there.
  EXPECT_EQ(Run({"kernels", "check",
                 WAVETUNE_SOURCE_DIR "/tests/kernels/attention", "--json"}),
            kExitOk);
  const Json tiles = Output()["kernels"][0]["tile_fill"];
  ASSERT_EQ(tiles.size(), 3u) << tiles;
  EXPECT_EQ(tiles[0]["what"], "how full tiles are along seq_q");
  EXPECT_LT(tiles[0]["mean_fill"].get<double>(), 0.9);
  EXPECT_EQ(tiles[1]["what"], "how full tiles are along seq_kv");
  EXPECT_EQ(tiles[2]["what"], "how full its causal blocks are");
  out_.str("");
  EXPECT_EQ(
      Run({"kernels", "check", WAVETUNE_SOURCE_DIR "/tests/kernels/attention"}),
      kExitOk);
  EXPECT_THAT(out_.str(),
              HasSubstr("  tile fill        how full tiles are along seq_q: "));
  EXPECT_THAT(out_.str(),
              HasSubstr("and they count as whole; a kernel that does less for "
                        "part tiles counts in total_iterations what it does: "
                        "seq_q itself, not whole tiles"));
}

TEST_F(KernelsCheckTest, KernelsCheckSaysWhichExtentsAreAllWholeTiles) {
  const char* const folder = WAVETUNE_SOURCE_DIR "/kernels/gemm_f32";
  EXPECT_EQ(Run({"kernels", "check", folder}), kExitOk);
  EXPECT_THAT(out_.str(),
              HasSubstr("  remark           every representative n is a "
                        "multiple of every BLOCK_N: what the kernel does "
                        "beside whole tiles is timed by verification alone"));
  EXPECT_EQ(Run({"kernels", "check", folder, "--json"}), kExitOk);
  EXPECT_EQ(Output()["kernels"][0]["round_extents"].size(), 2u);  // n, k.
}

TEST_F(KernelsCheckTest, KernelsCheckSaysNothingOfTilesWhereWorkIsCounted) {
  for (const char* kernel : {"gelu", "attention_counted"}) {
    EXPECT_EQ(Run({"kernels", "check",
                   std::string(WAVETUNE_SOURCE_DIR "/tests/kernels/") + kernel,
                   "--json"}),
              kExitOk);
    EXPECT_TRUE(Output()["kernels"][0]["tile_fill"].empty());
    out_.str("");
  }
}

TEST_F(KernelsCheckTest, KernelsCheckSaysWhatProfilingCosts) {
  const char* const folder = WAVETUNE_SOURCE_DIR "/kernels/gemm_f32";
  EXPECT_EQ(Run({"kernels", "check", folder}), kExitOk);
  EXPECT_THAT(out_.str(),
              HasSubstr("compiles 132 candidates, measures at most 4224"));
  EXPECT_THAT(out_.str(), HasSubstr("opencl: about "));
  EXPECT_THAT(out_.str(), HasSubstr("--cost"));
}

TEST_F(KernelsCheckTest, KernelsCheckPlansTheFirstProblems) {
  const char* const folder = WAVETUNE_SOURCE_DIR "/kernels/gemm_f32";
  EXPECT_EQ(Run({"kernels", "check", folder, "--plan", "--tiles-per-wave", "2",
                 "--json"}),
            kExitOk);
  const Json plan = Output()["kernels"][0]["plan"];
  EXPECT_EQ(plan["tiles_per_wave"], 2);
  EXPECT_EQ(plan["candidates"], 132);
  EXPECT_EQ(plan["planned_for"], 132);
  EXPECT_LE(plan["samples"], 132 * 32);
  // Each candidate is screened at up to eight problems of its own.
  int64_t pairs = 0;
  for (const Json& problem : plan["first"])
    pairs += problem["candidates"].get<int64_t>();
  EXPECT_GT(pairs, 132 * 4);
  EXPECT_LE(pairs, 132 * 8);
  EXPECT_EQ(Run({"kernels", "check", folder, "--plan"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("screening measures"));
  EXPECT_EQ(Run({"kernels", "check", folder, "--tiles-per-wave", "2"}),
            kExitUsage);
}

// Of 36 combinations 30 fit into the nearest cache, and of these 20 have at
// most 16 filters for two strides.
TEST_F(KernelsCheckTest, KernelsCheckCountsTheSpaceOfEachSpecialisation) {
  namespace fs = std::filesystem;
  wavetune::testing::TemporaryFolder folder;
  fs::copy(WAVETUNE_SOURCE_DIR "/tests/kernels/conv2d", folder.path());
  std::ofstream(folder.path() + "/manifest.textproto", std::ios::app)
      << "require: \"STRIDE * BLOCK_F <= 16\"\n";
  EXPECT_EQ(Run({"kernels", "check", folder.path(), "--plan", "--json"}),
            kExitOk)
      << err_.str();
  const Json kernel = Output()["kernels"][0];
  ASSERT_EQ(kernel["valid"], true) << kernel;
  EXPECT_EQ(kernel["configurations"], 30);
  ASSERT_EQ(kernel["spaces"].size(), 2u);
  EXPECT_EQ(kernel["spaces"][0]["specialisations"], Json({"stride1"}));
  EXPECT_EQ(kernel["spaces"][0]["configurations"], 30);
  // It excludes nothing here, but is there for the other.
  EXPECT_TRUE(kernel["spaces"][0]["remarks"].empty());
  const Json& stride2 = kernel["spaces"][1];
  EXPECT_EQ(stride2["specialisations"], Json({"stride2"}));
  EXPECT_EQ(stride2["configurations"], 20);
  EXPECT_EQ(stride2["constraints"][1]["constraint"], "2 * BLOCK_F <= 16");
  EXPECT_EQ(stride2["constraints"][1]["excluded_by_itself"], 12);
  EXPECT_EQ(stride2["constraints"][1]["excluded_by_it_alone"], 10);
  EXPECT_TRUE(stride2["remarks"].empty());
  EXPECT_EQ(kernel["profiling"]["candidates"], 50);
  EXPECT_EQ(kernel["plan"]["candidates"], 50);
  EXPECT_EQ(kernel["plan"]["planned_for"], 50);
  EXPECT_EQ(Run({"kernels", "check", folder.path()}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("20, 10 macro [stride2]"));
  EXPECT_THAT(out_.str(), HasSubstr("10 by it alone [stride2]"));
}

// Of 30 that fit into the nearest cache, 20 have at most 16 filters for one
// stride, and these are among those for two.
TEST_F(KernelsCheckTest, KernelsCheckCountsTheConfigurationsOfAllSpaces) {
  namespace fs = std::filesystem;
  wavetune::testing::TemporaryFolder folder;
  fs::copy(WAVETUNE_SOURCE_DIR "/tests/kernels/conv2d", folder.path());
  std::ofstream(folder.path() + "/manifest.textproto", std::ios::app)
      << "require: \"BLOCK_F <= 8 * STRIDE\"\n";
  EXPECT_EQ(Run({"kernels", "check", folder.path(), "--json"}), kExitOk)
      << err_.str();
  const Json kernel = Output()["kernels"][0];
  ASSERT_EQ(kernel["spaces"].size(), 2u) << kernel;
  EXPECT_LT(kernel["spaces"][0]["configurations"],
            kernel["spaces"][1]["configurations"]);
  EXPECT_EQ(kernel["configurations"], kernel["spaces"][1]["configurations"]);
}

TEST_F(KernelsCheckTest, KernelsCheckPrintsEveryFault) {
  wavetune::testing::TemporaryFolder folder;
  std::ofstream(folder.path() + "/manifest.textproto") << "name: 3\n";
  EXPECT_EQ(Run({"kernels", "check", folder.path()}), kExitFailed);
  EXPECT_THAT(out_.str(), HasSubstr("REFUSED"));
  EXPECT_THAT(out_.str(), HasSubstr("line 1"));
  EXPECT_EQ(Run({"kernels", "check", "/no/such/folder"}), kExitFailed);
}

}  // namespace
}  // namespace wavetune::cli
