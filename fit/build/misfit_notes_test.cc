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

constexpr int64_t kCacheBytes = 16 << 20;

// Times the launch of `sample` by more or less than the device has it.
using Distortion = std::function<double(const Sample& sample)>;

// The notes of a fit that say what it does not follow. Each latency but for the
// launch cost is multiplied by what `distortion` says.
std::vector<std::string> Misfits(KernelSpec spec, const Distortion& distortion,
                                 SyntheticDeviceOptions options = {}) {
  const SyntheticDevice device(std::move(spec), options);
  ProfileInput input = device.Input();
  input.device.last_level_cache_bytes = kCacheBytes;
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
              ::testing::AnyOf(HasSubstr("the number of m elements"),
                               HasSubstr("reads cold")));
}

TEST(MisfitNotesTest, APassiveDimensionIsNamed) {
  KernelSpec spec = testing::CausalAttentionSpec();
  AskFor({{1, 3, 8}, {32}, {1, 2, 4, 8}, {64, 192, 512, 1024}, {512, 2048}},
         spec);
  const auto by_heads = [](const Sample& sample) {
    return 0.5 + 0.125 * static_cast<double>(sample.problem.extents[2]);
  };
  const std::vector<std::string> misfits = Misfits(spec, by_heads);
  ASSERT_FALSE(misfits.empty());
  EXPECT_THAT(misfits[0], HasSubstr("does not follow kv_heads"));
}

TEST(MisfitNotesTest, ASlowPathForOddExtentsIsNamed) {
  KernelSpec spec = testing::GemmSpec();
  AskFor({{1, 16, 48, 64, 256, 1024},
          {576, 1501, 2048, 2999, 4096, 4501},
          {576, 2560}},
         spec);
  const auto by_alignment = [](const Sample& sample) {
    return sample.problem.extents[1] % 4 == 0 ? 1.0 : 2.0;
  };
  const std::vector<std::string> misfits = Misfits(spec, by_alignment);
  ASSERT_FALSE(misfits.empty());
  EXPECT_THAT(misfits[0], HasSubstr("the power of two that divides n"));
}

TEST(MisfitNotesTest, AStepBeyondTheCacheIsNamed) {
  const auto by_cache = [](const Sample& sample) {
    const auto& e = sample.problem.extents;
    const int64_t bytes = 4 * (e[0] * e[2] + e[1] * e[2] + e[0] * e[1]);
    return bytes > kCacheBytes ? 3.0 : 1.0;
  };
  KernelSpec spec = testing::GemmSpec();
  AskFor({{64, 192, 320, 512, 704, 1024, 1408},
          {768, 1024, 1536, 2048},
          {1024, 1536, 2048}},
         spec);
  const std::vector<std::string> misfits = Misfits(spec, by_cache);
  ASSERT_FALSE(misfits.empty());
  EXPECT_THAT(misfits[0], AllOf(HasSubstr("the bytes of all its buffers"),
                                HasSubstr("last-level cache")));
}

}  // namespace
}  // namespace wavetune
