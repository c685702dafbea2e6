#include "tests/bench/bench_tables.h"

#include <algorithm>
#include <limits>

#include "model/table/table_codec.h"
#include "tests/lib/lcg.h"

namespace wavetune::bench {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr size_t kLoopAnchors = 10;

// Gives a table the usual axes; segments repeat where there were fewer.
void Reshape(SubTable& sub) {
  sub.row_regimes = {{1, 0.25}, {1, 1}, {2, 1}, {kNoLimit, 1}};
  sub.max_waves = {1, kNoLimit};
  sub.loop_anchors.clear();
  for (size_t i = 0; i < kLoopAnchors; ++i) {
    sub.loop_anchors.push_back(static_cast<double>(int64_t{1} << i));
  }
  for (MacroGroup& group : sub.groups) {
    const std::vector<GroupModel> before = group.models;
    group.models.clear();
    for (size_t r = 0; r < sub.row_regimes.size(); ++r) {
      GroupModel& model = group.models.emplace_back();
      const GroupModel& from = before[r % before.size()];
      for (size_t w = 0; w < sub.max_waves.size(); ++w) {
        model.segments.push_back(from.segments[w % from.segments.size()]);
        std::vector<uint8_t>& micro = model.segments.back().micro;
        const std::vector<uint8_t> members = micro;
        micro.resize(kLoopAnchors);
        for (size_t i = 0; i < kLoopAnchors; ++i) {
          micro[i] = members[i % members.size()];
        }
      }
    }
  }
}

}  // namespace

std::string TablePayload(testing::TableKind kind, size_t groups, WaveForm form,
                         bool cold) {
  for (uint64_t seed = 1;; ++seed) {
    testing::Lcg random(seed);
    Table table = RandomTable(random, kind, /*portfolio=*/100);
    SubTable& sub = table.sub_tables[0];
    // The usual case: alignment is the only predicate.
    const bool aligned =
        std::all_of(sub.predicates.begin(), sub.predicates.end(),
                    [](const Relation& relation) {
                      return relation.op == Relation::Operator::kMultipleOf;
                    });
    if (sub.predicates.empty() || !aligned || sub.groups.size() < groups ||
        sub.max_waves.size() < 2 || sub.row_regimes.size() < 3) {
      continue;
    }
    sub.groups.resize(groups);
    if (form == WaveForm::kOverlap) MakeOverlap(random, sub);
    Reshape(sub);
    if (form == WaveForm::kOverlap) testing::MakeAlikeAcrossWaves(sub);
    if (cold) testing::AddColdBytes(random, table, sub);
    return EncodeTable(table).value();
  }
}

std::vector<Extents> LlmProblems() {
  testing::Lcg random(1);
  std::vector<Extents> problems(kProblems);  // Braces keep the order below.
  for (Extents& extents : problems) {
    extents = {random.Between(1, 8192), 128 * random.Between(1, 128),
               128 * random.Between(1, 128)};
  }
  return problems;
}

std::vector<std::vector<int64_t>> TokensPerExpert(size_t experts,
                                                  int64_t tokens) {
  testing::Lcg random(2);
  std::vector<std::vector<int64_t>> lists(kProblems);
  const int64_t mean = tokens / static_cast<int64_t>(experts);
  for (std::vector<int64_t>& list : lists) {
    for (size_t i = 0; i < experts; ++i) {
      list.push_back(random.OneIn(8) ? 0 : random.Below(2 * mean + 1));
    }
  }
  return lists;
}

}  // namespace wavetune::bench
