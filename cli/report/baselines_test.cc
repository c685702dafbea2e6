#include "cli/report/baselines.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/table/table_codec.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ArgumentFault(const std::vector<std::string>& arguments) {
  return std::string(ParseBaselineArguments(arguments).status().message());
}

TEST(BaselineArgumentsTest, AreNamesAndFiles) {
  const auto files =
      ParseBaselineArguments({"decision tree=a.csv", "other=b=c.csv"});
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[0].name, "decision tree");
  EXPECT_EQ((*files)[0].path, "a.csv");
  // A file's name may hold anything, a baseline's no '='.
  EXPECT_EQ((*files)[1].name, "other");
  EXPECT_EQ((*files)[1].path, "b=c.csv");
}

TEST(BaselineArgumentsTest, OtherFormsAndNamesTwiceAreRefused) {
  for (const char* wrong : {"tree.csv", "=tree.csv", "tree=", ""})
    EXPECT_THAT(ArgumentFault({wrong}), HasSubstr("NAME=FILE")) << wrong;
  EXPECT_THAT(ArgumentFault({"tree=a.csv", "tree=b.csv"}),
              HasSubstr("two methods \"tree\""));
  for (const char* own :
       {kChosenByTable, kBestSingleConfiguration, kDefaultConfiguration})
    EXPECT_THAT(ArgumentFault({absl::StrCat(own, "=a.csv")}),
                HasSubstr("by itself"));
}

// A GEMM over m, n, k with the candidates {64, 2} and {128, 2}; {32, 1} does
// not compile.
class BaselinesTest : public ::testing::Test {
 protected:
  BaselinesTest() {
    input_.table = CompiledTable::Create(
                       EncodeTable(wavetune::testing::TwoGroupTable()).value())
                       .value();
    for (const Configuration& configuration : {kOne, kOther, kExcluded})
      input_.candidates.push_back(
          {.candidate = {.configuration = configuration}});
    input_.candidates[2].candidate.excluded_reason = "does not compile";
  }

  const Table& table() const { return input_.table->table(); }

  // Writes the lines below a header, and reads them.
  absl::StatusOr<std::vector<Baseline>> Read(const std::string& lines) {
    std::ofstream(path_) << "m,n,k," << table().parameters[0] << ","
                         << table().parameters[1] << "\n"
                         << lines;
    return ReadBaselines({{.name = "tree", .path = path_}}, input_);
  }

  absl::StatusOr<std::vector<double>> Judge(const std::string& lines) {
    const auto baselines = Read(lines);
    EXPECT_TRUE(baselines.ok()) << baselines.status();
    const std::vector<Problem> problems = {{.extents = {1, 2, 3}},
                                           {.extents = {4, 5, 6}}};
    const std::vector<MeasuredLatencies> latencies = {
        {{kOne, 10}, {kOther, 20}}, {{kOne, 30}}};
    return BaselineLatencies(
        baselines->front(), table(), "",
        {{&problems[0], &latencies[0]}, {&problems[1], &latencies[1]}});
  }

  const Configuration kOne = {64, 2};
  const Configuration kOther = {128, 2};
  const Configuration kExcluded = {32, 1};
  ReportInput input_;
  const wavetune::testing::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/tree.csv";
};

TEST_F(BaselinesTest, LatenciesAreInTheOrderOfTheProblems) {
  const auto latencies = Judge("4,5,6,64,2\n1,2,3,128,2\n");
  ASSERT_TRUE(latencies.ok()) << latencies.status();
  EXPECT_THAT(*latencies, ElementsAre(20, 30));
}

TEST_F(BaselinesTest, OfAnotherSpecialisationNothingIsAsked) {
  auto baselines = Read("1,2,3,64,2\n");
  ASSERT_TRUE(baselines.ok()) << baselines.status();
  const auto latencies =
      BaselineLatencies(baselines->front(), table(), "causal", {});
  ASSERT_TRUE(latencies.ok()) << latencies.status();
  EXPECT_TRUE(latencies->empty());
}

TEST_F(BaselinesTest, AnUnknownOrExcludedConfigurationIsNamedWithItsLine) {
  EXPECT_THAT(
      std::string(
          Read("1,2,3,64,2\n4,5,6,65,2\n7,8,9,32,1\n").status().message()),
      AllOf(HasSubstr(path_), HasSubstr("baseline \"tree\""),
            HasSubstr(absl::StrCat("line 3: ", table().parameters[0], "=65")),
            HasSubstr(absl::StrCat("line 4: ", table().parameters[0], "=32")),
            HasSubstr("no candidate"), Not(HasSubstr("line 2"))));
}

TEST_F(BaselinesTest, AFileThatCannotBeReadIsNamed) {
  EXPECT_THAT(
      std::string(
          ReadBaselines({{.name = "tree", .path = "/no/such.csv"}}, input_)
              .status()
              .message()),
      HasSubstr("/no/such.csv"));
  EXPECT_THAT(std::string(Read("1,2,3,64\n").status().message()),
              AllOf(HasSubstr(path_), HasSubstr("line 2")));
}

TEST_F(BaselinesTest, EveryJudgedProblemIsDecidedAndNoOther) {
  EXPECT_THAT(
      std::string(Judge("1,2,3,64,2\n7,8,9,64,2\n").status().message()),
      AllOf(HasSubstr(path_),
            HasSubstr("line 3: m=7 n=8 k=9 is not judged in this report"),
            HasSubstr("no decision at m=4 n=5 k=6, which is judged")));
}

TEST_F(BaselinesTest, AChoiceThatWasNotMeasuredThereIsRefused) {
  EXPECT_THAT(
      std::string(Judge("1,2,3,64,2\n4,5,6,128,2\n").status().message()),
      AllOf(HasSubstr("line 3: "),
            HasSubstr("was not measured at m=4 n=5 k=6")));
}

TEST_F(BaselinesTest, OfManyFaultsTheFirstAreShown) {
  std::string lines;
  for (int m = 100; m < 120; ++m) absl::StrAppend(&lines, m, ",1,1,65,2\n");
  EXPECT_THAT(std::string(Read(lines).status().message()),
              AllOf(HasSubstr("line 11"), Not(HasSubstr("line 12")),
                    HasSubstr("and 10 more")));
}

// m = 1 and m = 9 of one layer have different winners; k = 30 is another layer.
TEST_F(BaselinesTest, RulesAreTunedByTheSameMeasurements) {
  const auto sample = [](int64_t m, int64_t k, const Configuration& of,
                         double us) {
    Sample result;
    result.problem = {.extents = {m, 2, k}};
    result.configuration = of;
    result.latency_us = us;
    return result;
  };
  input_.judged = {sample(1, 3, kOne, 10),  sample(1, 3, kOther, 40),
                   sample(9, 3, kOne, 90),  sample(9, 3, kOther, 10),
                   sample(1, 30, kOne, 10), sample(1, 30, kOther, 20)};
  // The nearest of m = 9 was measured with one candidate alone.
  input_.held_out = {sample(2, 3, kOne, 1), sample(2, 3, kOther, 2),
                     sample(9, 4, kOther, 1)};
  const std::vector<Baseline> rules = TunedRules(input_);
  ASSERT_EQ(rules.size(), 3u);
  const Problem large{.extents = {9, 2, 3}};
  EXPECT_DOUBLE_EQ(rules[0].latencies_us.at(large), 90);
  // Of both firsts of the layer; then of all three.
  EXPECT_NEAR(rules[1].latencies_us.at(large), 30, 1e-9);
  EXPECT_NEAR(rules[2].latencies_us.at(large), 43.267, 1e-3);
  EXPECT_THAT(rules[1].name, HasSubstr("no m in its key"));
  const MeasuredLatencies there;
  const auto judged =
      BaselineLatencies(rules[1], table(), "", {{&large, &there}});
  ASSERT_TRUE(judged.ok()) << judged.status();
  EXPECT_THAT(*judged, ElementsAre(rules[1].latencies_us.at(large)));
}

}  // namespace
}  // namespace wavetune::cli
