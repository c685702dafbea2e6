#include "fit/plan/predicted_cost.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

class PredictedCostTest : public ::testing::Test {
 protected:
  PredictedCostTest() { input_.spec = &spec_; }

  static Problem At(int64_t m) { return {.extents = {m, 1024, 1024}}; }
  void Measured(int64_t m, double device_time_us) {
    input_.samples.push_back({.configuration = spec_.default_configuration,
                              .problem = At(m),
                              .device_time_us = device_time_us});
  }
  double Of(int64_t m) const {
    return PredictedCostUs(input_, {{spec_.default_configuration, At(m)}});
  }

  const KernelSpec spec_ = testing::GemmSpec();
  ProfileInput input_;
};

TEST_F(PredictedCostTest, WhatIsSmallCostsLessThanWhatWasMeasured) {
  EXPECT_EQ(Of(1024), 0);  // Nothing is known.
  Measured(65536, 64e6);
  EXPECT_NEAR(Of(65536), 64e6, 1);
  EXPECT_NEAR(Of(32768), 32e6, 1);
  EXPECT_LT(Of(1), 64e6 / 64);
  Measured(65536, 200e6);
  Measured(65536, 66e6);
  EXPECT_NEAR(Of(65536), 66e6, 1);  // The median.
}

// A launch and its warm-up take some time however small they are.
TEST_F(PredictedCostTest, WhatIsShortTakesItsTwoMilliseconds) {
  Measured(65536, 64e3);
  EXPECT_EQ(Of(1), 2000);
}

TEST_F(PredictedCostTest, ACandidateWithoutSamplesCostsAsOthersDo) {
  Measured(65536, 64e6);
  const auto& usual = spec_.default_configuration.values();
  std::vector<int64_t> values(usual.begin(), usual.end());
  ++values.back();  // A micro parameter.
  EXPECT_NEAR(PredictedCostUs(input_, {{Configuration(values), At(65536)}}),
              64e6, 1);
}

}  // namespace
}  // namespace wavetune
