#include "model/decide/decision_memo.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "model/decide/compiled_table.h"
#include "model/table/table_codec.h"
#include "tests/lib/lcg.h"
#include "tests/lib/random_table.h"
#include "tests/lib/tiny_table.h"

namespace wavetune {
namespace {

using testing::TwoGroupTable;

MemoKey Key(uint64_t table, const std::vector<int64_t>& extents) {
  return MemoKey(MemoKey::TableOf(table, 0), extents.data(), extents.size());
}

std::unique_ptr<const CompiledTable> CompileOne(const Table& table) {
  return CompiledTable::Create(EncodeTable(table).value()).value();
}

// TwoGroupTable with another delta in all segments: other latencies.
Table SlowerTable(double delta_us) {
  Table table = TwoGroupTable();
  for (MacroGroup& group : table.sub_tables[0].groups) {
    for (GroupModel& model : group.models) {
      for (WaveSegment& segment : model.segments) {
        segment.coefficients.delta = delta_us;
      }
    }
  }
  return table;
}

TEST(DecisionMemoTest, AnEntryHoldsItsOwnKeyOnly) {
  MemoEntry entry;
  entry.key = Key(1, {1, 2, 3});
  EXPECT_TRUE(entry.Holds(Key(1, {1, 2, 3})));
  EXPECT_FALSE(entry.Holds(Key(2, {1, 2, 3})));
  EXPECT_FALSE(entry.Holds(Key(1, {2, 2, 3})));
  EXPECT_FALSE(entry.Holds(Key(1, {1, 1, 3})));
  EXPECT_FALSE(entry.Holds(Key(1, {1, 2, 4})));
  EXPECT_FALSE(entry.Holds(Key(1, {1, 2, 3, 1})));
}

TEST(DecisionMemoTest, AnEmptyEntryHoldsNoTable) {
  EXPECT_FALSE(MemoEntry().Holds(Key(1, {0})));
}

TEST(DecisionMemoTest, TableNumbersNeverRepeat) {
  std::set<uint64_t> numbers = {0};
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(numbers.insert(NewTableNumber()).second);
  }
}

TEST(DecisionMemoTest, ProblemsOfAModelHavePlacesOfTheirOwn) {
  DecisionMemo& memo = DecisionMemo::OfThread();
  std::set<const MemoEntry*> places;
  int problems = 0;
  // Eight layers at eight batch sizes.
  for (int64_t m = 1; m <= 128; m *= 2) {
    for (int64_t layer = 1; layer <= 8; ++layer) {
      places.insert(&memo.EntryFor(Key(1, {m, 1024 * layer, 4096})));
      ++problems;
    }
  }
  // Of 64 in 128 places 50 have one of their own where places are random.
  EXPECT_GE(places.size(), 40u) << "of " << problems;
}

TEST(DecisionMemoTest, ARepeatedProblemHasTheSameAnswer) {
  const auto table = CompileOne(TwoGroupTable());
  const Decision first = table->Resolve(0, {640, 640, 512});
  EXPECT_EQ(table->Resolve(0, {640, 640, 512}), first);
  // Staleness is not part of what is kept.
  const Decision stale = table->Resolve(0, {640, 640, 512}, /*stale=*/true);
  EXPECT_EQ(stale.source, DecisionSource::kStale);
  EXPECT_EQ(stale.latency_us, first.latency_us);
  EXPECT_EQ(table->Resolve(0, {640, 640, 512}), first);
}

TEST(DecisionMemoTest, AProblemThatIsNotLegalStaysSo) {
  const auto table = CompileOne(TwoGroupTable());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(table->Resolve(0, {0, 640, 512}).reason,
              DefaultReason::kExtentOutOfRange);
    EXPECT_EQ(table->Resolve(0, {640, 640, 512}).reason, DefaultReason::kNone);
  }
}

TEST(DecisionMemoTest, TablesDoNotAnswerForEachOther) {
  const auto fast = CompileOne(SlowerTable(10));
  const auto slow = CompileOne(SlowerTable(20));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(fast->Resolve(0, {64, 64, 512}).latency_us + 10,
              slow->Resolve(0, {64, 64, 512}).latency_us);
  }
}

// The allocator may well put the next table where the last one was.
TEST(DecisionMemoTest, ATableThatIsGoneAnswersForNoOther) {
  for (int i = 0; i < 50; ++i) {
    const double delta_us = 10 + i;
    const Decision decision =
        CompileOne(SlowerTable(delta_us))->Resolve(0, {64, 64, 512});
    const Decision other =
        CompileOne(SlowerTable(delta_us + 0.5))->Resolve(0, {64, 64, 512});
    EXPECT_EQ(decision.latency_us + 0.5, other.latency_us);
    EXPECT_NE(decision.digest_prefix, other.digest_prefix);
  }
}

TEST(DecisionMemoTest, SubTablesDoNotAnswerForEachOther) {
  Table table = SlowerTable(10);
  table.sub_tables.push_back(SlowerTable(20).sub_tables[0]);
  table.sub_tables[1].specialisation = "slow";
  const auto compiled = CompileOne(table);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(compiled->Resolve(0, {64, 64, 512}).latency_us + 10,
              compiled->Resolve(1, {64, 64, 512}).latency_us);
  }
}

TEST(DecisionMemoTest, ThreadsRememberApart) {
  const auto table = CompileOne(TwoGroupTable());
  const Decision here = table->Resolve(0, {64, 64, 512});
  const DecisionMemo* memo = nullptr;
  Decision there;
  std::thread other([&] {
    memo = &DecisionMemo::OfThread();
    there = table->Resolve(0, {64, 64, 512});
  });
  other.join();
  EXPECT_NE(memo, &DecisionMemo::OfThread());
  EXPECT_EQ(there, here);
}

}  // namespace
}  // namespace wavetune
