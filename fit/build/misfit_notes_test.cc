// Kernels whose latency goes with something that their mapping does not say:
// the fit names it. Others get no note.
#include "fit/build/misfit_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "fit/build/fit_table.h"
#include "fit/plan/plan_next.h"
#include "fit/testing/synthetic_device.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SyntheticDevice;
using testing::SyntheticDeviceOptions;

// Times the launch of `sample` by more or less than the device has it.
using Distortion = std::function<double(const Sample& sample)>;

// The notes of a fit that say what it does not follow. Each latency but for the
// launch cost is multiplied by what `distortion` says.
std::vector<std::string> Misfits(KernelSpec spec, const Distortion& distortion,
                                 SyntheticDeviceOptions options = {}) {
  const SyntheticDevice device(std::move(spec), options);
  ProfileInput input = device.Input();
  constexpr double kLaunchUs = 4;
  for (ProfileStep step = PlanNext(input); !step.items.empty();
       step = PlanNext(input)) {
    for (const MeasureItem& item : step.items) {
      Sample& sample = input.samples.emplace_back(device.Measure(item));
      sample.latency_us =
          kLaunchUs + (sample.latency_us - kLaunchUs) * distortion(sample);
    }
  }
  std::vector<std::string> misfits;
  const FitResult fit = FitTable(input).value();
  for (const std::string& note : fit.report.notes) {
    if (absl::StrContains(note, "the fit does not follow"))
      misfits.push_back(note);
  }
  return misfits;
}

double AsIs(const Sample&) { return 1; }

// Problems as clients ask for them: some dozens, of all sizes.
void AskFor(const std::vector<std::vector<int64_t>>& extents,
            KernelSpec& spec) {
  std::vector<Problem> grid = {{}};
  for (const std::vector<int64_t>& axis : extents) {
    std::vector<Problem> longer;
    for (const Problem& problem : grid) {
      for (const int64_t extent : axis) {
        longer.push_back(problem);
        longer.back().extents.push_back(extent);
      }
    }
    grid = std::move(longer);
  }
  spec.representative_problems.clear();
  for (Problem& problem : grid) {
    spec.representative_problems.push_back({.problem = std::move(problem)});
  }
}

KernelSpec AskedGemm(WaveForm form = WaveForm::kSum) {
  KernelSpec spec = testing::GemmSpec(form);
  AskFor({{1,  3,  7,  12,  18,  20,  28,  35,  42,  50,
           66, 75, 90, 110, 130, 150, 200, 260, 400, 1000},
          {576, 1536, 4096},
          {576, 2560}},
         spec);
  return spec;
}

KernelSpec AskedGroupedGemm() {
  KernelSpec spec = testing::GroupedGemmSpec();
  AskFor({{0}, {768, 1024, 1536}, {512, 1024, 2048}}, spec);
  const std::vector<WeightedProblem> shapes = spec.representative_problems;
  spec.representative_problems.clear();
  for (const auto& [elements, rows] :
       std::vector<std::pair<size_t, int64_t>>{{1, 64},
                                               {8, 8},
                                               {64, 1},
                                               {2, 320},
                                               {32, 20},
                                               {16, 128},
                                               {64, 64},
                                               {4, 16},
                                               {1, 640}}) {
    for (const WeightedProblem& shape : shapes) {
      spec.representative_problems.push_back(shape);
      spec.representative_problems.back().problem.repeated =
          std::vector<int64_t>(elements, rows);
    }
  }
  return spec;
}

double FillOf(int64_t extent, int64_t tile) {
  return static_cast<double>(extent) /
         static_cast<double>(Waves(extent, tile) * tile);
}

TEST(MisfitNotesTest, AFitThatFollowsGivesNone) {
  for (const WaveForm form : {WaveForm::kSum, WaveForm::kOverlap}) {
    EXPECT_THAT(Misfits(AskedGemm(form), AsIs), IsEmpty());
  }
  EXPECT_THAT(Misfits(AskedGemm(), AsIs, {.noise = 0.2}), IsEmpty());
  EXPECT_THAT(Misfits(testing::GemmSpec(), AsIs), IsEmpty());
  EXPECT_THAT(Misfits(AskedGroupedGemm(), AsIs), IsEmpty());
  EXPECT_THAT(Misfits(testing::CausalAttentionSpec(), AsIs), IsEmpty());
}

TEST(MisfitNotesTest, RowsThatAKernelSkipsAreNamed) {
  const auto by_rows = [](const Sample& sample) {
    return FillOf(sample.problem.extents[0], sample.configuration[0]);
  };
  const std::vector<std::string> misfits = Misfits(AskedGemm(), by_rows);
  ASSERT_FALSE(misfits.empty());
  EXPECT_THAT(misfits[0],
              AllOf(HasSubstr("does not follow how full tiles are along m"),
                    HasSubstr("times what the model says"),
                    HasSubstr("counts in total_iterations what it does: m "
                              "itself")));
}

TEST(MisfitNotesTest, StepsThatAKernelSkipsAreNamed) {
  KernelSpec spec = testing::GemmSpec();
  AskFor({{256, 1024, 4096},
          {1024, 4096},
          {32, 64, 96, 160, 200, 280, 320, 530, 600, 1050}},
         spec);
  spec.parameters[2].values = {512, 1024};
  spec.default_configuration = {64, 32, 512, 2, 1};
  const auto by_steps = [](const Sample& sample) {
    return FillOf(sample.problem.extents[2], sample.configuration[2]);
  };
  const std::vector<std::string> misfits = Misfits(spec, by_steps);
  ASSERT_FALSE(misfits.empty());
  EXPECT_THAT(misfits[0], HasSubstr("how full tiles are along k"));
}

TEST(MisfitNotesTest, WeightsOfEachElementAreNamed) {
  // Every element reads weights of its own, whatever its tiles.
  const auto by_weights = [](const Sample& sample) {
    const auto elements = static_cast<double>(sample.problem.repeated.size());
    const double tiles = static_cast<double>(
        MapProblem(testing::GroupedGemmSpec().mapping, sample.problem.View(),
                   sample.configuration)
            .tiles);
    const double columns = static_cast<double>(
        Waves(sample.problem.extents[1], sample.configuration[1]));
    return 0.2 + elements * columns / tiles;
  };
  const std::vector<std::string> misfits =
      Misfits(AskedGroupedGemm(), by_weights);
  ASSERT_FALSE(misfits.empty());
  EXPECT_THAT(misfits[0],
              AllOf(HasSubstr("the bytes of b that it reads cold"),
                    HasSubstr("times what is usual of a configuration"),
                    HasSubstr("name representative_problems")));
}

TEST(MisfitNotesTest, ALongestLoopThatIsNotCountedIsNamed) {
  KernelSpec spec = testing::CausalAttentionSpec();
  AskFor({{1, 2}, {8, 32}, {8}, {64, 192, 512, 1024, 2048}, {64, 192, 1024}},
         spec);
  const Mapping mapping = *spec.specialisations[1].mapping;
  const auto by_tail = [mapping](const Sample& sample) {
    if (sample.problem.specialisation.empty()) return 1.0;
    const Coordinates at =
        MapProblem(mapping, sample.problem.View(), sample.configuration);
    return static_cast<double>(at.longest_loop) / at.iterations;
  };
  const std::vector<std::string> misfits = Misfits(spec, by_tail);
  ASSERT_FALSE(misfits.empty());
  EXPECT_THAT(misfits[0], HasSubstr("longest loop"));
}

}  // namespace
}  // namespace wavetune
