// Kernels as authors write them, on a device: those of tests/kernels, and a new
// one of each template.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lib/node_fixture.h"
#include "tests/lib/source_paths.h"

namespace wavetune::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kExitNoDevice = 3;

class AuthorsKernelsTest : public NodeFixture {
 protected:
  // Candidates that are spread over the space; the default is one of them.
  CliResult Compile(const std::string& folder, const char* candidates) const {
    return Cli({"kernels", "compile", folder, "--sample", candidates});
  }
};

TEST_F(AuthorsKernelsTest, EveryKernelGivesCorrectResults) {
  for (const char* kernel :
       {"rms_norm", "rms_norm_compiled", "gelu", "conv2d", "attention",
        "attention_counted", "grouped_gemm"}) {
    SCOPED_TRACE(kernel);
    const CliResult compiled = Compile(
        std::string(WAVETUNE_SOURCE_DIR "/tests/kernels/") + kernel, "3");
    if (compiled.exit_code == kExitNoDevice) GTEST_SKIP() << compiled.err;
    EXPECT_EQ(compiled.exit_code, 0) << compiled.out << compiled.err;
    EXPECT_THAT(compiled.out, HasSubstr("gave correct results"));
  }
}

// Templates are these kernels: one candidate shows what a new name breaks.
TEST_F(AuthorsKernelsTest, EveryTemplateGivesCorrectResultsUnderANewName) {
  for (const char* like :
       {"gemm", "row", "pointwise", "conv", "attention", "grouped"}) {
    SCOPED_TRACE(like);
    const std::string name = std::string("my_") + like;
    ASSERT_EQ(Cli({"kernels", "new", name, "--like", like, "--dir", Path("")})
                  .exit_code,
              0);
    const CliResult compiled = Compile(Path(name), "1");
    if (compiled.exit_code == kExitNoDevice) GTEST_SKIP() << compiled.err;
    EXPECT_EQ(compiled.exit_code, 0) << compiled.out << compiled.err;
  }
}

TEST_F(AuthorsKernelsTest, SaysHowLongProfilingCompilesHere) {
  const CliResult checked =
      Cli({"kernels", "check", WAVETUNE_SOURCE_DIR "/tests/kernels/gelu",
           "--cost", "--json"});
  ASSERT_EQ(checked.exit_code, 0) << checked.err;
  const auto compiling =
      checked.Json()["kernels"][0]["profiling"]["compiling"][0];
  if (!compiling["backend"].get<std::string>().empty())
    GTEST_SKIP() << "no device: " << checked.err;
  EXPECT_GT(compiling["seconds"], 0);
  EXPECT_THAT(compiling["basis"].get<std::string>(),
              HasSubstr("measured on 6"));
}

}  // namespace
}  // namespace wavetune::testing
