// What GemmFastPath answers and what it leaves to CompiledSubTable::Choose,
// which must say the same (tests/component/decision_differential_test.cc
// compares both with the slow decision).
#include "model/decide/gemm_fast_path.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/decide/compiled_sub_table.h"
#include "model/decide/compiled_table.h"
#include "model/decide/group_answer.h"
#include "model/decide/simd/simd_path.h"
#include "model/table/table_codec.h"
#include "tests/lib/reference_decision.h"
#include "tests/lib/tiny_table.h"

namespace wavetune {
namespace {

using testing::TwoGroupTable;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

class GemmFastPathTest : public ::testing::TestWithParam<SimdPath> {
 protected:
  // Whether it answers the problem of `table` itself.
  static bool Answers(const Table& table, int64_t m, int64_t n, int64_t k) {
    const CompiledSubTable compiled(table, 0, GetParam());
    const int64_t extents[] = {m, n, k};
    double latency_us = -1;
    const FastPathAnswer fast_path =
        compiled.fast_path().Choose(extents, latency_us);
    if (fast_path.pick.none()) {
      EXPECT_EQ(latency_us, -1);
      return false;
    }
    GroupAnswer answer;
    compiled.Choose(absl::MakeConstSpan(extents), answer);
    EXPECT_EQ(fast_path.pick.bits, answer.pick.bits);
    EXPECT_EQ(latency_us, answer.latency_us);
    EXPECT_EQ(fast_path.relative_bound, answer.relative_bound);
    return true;
  }
};

TEST_P(GemmFastPathTest, AnswersAGemm) {
  for (const int64_t m : {1, 63, 64, 65, 128, 129, 5000}) {
    for (const int64_t k : {64, 512, 4096, 1 << 20}) {
      EXPECT_TRUE(Answers(TwoGroupTable(), m, 640, k));
    }
  }
}

// The records do not say that they are extrapolated.
TEST_P(GemmFastPathTest, LeavesOutPartsOfTiles) {
  EXPECT_TRUE(Answers(TwoGroupTable(), 1, 64, 64));
  EXPECT_FALSE(Answers(TwoGroupTable(), 1, 63, 64));
  EXPECT_FALSE(Answers(TwoGroupTable(), 1, 64, 63));
}

// As kernels/gemm_bf16 has them: a tile for every 16 rows, four row regimes,
// loads beside the arithmetic.
Table GemmOfManyTileHeights(int heights, int rows) {
  Table table = TwoGroupTable();
  SubTable& sub = table.sub_tables[0];
  sub.form = WaveForm::kOverlap;
  sub.row_regimes = {
      {.max_rows = 1, .max_fill = 0.25}, {.max_rows = 1}, {.max_rows = 2}, {}};
  TableCandidate candidate = sub.portfolio[0];
  MacroGroup group = sub.groups[0];
  group.models.resize(sub.row_regimes.size(), group.models[0]);
  for (GroupModel& model : group.models) {
    for (WaveSegment& segment : model.segments) {
      segment = model.segments[0];
      segment.coefficients.alpha_row = 1e-3;
      segment.min_wave = 1;
    }
  }
  sub.portfolio.clear();
  sub.groups.clear();
  for (int i = 0; i < rows; ++i) {
    group.lead = static_cast<uint8_t>(i);
    sub.groups.push_back(group);
    candidate.configuration = {int64_t{16} * (1 + i % heights),
                               1 + i / heights};
    sub.portfolio.push_back(candidate);
    for (GroupModel& model : sub.groups.back().models) {
      for (WaveSegment& segment : model.segments) {
        segment.micro.assign(2, static_cast<uint8_t>(i));
      }
    }
  }
  return table;
}

// A table and what is made of it, to ask the reference and the fast path.
class BothWays {
 public:
  BothWays(Table table, SimdPath path)
      : table_(std::move(table)),
        compiled_(
            CompiledTable::Create(EncodeTable(table_).value(), path).value()) {}

  // Whether the problem is decided as the slow reference decides it.
  ::testing::AssertionResult DecideAlike(const ProblemView& problem) const {
    const Decision fast = compiled_->Resolve(0, problem);
    return fast == testing::ReferenceDecision(table_, compiled_->digest(), 0,
                                              problem)
               ? ::testing::AssertionSuccess()
               : ::testing::AssertionFailure()
                     << "got " << fast.latency_us << " us";
  }

 private:
  Table table_;
  std::unique_ptr<const CompiledTable> compiled_;
};

TEST_P(GemmFastPathTest, AnswersAGemmOfManyTileHeights) {
  const Table table = GemmOfManyTileHeights(16, 96);
  const BothWays both(table, GetParam());
  for (const int64_t m : {1, 16, 17, 95, 256, 300, 513, 5000}) {
    EXPECT_TRUE(Answers(table, m, 640, 512)) << m;
    const std::vector<int64_t> extents = {m, 640, 512};
    EXPECT_TRUE(both.DecideAlike(ProblemView(extents))) << m;
  }
  EXPECT_FALSE(Answers(GemmOfManyTileHeights(17, 96), 300, 640, 512));
}

// What differs from wave regime to wave regime counts, as FitTable makes it and
// as a table may say it, too.
TEST_P(GemmFastPathTest, AnswersOverlapsWhoseWaveRegimesAreAlikeOrNot) {
  const Table alike = GemmOfManyTileHeights(12, 16);
  const auto answers = [](Table table, const auto& change) {
    for (MacroGroup& group : table.sub_tables[0].groups) {
      for (GroupModel& model : group.models) change(model.segments[1]);
    }
    const BothWays both(table, GetParam());
    for (const int64_t m : {1, 40, 100, 700, 6000}) {
      for (const auto& [n, k] : {std::pair(640, 512), std::pair(20000, 128)}) {
        EXPECT_TRUE(Answers(table, m, n, k)) << m;
        const std::vector<int64_t> extents = {m, n, k};
        EXPECT_TRUE(both.DecideAlike(ProblemView(extents))) << m;
      }
    }
  };
  answers(alike, [](WaveSegment& s) { s.floor_us = 500; });
  answers(alike, [](WaveSegment& s) { s.max_wave = 3; });
  answers(alike, [](WaveSegment& s) { s.min_iterations = 30; });
  answers(alike, [](WaveSegment& s) { s.max_iterations = 5; });
  answers(alike, [](WaveSegment& s) { s.rank_margin = 200; });
  answers(alike, [](WaveSegment& s) { s.min_wave = 2; });
  answers(alike, [](WaveSegment& s) { s.coefficients.gamma_w *= 3; });
  answers(alike, [](WaveSegment& s) { s.step_tiles += 1; });
}

// One number of waves must say for both wave regimes what was not measured, or
// each regime's own does.
TEST_P(GemmFastPathTest, AnswersWhateverWavesOfAnOverlapWereMeasured) {
  struct Case {
    int64_t regime_waves, first, second;
    double first_iterations;
  };
  for (const Case& of : {Case{1, 2, 3, 64}, Case{4, 2, 9, 64},
                         Case{4, 3, 2, 64}, Case{4, 2, 9, 0}}) {
    Table table = GemmOfManyTileHeights(5, 16);
    SubTable& sub = table.sub_tables[0];
    sub.max_waves[0] = of.regime_waves;
    for (MacroGroup& group : sub.groups) {
      for (GroupModel& model : group.models) {
        model.segments[0].max_wave = of.first;
        model.segments[1].max_wave = of.second;
        if (of.first_iterations == 0) model.segments[0].min_iterations = 0;
        model.segments[0].max_iterations = of.first_iterations;
      }
    }
    const BothWays both(table, GetParam());
    for (int64_t n = 64; n < 40000; n = n * 5 / 4) {
      const std::vector<int64_t> extents = {200, n, 512};
      EXPECT_TRUE(Answers(table, 200, n, 512)) << n;
      EXPECT_TRUE(both.DecideAlike(ProblemView(extents)))
          << n << ", waves up to " << of.first << " and " << of.second;
    }
  }
}

// Around the ends of the measured iterations, each row's and regime's another;
// and where they lie beyond what is looked up.
TEST_P(GemmFastPathTest, AnswersAtTheEndsOfMeasuredIterations) {
  for (const int rows : {8, 16, 32, 40, 72}) {
    Table table = GemmOfManyTileHeights(8, rows);
    double least = 1;
    for (MacroGroup& group : table.sub_tables[0].groups) {
      for (GroupModel& model : group.models) {
        for (WaveSegment& segment : model.segments) {
          segment.min_iterations = least;
          segment.max_iterations = 2 * least + 0.5;
          least = least < 20 ? least + 0.75 : 1;
        }
      }
    }
    Table beyond = table;
    beyond.sub_tables[0].groups[0].models[0].segments[1].max_iterations = 1e6;
    const BothWays both(table, GetParam());
    const BothWays both_beyond(beyond, GetParam());
    for (int64_t tiles = 1; tiles < 45; ++tiles) {
      for (const int64_t k : {64 * tiles, 64 * tiles + 1}) {
        const std::vector<int64_t> extents = {40, 640, k};
        EXPECT_TRUE(Answers(table, 40, 640, k)) << k;
        EXPECT_TRUE(both.DecideAlike(ProblemView(extents)))
            << k << " of " << rows;
        EXPECT_TRUE(both_beyond.DecideAlike(ProblemView(extents)))
            << k << " of " << rows;
      }
    }
  }
}

// Each row as the fastest once, of numbers of rows that fill one word of a
// mask, begin or end the second, or end within a block.
TEST_P(GemmFastPathTest, AnswersWithWhicheverRowIsTheFastest) {
  for (const size_t rows : {40U, 64U, 65U, 96U, 101U, 120U, 128U}) {
    Table table = TwoGroupTable();
    SubTable& sub = table.sub_tables[0];
    const TableCandidate candidate = sub.portfolio[0];
    const MacroGroup group = sub.groups[0];
    sub.portfolio.assign(rows, candidate);
    sub.groups.assign(rows, group);
    for (size_t r = 0; r < rows; ++r) {
      sub.groups[r].lead = static_cast<uint8_t>(r);
      for (WaveSegment& segment : sub.groups[r].models[0].segments) {
        segment.micro = {static_cast<uint8_t>(r), static_cast<uint8_t>(r)};
      }
    }
    for (size_t fastest = 0; fastest < rows; ++fastest) {
      Table one = table;
      for (WaveSegment& s :
           one.sub_tables[0].groups[fastest].models[0].segments) {
        s.coefficients.delta = 5;
      }
      const CompiledSubTable compiled(one, 0, GetParam());
      const int64_t extents[] = {300, 640, 512};
      double latency_us = 0;
      const FastPathAnswer fast_path =
          compiled.fast_path().Choose(extents, latency_us);
      ASSERT_FALSE(fast_path.pick.none()) << rows;
      GroupAnswer answer;
      compiled.Choose(absl::MakeConstSpan(extents), answer);
      ASSERT_EQ(fast_path.pick.bits, answer.pick.bits)
          << fastest << " of " << rows;
      ASSERT_EQ(fast_path.pick.group(), static_cast<int>(fastest)) << rows;
    }
  }
}

TEST_P(GemmFastPathTest, LeavesExtentsOutsideOfTheirRange) {
  Table table = TwoGroupTable();
  table.dimensions[1].min = 80;
  table.dimensions[1].max = 640;
  EXPECT_TRUE(Answers(table, 64, 80, 512));
  EXPECT_TRUE(Answers(table, 64, 640, 512));
  EXPECT_FALSE(Answers(table, 64, 79, 512));
  EXPECT_FALSE(Answers(table, 64, 641, 512));
  EXPECT_FALSE(Answers(table, 0, 640, 512));
  EXPECT_FALSE(Answers(table, -1, 640, 512));
  EXPECT_FALSE(Answers(table, 64, 640, std::numeric_limits<int64_t>::min()));
  EXPECT_FALSE(Answers(table, 64, 640, kMost));
}

TEST_P(GemmFastPathTest, LeavesNoExtentsAtAllAlthoughTheKernelTakesThem) {
  Table table = TwoGroupTable();
  table.dimensions[0].min = 0;
  EXPECT_FALSE(Answers(table, 0, 640, 512));
  EXPECT_TRUE(Answers(table, 1, 640, 512));
}

TEST_P(GemmFastPathTest, LeavesExtentsWhoseProductsLanesMayNotHold) {
  Table table = TwoGroupTable();
  for (Dimension& dimension : table.dimensions)
    dimension.max = int64_t{1} << 51;
  EXPECT_TRUE(Answers(table, 1 << 25, 1 << 25, 512));
  EXPECT_FALSE(Answers(table, 1 << 26, 64, 512));
  EXPECT_TRUE(Answers(table, 1, 64, int64_t{1} << 51));
}

TEST_P(GemmFastPathTest, LeavesProblemsThatExcludeRows) {
  Table table = TwoGroupTable();
  SubTable& sub = table.sub_tables[0];
  sub.predicates = {{.left = {{.dimensions = {2}}},
                     .op = Relation::Operator::kMultipleOf,
                     .right = {{.coefficient = 8}}}};
  for (MacroGroup& group : sub.groups) group.predicates = {0};
  EXPECT_TRUE(Answers(table, 64, 640, 512));
  EXPECT_FALSE(Answers(table, 64, 640, 516));
}

TEST_P(GemmFastPathTest, LeavesOtherWaveRegimes) {
  Table table = TwoGroupTable();
  SubTable& sub = table.sub_tables[0];
  sub.max_waves = {1, 2, kMost};
  for (MacroGroup& group : sub.groups) {
    for (GroupModel& model : group.models) {
      model.segments.push_back(model.segments.back());
    }
  }
  EXPECT_FALSE(Answers(table, 64, 640, 512));
}

TEST_P(GemmFastPathTest, LeavesLoopAnchorsLessThanOneApart) {
  Table table = TwoGroupTable();
  table.sub_tables[0].loop_anchors = {8, 8.5};
  EXPECT_FALSE(Answers(table, 64, 640, 512));
}

TEST_P(GemmFastPathTest, LeavesMoreThanSixteenLoopAnchors) {
  const auto table_of = [](size_t anchors) {
    Table table = TwoGroupTable();
    SubTable& sub = table.sub_tables[0];
    sub.loop_anchors.clear();
    for (size_t i = 0; i < anchors; ++i) {
      sub.loop_anchors.push_back(static_cast<double>(1 + i));
    }
    for (MacroGroup& group : sub.groups) {
      for (WaveSegment& segment : group.models[0].segments) {
        segment.micro.assign(anchors, segment.micro[0]);
      }
    }
    return table;
  };
  EXPECT_TRUE(Answers(table_of(16), 64, 640, 512));
  EXPECT_FALSE(Answers(table_of(17), 64, 640, 512));
}

INSTANTIATE_TEST_SUITE_P(Paths, GemmFastPathTest,
                         ::testing::ValuesIn(SupportedSimdPaths()),
                         [](const auto& test) {
                           return std::string(ToString(test.param));
                         });

}  // namespace
}  // namespace wavetune
