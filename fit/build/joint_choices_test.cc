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
#include <utility>
#include <variant>
#include <vector>

#include "fit/build/fit_table.h"
#include "fit/plan/verification.h"
#include "fit/profile.h"
#include "fit/testing/synthetic_device.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/engine_rule.h"
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

// With the engines' parameters, so that their rules are in the space.
KernelSpec EngineSpec() {
  KernelSpec spec = ExpertSpec(/*shares=*/true);
  std::get<ServedMoe>(spec.serves).engines = {"vllm", "sglang"};
  const auto parameter = [](const char* name, ParameterRole role,
                            std::vector<int64_t> values) {
    return Parameter{.name = name, .role = role, .values = std::move(values)};
  };
  spec.parameters = {
      parameter("BLOCK_SIZE_M", ParameterRole::kMacro, {16, 32, 64, 128}),
      parameter("BLOCK_SIZE_N", ParameterRole::kMacro, {64, 128}),
      parameter("BLOCK_SIZE_K", ParameterRole::kMacro, {64, 128}),
      parameter("num_stages", ParameterRole::kMicro, {3, 4}),
      parameter("num_warps", ParameterRole::kMicro, {4, 8}),
      parameter("GROUP_SIZE_M", ParameterRole::kMicro, {1, 16})};
  spec.constraints.clear();
  spec.problem_predicates.clear();
  spec.default_configuration = {64, 64, 64, 3, 4, 1};
  return spec;
}

TEST(JointChoicesTest, WhatAnEngineLaunchesByItselfIsOnOffer) {
  const SyntheticDevice device(EngineSpec(), {});
  const std::vector<Configuration> rules = EngineConfigurations(device.spec());
  ASSERT_EQ(rules.size(), 8u);  // All of vLLM's, and not SGLang's two.
  ProfileInput input = Profile(device, device.Input());
  input.options.portfolio_size = 2;
  const Table table = FitTable(input).value().table;
  const auto compiled =
      CompiledTable::Create(EncodeTable(table).value()).value();
  size_t known = 0;
  for (const Configuration& rule : rules) {
    if (!Configurations(table.sub_tables[0]).contains(rule)) continue;
    ++known;
    const Problem gate_up = GateUp(3000);
    const Problem down = Down(3000);
    const TableProblem problems[] = {
        {compiled->SubTableIndex("gate_up"), gate_up.View()},
        {compiled->SubTableIndex("down"), down.View()}};
    // It alone agrees on all parameters: the others would win by much.
    Decision decisions[2];
    compiled->ResolveTogether(problems, ~uint32_t{0}, absl::MakeSpan(decisions),
                              /*stale=*/false, TableOrigin::kDefaults, &rule);
    const Configuration kept = decisions[0].configuration;
    const double gain = device.TrueLatencyUs(rule, gate_up) /
                        device.TrueLatencyUs(kept, gate_up);
    EXPECT_TRUE(kept == rule || gain > 0.97) << gain;
  }
  EXPECT_GE(known, 4u);  // Screening drops those that are far too slow.
}

TEST(JointChoicesTest, VerificationComparesWithTheEnginesRule) {
  const SyntheticDevice device(EngineSpec(), {});
  const ProfileInput input = Profile(device, device.Input());
  const Table table = FitTable(input).value().table;
  const VerificationPlan plan =
      PlanVerification(input, table, /*incumbent=*/nullptr);
  ASSERT_FALSE(plan.points.empty());
  for (const VerificationPlan::Point& point : plan.points) {
    EXPECT_EQ(
        point.default_configuration,
        EngineRivals(device.spec(), point.problem.View())[0].configuration);
    EXPECT_NE(point.default_configuration, device.spec().default_configuration);
  }
}

}  // namespace
}  // namespace wavetune
