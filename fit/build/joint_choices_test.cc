// The two products of an expert layer on a made-up device: they are launched
// with one configuration, so their sub-tables share candidates.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fit/build/fit_table.h"
#include "fit/profile.h"
#include "fit/testing/synthetic_device.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using testing::SyntheticDevice;

constexpr int64_t kExperts = 16;
constexpr int64_t kHidden = 2048;
constexpr int64_t kIntermediate = 512;

// Slots of a layer to which so many come, spread evenly.
std::vector<int64_t> Slots(int64_t all) {
  std::vector<int64_t> slots(kExperts, all / kExperts);
  for (int64_t i = 0; i < all % kExperts; ++i) ++slots[static_cast<size_t>(i)];
  return slots;
}

Problem GateUp(int64_t slots) {
  return {.extents = {0, 2 * kIntermediate, kHidden},
          .repeated = Slots(slots),
          .specialisation = "gate_up"};
}

Problem Down(int64_t slots) {
  return {.extents = {0, kHidden, kIntermediate},
          .repeated = Slots(slots),
          .specialisation = "down"};
}

// GroupedGemmSpec as engines launch it for experts.
KernelSpec ExpertSpec(bool shares) {
  KernelSpec spec = testing::GroupedGemmSpec();
  spec.specialisations = {{.name = "gate_up"}, {.name = "down"}};
  if (shares) {
    spec.serves = ServedMoe{
        .tokens = 0, .n = 1, .k = 2, .gate_up = "gate_up", .down = "down"};
  }
  spec.representative_problems.clear();
  for (const int64_t slots : {16, 200, 1500, 12000}) {
    spec.representative_problems.push_back({.problem = GateUp(slots)});
    spec.representative_problems.push_back({.problem = Down(slots)});
  }
  return spec;
}

std::set<Configuration> Configurations(const SubTable& sub) {
  std::set<Configuration> result;
  for (const TableCandidate& candidate : sub.portfolio)
    result.insert(candidate.configuration);
  return result;
}

// Best sum over chosen sum, at token counts that no representative problem has.
class JointChoices {
 public:
  JointChoices(const SyntheticDevice& device, const Table& table)
      : device_(device),
        table_(CompiledTable::Create(EncodeTable(table).value()).value()) {}

  double Quality() const {
    double logs = 0;
    int count = 0;
    for (int64_t slots = 24; slots < 20000; slots += slots / 5) {
      logs += std::log(BestUs(slots) / ChosenUs(slots));
      ++count;
    }
    return std::exp(logs / count);
  }

 private:
  double SumUs(const Configuration& configuration, int64_t slots) const {
    return device_.TrueLatencyUs(configuration, GateUp(slots)) +
           device_.TrueLatencyUs(configuration, Down(slots));
  }

  double BestUs(int64_t slots) const {
    double best_us = std::numeric_limits<double>::infinity();
    const ProfileInput input = device_.Input();
    for (const Candidate& candidate : input.candidates[0])
      best_us = std::min(best_us, SumUs(candidate.configuration, slots));
    return best_us;
  }

  double ChosenUs(int64_t slots) const {
    const Problem gate_up = GateUp(slots);
    const Problem down = Down(slots);
    const TableProblem problems[] = {
        {table_->SubTableIndex("gate_up"), gate_up.View()},
        {table_->SubTableIndex("down"), down.View()}};
    Decision decisions[2];
    table_->ResolveTogether(problems, ~uint32_t{0}, absl::MakeSpan(decisions));
    return SumUs(decisions[0].configuration, slots);
  }

  const SyntheticDevice& device_;
  std::unique_ptr<const CompiledTable> table_;
};

TEST(JointChoicesTest, ProductsOfALayerHaveTheirCandidatesInCommon) {
  const SyntheticDevice apart(ExpertSpec(/*shares=*/false), {});
  const SyntheticDevice shared(ExpertSpec(/*shares=*/true), {});
  ProfileInput input = Profile(apart, apart.Input());
  input.options.portfolio_size = 4;
  const Table own = FitTable(input).value().table;
  input.spec = &shared.spec();
  const Table both = FitTable(input).value().table;
  ASSERT_EQ(own.sub_tables.size(), 2u);
  std::set<Configuration> all = Configurations(own.sub_tables[0]);
  const std::set<Configuration> second = Configurations(own.sub_tables[1]);
  ASSERT_NE(all, second) << "there is nothing to share";
  all.insert(second.begin(), second.end());
  EXPECT_EQ(Configurations(both.sub_tables[0]), all);
  EXPECT_EQ(Configurations(both.sub_tables[1]), all);
  // What is decided for both is then nearer to the best.
  const double before = JointChoices(apart, own).Quality();
  const double after = JointChoices(shared, both).Quality();
  RecordProperty("apart", std::to_string(before));
  RecordProperty("shared", std::to_string(after));
  EXPECT_GE(after, before - 0.0016);
  EXPECT_GT(after, 0.95);
}

}  // namespace
}  // namespace wavetune
