#include "server/catalog/workload_catalog.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"
#include "server/store/fake_workload_store.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Workload Small(const std::string& name, int64_t hidden = 64) {
  return {
      .name = name,
      .config = absl::StrCat(
          R"({"architectures": ["LlamaForCausalLM"], "hidden_size": )", hidden,
          R"(, "intermediate_size": 128, "num_hidden_layers": 2,
                 "num_attention_heads": 4, "vocab_size": 256})"),
      .max_tokens = 100};
}

class WorkloadCatalogTest : public ::testing::Test {
 protected:
  absl::Status Add(const Workload& workload, const std::string& user = "1000") {
    return catalog_.Add(workload, user).status();
  }
  KernelSpec Linear() const {
    KernelSpec spec = testing::GemmSpec();
    spec.serves = ServedLinear{.m = 0, .n = 1, .k = 2};
    return spec;
  }

  FakeClock clock_;
  FakeWorkloadStore store_;
  WorkloadCatalog catalog_{&store_, &clock_, "500"};
};

TEST_F(WorkloadCatalogTest, WhatIsAddedIsThereAfterARestart) {
  const WorkloadCatalog::Added added = catalog_.Add(Small("a"), "1000").value();
  EXPECT_FALSE(added.unchanged);
  EXPECT_FALSE(added.replaced);
  EXPECT_EQ(added.entry.layers.architecture, "LlamaForCausalLM");
  WorkloadCatalog later(&store_, &clock_, "500");
  ASSERT_TRUE(later.Load().ok());
  ASSERT_EQ(later.List().size(), 1u);
  EXPECT_EQ(later.List()[0].record.user, "1000");
  EXPECT_EQ(later.Get("a")->record.config, Small("a").config);
  EXPECT_EQ(later.Problems(Linear()).size(),
            catalog_.Problems(Linear()).size());
}

TEST_F(WorkloadCatalogTest, WhatEnginesFilesHaveIsAPartOfIt) {
  KernelSpec spec = testing::GroupedGemmSpec();
  spec.dimensions[0].min = 0;
  spec.serves = ServedMoe{.tokens = 0, .n = 1, .k = 2, .engines = {"vllm"}};
  Workload experts = Small("a");
  experts.config.insert(
      1,
      R"("num_experts": 4, "num_experts_per_tok": 1, "moe_intermediate_size": 32, )");
  ASSERT_TRUE(Add(experts).ok());
  experts.name = "b";
  experts.config.insert(
      1, absl::StrCat("\"", kEngineFiles, "\": {\"NVIDIA H200\": {\"",
                      LaunchKey("vllm", 4, 32, false, 8), "\": {}}}, "));
  ASSERT_TRUE(Add(experts).ok());
  EXPECT_NE(catalog_.List()[0].digest, catalog_.List()[1].digest);
  ASSERT_TRUE(catalog_.Remove("a").ok());
  WorkloadCatalog later(&store_, &clock_, "500");
  ASSERT_TRUE(later.Load().ok());
  std::vector<Rival> rivals;
  for (const WeightedProblem& declared : later.Problems(spec))
    rivals.insert(rivals.end(), declared.rivals.begin(), declared.rivals.end());
  EXPECT_THAT(rivals,
              ::testing::ElementsAre(Rival{
                  "vllm's file", spec.default_configuration, "NVIDIA H200"}));
}

TEST_F(WorkloadCatalogTest, EqualOnesCountOnceUnderAnyName) {
  ASSERT_TRUE(Add(Small("a")).ok());
  const std::vector<WeightedProblem> once = catalog_.Problems(Linear());
  ASSERT_TRUE(Add(Small("b")).ok());
  EXPECT_EQ(catalog_.Problems(Linear()), once);
  ASSERT_TRUE(Add(Small("c", 128)).ok());
  EXPECT_GT(catalog_.Problems(Linear()).size(), once.size());
  EXPECT_EQ(catalog_.List()[0].digest, catalog_.List()[1].digest);
}

// So that digests of before there were routings stay.
TEST_F(WorkloadCatalogTest, ARoutingIsAPartOfWhatAWorkloadIs) {
  Workload even = Small("even");
  even.routing.popularity = Popularity::kEven;
  ASSERT_TRUE(Add(Small("a")).ok());
  ASSERT_TRUE(Add(even).ok());
  const auto list = catalog_.List();
  EXPECT_EQ(list[0].digest,
            Sha256Hex(absl::StrCat("1 1 100\n", Small("a").config)));
  EXPECT_EQ(list[1].digest,
            Sha256Hex(absl::StrCat("1 1 100 even\n", Small("a").config)));
  even.name = "a";
  EXPECT_TRUE(catalog_.Add(even, "1000")->replaced);
  WorkloadCatalog later(&store_, &clock_, "500");
  ASSERT_TRUE(later.Load().ok());
  EXPECT_EQ(later.List()[0].record.routing, even.routing);
  EXPECT_EQ(later.List()[0].layers.routing, even.routing);
  EXPECT_TRUE(later.Add(even, "1000")->unchanged);
}

TEST_F(WorkloadCatalogTest, HistogramsThatDifferAreTwoWorkloads) {
  Workload recorded = Small("a");
  recorded.config.insert(
      1,
      R"("num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 64, )");
  recorded.routing.counts = {9, 1};
  ASSERT_TRUE(Add(recorded).ok());
  recorded.name = "b";
  recorded.routing.counts = {8, 2};
  ASSERT_TRUE(Add(recorded).ok());
  EXPECT_NE(catalog_.List()[0].digest, catalog_.List()[1].digest);
  recorded.routing.counts = {8, 2, 1};
  EXPECT_EQ(Add(recorded).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(WorkloadCatalogTest, TextsAreOnDiskAlone) {
  ASSERT_TRUE(Add(Small("a")).ok());
  EXPECT_EQ(catalog_.List()[0].record.config, "");
  EXPECT_EQ(catalog_.List()[0].config_bytes,
            static_cast<int64_t>(Small("a").config.size()));
}

// A serving process declares its own whenever it starts.
TEST_F(WorkloadCatalogTest, TheSameAgainChangesNothingOnDisk) {
  ASSERT_TRUE(Add(Small("a")).ok());
  EXPECT_TRUE(catalog_.Add(Small("a"), "1000")->unchanged);
  EXPECT_EQ(store_.writes(), 1);
}

TEST_F(WorkloadCatalogTest, AnotherOfTheNameReplacesOnesOwn) {
  ASSERT_TRUE(Add(Small("a")).ok());
  EXPECT_TRUE(catalog_.Add(Small("a", 128), "1000")->replaced);
  EXPECT_EQ(catalog_.List()[0].layers.linear[0].k, 128);
}

TEST_F(WorkloadCatalogTest, NobodyReplacesAnothersButRootAndTheDaemonsUser) {
  ASSERT_TRUE(Add(Small("a"), "1000").ok());
  const absl::Status refused = Add(Small("a", 128), "1001");
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("workload a is user 1000's: choose another name"));
  EXPECT_TRUE(Add(Small("a", 128), "0").ok());
  EXPECT_TRUE(Add(Small("a", 64), "500").ok());
}

TEST_F(WorkloadCatalogTest, AUserHasSoManyAndAllSoMany) {
  for (size_t i = 0; i < WorkloadCatalog::kMostOfUser; ++i) {
    ASSERT_TRUE(Add(Small(absl::StrCat("a", i))).ok());
  }
  EXPECT_THAT(std::string(Add(Small("more")).message()),
              HasSubstr("user 1000 has 16 workloads"));
  EXPECT_TRUE(Add(Small("a3", 128)).ok());  // One's own in its place.
  for (size_t i = 0; catalog_.List().size() < WorkloadCatalog::kMostWorkloads;
       ++i) {
    ASSERT_TRUE(Add(Small(absl::StrCat("b", i)), "0").ok());
  }
  const absl::Status full = Add(Small("more"), "0");
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()),
              HasSubstr("there are 64 workloads, which is all that are kept"));
}

TEST_F(WorkloadCatalogTest, WhatIsUnsoundOrCannotBeStoredChangesNothing) {
  Workload cut = Small("a");
  cut.config.resize(cut.config.size() / 2);
  EXPECT_EQ(Add(cut).code(), absl::StatusCode::kInvalidArgument);
  store_.SetStatus(absl::ResourceExhaustedError("disk full"));
  EXPECT_THAT(std::string(Add(Small("a")).message()), HasSubstr("disk full"));
  EXPECT_THAT(catalog_.List(), IsEmpty());
}

TEST_F(WorkloadCatalogTest, RemovingSaysWhatThereIs) {
  ASSERT_TRUE(Add(Small("a")).ok());
  EXPECT_THAT(std::string(catalog_.Remove("b").message()),
              HasSubstr("there is no workload b; there are a"));
  EXPECT_TRUE(catalog_.Remove("a").ok());
  EXPECT_THAT(catalog_.List(), IsEmpty());
  EXPECT_THAT(store_.List().value(), IsEmpty());
  EXPECT_THAT(std::string(catalog_.Get("a").status().message()),
              HasSubstr("none was added yet"));
}

TEST_F(WorkloadCatalogTest, EachLayerWeighsAsMuchAsAnother) {
  ASSERT_TRUE(Add(Small("a")).ok());
  double weight = 0;
  for (const WeightedProblem& weighted : catalog_.Problems(Linear())) {
    weight += weighted.weight;
  }
  EXPECT_NEAR(weight, 5, 1e-9);  // qkv, o, gate and up, down, lm_head.
  EXPECT_THAT(catalog_.Problems(testing::GemmSpec()), IsEmpty());
}

// Written by a later version, say.
TEST_F(WorkloadCatalogTest, WhatThisVersionCannotReadIsListedWithoutProblems) {
  ASSERT_TRUE(
      store_.Put({.name = "odd", .config = "[]", .max_tokens = 5}).ok());
  ASSERT_TRUE(catalog_.Load().ok());
  ASSERT_EQ(catalog_.List().size(), 1u);
  EXPECT_FALSE(catalog_.List()[0].readable.ok());
  EXPECT_THAT(catalog_.Problems(Linear()), IsEmpty());
}

}  // namespace
}  // namespace wavetune
