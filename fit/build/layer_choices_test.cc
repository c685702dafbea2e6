#include "fit/build/layer_choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "fit/build/fit_table.h"
#include "fit/profile.h"
#include "fit/testing/synthetic_device.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_check.h"
#include "model/table/table_codec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A GEMM of two layers, n = 1536 and 4096, with every candidate measured at
// their representative problems.
class LayerChoicesTest : public ::testing::Test {
 protected:
  static constexpr int64_t kLeast = 16;
  static constexpr int64_t kMost = 4096;

  LayerChoicesTest() : device_(Spec(), {.noise = 0}) {
    input_ = Profile(device_, device_.Input());
    for (const Candidate& candidate : input_.candidates[0]) {
      for (const WeightedProblem& w : device_.spec().representative_problems) {
        const Sample sample =
            device_.Measure({candidate.configuration, w.problem});
        const bool there =
            std::any_of(input_.samples.begin(), input_.samples.end(),
                        [&](const Sample& other) {
                          return other.configuration == sample.configuration &&
                                 other.problem == sample.problem;
                        });
        if (!there) input_.samples.push_back(sample);
      }
    }
  }

  static KernelSpec Spec() {
    KernelSpec spec = testing::GemmSpec(WaveForm::kOverlap);
    spec.representative_problems.clear();
    for (const int64_t n : {1536, 4096}) {
      for (const int64_t m : {kLeast, int64_t{100}, int64_t{400}, kMost}) {
        spec.representative_problems.push_back(
            {.problem = {.extents = {m, n, 2560}}});
      }
    }
    return spec;
  }

  Table Fit() const { return FitTable(input_).value().table; }

  // Multiplies what a candidate took at problems of one n.
  void Scale(const Configuration& configuration, int64_t n, double factor) {
    for (Sample& sample : input_.samples) {
      if (sample.configuration != configuration ||
          sample.problem.extents[1] != n) {
        continue;
      }
      sample.latency_us *= factor;
    }
  }

  static Configuration Chosen(const Table& table, int64_t m, int64_t n) {
    const auto compiled = CompiledTable::Create(EncodeTable(table).value());
    return (*compiled)
        ->Resolve(0, Problem{.extents = {m, n, 2560}}.View())
        .configuration;
  }

  // BLOCK_M, BLOCK_N and BLOCK_K.
  static std::vector<int64_t> TileOf(const Configuration& configuration) {
    return {configuration[0], configuration[1], configuration[2]};
  }

  testing::SyntheticDevice device_;
  ProfileInput input_;
};

TEST_F(LayerChoicesTest, EveryMeasuredLayerHasSpansOverWhatWasMeasured) {
  const Table table = Fit();
  const std::vector<LayerChoices>& layers = table.sub_tables[0].layers;
  ASSERT_THAT(layers, SizeIs(2));
  EXPECT_THAT(layers[0].extents, ElementsAre(0, 1536, 2560));
  EXPECT_THAT(layers[1].extents, ElementsAre(0, 4096, 2560));
  for (const LayerChoices& layer : layers) {
    EXPECT_EQ(layer.first, kLeast);
    EXPECT_EQ(layer.spans.back().last, kMost);
    for (size_t i = 1; i < layer.spans.size(); ++i) {
      EXPECT_NE(layer.spans[i - 1].group, layer.spans[i].group);
    }
  }
}

TEST_F(LayerChoicesTest, WhoIsSlowInOneLayerLosesThereAndNowhereElse) {
  const Table before = Fit();
  const Configuration winner = Chosen(before, 120, 4096);
  // Too little to move the model, which would choose it again.
  Scale(winner, 4096, 1.1);
  const Table table = Fit();
  Table without = table;
  without.sub_tables[0].layers.clear();
  EXPECT_EQ(TileOf(Chosen(without, 120, 4096)), TileOf(winner));
  EXPECT_NE(Chosen(table, 120, 4096), winner);
  EXPECT_EQ(Chosen(table, 120, 1536), Chosen(before, 120, 1536));
}

TEST_F(LayerChoicesTest, OutsideOfWhatWasMeasuredTheRanksDecide) {
  const Table table = Fit();
  Table without = table;
  without.sub_tables[0].layers.clear();
  for (const int64_t m : {int64_t{1}, kLeast - 1, kMost + 1}) {
    EXPECT_EQ(Chosen(table, m, 4096), Chosen(without, m, 4096)) << m;
  }
}

TEST_F(LayerChoicesTest, OnlySoManyLayersAsWantedTheHeaviestOnes) {
  input_.representative_problems = device_.spec().representative_problems;
  for (WeightedProblem& w : input_.representative_problems) {
    if (w.problem.extents[1] == 4096) w.weight = 3;
  }
  const ProfileState state = MakeProfileState(input_).value();
  const SubTable sub = Fit().sub_tables[0];
  const auto choose = [&](size_t most) {
    return ChooseForLayers(*input_.spec, state.specialisations[0], sub, 0,
                           most);
  };
  EXPECT_THAT(choose(0), IsEmpty());
  ASSERT_THAT(choose(1), SizeIs(1));
  EXPECT_EQ(choose(1)[0].extents[1], 4096);
  EXPECT_THAT(choose(9), SizeIs(2));
}

TEST_F(LayerChoicesTest, WithoutRepresentativeMeasurementsThereAreNone) {
  std::erase_if(input_.samples, [&](const Sample& sample) {
    return std::any_of(
        device_.spec().representative_problems.begin(),
        device_.spec().representative_problems.end(),
        [&](const WeightedProblem& w) { return w.problem == sample.problem; });
  });
  EXPECT_THAT(Fit().sub_tables[0].layers, IsEmpty());
}

// The heaviest stay.
TEST(LayersOfLargeTablesTest, GiveWayToThePayloadsLimit) {
  KernelSpec spec = testing::CausalAttentionSpec();
  spec.wave_form = WaveForm::kOverlap;
  spec.representative_problems.clear();
  for (const char* const name :
       {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"}) {
    spec.specialisations.push_back(spec.specialisations[0]);
    spec.specialisations.back().name = name;
    spec.specialisations.back().defines["CAUSAL"] = name;
  }
  for (const Specialisation& specialisation : spec.specialisations) {
    for (int64_t i = 1; i <= 250; ++i) {
      for (const int64_t seq_q : {64, 150, 350, 1000, 4000}) {
        spec.representative_problems.push_back(
            {.problem = {.extents = {2, 16, 4, seq_q, 8192 + 64 * i},
                         .repeated = {},
                         .specialisation = specialisation.name},
             .weight = static_cast<double>(i)});
      }
    }
  }
  const testing::SyntheticDevice device(std::move(spec), {.noise = 0.3});
  ProfileInput input = device.Input();
  input.options.near_tie = 0;
  // Of each macro configuration one: fifteen fits take the time.
  for (std::vector<Candidate>& candidates : input.candidates) {
    std::erase_if(candidates, [](const Candidate& candidate) {
      return candidate.configuration[2] == 1;
    });
  }
  for (const Candidate& candidate : input.candidates[0]) {
    for (const WeightedProblem& w : device.spec().representative_problems) {
      input.samples.push_back(
          device.Measure({candidate.configuration, w.problem}));
    }
  }
  const auto fit = FitTable(input);
  ASSERT_TRUE(fit.ok()) << fit.status();
  ASSERT_TRUE(EncodeTable(fit->table).ok());
  const SubTable& sub = fit->table.sub_tables[0];
  ASSERT_FALSE(sub.layers.empty());
  EXPECT_LT(sub.layers.size(), 250u);
  EXPECT_EQ(sub.layers.back().extents[4], 8192 + 64 * 250);
  EXPECT_GT(sub.layers.front().extents[4], 8192 + 64 * 100);
  EXPECT_THAT(fit->report.notes, Contains(HasSubstr("layers at most")));
}

TEST(LayersOfOtherFormsTest, ASumHasNone) {
  const testing::SyntheticDevice device(testing::GemmSpec(), {});
  const auto fit = FitTable(Profile(device, device.Input()));
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_THAT(fit->table.sub_tables[0].layers, IsEmpty());
}

// Rows over a repeated dimension make no layers.
TEST(LayersOfOtherMappingsTest, AreNone) {
  KernelSpec spec = testing::GroupedGemmSpec();
  spec.wave_form = WaveForm::kOverlap;
  const testing::SyntheticDevice device(std::move(spec), {});
  const auto fit = FitTable(Profile(device, device.Input()));
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_THAT(fit->table.sub_tables[0].layers, IsEmpty());
}

}  // namespace
}  // namespace wavetune
