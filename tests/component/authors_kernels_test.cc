// Kernels as authors write them, sound and not, on a device: those of
// tests/kernels, and a new one of each template.
#include <cstdlib>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lib/node_fixture.h"
#include "tests/lib/source_paths.h"

namespace wavetune::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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

// What Triton's compute: tests/triton/test_templates.py.
TEST_F(AuthorsKernelsTest, EveryTemplateForGpusCompilesWithoutOne) {
  for (const char* like : {"gemm", "row", "pointwise"}) {
    SCOPED_TRACE(like);
    const std::string name = std::string("gpu_") + like;
    ASSERT_EQ(Cli({"kernels", "new", name, "--like", like, "--backend", "cuda",
                   "--dir", Path("")})
                  .exit_code,
              0);
    const CliResult compiled = Cli({"kernels", "compile", Path(name), "--arch",
                                    "sm_90a", "--sample", "2"});
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

class FaultyKernelsTest : public NodeFixture {
 protected:
  // A worker that crashes on purpose just dies: AddressSanitizer's report of it
  // can take longer than a candidate has.
  FaultyKernelsTest() {
    const char* const set = std::getenv("ASAN_OPTIONS");
    const std::string options =
        std::string(set == nullptr ? "" : set) + ":handle_segv=0";
    setenv("ASAN_OPTIONS", options.c_str(), 1);
  }
};

TEST_F(FaultyKernelsTest, BrokenCandidatesAreExcludedWithTheirReasons) {
  AddKernel("faults");
  StartDaemon();
  StartAgent({"--prepare-timeout", "12"});
  if (HasFatalFailure() || IsSkipped()) return;
  // Half of those that could be compared are wrong.
  const nlohmann::json refused = WaitForJob(Reprofile("faults"));
  EXPECT_EQ(refused.value("state", ""), "FAILED") << refused.dump(2);
  EXPECT_THAT(refused.value("message", ""),
              HasSubstr("2 of 4 checked candidates"));
  const nlohmann::json job =
      WaitForJob(Reprofile("faults", {"--promote-although-wrong"}));
  EXPECT_EQ(job.value("state", ""), "SUCCEEDED") << job.dump(2);
  EXPECT_THAT(job.value("digest", ""), Not(IsEmpty())) << job.dump(2);
  EXPECT_THAT(job.value("message", ""), HasSubstr("2 of 4"));
  // By the last parameter, FAULT. Two of each.
  const std::map<int, std::string> reasons = {{1, "broken on purpose"},
                                              {2, "wrong result"},
                                              {3, "crashed"},
                                              {4, "hung"}};
  const nlohmann::json excluded = job["excluded"];
  EXPECT_EQ(excluded.size(), 2 * reasons.size()) << job.dump(2);
  for (const nlohmann::json& candidate : excluded) {
    const int fault = candidate["configuration"]["values"].back();
    ASSERT_TRUE(reasons.contains(fault)) << candidate.dump(2);
    EXPECT_THAT(candidate.value("reason", ""), HasSubstr(reasons.at(fault)));
  }
  const CliResult text =
      Cli({"jobs", "show", std::to_string(job.value("id", 0))});
  EXPECT_THAT(text.out, AllOf(HasSubstr("excluded     8 candidates, 2 of them "
                                        "with WRONG RESULTS"),
                              HasSubstr("FAULT=4: ")));
  const nlohmann::json decision =
      Cli({"resolve", "faults", "n=700", "k=700", "--json"}).Json();
  EXPECT_EQ(decision["configuration"].value("FAULT", -1), 0)
      << decision.dump(2);
}

}  // namespace
}  // namespace wavetune::testing
