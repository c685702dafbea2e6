#include "server/rpc/workload_handler.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/testing/kernels.h"
#include "server/jobs/fake_measurement_executor.h"
#include "server/store/fake_workload_store.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kConfig[] =
    R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64,
        "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 4, "vocab_size": 256})";

class WorkloadHandlerTest : public ::testing::Test {
 protected:
  WorkloadHandlerTest() {
    KernelSpec linear = testing::GemmSpec();
    linear.serves = ServedLinear{.m = 0, .n = 1, .k = 2};
    kernels_.Add(linear);
    kernels_.Add(testing::CausalAttentionSpec());  // Serves nothing.
  }

  v1::AddWorkloadRequest Request(const std::string& name) const {
    v1::AddWorkloadRequest request;
    request.set_name(name);
    request.set_config(kConfig);
    return request;
  }

  FakeClock clock_;
  FakeWorkloadStore store_;
  FakeKernelCatalog kernels_;
  WorkloadCatalog catalog_{&store_, &clock_, "500"};
  WorkloadHandler handler_{&catalog_, &kernels_, &clock_};
};

TEST_F(WorkloadHandlerTest, SaysWhatAWorkloadIsForEachKernelThatServesIt) {
  v1::AddWorkloadResponse response;
  ASSERT_TRUE(handler_.AddWorkload(Request("a"), "1000", &response).ok());
  const v1::WorkloadInfo& info = response.workload();
  EXPECT_EQ(info.name(), "a");
  EXPECT_EQ(info.architecture(), "LlamaForCausalLM");
  EXPECT_EQ(info.tensor_parallel(), 1);
  EXPECT_EQ(info.max_tokens(), 16384);
  EXPECT_EQ(info.user(), "1000");
  ASSERT_EQ(info.kernels_size(), 1);
  EXPECT_EQ(info.kernels(0).kernel(), testing::GemmSpec().name);
  EXPECT_GT(info.kernels(0).problems(), 50);
}

TEST_F(WorkloadHandlerTest, ListsAndGets) {
  v1::AddWorkloadResponse added;
  v1::AddWorkloadRequest request = Request("b");
  request.set_tensor_parallel(2);
  request.set_max_tokens(64);
  ASSERT_TRUE(handler_.AddWorkload(request, "0", &added).ok());
  ASSERT_TRUE(handler_.AddWorkload(Request("a"), "0", &added).ok());
  v1::ListWorkloadsResponse list;
  ASSERT_TRUE(handler_.ListWorkloads(&list).ok());
  ASSERT_EQ(list.workloads_size(), 2);
  EXPECT_EQ(list.workloads(0).name(), "a");
  v1::GetWorkloadRequest get;
  get.set_name("b");
  v1::GetWorkloadResponse one;
  ASSERT_TRUE(handler_.GetWorkload(get, &one).ok());
  EXPECT_EQ(one.config(), kConfig);
  EXPECT_EQ(one.workload().tensor_parallel(), 2);
  EXPECT_EQ(one.workload().max_tokens(), 64);
}

TEST_F(WorkloadHandlerTest, ANumberThatIsGivenAsZeroIsNoDefault) {
  v1::AddWorkloadResponse response;
  for (auto set : {&v1::AddWorkloadRequest::set_tensor_parallel,
                   &v1::AddWorkloadRequest::set_expert_parallel,
                   &v1::AddWorkloadRequest::set_max_tokens}) {
    v1::AddWorkloadRequest request = Request("a");
    (request.*set)(0);
    EXPECT_EQ(handler_.AddWorkload(request, "0", &response).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(WorkloadHandlerTest, ARoutingIsDrawnUnlessItIsSaid) {
  v1::AddWorkloadResponse response;
  v1::AddWorkloadRequest request = Request("a");
  ASSERT_TRUE(handler_.AddWorkload(request, "0", &response).ok());
  EXPECT_EQ(response.workload().routing().popularity(),
            v1::ExpertRouting::DRAWN);
  request.mutable_routing()->set_popularity(v1::ExpertRouting::EVEN);
  ASSERT_TRUE(handler_.AddWorkload(request, "0", &response).ok());
  EXPECT_TRUE(response.replaced());
  EXPECT_EQ(response.workload().routing().popularity(),
            v1::ExpertRouting::EVEN);
}

TEST_F(WorkloadHandlerTest, RecordedCountsAreKeptWithTheMostWantedFirst) {
  v1::AddWorkloadResponse response;
  v1::AddWorkloadRequest request = Request("a");
  request.mutable_config()->insert(
      1, R"("num_experts": 3, "num_experts_per_tok": 1, )");
  v1::ExpertRouting& routing = *request.mutable_routing();
  routing.set_popularity(v1::ExpertRouting::RECORDED);
  EXPECT_THAT(
      std::string(handler_.AddWorkload(request, "0", &response).message()),
      HasSubstr("a recorded routing has no counts"));
  for (const int64_t count : {2, 9, 4}) routing.add_counts(count);
  ASSERT_TRUE(handler_.AddWorkload(request, "0", &response).ok());
  EXPECT_THAT(response.workload().routing().counts(), ElementsAre(9, 4, 2));
  std::swap(*routing.mutable_counts()->Mutable(0),
            *routing.mutable_counts()->Mutable(1));
  ASSERT_TRUE(handler_.AddWorkload(request, "0", &response).ok());
  EXPECT_TRUE(response.unchanged());
  routing.set_popularity(static_cast<v1::ExpertRouting::Popularity>(9));
  EXPECT_THAT(
      std::string(handler_.AddWorkload(request, "0", &response).message()),
      HasSubstr("routing 9 is of a later version"));
}

TEST_F(WorkloadHandlerTest, WhoAddsTooFastWaitsAndOthersDoNot) {
  int taken = 0;
  while (handler_.TakeTurn("1000").ok()) ++taken;
  EXPECT_EQ(taken, WorkloadHandler::kAddsAtOnce);
  EXPECT_THAT(std::string(handler_.TakeTurn("1000").message()),
              HasSubstr("add them less often"));
  EXPECT_TRUE(handler_.TakeTurn("1001").ok());
}

TEST_F(WorkloadHandlerTest, RemovesOne) {
  v1::AddWorkloadResponse added;
  ASSERT_TRUE(handler_.AddWorkload(Request("a"), "0", &added).ok());
  v1::RemoveWorkloadRequest request;
  request.set_name("a");
  EXPECT_TRUE(handler_.RemoveWorkload(request).ok());
  EXPECT_EQ(handler_.RemoveWorkload(request).code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wavetune
