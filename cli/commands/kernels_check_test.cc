// wavetune kernels check.
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
