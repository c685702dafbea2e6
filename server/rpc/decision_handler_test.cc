#include "server/rpc/decision_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "formats/types.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "model/testing/kernels.h"
#include "server/catalog/default_faults.h"
#include "server/jobs/fake_measurement_executor.h"
#include "server/jobs/fake_profiling.h"
#include "server/store/fake_stores.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
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
  Clock& clock_ = SystemClock();
  TableCatalog tables_{&store_, [](const std::string&) {}};
  AgentDirectory devices_{&device_store_, &clock_};
  FakeKernelCatalog kernels_;
  FakeSampleStore samples_;
  DefaultFaults faults_{&samples_};
  DecisionHandler handler_{&tables_, &devices_, &kernels_, &faults_};
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

TEST_F(DecisionHandlerTest, AWithdrawnTableAnswersTheDefaultAndWhy) {
  const DeviceFacts device = Gpu("sm_90");
  See(device);
  const ProfileKey key{spec_.name, std::string(64, 'a'), SiliconKey(device),
                       EnvironmentKey(device)};
  const Configuration other({16, 32, 16, 1, 1, 0, 1});
  const auto payload = EncodeTable(FixedTable(spec_, key, other, 10));
  ASSERT_TRUE(payload.ok()) << payload.status();
  const auto promoted = tables_.Promote({.key = key}, *payload);
  ASSERT_TRUE(promoted.ok()) << promoted.status();
  ASSERT_TRUE(Resolve("sm_90").ok());
  EXPECT_NE(response_.decisions(0).source(), v1::DEFAULT);

  ASSERT_TRUE(
      tables_.Withdraw(key, *promoted, "it chooses a wrong one", 7).ok());
  ASSERT_TRUE(Resolve("sm_90").ok());
  EXPECT_EQ(response_.decisions(0).source(), v1::DEFAULT);
  EXPECT_THAT(Values(), ElementsAre(64, 32, 32, 2, 4, 1, 1));
  EXPECT_THAT(
      response_.decisions(0).reason(),
      HasSubstr("TABLE_WITHDRAWN: table " + ShortDigest(promoted->digest) +
                ": it chooses a wrong one"));
  EXPECT_EQ(response_.digest(), "");
}

TEST_F(DecisionHandlerTest, ADefaultThatDoesNotWorkIsToldBesideAStaleTable) {
  const DeviceFacts device = Gpu("sm_90");
  See(device);
  const auto kernel = kernels_.Get(spec_.name, device);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ProfileKey key{spec_.name, (*kernel)->files.fingerprint, SiliconKey(device),
                 "driver=0"};
  const auto payload =
      EncodeTable(FixedTable(spec_, key, spec_.default_configuration, 10));
  ASSERT_TRUE(tables_.Promote({.key = key}, *payload).ok());
  key.environment_key = EnvironmentKey(device);
  ASSERT_TRUE(
      samples_
          .Append(key, 1, {},
                  {{.specialisation = "other",
                    .candidate = {.configuration = spec_.default_configuration,
                                  .excluded_reason = "wrong result: 0.5"}}})
          .ok());
  v1::ResolveRequest request;
  request.set_kernel(spec_.name);
  request.set_device_uuid("sm_90");
  *request.add_problems() =
      ProblemToProto(spec_.dimensions, {.extents = {64, 64, 64}});
  request.mutable_problems(0)->set_specialisation("other");
  ASSERT_TRUE(handler_.Resolve(request, &response_).ok());
  EXPECT_THAT(response_.decisions(0).reason(), HasSubstr("DEFAULT_UNUSABLE"));
}

TEST_F(DecisionHandlerTest, ADefaultThatDoesNotWorkIsToldAlsoWithoutItsFolder) {
  const DeviceFacts device = Gpu("sm_90");
  See(device);
  KernelSpec gone = spec_;
  gone.name = "gone";
  const ProfileKey key{gone.name, std::string(64, 'a'), SiliconKey(device),
                       EnvironmentKey(device)};
  const auto payload =
      EncodeTable(FixedTable(gone, key, gone.default_configuration, 10));
  ASSERT_TRUE(payload.ok()) << payload.status();
  const auto promoted = tables_.Promote({.key = key}, *payload);
  ASSERT_TRUE(promoted.ok()) << promoted.status();
  ASSERT_TRUE(tables_.Withdraw(key, *promoted, "it is wrong", 7).ok());
  ASSERT_TRUE(
      samples_
          .Append(key, 1, {},
                  {{.candidate = {.configuration = gone.default_configuration,
                                  .excluded_reason = "wrong result: 0.5"}}})
          .ok());
  v1::ResolveRequest request;
  request.set_kernel(gone.name);
  *request.add_problems() =
      ProblemToProto(gone.dimensions, {.extents = {64, 64, 64}});
  ASSERT_TRUE(handler_.Resolve(request, &response_).ok());
  EXPECT_THAT(response_.decisions(0).reason(), HasSubstr("DEFAULT_UNUSABLE"));
}

TEST_F(DecisionHandlerTest, ADefaultThatDoesNotWorkIsAnsweredWithTheReason) {
  const DeviceFacts device = Gpu("sm_90");
  See(device);
  const auto kernel = kernels_.Get(spec_.name, device);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const ProfileKey key{spec_.name, (*kernel)->files.fingerprint,
                       SiliconKey(device), EnvironmentKey(device)};
  ASSERT_TRUE(
      samples_
          .Append(key, 1, {},
                  {{.candidate = {.configuration = spec_.default_configuration,
                                  .excluded_reason =
                                      "cannot be launched: too much shared "
                                      "memory"}}})
          .ok());
  ASSERT_TRUE(Resolve("sm_90").ok());
  EXPECT_EQ(response_.decisions(0).source(), v1::DEFAULT);
  EXPECT_THAT(response_.decisions(0).reason(), HasSubstr("DEFAULT_UNUSABLE"));
  EXPECT_THAT(response_.decisions(0).reason(),
              HasSubstr("too much shared memory"));

  // Also beside a problem that is none of this kernel's.
  v1::ResolveRequest request;
  request.set_kernel(spec_.name);
  request.set_device_uuid("sm_90");
  request.add_problems();
  v1::ResolveResponse response;
  ASSERT_TRUE(handler_.Resolve(request, &response).ok());
  EXPECT_THAT(response.decisions(0).reason(),
              AllOf(HasSubstr("DEFAULT_UNUSABLE"),
                    HasSubstr("decided because of"), HasSubstr("dimension")));
}

}  // namespace
}  // namespace wavetune
