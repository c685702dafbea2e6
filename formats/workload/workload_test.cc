#include "formats/workload/workload.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

Workload Small() {
  return {
      .name = "small",
      .config =
          R"({"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4,
       "num_attention_heads": 4, "vocab_size": 1000})"};
}

std::string Refused(const Workload& workload) {
  const auto layers = LayersOf(workload);
  EXPECT_EQ(layers.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(layers.status().message());
}

TEST(WorkloadTest, ASoundOneHasLayers) {
  EXPECT_EQ(LayersOf(Small())->linear.size(), 5u);
}

TEST(WorkloadTest, NamesAreShortAndPlain) {
  for (const std::string name :
       {"", "-x", ".hidden", "a//b", "/a", "a/", "a/../b", "../etc", "a b",
        "\x1b[1m", "\xff"}) {
    EXPECT_FALSE(CheckWorkloadName(name).ok()) << name;
  }
  EXPECT_FALSE(CheckWorkloadName(std::string(65, 'a')).ok());
  EXPECT_TRUE(CheckWorkloadName(std::string(64, 'a')).ok());
  EXPECT_TRUE(CheckWorkloadName("Qwen/Qwen3-30B-A3B_tp2.v1").ok());
  Workload workload = Small();
  workload.name = "a//b";
  EXPECT_THAT(Refused(workload), HasSubstr("'a//b' is no name of a workload: "
                                           "give 1 to 64 letters"));
}

TEST(WorkloadTest, ARoutingIsOfTheModelsExperts) {
  Workload workload = Small();
  workload.routing.popularity = Popularity::kEven;
  EXPECT_EQ(LayersOf(workload)->routing, workload.routing);
  workload.routing.counts = {1, 2};
  EXPECT_THAT(Refused(workload),
              HasSubstr("which this model has none of: leave --routing out"));
  workload.config =
      R"({"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4,
       "num_attention_heads": 4, "vocab_size": 1000, "num_experts": 3,
       "num_experts_per_tok": 2})";
  EXPECT_THAT(Refused(workload),
              HasSubstr("--routing: the histogram has counts of 2 experts, the "
                        "layer has 3"));
  workload.routing.counts = {0, 0, 0};
  EXPECT_THAT(Refused(workload), HasSubstr("zeros alone: record one while"));
  workload.routing.counts = {7, -1, 0};
  EXPECT_THAT(Refused(workload), HasSubstr("a count of -1"));
  workload.routing.counts = {INT64_MAX, INT64_MAX, 0};
  EXPECT_EQ(LayersOf(workload)->routing, workload.routing);
}

TEST(WorkloadTest, TokensAreInRange) {
  Workload workload = Small();
  for (const int64_t tokens :
       {int64_t{0}, int64_t{-5}, kMostMaxTokens + 1, INT64_MAX}) {
    workload.max_tokens = tokens;
    EXPECT_THAT(Refused(workload), HasSubstr("give 1 to 1048576"));
  }
}

}  // namespace
}  // namespace wavetune
