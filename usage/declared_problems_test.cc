#include "usage/declared_problems.h"

#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

WeightedProblem Declared(int64_t m, double weight,
                         const std::string& specialisation = "") {
  return {.problem = {.extents = {m, 64, 64}, .specialisation = specialisation},
          .weight = weight};
}

std::vector<WeightedProblem> Layer(int count) {
  std::vector<WeightedProblem> layer;
  for (int i = 1; i <= count; ++i) layer.push_back(Declared(i, 1.0 / count));
  return layer;
}

double WeightOf(const std::vector<WeightedProblem>& problems) {
  return std::accumulate(
      problems.begin(), problems.end(), 0.0,
      [](double sum, const WeightedProblem& w) { return sum + w.weight; });
}

TEST(DeclaredProblemsTest, LayersStandOneBehindTheOther) {
  const auto declared =
      DeclaredProblems(testing::GemmSpec(), {Layer(2), Layer(3)});
  ASSERT_EQ(declared.size(), 5u);
  EXPECT_EQ(declared[0], Declared(1, 0.5));
  EXPECT_DOUBLE_EQ(WeightOf(declared), 2);
}

TEST(DeclaredProblemsTest, WhatIsMeantForAllIsOfEachSpecialisation) {
  KernelSpec spec = testing::GemmSpec();
  spec.specialisations = {{.name = "a"}, {.name = "b"}};
  const auto declared =
      DeclaredProblems(spec, {{Declared(7, 1), Declared(8, 1, "b")}});
  EXPECT_THAT(declared, ::testing::ElementsAre(Declared(7, 0.5, "a"),
                                               Declared(7, 0.5, "b"),
                                               Declared(8, 1, "b")));
}

TEST(DeclaredProblemsTest, ManyLayersKeepFewerProblemsEachAndTheirWeight) {
  const std::vector<std::vector<WeightedProblem>> layers(100, Layer(20));
  const auto declared = DeclaredProblems(testing::GemmSpec(), layers);
  EXPECT_EQ(declared.size(), 500u);  // Every fourth.
  EXPECT_NEAR(WeightOf(declared), 100, 1e-9);
}

TEST(DeclaredProblemsTest, ThereAreNeverTooMany) {
  const std::vector<std::vector<WeightedProblem>> layers(2000, Layer(3));
  EXPECT_EQ(DeclaredProblems(testing::GemmSpec(), layers).size(),
            kMostDeclaredProblems);
  EXPECT_TRUE(DeclaredProblems(testing::GemmSpec(), {}).empty());
}

TEST(DeclaredProblemsTest, OnlyWhatCanBeMeasuredJoinsTheAuthors) {
  KernelSpec spec = testing::GemmSpec();
  spec.own["x"] = std::make_shared<const KernelSpec>(spec);
  const size_t before = spec.representative_problems.size();
  const KernelSpec with = WithDeclared(
      spec, {Declared(3, 1), Declared(0, 1), Declared(5, 1, "nobody")}, "GPU");
  ASSERT_EQ(with.representative_problems.size(), before + 1);
  EXPECT_EQ(with.representative_problems.back().problem,
            Declared(3, 1).problem);
  EXPECT_EQ(with.own.at("x")->representative_problems.size(), before + 1);
  EXPECT_EQ(spec.own.at("x")->representative_problems.size(), before);
}

// An author of experts names a hundred problems one by one, each of which
// weighs as much as another's grid: beside them a model would be nothing.
TEST(DeclaredProblemsTest, TogetherTheyWeighAsMuchAsTheAuthors) {
  KernelSpec spec = testing::GemmSpec();
  spec.specialisations = {{.name = "a"}, {.name = "b"}};
  spec.representative_problems = {Declared(1, 40, "a"), Declared(2, 2)};
  const KernelSpec with = WithDeclared(
      spec, {Declared(3, 1, "a"), Declared(5, 2, "a"), Declared(3, 1, "b")},
      "GPU");
  EXPECT_THAT(with.representative_problems,
              ::testing::ElementsAre(Declared(1, 40, "a"), Declared(2, 2),
                                     Declared(3, 14, "a"), Declared(5, 28, "a"),
                                     Declared(3, 2, "b")));
}

TEST(DeclaredProblemsTest, OfEnginesFilesThoseForTheDeviceJoin) {
  WeightedProblem declared = Declared(3, 1);
  const Rival own{"vllm's file", {1}, "GPU"};
  declared.rivals = {{"vllm's file", {2}, "another"}, own};
  const std::vector<std::vector<WeightedProblem>> layers = {{declared}};
  const KernelSpec spec = testing::GemmSpec();
  const KernelSpec with =
      WithDeclared(spec, DeclaredProblems(spec, layers), "GPU");
  EXPECT_THAT(with.representative_problems.back().rivals,
              ::testing::ElementsAre(own));
}

TEST(DeclaredProblemsTest, FewSayTooLittleWhereTheAuthorNamesNone) {
  KernelSpec spec = testing::GemmSpec();
  spec.representative_problems.clear();
  const auto joined = [&](int count) {
    return WithDeclared(spec, Layer(count), "GPU")
        .representative_problems.size();
  };
  EXPECT_EQ(joined(7), 0u);
  EXPECT_EQ(joined(8), 8u);
}

}  // namespace
}  // namespace wavetune
