#include "cli/report/report_page.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/report/report_assets.h"
#include "cli/report/report_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/table/table_codec.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHostile[] = "</script><script>alert('&\"{{script}}\")</script>";

class ReportPageTest : public ::testing::Test {
 protected:
  void SetTable(const Table& table) {
    input_.table = CompiledTable::Create(EncodeTable(table).value()).value();
  }
  void SetUp() override {
    SetTable(wavetune::testing::TwoGroupTable());
    input_.device = "a GPU GPU-1";
    for (const Configuration& configuration :
         {Configuration{64, 2}, Configuration{128, 2}})
      input_.candidates.push_back({.candidate = {.configuration = configuration,
                                                 .tiles_per_wave = 100}});
    for (int64_t m = 64; m <= 640; m += 64) {
      input_.fitted.push_back(Measured({64, 2}, m, 10));
      input_.judged.push_back(Measured({64, 2}, m + 1, 10));
      input_.judged.push_back(Measured({128, 2}, m + 1, m == 128 ? 5 : 11));
    }
  }

  Sample Measured(const Configuration& configuration, int64_t m,
                  double latency_us) const {
    return {.configuration = configuration,
            .problem = {.extents = {m, 512, 512}},
            .latency_us = latency_us};
  }

  Json Report() const {
    auto json = ReportJson(input_, {});
    EXPECT_TRUE(json.ok()) << json.status();
    return *json;
  }

  // The data as a browser would read it: up to the first end tag.
  static Json DataOf(const std::string& page) {
    const std::string begin = "<script id=\"data\" type=\"application/json\">";
    const size_t from = page.find(begin) + begin.size();
    return Json::parse(page.substr(from, page.find("</", from) - from));
  }

  ReportInput input_;
};

TEST_F(ReportPageTest, HoldsWhatWasMeasuredAndJudged) {
  const Json part = Report()["specialisations"][0];
  EXPECT_EQ(part["samples"]["us"].size(), 30u);
  for (const auto& [name, column] : part["samples"].items())
    EXPECT_EQ(column.size(), 30u) << name;
  EXPECT_EQ(part["portfolio"], 3);
  EXPECT_EQ(part["candidates"].size(), 3u);
  EXPECT_EQ(part["default"], -1);
  const Json& judged = part["judged"]["problems"];
  ASSERT_EQ(judged.size(), 10u);
  EXPECT_EQ(part["problems"][judged[0]["problem"].get<size_t>()],
            "m=129 n=512 k=512");
  EXPECT_EQ(judged[0]["chosen"], Json({64, 2}));
  EXPECT_EQ(judged[0]["best"], Json({128, 2}));
  EXPECT_EQ(judged[0]["best_us"], 5);
  const Json& methods = part["judged"]["methods"];
  ASSERT_EQ(methods.size(), 2u);  // The default was measured nowhere.
  EXPECT_EQ(methods[0]["kind"], "table");
  EXPECT_EQ(methods[0]["worst"], 0.5);
  EXPECT_EQ(methods[0]["us"].size(), judged.size());
  EXPECT_EQ(methods[1]["kind"], "single");
  // Ten at L = 8 of the first row: fitted, and as many judged.
  ASSERT_FALSE(part["steps"].empty());
  EXPECT_EQ(part["steps"][0]["measured"].size(), 20u);
  EXPECT_EQ(part["steps"][0]["members"], Json({0, 2}));
  EXPECT_FALSE(part["maps"].empty());
}

TEST_F(ReportPageTest, EveryBaselineHasItsCurve) {
  Baseline& baseline = input_.baselines.emplace_back();
  baseline.name = kHostile;
  for (int64_t m = 65; m <= 641; m += 64)
    baseline.decisions.push_back(
        {.problem = {.extents = {m, 512, 512}}, .configuration = {128, 2}});
  const Json report = Report();
  const Json methods = report["specialisations"][0]["judged"]["methods"];
  ASSERT_EQ(methods.size(), 3u);
  const Json& other = methods[2];
  EXPECT_EQ(other["kind"], "baseline");
  EXPECT_EQ(other["name"], kHostile);
  // The worst of the table's is where this one is best.
  EXPECT_EQ(other["us"][0], 5);
  EXPECT_EQ(other["us"][1], 11);
  EXPECT_THAT(ReportPage(report), Not(HasSubstr(kHostile)));

  baseline.decisions.pop_back();
  const auto lacking = ReportJson(input_, {});
  EXPECT_THAT(std::string(lacking.status().message()),
              HasSubstr("no decision at m=641"));
}

TEST_F(ReportPageTest, EverySpecialisationHasItsPart) {
  Table table = wavetune::testing::TwoGroupTable();
  table.sub_tables.push_back(table.sub_tables[0]);
  table.sub_tables[0].specialisation = "causal";
  table.sub_tables[1].specialisation = "full";
  SetTable(table);
  for (Sample& sample : input_.fitted) sample.problem.specialisation = "full";
  const Json report = Report();
  ASSERT_EQ(report["specialisations"].size(), 2u);
  EXPECT_EQ(report["specialisations"][0]["name"], "causal");
  EXPECT_EQ(report["specialisations"][0]["samples"]["us"].size(), 0u);
  // Without a candidate of its own in the list, a member is the table's.
  EXPECT_EQ(report["specialisations"][1]["samples"]["us"].size(), 10u);
}

TEST_F(ReportPageTest, WithoutSamplesSaysSoAndShowsTheSteps) {
  input_.fitted.clear();
  input_.judged.clear();
  const Json report = Report();
  ASSERT_EQ(report["notes"].size(), 1u);
  EXPECT_THAT(report["notes"][0].get<std::string>(), HasSubstr("Nothing"));
  EXPECT_FALSE(report["specialisations"][0]["steps"].empty());
  EXPECT_TRUE(report["specialisations"][0]["maps"].empty());
  EXPECT_THAT(ReportPage(report), HasSubstr("</html>"));
}

TEST_F(ReportPageTest, NamesCannotLeaveTheirPlace) {
  Json report = Report();
  for (const char* field : {"kernel", "device", "source"})
    report[field] = kHostile;
  report["parameters"][0] = "<!--";
  report["notes"].push_back("\xff is no UTF-8");
  const std::string page = ReportPage(report);
  EXPECT_THAT(page, Not(HasSubstr(kHostile)));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script&gt;&lt;script&gt;"));
  const Json data = DataOf(page);
  EXPECT_EQ(data["kernel"], kHostile);
  EXPECT_EQ(data["parameters"][0], "<!--");
  EXPECT_EQ(data["specialisations"], report["specialisations"]);
}

TEST_F(ReportPageTest, LoadsNothing) {
  const std::string page = ReportPage(Report());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  // The library names its homepage in a comment, nothing more.
  for (const char* loader :
       {"src=", "<link", "<img", "<iframe", "@import", "url(", "XMLHttpRequest",
        "WebSocket", "EventSource", "sendBeacon", "importScripts", "fetch("})
    EXPECT_THAT(page, Not(HasSubstr(loader)));
  for (const absl::string_view own :
       {report_assets::kPage, report_assets::kStyle, report_assets::kScript})
    EXPECT_FALSE(absl::StrContains(own, "://"));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
}

TEST_F(ReportPageTest, KeepsTheLicenceOfTheLibrary) {
  const std::string page = ReportPage(Report());
  EXPECT_THAT(page, HasSubstr("Chart.js Contributors"));
  EXPECT_THAT(page, HasSubstr("Permission is hereby granted"));
}

// Raw text in a script element ends at the first end tag.
TEST_F(ReportPageTest, ScriptsDoNotEndEarly) {
  for (const absl::string_view script :
       {report_assets::kScript, report_assets::kLibrary}) {
    EXPECT_FALSE(absl::StrContains(script, "</script"));
    EXPECT_FALSE(absl::StrContains(script, "<!--"));
  }
  EXPECT_FALSE(absl::StrContains(report_assets::kStyle, "</"));
}

}  // namespace
}  // namespace wavetune::cli
