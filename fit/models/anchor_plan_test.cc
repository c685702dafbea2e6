#include "fit/models/anchor_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "fit/testing/synthetic_device.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/wave_model.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using testing::SyntheticDevice;

KernelSpec SpecWith(std::vector<Problem> problems) {
  KernelSpec spec = testing::GemmSpec();
  spec.representative_problems.clear();
  for (Problem& p : problems) {
    spec.representative_problems.push_back({.problem = std::move(p)});
  }
  return spec;
}

class AnchorPlanTest : public ::testing::Test {
 protected:
  void Plan(std::vector<Problem> problems, int32_t multiprocessors,
            int32_t blocks = 1) {
    device_ = std::make_unique<SyntheticDevice>(
        SpecWith(std::move(problems)),
        testing::SyntheticDeviceOptions{.multiprocessors = multiprocessors,
                                        .blocks = blocks});
    input_ = device_->Input();
    state_ = MakeProfileState(input_).value();
  }

  const SpecialisationState& State() const { return state_.specialisations[0]; }

  // Coordinates of a candidate's anchors.
  std::vector<Coordinates> Places(size_t candidate) const {
    const CandidateState& c = State().candidates[candidate];
    std::vector<Coordinates> places;
    for (const Problem& problem :
         AnchorProblems(*input_.spec, State(), c, kMaxAnchors)) {
      places.push_back(MapProblem(*State().mapping, problem.View(),
                                  c.candidate->configuration));
    }
    return places;
  }

  std::unique_ptr<SyntheticDevice> device_;
  ProfileInput input_;
  ProfileState state_;
};

TEST_F(AnchorPlanTest, LandsExactlyAtAndJustPastTheFirstWave) {
  Plan({{{2048, 4096, 1024}, {}, {}}, {{512, 2048, 4096}, {}, {}}}, 132);
  for (size_t i = 0; i < State().candidates.size(); ++i) {
    const int64_t c = State().candidates[i].candidate->tiles_per_wave;
    std::set<int64_t> tiles;
    for (const Coordinates& at : Places(i)) tiles.insert(at.tiles);
    EXPECT_EQ(tiles.count(c), 1u) << c;
    const auto past = tiles.upper_bound(c);
    ASSERT_NE(past, tiles.end());
    EXPECT_LE(*past, c + c / 8);
  }
}

TEST_F(AnchorPlanTest, MeasuresEachRowRegimeThatIsAskedFor) {
  Plan({{{1, 4096, 1024}, {}, {}},
        {{100, 4096, 1024}, {}, {}},
        {{2048, 4096, 1024}, {}, {}}},
       132);
  EXPECT_GE(State().axes.row_regimes.size(), 3u);
  for (size_t i = 0; i < State().candidates.size(); ++i) {
    std::set<int> regimes;
    for (const Coordinates& at : Places(i)) {
      regimes.insert(RowRegimeIndex(State().axes, at.rows, at.row_fill));
    }
    EXPECT_GE(regimes.size(), 2u);
  }
}

// Rows of up to 2,000 tiles, as a vocabulary has, beside some within a wave.
TEST_F(AnchorPlanTest, FewRowsHaveBothEndsOfTheFirstWaveWhereManyAreAskedFor) {
  Plan({{{1, 1024, 4096}, {}, {}},
        {{1, 128256, 4096}, {}, {}},
        {{1, 151936, 4096}, {}, {}},
        {{4096, 4096, 4096}, {}, {}}},
       132);
  for (size_t i = 0; i < State().candidates.size(); ++i) {
    const CandidateState& candidate = State().candidates[i];
    const int64_t c = candidate.candidate->tiles_per_wave;
    if (candidate.at[1].tiles <= 2 * (c + 1)) continue;
    std::vector<int64_t> of_few_rows;
    for (const Anchor& anchor : PlanAnchors(State(), candidate)) {
      if (anchor.row_regime == 0) of_few_rows.push_back(anchor.target.tiles);
    }
    ASSERT_GE(of_few_rows.size(), 4u);
    of_few_rows.resize(4);
    EXPECT_EQ(std::count(of_few_rows.begin(), of_few_rows.end(), c), 2) << i;
    EXPECT_EQ(std::count(of_few_rows.begin(), of_few_rows.end(), c + 1), 1)
        << i;
  }
}

TEST_F(AnchorPlanTest, SpreadsTowardsManyWavesOnASmallDevice) {
  Plan({{{64, 4096, 512}, {}, {}}, {{512, 4096, 512}, {}, {}}}, 2);
  const std::vector<Coordinates> places = Places(0);
  const auto beyond_8_waves = std::count_if(
      places.begin(), places.end(),
      [](const Coordinates& at) { return Waves(at.tiles, 2) > 8; });
  EXPECT_GE(beyond_8_waves, 3);
}

TEST_F(AnchorPlanTest, NoAnchorIsMoreWorkThanTheLargestProblemOfItsRows) {
  Plan({{{1, 512, 512}, {}, {}}, {{512, 1024, 2048}, {}, {}}}, 2);
  for (size_t i = 0; i < State().candidates.size(); ++i) {
    const CandidateState& c = State().candidates[i];
    const auto work = [&](const Coordinates& at) {
      return static_cast<double>(Waves(at.tiles, c.candidate->tiles_per_wave)) *
             at.iterations;
    };
    const auto regime = [&](const Coordinates& at) {
      return RowRegimeIndex(State().axes, at.rows, at.row_fill);
    };
    // The square grid serves all regimes where it has no problems of its own.
    double most_of_all = 0;
    std::map<int, double> most;
    for (const Coordinates& at : c.at) {
      most[regime(at)] = std::max(most[regime(at)], work(at));
      most_of_all = std::max(most_of_all, work(at));
    }
    for (const Coordinates& at : Places(i)) {
      const bool own = most.contains(regime(at));
      EXPECT_LE(work(at), 1.2 * (own ? most[regime(at)] : most_of_all));
    }
  }
}

TEST_F(AnchorPlanTest, GridsAreAsWideAsWhatIsAskedFor) {
  // 960 columns; a square grid of as many tiles would have 2,048 or 1,024.
  Plan({{{64, 960, 512}, {}, {}}, {{1024, 960, 512}, {}, {}}}, 1);
  for (size_t i = 0; i < State().candidates.size(); ++i) {
    const CandidateState& c = State().candidates[i];
    const std::vector<Problem> anchors =
        AnchorProblems(*input_.spec, State(), c, kMaxAnchors);
    const auto as_wide = std::count_if(
        anchors.begin(), anchors.end(), [&](const Problem& anchor) {
          return anchor.extents[1] >= 960 && anchor.extents[1] < 960 + 256;
        });
    EXPECT_GE(as_wide, 4) << anchors.size();
  }
}

TEST_F(AnchorPlanTest, LoopsSpanWhatIsAskedFor) {
  Plan({{{512, 1024, 512}, {}, {}}, {{512, 1024, 8192}, {}, {}}}, 132);
  double low = 1e9;
  double high = 0;
  for (const Coordinates& at : Places(0)) {
    low = std::min(low, at.iterations);
    high = std::max(high, at.iterations);
  }
  EXPECT_LE(low, 512 / 16);
  EXPECT_GE(high, 8192 / 16);
}

TEST_F(AnchorPlanTest, StaysWithinItsSizeAndRepeatsNothing) {
  Plan({{{1, 4096, 1024}, {}, {}}, {{2048, 4096, 1024}, {}, {}}}, 132, 2);
  for (const CandidateState& c : State().candidates) {
    const auto problems = AnchorProblems(*input_.spec, State(), c, kMaxAnchors);
    EXPECT_LE(problems.size(), kMaxAnchors);
    EXPECT_EQ(std::set<Problem>(problems.begin(), problems.end()).size(),
              problems.size());
    const auto screening =
        AnchorProblems(*input_.spec, State(), c, kScreeningAnchors);
    EXPECT_TRUE(
        std::equal(screening.begin(), screening.end(), problems.begin()));
  }
}

// What a recording measures.
std::vector<Problem> Grid(const ProfileInput& input,
                          const SpecialisationState& specialisation,
                          size_t candidate) {
  return AnchorProblems(*input.spec, specialisation,
                        specialisation.candidates[candidate], kGridAnchors);
}

TEST_F(AnchorPlanTest, AGridHasTheWholePlanFirst) {
  Plan({{{1, 4096, 1024}, {}, {}},
        {{100, 4096, 1024}, {}, {}},
        {{2048, 4096, 1024}, {}, {}}},
       132, 2);
  for (size_t i = 0; i < State().candidates.size(); ++i) {
    const std::vector<Problem> plan = AnchorProblems(
        *input_.spec, State(), State().candidates[i], kMaxAnchors);
    const std::vector<Problem> grid = Grid(input_, State(), i);
    ASSERT_GE(grid.size(), plan.size());
    EXPECT_TRUE(std::equal(plan.begin(), plan.end(), grid.begin()));
  }
}

TEST_F(AnchorPlanTest, AGridHasAHundredPointsAndMoreAlongTheWaves) {
  Plan({{{1, 4096, 1024}, {}, {}},
        {{2048, 4096, 512}, {}, {}},
        {{4096, 8192, 8192}, {}, {}}},
       132);
  for (size_t i = 0; i < State().candidates.size(); ++i) {
    const Candidate& candidate = *State().candidates[i].candidate;
    const int64_t c = candidate.tiles_per_wave;
    const std::vector<Problem> grid = Grid(input_, State(), i);
    EXPECT_EQ(grid.size(), kGridAnchors);
    EXPECT_EQ(std::set<Problem>(grid.begin(), grid.end()).size(), grid.size());
    std::set<int64_t> tiles;
    std::set<double> loops;
    std::map<int, std::set<double>> fills;  // By row regime.
    for (const Problem& problem : grid) {
      const Coordinates at =
          MapProblem(*State().mapping, problem.View(), candidate.configuration);
      tiles.insert(at.tiles);
      loops.insert(at.iterations);
      fills[RowRegimeIndex(State().axes, at.rows, at.row_fill)].insert(
          at.row_fill);
    }
    for (const int64_t waves : {1, 2, 4}) {
      EXPECT_EQ(tiles.count(waves * c), 1u) << waves << " of " << c;
      const auto past = tiles.upper_bound(waves * c);
      ASSERT_NE(past, tiles.end());
      EXPECT_LE(*past, waves * c + c / 8) << waves << " of " << c;
    }
    EXPECT_GE(std::distance(tiles.begin(), tiles.lower_bound(c)), 4);
    EXPECT_GE(loops.size(), 4u);
    EXPECT_EQ(fills.size(), State().axes.row_regimes.size());
    // Decode: a single row, nearly empty to full.
    EXPECT_GE(fills[0].size(), 2u);
  }
}

TEST_F(AnchorPlanTest, AGridIsNoMoreWorkThanWhatIsAskedFor) {
  Plan({{{1, 512, 512}, {}, {}}, {{512, 1024, 2048}, {}, {}}}, 2);
  for (size_t i = 0; i < State().candidates.size(); ++i) {
    const CandidateState& c = State().candidates[i];
    const auto work = [&](const Coordinates& at) {
      return static_cast<double>(Waves(at.tiles, c.candidate->tiles_per_wave)) *
             at.iterations;
    };
    double most = 0;
    for (const Coordinates& at : c.at) most = std::max(most, work(at));
    for (const Problem& problem : Grid(input_, State(), i)) {
      EXPECT_LE(work(MapProblem(*State().mapping, problem.View(),
                                c.candidate->configuration)),
                1.2 * most);
    }
  }
}

// A kernel without a loop, as authors had to write it: the loop is over a
// dimension that is always 1.
KernelSpec WithDummyLoop(KernelSpec spec) {
  spec.dimensions.push_back({.name = "passes", .max = 1});
  spec.mapping.iterations_per_tile = Expression::OfDimension(2);
  for (WeightedProblem& weighted : spec.representative_problems) {
    weighted.problem.extents.push_back(1);
  }
  return spec;
}

TEST(LoopFreePlanTest, IsThatOfALoopOverADimensionOfOne) {
  const KernelSpec spec = testing::RowNormSpec();
  const SyntheticDevice real(spec, {});
  const SyntheticDevice dummy(WithDummyLoop(spec), {});
  const ProfileInput real_input = real.Input();
  const ProfileInput dummy_input = dummy.Input();
  const auto real_state = MakeProfileState(real_input);
  const auto dummy_state = MakeProfileState(dummy_input);
  ASSERT_TRUE(real_state.ok() && dummy_state.ok());
  const SpecialisationState& of_real = real_state->specialisations[0];
  const SpecialisationState& of_dummy = dummy_state->specialisations[0];
  EXPECT_EQ(of_real.axes.loop_anchors, std::vector<double>{1});
  for (const size_t count : {kMaxAnchors, kGridAnchors}) {
    for (size_t i = 0; i < of_real.candidates.size(); ++i) {
      std::vector<Problem> problems =
          AnchorProblems(real.spec(), of_real, of_real.candidates[i], count);
      std::vector<Problem> expected =
          AnchorProblems(dummy.spec(), of_dummy, of_dummy.candidates[i], count);
      for (Problem& problem : expected) problem.extents.pop_back();
      // Without a loop the grid fills a plan up.
      if (count == kMaxAnchors && problems.size() > expected.size()) {
        problems.resize(expected.size());
      }
      EXPECT_EQ(problems, expected);
      EXPECT_GE(problems.size(), 6u);
    }
  }
}

TEST(LoopFreePlanTest, HasAsManySamplesAsAFitNeeds) {
  const SyntheticDevice device(testing::RowNormSpec(), {.multiprocessors = 16});
  const ProfileInput input = device.Input();
  const ProfileState state = MakeProfileState(input).value();
  const SpecialisationState& own = state.specialisations[0];
  for (const CandidateState& candidate : own.candidates) {
    const auto anchors = [&](size_t count) {
      return AnchorProblems(device.spec(), own, candidate, count);
    };
    const std::vector<Problem> all = anchors(kMaxAnchors);
    EXPECT_GE(all.size(), kLeastAnchors);
    EXPECT_LE(anchors(kScreeningAnchors).size(), kScreeningAnchors);
    for (const Problem& problem : anchors(kScreeningAnchors)) {
      EXPECT_NE(std::find(all.begin(), all.end(), problem), all.end());
    }
  }
}

TEST(LoopFreePlanTest, ALoopThatIsTheConfigurationsTakesNoAnchorTwice) {
  KernelSpec spec = testing::RowNormSpec();
  const SyntheticDevice once(spec, {});
  spec.mapping.iterations_per_tile = Expression::Constant(32);
  const SyntheticDevice many(spec, {});
  const ProfileInput once_input = once.Input();
  const ProfileInput many_input = many.Input();
  const ProfileState of_once = MakeProfileState(once_input).value();
  const ProfileState of_many = MakeProfileState(many_input).value();
  for (size_t i = 0; i < of_once.specialisations[0].candidates.size(); ++i) {
    const auto anchors = [i](const SyntheticDevice& device,
                             const ProfileState& state) {
      return AnchorProblems(device.spec(), state.specialisations[0],
                            state.specialisations[0].candidates[i],
                            kScreeningAnchors);
    };
    EXPECT_EQ(anchors(many, of_many), anchors(once, of_once));
  }
}

TEST(LoopFreePlanTest, WithoutRepresentativeProblemsHasWavesToo) {
  KernelSpec spec = testing::RowNormSpec();
  spec.representative_problems.clear();
  const SyntheticDevice device(spec, {});
  const ProfileInput input = device.Input();
  const ProfileState state = MakeProfileState(input).value();
  const SpecialisationState& s = state.specialisations[0];
  EXPECT_GE(AnchorProblems(spec, s, s.candidates[0], kMaxAnchors).size(), 5u);
}

TEST(TiedLoopPlanTest, SelfAttentionHasAnchorsAtWavesAndSeveralLoops) {
  const SyntheticDevice device(testing::SelfAttentionSpec(), {});
  const ProfileInput input = device.Input();
  const ProfileState state = MakeProfileState(input).value();
  for (const SpecialisationState& s : state.specialisations) {
    for (const CandidateState& c : s.candidates) {
      const int64_t wave = c.candidate->tiles_per_wave;
      std::set<int64_t> tiles;
      std::set<double> loops;
      const auto problems = AnchorProblems(device.spec(), s, c, kMaxAnchors);
      for (const Problem& problem : problems) {
        const Coordinates at =
            MapProblem(*s.mapping, problem.View(), c.candidate->configuration);
        tiles.insert(at.tiles);
        loops.insert(at.iterations);
      }
      EXPECT_GE(problems.size(), 12u);
      EXPECT_EQ(tiles.count(wave), 1u) << wave;
      const auto past = tiles.upper_bound(wave);
      ASSERT_NE(past, tiles.end());
      EXPECT_LE(*past, wave + wave / 8);
      EXPECT_GE(*loops.rbegin(), 8 * *loops.begin());
    }
  }
}

TEST(ManyDimensionsPlanTest, AnchorsOfAConvolutionLookLikeItsProblems) {
  const SyntheticDevice device(testing::ConvolutionSpec(), {});
  const ProfileInput input = device.Input();
  const ProfileState state = MakeProfileState(input).value();
  const SpecialisationState& s = state.specialisations[0];
  for (const CandidateState& c : s.candidates) {
    const std::vector<Problem> problems =
        AnchorProblems(device.spec(), s, c, kMaxAnchors);
    const auto images =
        std::count_if(problems.begin(), problems.end(), [](const Problem& p) {
          return p.extents[3] >= 3 && p.extents[4] >= 3;
        });
    const auto kernels =
        std::count_if(problems.begin(), problems.end(), [](const Problem& p) {
          return p.extents[5] == 3 && p.extents[6] == 3;
        });
    const auto count = static_cast<double>(problems.size());
    EXPECT_GE(count, 8);
    EXPECT_GE(static_cast<double>(images), 0.7 * count);
    EXPECT_GE(static_cast<double>(kernels), 0.9 * count);
  }
}

}  // namespace
}  // namespace wavetune
