// `wavetune kernels export` as a user runs it, with NVRTC; needs no GPU and no
// daemon.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "formats/kernel_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/table/table_codec.h"
#include "nlohmann/json.hpp"
#include "tests/lib/export_tables.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/source_paths.h"
#include "wavetune/exported_kernel.h"

namespace wavetune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kGemm[] = WAVETUNE_SOURCE_DIR "/kernels/gemm_bf16";

class ExportTest : public NodeFixture {
 protected:
  void SetUp() override {
    const auto folder = LoadKernelFolder(kGemm);
    ASSERT_TRUE(folder.ok()) << folder.status();
    std::ofstream(Path("gemm.table"), std::ios::binary)
        << EncodeTable(FavouringTable(folder->spec, std::string(64, 'a'),
                                      GemmConfigurations(), 0))
               .value();
  }

  CliResult Export(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {
        "kernels",          "export", kGemm,      "--table",
        Path("gemm.table"), "--out",  Path("out")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Cli(arguments);
  }
};

TEST_F(ExportTest, WritesAnExportThatTheLauncherReads) {
  const CliResult result =
      Export({"--arch", "sm_90a", "--ignore-fingerprint", "--json"});
  if (result.exit_code == 3) GTEST_SKIP() << result.err;  // No NVRTC.
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json json = result.Json();
  EXPECT_EQ(json["kernel"], "gemm_bf16");
  EXPECT_EQ(json["candidates"].size(), GemmConfigurations().size() + 1);
  for (const nlohmann::json& candidate : json["candidates"]) {
    EXPECT_EQ(
        fs::file_size(Path("out/" + candidate["cubin"].get<std::string>())),
        candidate["size_bytes"].get<uintmax_t>());
  }
  // Everything is read before the GPU is asked for anything.
  const auto kernel = ExportedKernel::Load(Path("out"));
  if (!kernel.ok()) {
    EXPECT_EQ(kernel.status().code(), absl::StatusCode::kFailedPrecondition)
        << kernel.status();
  }
  EXPECT_EQ(Export({"--ignore-fingerprint"}).exit_code, 1);
}

TEST_F(ExportTest, SaysWhyNothingWasExported) {
  const CliResult result = Export({"--arch", "sm_90a"});
  if (result.exit_code == 3) GTEST_SKIP() << result.err;
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("--ignore-fingerprint"));
  EXPECT_THAT(result.err, HasSubstr("nothing was exported"));
  EXPECT_FALSE(fs::exists(Path("out")));
}

}  // namespace
}  // namespace wavetune::testing
