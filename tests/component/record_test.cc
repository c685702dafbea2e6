// A kernel is recorded on a real device; then the recording stands in for the
// device, and for the measurements that a fit is made from.
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lib/node_fixture.h"
#include "tests/lib/program.h"

namespace wavetune::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kCandidates = 8;
constexpr int kAnchors = 30;
constexpr int kRepresentative = 4;
constexpr int kShapes = 2;

class RecordTest : public NodeFixture {
 protected:
  void SetUp() override {
    trace_ = Path("traces/column_sum");
    fs::create_directory(Path("traces"));
    WriteFile(Path("shapes.csv"), "n,k\n700,100\n3000,300\n");
    AddKernel("column_sum");
    StartDaemon();
    StartAgent();
  }

  CliResult Bench(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"bench", "column_sum", "--shapes",
                                          Path("shapes.csv"), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Cli(arguments);
  }
  CliResult Record(std::vector<std::string> more = {}) const {
    more.insert(more.end(),
                {"--record", trace_, "--anchors", std::to_string(kAnchors)});
    return Bench(more);
  }

  // The trace takes the place of kernel and device.
  void Replay(const std::vector<std::string>& more = {}) {
    EXPECT_EQ(agent().Stop(std::chrono::seconds(20)), 0);
    ASSERT_TRUE(WaitUntil([&] {
      return Cli({"status", "--json"}).Json().value("devices_attached", -1) ==
             0;
    }));
    const std::string kernel = Path("kernels/column_sum");
    fs::remove_all(kernel);
    fs::copy(trace_, kernel);
    std::vector<std::string> arguments = {"--replay-trace", trace_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    StartAgent(arguments, "replay");
  }

  std::string trace_;
};

TEST_F(RecordTest, AProfileRunsFromTheRecordingAsFromTheDevice) {
  const CliResult recorded = Record();
  ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
  const nlohmann::json trace = recorded.Json()["trace"];
  EXPECT_EQ(trace["candidates"], kCandidates);
  EXPECT_EQ(trace["judged"], kCandidates * kShapes);
  EXPECT_EQ(trace["from_store"], 0);
  EXPECT_THAT(trace["missing"], IsEmpty());
  // Fewer where two anchors are one problem.
  EXPECT_GE(trace["anchors"], kCandidates * kAnchors * 3 / 4);
  EXPECT_GT(trace["representative"].get<int>() + trace["anchors"].get<int>(),
            kCandidates * kRepresentative);
  EXPECT_EQ(recorded.Json()["shapes"].size(), kShapes);

  for (const char* more : {"--json", "--representative"}) {
    const CliResult evaluated = Cli({"evaluate", "--trace", trace_, more});
    EXPECT_EQ(evaluated.exit_code, 0) << evaluated.err;
    EXPECT_THAT(evaluated.out, HasSubstr("worst"));
  }

  Replay();
  const nlohmann::json job = WaitForJob(Reprofile("column_sum"));
  EXPECT_EQ(job.value("state", ""), "SUCCEEDED") << job.dump(2);
  EXPECT_THAT(job["excluded"], IsEmpty()) << job.dump(2);
  // Whether the table is promoted depends on how busy the machine was when the
  // default was recorded. But all that was asked for had been recorded.
  EXPECT_GT(job.value("samples", 0), 0);
  EXPECT_THAT(job.value("message", ""),
              Not(HasSubstr("could not be measured")));

  // Without a table it measures all the same, and fails.
  const int benched =
      job.value("message", "").find("not promoted") == std::string::npos ? 0
                                                                         : 1;

  // Judged problems are answered only when asked for.
  const CliResult hidden = Bench();
  EXPECT_EQ(hidden.exit_code, benched) << hidden.err;
  EXPECT_EQ(hidden.Json()["shapes"][0]["chosen_us"], 0);
  EXPECT_THAT(hidden.err, AllOf(HasSubstr("could not be measured"),
                                HasSubstr("n=700 k=100 was not recorded"),
                                HasSubstr("--replay-judged")));
  Replay({"--replay-judged"});
  const CliResult judged = Bench({"--exhaustive"});
  EXPECT_EQ(judged.exit_code, benched) << judged.err;
  const nlohmann::json report = judged.Json();
  for (const nlohmann::json& shape : report["shapes"]) {
    EXPECT_EQ(shape["candidates_measured"], kCandidates);
    EXPECT_GT(shape["best_us"].get<double>(), 0);
  }
}

TEST_F(RecordTest, ARecordingGoesOnAndReplacesOnlyWhenTold) {
  ASSERT_EQ(Record().exit_code, 0);
  const CliResult refused = Record();
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(trace_), HasSubstr("--replace")));
  const CliResult replaced = Record({"--replace"});
  ASSERT_EQ(replaced.exit_code, 0) << replaced.err;
  // But for suspect samples, which are measured again: on a busy machine many.
  EXPECT_GT(replaced.Json()["trace"]["from_store"].get<int>(), 0);
}

TEST_F(RecordTest, WhatIsMissingFromATraceFailsAloneAndIsNamed) {
  ASSERT_EQ(Record().exit_code, 0);
  Replay();
  // Problems that nobody recorded.
  const std::string manifest = Path("kernels/column_sum/manifest.textproto");
  WriteFile(manifest, ReadText(manifest) +
                          "representative_problems { "
                          "axes { dimension: \"n\" values: [5000, 60000] } "
                          "axes { dimension: \"k\" values: [777, 20000] } }\n");
  const nlohmann::json job = WaitForJob(Reprofile("column_sum"));
  EXPECT_EQ(job.value("state", ""), "SUCCEEDED") << job.dump(2);
  EXPECT_GT(job.value("samples", 0), 0);
  EXPECT_THAT(job.value("message", ""),
              AllOf(HasSubstr("could not be measured, the first: BLOCK_N="),
                    HasSubstr("was not recorded for")));
}

TEST_F(RecordTest, ProblemsThatProfilingMayFitAreNotJudged) {
  WriteFile(Path("shapes.csv"), "n,k\n700,100\n1024,256\n");
  const CliResult refused = Record();
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("n=1024 k=256"),
                                 HasSubstr("representative problem")));
  EXPECT_FALSE(fs::exists(trace_));
  EXPECT_TRUE(fs::is_empty(Path("traces")));
}

TEST_F(RecordTest, ATraceOfAnotherKernelIsRefused) {
  ASSERT_EQ(Record().exit_code, 0);
  Replay();
  const std::string manifest = Path("kernels/column_sum/manifest.textproto");
  std::string text = ReadText(manifest);
  const size_t at = text.find("values: 16");
  ASSERT_NE(at, std::string::npos) << text;
  WriteFile(manifest, text.replace(at, 10, "values: 48"));
  const nlohmann::json job = WaitForJob(Reprofile("column_sum"));
  EXPECT_EQ(job.value("state", ""), "FAILED") << job.dump(2);
  EXPECT_THAT(job.value("message", ""),
              AllOf(HasSubstr(trace_), HasSubstr("other parameters")));
}

}  // namespace
}  // namespace wavetune::testing
