#include "server/decision_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/testing/kernels.h"
#include "proto/convert/types.h"
#include "server/registry/fake_measurement_executor.h"
#include "server/registry/fake_stores.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

DeviceFacts Gpu(const std::string& architecture) {
  return {
      .uuid = architecture, .backend = "cuda", .architecture = architecture};
}

// A kernel without a table, whose default is meant for compute capability 9.0.
class DecisionHandlerTest : public ::testing::Test {
 protected:
  DecisionHandlerTest() { kernels_.Add(spec_); }

  void See(const DeviceFacts& device) {
    ASSERT_TRUE(device_store_.Put({.facts = device}).ok());
    ASSERT_TRUE(devices_.Load().ok());
  }

  absl::Status Resolve(const std::string& device) {
    v1::ResolveRequest request;
    request.set_kernel(spec_.name);
    request.set_device_uuid(device);
    *request.add_problems() =
        ProblemToProto(spec_.dimensions, {.extents = {64, 64, 64}});
    response_.Clear();
    return handler_.Resolve(request, &response_);
  }

  std::vector<int64_t> Values() const {
    std::vector<int64_t> values;
    if (response_.decisions_size() != 1) return values;
    for (const v1::ParameterValue& v : response_.decisions(0).configuration()) {
      values.push_back(v.value());
    }
    return values;
  }

  const KernelSpec spec_ = testing::HopperGemmSpec();
  FakeTableStore store_;
  FakeDeviceStore device_store_;
  SystemClock clock_;
  TableCatalog tables_{&store_, [](const std::string&) {}};
  AgentDirectory devices_{&device_store_, &clock_};
  FakeKernelCatalog kernels_;
  DecisionHandler handler_{&tables_, &devices_, &kernels_};
  v1::ResolveResponse response_;
};

TEST_F(DecisionHandlerTest, WithoutATableAnswersTheDefaultOfTheDevice) {
  ASSERT_TRUE(Resolve("").ok());  // No device was ever seen.
  EXPECT_THAT(Values(), ElementsAre(64, 32, 32, 2, 4, 1, 1));
  See(Gpu("sm_80"));
  ASSERT_TRUE(Resolve("").ok());
  EXPECT_THAT(Values(), ElementsAre(16, 32, 16, 1, 1, 0, 1));
  EXPECT_EQ(response_.decisions(0).source(), v1::DEFAULT);
  See(Gpu("sm_90"));
  ASSERT_TRUE(Resolve("sm_90").ok());
  EXPECT_THAT(Values(), ElementsAre(64, 32, 32, 2, 4, 1, 1));
  ASSERT_TRUE(Resolve("sm_80").ok());
  EXPECT_THAT(Values(), ElementsAre(16, 32, 16, 1, 1, 0, 1));
}

TEST_F(DecisionHandlerTest, AsksWhichDeviceIsMeantWhereDefaultsDiffer) {
  See(Gpu("sm_80"));
  See(Gpu("sm_90"));
  const absl::Status status = Resolve("");
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("say which device"));
}

}  // namespace
}  // namespace wavetune
