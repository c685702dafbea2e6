// `wavetune report` on a committed trace: it must say what `wavetune evaluate`
// says.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command_line_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/source_paths.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;

constexpr char kTrace[] = WAVETUNE_SOURCE_DIR "/tests/data/h200_triton_gemm";

class ReportTest : public CommandLineFixture {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  // What the page's scripts read.
  Json Data() const {
    std::ifstream file(path_, std::ios::binary);
    const std::string page(std::istreambuf_iterator<char>(file), {});
    const std::string begin = "<script id=\"data\" type=\"application/json\">";
    const size_t from = page.find(begin) + begin.size();
    return Json::parse(page.substr(from, page.find("</", from) - from));
  }

  static Json Method(const Json& judged, const std::string& kind) {
    for (const Json& method : judged["methods"]) {
      if (method["kind"] == kind) return method;
    }
    ADD_FAILURE() << "no method " << kind;
    return {};
  }

  const std::string path_ =
      absl::StrCat(::testing::TempDir(), "report_test.", getpid(), ".html");
};

TEST_F(ReportTest, SaysWhatEvaluateSays) {
  ASSERT_EQ(Run({"evaluate", "--trace", kTrace, "--json"}), kExitOk)
      << err_.str();
  const Json evaluated = Json::parse(out_.str());
  ASSERT_EQ(Run({"report", "--trace", kTrace, "--all-anchors", "--out", path_}),
            kExitOk)
      << err_.str();
  const Json report = Data();
  EXPECT_EQ(report["digest"], evaluated["digest"]);
  EXPECT_EQ(report["samples_fitted"], evaluated["samples"]);
  const Json& part = report["specialisations"][0];
  const Json& judged = part["judged"];
  ASSERT_EQ(judged["problems"].size(), evaluated["problems"]);
  const Json chosen = Method(judged, "table");
  // Five digits are kept.
  EXPECT_NEAR(chosen["geomean"], evaluated["oracle_fraction_geomean"], 1e-5);
  EXPECT_NEAR(chosen["p5"], evaluated["oracle_fraction_p5"], 1e-5);
  EXPECT_NEAR(chosen["worst"], evaluated["oracle_fraction_min"], 1e-5);
  EXPECT_NEAR(Method(judged, "default")["geomean"],
              evaluated["default_fraction_geomean"], 1e-5);
  const Json& worst = judged["problems"][0];
  EXPECT_NEAR(worst["best_us"].get<double>() / worst["chosen_us"].get<double>(),
              chosen["worst"], 1e-3);
  // Every chart has something to show.
  EXPECT_GT(part["maps"].size(), 1u);
  EXPECT_EQ(part["maps"][0]["x"]["name"], "m");
  size_t points = 0;
  for (const Json& curve : part["steps"]) points += curve["measured"].size();
  EXPECT_GT(points, 100u);
  EXPECT_GT(part["samples"]["us"].size(), 25'000u);
}

// What evaluate writes is what the table chooses: as a baseline it is level
// with the table everywhere.
TEST_F(ReportTest, DecisionsOfEvaluateAreABaseline) {
  const std::string decisions = path_ + ".csv";
  ASSERT_EQ(
      Run({"evaluate", "--trace", kTrace, "--write-decisions", decisions}),
      kExitOk)
      << err_.str();
  ASSERT_EQ(Run({"report", "--trace", kTrace, "--all-anchors", "--baseline",
                 "itself=" + decisions, "--out", path_}),
            kExitOk)
      << err_.str();
  std::filesystem::remove(decisions);
  const Json judged = Data()["specialisations"][0]["judged"];
  const Json table = Method(judged, "table");
  const Json itself = Method(judged, "baseline");
  EXPECT_EQ(itself["name"], "itself");
  EXPECT_EQ(itself["us"], table["us"]);
  EXPECT_EQ(itself["geomean"], table["geomean"]);
  EXPECT_LT(Method(judged, "single")["geomean"], table["geomean"]);
}

TEST_F(ReportTest, ATraceOfAnotherTunerSaysHowToFitIt) {
  EXPECT_EQ(Run({"report", "--trace", kTrace, "--out", path_}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("--all-anchors"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace wavetune::cli
