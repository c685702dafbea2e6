#include "client/usage/usage_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Decision Of(DecisionSource source, double bound = 0.05) {
  Decision decision;
  decision.source = source;
  decision.relative_bound = bound;
  return decision;
}

DrainedUsage Drain(UsageRecorder& recorder) {
  DrainedUsage drained;
  recorder.Drain(&drained);
  return drained;
}

double Represented(const DrainedUsage& drained) {
  double sum = 0;
  for (const auto& sampled : drained.sampled) sum += sampled.decisions;
  return sum;
}

TEST(UsageRecorderTest, CountsEachDecisionOnceByKind) {
  UsageRecorder recorder(3, false);
  recorder.Record({1, 2, 3}, Of(DecisionSource::kFitted));
  recorder.Record({1, 2, 3}, Of(DecisionSource::kFitted, kWideBound));
  recorder.Record({1, 2, 3}, Of(DecisionSource::kFitted, 0.26));
  recorder.Record({1, 2, 3}, Of(DecisionSource::kExtrapolated));
  recorder.Record({1, 2, 3}, Of(DecisionSource::kExtrapolated, 0.9));
  recorder.Record({1, 2, 3}, Of(DecisionSource::kStale));
  recorder.Record({1, 2, 3}, Of(DecisionSource::kStale, 0.5));
  recorder.Record({1, 2, 3}, Of(DecisionSource::kDefault, 0));
  EXPECT_EQ(Drain(recorder).counts, (UsageCounts{.wide_bound = 2,
                                                 .fitted = 2,
                                                 .extrapolated = 2,
                                                 .stale = 1,
                                                 .defaults = 1}));
  EXPECT_EQ(Drain(recorder).counts.total(), 0u);
}

TEST(UsageRecorderTest, ASampleStandsForTheDecisionsSinceTheLast) {
  UsageRecorder recorder(2, false);
  double represented = 0;
  uint64_t samples = 0;
  uint64_t decisions = 0;
  for (int round = 0; round < 2000; ++round) {
    for (int i = 0; i < 20; ++i) {
      recorder.Record({7, 9}, Of(DecisionSource::kFitted));
    }
    const DrainedUsage drained = Drain(recorder);
    for (const auto& sampled : drained.sampled) {
      EXPECT_THAT(sampled.extents, ElementsAre(7, 9));
      EXPECT_THAT(sampled.repeated, IsEmpty());
    }
    represented += Represented(drained);
    samples += drained.sampled.size();
    decisions += drained.counts.total();
  }
  EXPECT_EQ(decisions, 40000u);
  // All but the decisions since the last sample.
  EXPECT_LE(represented, 40000);
  EXPECT_GE(represented, 40000 - 2 * UsageRecorder::kLeastStride);
  EXPECT_NEAR(static_cast<double>(samples), 40000.0 / 16, 250);
}

// A pattern of calls as long as the stride must not hide problems.
TEST(UsageRecorderTest, SamplesAPeriodicPatternFairly) {
  UsageRecorder recorder(1, false);
  std::map<int64_t, double> asked;
  constexpr int kPeriod = 16;
  for (int i = 0; i < 320000; ++i) {
    recorder.Record({1 + i % kPeriod}, Of(DecisionSource::kFitted));
    if (i % 160 != 0) continue;
    for (const auto& sampled : Drain(recorder).sampled) {
      asked[sampled.extents[0]] += sampled.decisions;
    }
  }
  ASSERT_EQ(asked.size(), size_t{kPeriod});
  for (const auto& [problem, decisions] : asked) {
    EXPECT_NEAR(decisions, 20000, 4000) << problem;
  }
}

// Bursts far beyond what a ring holds, before and after Drain knows the rate.
TEST(UsageRecorderTest, ABurstIsRepresentedWhole) {
  UsageRecorder recorder(1, false);
  const auto record = [&](int64_t problem, int decisions) {
    for (int i = 0; i < decisions; ++i) {
      recorder.Record({problem}, Of(DecisionSource::kFitted));
    }
  };
  double first = 0;
  double represented = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    record(1, round % 2 == 0 ? 9000 : 90);
    record(2, round % 2 == 0 ? 1000 : 10);
    const DrainedUsage drained = Drain(recorder);
    EXPECT_LE(drained.sampled.size(), size_t{UsageRecorder::kRingEntries});
    represented += Represented(drained);
    for (const auto& sampled : drained.sampled) {
      if (sampled.extents[0] == 1) first += sampled.decisions;
    }
  }
  constexpr double kDecisions = kRounds / 2 * 10100;
  EXPECT_NEAR(represented / kDecisions, 1, 0.15);
  EXPECT_NEAR(first / represented, 0.9, 0.05);
}

TEST(UsageRecorderTest, KeepsRepeatedDimensionsUpToALength) {
  UsageRecorder recorder(2, true);
  const std::vector<int64_t> tokens = {3, 0, 8};
  const std::vector<int64_t> many(UsageRecorder::kMostRepeated + 1, 1);
  std::set<std::vector<int64_t>> seen;
  for (int i = 0; i < 4000; ++i) {
    recorder.Record({{0, 64}, i % 2 == 0 ? tokens : many},
                    Of(DecisionSource::kFitted));
    if (i % 50 != 0) continue;
    for (const auto& sampled : Drain(recorder).sampled) {
      seen.insert(sampled.repeated);
    }
  }
  EXPECT_THAT(seen, ElementsAre(tokens));
}

TEST(UsageRecorderTest, KeepsNoProblemThatIsNoneOfTheKernel) {
  UsageRecorder recorder(2, false);
  const std::vector<int64_t> tokens = {1};
  Decision illegal = Of(DecisionSource::kDefault, 0);
  illegal.reason = DefaultReason::kExtentOutOfRange;
  Decision no_table = illegal;
  no_table.reason = DefaultReason::kNoTable;
  for (int i = 0; i < 400; ++i) {
    recorder.Record({1}, Of(DecisionSource::kFitted));
    recorder.Record({{1, 2}, tokens}, Of(DecisionSource::kFitted));
    recorder.Record({-1, 2}, illegal);
  }
  EXPECT_THAT(Drain(recorder).sampled, IsEmpty());
  EXPECT_EQ(Drain(recorder).counts.total(), 0u);
  for (int i = 0; i < 400; ++i) recorder.Record({4, 2}, no_table);
  EXPECT_FALSE(Drain(recorder).sampled.empty());
}

// Every extent of a problem is the same number, so that a torn one shows.
void RecordFrom(UsageRecorder& recorder, int64_t number, int decisions) {
  for (int i = 0; i < decisions; ++i) {
    recorder.Record({number, number, number, number, number, number},
                    Of(i % 4 == 0 ? DecisionSource::kExtrapolated
                                  : DecisionSource::kFitted));
  }
}

class UsageRecorderThreadsTest : public ::testing::TestWithParam<int> {};

// With a drain beside them. More threads than slots share the last one.
TEST_P(UsageRecorderThreadsTest, LosesNoDecisionAndTearsNoProblem) {
  constexpr int kDecisions = 20000;
  const int threads = GetParam();
  UsageRecorder recorder(6, false);
  std::atomic<bool> done{false};
  UsageCounts counts;
  const auto drain = [&] {
    const DrainedUsage drained = Drain(recorder);
    counts += drained.counts;
    for (const auto& sampled : drained.sampled) {
      ASSERT_EQ(sampled.extents, std::vector<int64_t>(6, sampled.extents[0]));
      ASSERT_GE(sampled.extents[0], 1);
      ASSERT_LE(sampled.extents[0], threads);
    }
  };
  std::thread drainer([&] {
    while (!done.load()) drain();
  });
  // All at once: slots are given back by threads that end.
  std::atomic<int> ready{0};
  std::vector<std::thread> recorders;
  for (int t = 1; t <= threads; ++t) {
    recorders.emplace_back([&recorder, &ready, threads, t] {
      RecordFrom(recorder, t, 1);
      ready.fetch_add(1);
      while (ready.load() < threads) std::this_thread::yield();
      RecordFrom(recorder, t, kDecisions);
    });
  }
  for (std::thread& thread : recorders) thread.join();
  done.store(true);
  drainer.join();
  drain();
  const auto of_each = static_cast<uint64_t>(threads);
  EXPECT_EQ(counts.total(), of_each * (kDecisions + 1));
  EXPECT_EQ(counts.extrapolated, of_each * (kDecisions / 4 + 1));
}

INSTANTIATE_TEST_SUITE_P(Threads, UsageRecorderThreadsTest,
                         ::testing::Values(2, 8, 40));

TEST(ThreadSlotTest, ThreadsThatEndGiveTheirSlotsBack) {
  std::mutex mutex;
  std::set<uint32_t> slots;
  for (int i = 0; i < 100; ++i) {
    std::thread([&] {
      std::lock_guard lock(mutex);
      slots.insert(ThreadSlot());
      EXPECT_EQ(ThreadSlot(), *slots.rbegin());
    }).join();
  }
  EXPECT_EQ(slots.size(), 1u);
  EXPECT_LT(*slots.begin(), kSharedSlot);
}

TEST(ThreadSlotTest, LivingThreadsHaveDifferentSlotsUntilThereAreNone) {
  constexpr int kThreads = 40;
  std::mutex mutex;
  std::multiset<uint32_t> slots;
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      {
        std::lock_guard lock(mutex);
        slots.insert(ThreadSlot());
      }
      ready.fetch_add(1);
      while (ready.load() < kThreads) std::this_thread::yield();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint32_t slot = 0; slot < kSharedSlot; ++slot) {
    EXPECT_LE(slots.count(slot), 1u) << slot;
  }
  EXPECT_GE(slots.count(kSharedSlot), size_t{kThreads - kSharedSlot});
}

}  // namespace
}  // namespace wavetune
