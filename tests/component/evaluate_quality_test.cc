// `wavetune evaluate` on the committed H200 trace: what a fit from recorded
// anchors is worth, and that it is the same every time.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "client/cli/command_line.h"
#include "client/cli/exit_code.h"
#include "client/cli/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/digest.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

const std::string kTrace =
    std::string(WAVETUNE_SOURCE_DIR) + "/tests/data/h200_triton_gemm/";

class EvaluateQualityTest : public ::testing::Test {
 protected:
  int Evaluate(const std::vector<std::string>& more = {},
               const std::string& exhaustive = kTrace + "exhaustive.csv.gz") {
    out_.str("");
    err_.str("");
    cli::CommandContext context;
    context.out = &out_;
    context.err = &err_;
    std::vector<std::string> arguments = {"evaluate",
                                          "--manifest",
                                          kTrace + "manifest.textproto",
                                          "--device",
                                          kTrace + "device.textproto",
                                          "--anchors",
                                          kTrace + "anchors.csv.gz",
                                          "--exhaustive",
                                          exhaustive};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return cli::RunCommandLine(arguments, context);
  }

  std::ostringstream out_;
  std::ostringstream err_;
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

TEST_F(EvaluateQualityTest, AMissingFileIsNamed) {
  EXPECT_EQ(Evaluate({}, "/no/such/file.csv"), cli::kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("/no/such/file.csv"));
}

}  // namespace
}  // namespace wavetune
