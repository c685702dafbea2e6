// `wavetune evaluate` on the committed H200 trace: what a fit from recorded
// anchors is worth, and that it is the same every time.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/digest.h"
#include "cli/command_line_fixture.h"
#include "fit/plan/recording_plan.h"
#include "fit/testing/synthetic_device.h"
#include "formats/kernel_folder.h"
#include "formats/trace_folder_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "server/test_folder.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kTrace =
    std::string(WAVETUNE_SOURCE_DIR) + "/tests/data/h200_triton_gemm/";

std::vector<std::string> ReadLines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// What bounds promise: of all answers of a recording this share of latencies,
// neither fewer, nor so many that narrower bounds would do
// (docs/decisions/0033).
void ExpectBoundsAsPromised(const cli::Json& figures) {
  EXPECT_GE(figures["within_bound"].get<double>(), 0.9);
  EXPECT_LE(figures["within_bound"].get<double>(), 0.97);
}

class EvaluateQualityTest : public cli::CommandLineFixture {
 protected:
  int Evaluate(const std::vector<std::string>& more = {},
               const std::string& exhaustive = kTrace + "exhaustive.csv.gz",
               const std::string& anchors = kTrace + "anchors.csv.gz") {
    std::vector<std::string> arguments = {"evaluate",
                                          "--manifest",
                                          kTrace + "manifest.textproto",
                                          "--device",
                                          kTrace + "device.textproto",
                                          "--anchors",
                                          anchors,
                                          "--exhaustive",
                                          exhaustive};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
};

TEST_F(EvaluateQualityTest, AnchorsAloneGiveNearlyTheBestChoices) {
  ASSERT_EQ(Evaluate({"--json"}), cli::kExitOk) << err_.str();
  const cli::Json json = cli::Json::parse(out_.str());
  EXPECT_GE(json["oracle_fraction_geomean"].get<double>(), 0.97);
  EXPECT_GE(json["oracle_fraction_p5"].get<double>(), 0.89);
  EXPECT_GT(json["oracle_fraction_min"].get<double>(), 0.5);
  EXPECT_LE(json["oracle_fraction_min"].get<double>(),
            json["oracle_fraction_p5"].get<double>());
  EXPECT_GT(json["oracle_fraction_geomean"].get<double>(),
            json["default_fraction_geomean"].get<double>());
  // 25,359 lines of 176 candidates.
  EXPECT_NEAR(json["samples_per_candidate"].get<double>(), 144.08, 0.01);
  EXPECT_EQ(json["candidates"], 176);
  ExpectBoundsAsPromised(json);
  // On a GPU a gain is a reason to leave the default, also beyond what was
  // measured (docs/decisions/0033).
  for (const cli::Json& note : json["notes"]) {
    EXPECT_THAT(note.get<std::string>(), Not(HasSubstr("the default answers")));
  }
}

// The lines of a recording whose `column` is in [least, most], and the header.
std::string LinesWhere(const std::string& path, const std::string& column,
                       double least, double most) {
  std::istringstream lines(ReadTextFile(path).value());
  std::string header;
  std::getline(lines, header);
  const std::vector<std::string> names = absl::StrSplit(header, ',');
  const auto index = static_cast<size_t>(
      std::find(names.begin(), names.end(), column) - names.begin());
  std::string kept = header + "\n";
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, ',');
    const double value = std::stod(cells.at(index));
    if (value >= least && value <= most) kept += line + "\n";
  }
  return kept;
}

// No sample is longer than 2,048 rows; square grids end at half a wave.
TEST_F(EvaluateQualityTest, ProblemsLargerThanAnyThatWasMeasuredAreDecided) {
  const TestFolder folder;
  folder.Write("anchors.csv",
               LinesWhere(kTrace + "anchors.csv.gz", "M", 0, 2048));
  folder.Write("large.csv",
               LinesWhere(kTrace + "exhaustive.csv.gz", "M", 2049, 1e9));
  ASSERT_EQ(Evaluate({"--json"}, folder / "large.csv", folder / "anchors.csv"),
            cli::kExitOk)
      << err_.str();
  const cli::Json json = cli::Json::parse(out_.str());
  EXPECT_EQ(json["problems"], 24);
  EXPECT_GE(json["oracle_fraction_geomean"].get<double>(), 0.97);
  EXPECT_GE(json["oracle_fraction_min"].get<double>(), 0.88);
}

// The model as it stands (research/notebook.md); the targets are 0.99, 0.95 and
// 0.88. Floors leave room for what the luck of a few samples
// moves.
TEST_F(EvaluateQualityTest, ARecordedHopperGemmIsDecidedFromAReplayedProfile) {
  const std::string trace =
      std::string(WAVETUNE_SOURCE_DIR) + "/tests/data/h200/gemm_bf16";
  // What kernels/gemm_bf16 asks for; other kernels show the default, 16.
  ASSERT_EQ(Run({"evaluate", "--trace", trace, "--profile", "--portfolio", "96",
                 "--json"}),
            cli::kExitOk)
      << err_.str();
  const cli::Json json = cli::Json::parse(out_.str());
  EXPECT_GE(json["oracle_fraction_geomean"].get<double>(), 0.985);
  EXPECT_GE(json["oracle_fraction_p5"].get<double>(), 0.94);
  EXPECT_GE(json["oracle_fraction_min"].get<double>(), 0.88);
  ExpectBoundsAsPromised(json);
  EXPECT_LE(json["samples_per_candidate"].get<double>(), 32);
  EXPECT_EQ(json["candidates"], 233);
}

// Tiles of unequal length: the causal specialisation has a mapping of its own.
TEST_F(EvaluateQualityTest,
       EachAttentionSpecialisationIsDecidedFromItsAnchors) {
  const std::string trace =
      std::string(WAVETUNE_SOURCE_DIR) + "/tests/data/h200_triton_attention";
  ASSERT_EQ(Run({"evaluate", "--trace", trace, "--json"}), cli::kExitOk)
      << err_.str();
  const cli::Json json = cli::Json::parse(out_.str());
  EXPECT_EQ(json["candidates"], 204);
  ExpectBoundsAsPromised(json);
  const cli::Json& specialisations = json["specialisations"];
  ASSERT_EQ(specialisations.size(), 2U);
  for (const auto& [name, problems] :
       {std::pair("causal", 48), std::pair("full", 12)}) {
    SCOPED_TRACE(name);
    const cli::Json& figures = specialisations[name];
    EXPECT_EQ(figures["problems"], problems);
    EXPECT_GE(figures["oracle_fraction_geomean"].get<double>(), 0.975);
    EXPECT_GE(figures["oracle_fraction_p5"].get<double>(), 0.9);
    EXPECT_GE(figures["oracle_fraction_min"].get<double>(), 0.85);
    ExpectBoundsAsPromised(figures);
  }
}

// Keys are read while little is computed: as a sum of both 97.8 and 90.8 % of
// the best (docs/decisions/0002).
TEST_F(EvaluateQualityTest, DecodeAttentionIsDecidedFromAReplayedProfile) {
  const std::string trace = std::string(WAVETUNE_SOURCE_DIR) +
                            "/tests/data/h100/triton_attention_decode";
  ASSERT_EQ(Run({"evaluate", "--trace", trace, "--profile", "--json"}),
            cli::kExitOk)
      << err_.str();
  const cli::Json json = cli::Json::parse(out_.str());
  EXPECT_EQ(json["problems"], 82);
  EXPECT_LE(json["samples_per_candidate"].get<double>(), 32);
  EXPECT_GE(json["oracle_fraction_geomean"].get<double>(), 0.983);
  EXPECT_GE(json["oracle_fraction_p5"].get<double>(), 0.935);
  EXPECT_GE(json["oracle_fraction_min"].get<double>(), 0.85);
}

TEST_F(EvaluateQualityTest, ATraceFolderGivesTheSameAsItsFiles) {
  ASSERT_EQ(Evaluate({"--json"}), cli::kExitOk) << err_.str();
  const cli::Json files = cli::Json::parse(out_.str());
  ASSERT_EQ(Run({"evaluate", "--trace", kTrace, "--json"}), cli::kExitOk)
      << err_.str();
  EXPECT_EQ(cli::Json::parse(out_.str()), files);
}

// A recording of a made-up device: what planning picks from it is enough.
TEST_F(EvaluateQualityTest, AProfileIsPlannedFromARecording) {
  const KernelFolder kernel =
      LoadKernelFolder(std::string(WAVETUNE_SOURCE_DIR) + "/kernels/gemm_f32")
          .value();
  const wavetune::testing::SyntheticDevice device(kernel.spec,
                                                  {.multiprocessors = 2});
  const ProfileInput input = device.Input();
  TraceFolder trace;
  trace.manifest = TraceManifest(kernel.proto, "opencl", "A made-up device.");
  trace.spec = kernel.spec;
  trace.device = input.device;
  for (const Candidate& candidate : input.candidates[0]) {
    trace.candidates.push_back({"", candidate});
    for (const int64_t m : {5, 77, 500}) {
      const Problem problem{.extents = {m, 1000, 1000}};
      if (IsLegal(kernel.spec, candidate.configuration, problem.View())) {
        trace.exhaustive.push_back(
            device.Measure({candidate.configuration, problem}));
      }
    }
  }
  const RecordingPlan plan = PlanRecording(input).value();
  for (const MeasureItem& item : plan.anchors) {
    trace.anchors.push_back(device.Measure(item));
  }
  for (const MeasureItem& item : plan.representatives) {
    trace.representative.push_back(device.Measure(item));
  }
  const std::string folder =
      (std::filesystem::temp_directory_path() /
       ("evaluate_quality_test.profile." + std::to_string(getpid())))
          .string();
  ASSERT_TRUE(
      TraceFolderWriter::Open(folder, false).value()->Commit(trace).ok());
  const std::string samples = folder + "/samples.csv";
  const std::string decisions = folder + "/decisions.csv";
  const int code =
      Run({"evaluate", "--trace", folder, "--profile",
           "--samples-per-candidate", "20", "--json", "--write-samples",
           samples, "--write-decisions", decisions});
  const std::vector<std::string> sample_lines = ReadLines(samples);
  const std::vector<std::string> decision_lines = ReadLines(decisions);
  std::filesystem::remove_all(folder);
  ASSERT_EQ(code, cli::kExitOk) << err_.str();
  const cli::Json json = cli::Json::parse(out_.str());
  ASSERT_FALSE(sample_lines.empty());
  EXPECT_THAT(sample_lines[0], StartsWith("m,n,k,"));
  EXPECT_EQ(sample_lines.size() - 1, json["samples"].get<size_t>());
  ASSERT_FALSE(decision_lines.empty());
  EXPECT_THAT(decision_lines[0], HasSubstr(",chosen_us,best_us,default_us"));
  EXPECT_EQ(decision_lines.size() - 1, json["problems"].get<size_t>());
  EXPECT_LE(json["samples_per_candidate"].get<double>(), 20);
  EXPECT_GT(json["samples_per_candidate"].get<double>(), 8);
  EXPECT_GT(json["oracle_fraction_geomean"].get<double>(),
            json["default_fraction_geomean"].get<double>());
  EXPECT_THAT(json["notes"].dump(), Not(HasSubstr("were not recorded")));
}

TEST_F(EvaluateQualityTest, APlanThatWasNotRecordedIsSaid) {
  // Its anchors are of another planner.
  ASSERT_EQ(Run({"evaluate", "--trace", kTrace, "--profile",
                 "--samples-per-candidate", "9"}),
            cli::kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("planned samples were not recorded"));
}

TEST_F(EvaluateQualityTest, ATraceIsNotFittedWhereItIsJudged) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() /
      ("evaluate_quality_test." + std::to_string(getpid()));
  std::filesystem::copy(kTrace, folder);
  std::ofstream(folder / "representative.csv")
      << "block_m,block_n,block_k,num_stages,num_warps,M,N,K,latency_us\n"
         "16,64,32,2,4,19,1536,7168,159\n";
  const int anchors = Run({"evaluate", "--trace", folder.string()});
  const int all =
      Run({"evaluate", "--trace", folder.string(), "--representative"});
  std::filesystem::remove_all(folder);
  EXPECT_EQ(anchors, cli::kExitOk);
  EXPECT_EQ(all, cli::kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("would be fitted to m=19 n=1536 k=7168"));
}

TEST_F(EvaluateQualityTest, WrongUseSaysWhatIsMissing) {
  EXPECT_EQ(Run({"evaluate", "--manifest", kTrace + "manifest.textproto"}),
            cli::kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--device is missing"));
  EXPECT_THAT(err_.str(), HasSubstr("--trace"));
  EXPECT_EQ(Run({"evaluate", "--trace", kTrace, "--anchors", "a.csv"}),
            cli::kExitUsage);
  EXPECT_EQ(Run({"evaluate", "--representative"}), cli::kExitUsage);
  EXPECT_EQ(Run({"evaluate", "--trace", "/no/such/trace"}), cli::kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("/no/such/trace/manifest.textproto"));
}

TEST_F(EvaluateQualityTest, SavesTheTableThatItJudged) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      ("evaluate_quality_test." + std::to_string(getpid()) + ".table");
  ASSERT_EQ(Evaluate({"--json", "--save-table", path.string()}), cli::kExitOk)
      << err_.str();
  std::ifstream file(path, std::ios::binary);
  const std::string payload{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  EXPECT_EQ(Sha256Hex(payload), cli::Json::parse(out_.str())["digest"]);
}

TEST_F(EvaluateQualityTest, ASmallerPortfolioIsStillGood) {
  ASSERT_EQ(Evaluate({"--json", "--portfolio", "8"}), cli::kExitOk)
      << err_.str();
  EXPECT_GE(
      cli::Json::parse(out_.str())["oracle_fraction_geomean"].get<double>(),
      0.96);
}

TEST_F(EvaluateQualityTest, PeopleGetTheSameFigures) {
  ASSERT_EQ(Evaluate(), cli::kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("of the best"));
  EXPECT_THAT(out_.str(), HasSubstr("worst problems"));
}

TEST_F(EvaluateQualityTest, AFileThatCannotBeWrittenIsNamed) {
  EXPECT_EQ(Evaluate({"--write-decisions", "/no/such/folder/d.csv"}),
            cli::kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("/no/such/folder/d.csv"));
}

TEST_F(EvaluateQualityTest, AMissingFileIsNamed) {
  EXPECT_EQ(Evaluate({}, "/no/such/file.csv"), cli::kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("/no/such/file.csv"));
}

}  // namespace
}  // namespace wavetune
