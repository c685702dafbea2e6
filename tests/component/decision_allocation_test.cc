// Resolve allocates nothing. A binary of its own: it replaces operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "model/decide/compiled_table.h"
#include "model/decide/simd/simd_path.h"
#include "model/table/table_codec.h"
#include "tests/lib/expert_table.h"
#include "tests/lib/lcg.h"
#include "tests/lib/random_table.h"

namespace {

std::atomic<long> allocations = 0;

void* Allocate(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* const memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return Allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return Allocate(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace wavetune {
namespace {

TEST(DecisionAllocationTest, TheCounterCounts) {
  const long before = allocations.load();
  std::vector<int> vector(100);
  EXPECT_GT(allocations.load(), before);
  EXPECT_EQ(vector.size(), 100u);
}

class DecisionAllocationPathTest : public ::testing::TestWithParam<SimdPath> {};

TEST_P(DecisionAllocationPathTest, ResolveAllocatesNothing) {
  for (int seed = 0; seed < 100; ++seed) {
    testing::Lcg random(static_cast<uint64_t>(seed));
    Table table = testing::RandomTable(random);
    if (seed % 2 == 1) {
      testing::AddColdBytes(random, table, table.sub_tables[0]);
    }
    const auto compiled =
        CompiledTable::Create(EncodeTable(table).value(), GetParam());
    ASSERT_TRUE(compiled.ok());
    for (int i = 0; i < 50; ++i) {
      const Problem problem = testing::RandomProblem(random, table);
      const long before = allocations.load();
      const Decision known = (*compiled)->Resolve(0, problem.View());
      const Decision repeated = (*compiled)->Resolve(0, problem.View());
      const Decision unknown = (*compiled)->Resolve(-1, problem.View());
      const long after = allocations.load();
      ASSERT_EQ(after, before) << "seed " << seed << ", problem " << i;
      ASSERT_NE(known.source, DecisionSource{});
      ASSERT_EQ(repeated, known);
      ASSERT_EQ(unknown.source, DecisionSource::kDefault);
    }
  }
}

TEST_P(DecisionAllocationPathTest, DecidingTogetherAllocatesNothing) {
  const auto compiled = CompiledTable::Create(
      EncodeTable(testing::ExpertTable(/*seed=*/1)).value(), GetParam());
  ASSERT_TRUE(compiled.ok());
  const std::vector<int64_t> slots = {12, 0, 700, 3};
  const std::vector<int64_t> down = {0, 2048, 768, 8};
  const std::vector<int64_t> gate_up = {0, 1536, 2048, 8};
  const TableProblem problems[] = {{0, {down, slots}}, {1, {gate_up, slots}}};
  Decision decisions[2];
  const long before = allocations.load();
  (*compiled)->ResolveTogether(problems, ~uint32_t{0},
                               absl::MakeSpan(decisions));
  const long after = allocations.load();
  EXPECT_EQ(after, before);
  EXPECT_EQ(decisions[0].source, DecisionSource::kFitted);
}

// A thread's memo is part of the thread.
TEST_P(DecisionAllocationPathTest, TheFirstDecisionOfAThreadAllocatesNothing) {
  testing::Lcg random(1);
  const Table table =
      testing::RandomTable(random, testing::TableKind::kGemm, 12);
  const auto compiled =
      CompiledTable::Create(EncodeTable(table).value(), GetParam());
  ASSERT_TRUE(compiled.ok());
  long during = -1;
  std::thread thread([&] {
    const long before = allocations.load();
    (*compiled)->Resolve(0, {64, 64, 512});
    during = allocations.load() - before;
  });
  thread.join();
  EXPECT_EQ(during, 0);
}

INSTANTIATE_TEST_SUITE_P(Paths, DecisionAllocationPathTest,
                         ::testing::ValuesIn(SupportedSimdPaths()),
                         [](const auto& test) {
                           return std::string(ToString(test.param));
                         });

}  // namespace
}  // namespace wavetune
