#include "server/catalog/table_staleness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"
#include "server/jobs/fake_measurement_executor.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TableStalenessTest : public ::testing::Test {
 protected:
  void SetUp() override { kernels_.Add(spec_, "1"); }

  // A table as it is measured on the device now.
  TableRecord Measured() {
    return {.key = {spec_.name, *kernels_.Fingerprint(spec_.name, device_),
                    SiliconKey(device_), EnvironmentKey(device_)},
            .compiler = device_.compiler};
  }

  const KernelSpec spec_ = testing::GemmSpec();
  DeviceFacts device_ = testing::H200();
  FakeKernelCatalog kernels_;
};

TEST_F(TableStalenessTest, WhatWasJustMeasuredIsCurrent) {
  EXPECT_EQ(StaleReason(Measured(), device_, kernels_), "");
}

TEST_F(TableStalenessTest, NamesThePartOfTheEnvironmentThatDiffers) {
  const TableRecord table = Measured();
  device_.driver = "999.1";
  const std::string reason = StaleReason(table, device_, kernels_);
  EXPECT_THAT(reason, HasSubstr("driver"));
  EXPECT_THAT(reason, HasSubstr("now \"999.1\""));
  EXPECT_THAT(reason, Not(HasSubstr("edited")));
}

TEST_F(TableStalenessTest, TellsAnEditedKernelFromAnotherCompiler) {
  device_.compiler = "NVRTC 13.0";
  const TableRecord table = Measured();
  DeviceFacts newer = device_;
  newer.compiler = "NVRTC 13.1";
  EXPECT_EQ(StaleReason(table, newer, kernels_),
            "compiler \"NVRTC 13.0\", now \"NVRTC 13.1\"");

  kernels_.Add(spec_, "2");
  EXPECT_THAT(StaleReason(table, device_, kernels_),
              HasSubstr("the kernel's manifest or sources were edited"));
  const std::string both = StaleReason(table, newer, kernels_);
  EXPECT_THAT(both, HasSubstr("NVRTC 13.1"));
  EXPECT_THAT(both, HasSubstr("edited"));
}

TEST_F(TableStalenessTest, NamesAnotherTritonForAKernelThatRunsThroughIt) {
  KernelSpec triton = spec_;
  triton.name = "triton_gemm";
  triton.implementations = {{.backend = "triton"}};
  kernels_.Add(triton, "1");
  device_.backend = "cuda";
  device_.compiler = "NVRTC 13.0";
  device_.triton = "Triton 3.6.0, ptxas 12.8.93";
  TableRecord table = Measured();
  table.key.kernel = triton.name;
  table.key.fingerprint = *kernels_.Fingerprint(triton.name, device_);
  table.compiler = device_.triton;
  device_.compiler = "NVRTC 13.1";  // No matter to it.
  EXPECT_EQ(StaleReason(table, device_, kernels_), "");
  device_.triton = "Triton 3.7.1, ptxas 12.9.86";
  EXPECT_EQ(StaleReason(table, device_, kernels_),
            "compiler \"Triton 3.6.0, ptxas 12.8.93\", now \"Triton 3.7.1, "
            "ptxas 12.9.86\"");
}

TEST_F(TableStalenessTest, ARecordWithoutACompilerSaysThatItMayBeEither) {
  TableRecord table = Measured();
  table.compiler.clear();
  kernels_.Add(spec_, "2");
  EXPECT_THAT(StaleReason(table, device_, kernels_),
              HasSubstr("manifest, sources or compiler are others"));
}

TEST_F(TableStalenessTest, AKernelThatTheNodeDoesNotHaveTellsNothing) {
  TableRecord table = Measured();
  table.key.kernel = "elsewhere";
  EXPECT_EQ(StaleReason(table, device_, kernels_), "");
}

TEST_F(TableStalenessTest, OfANodeOneDeviceThatFitsIsEnough) {
  const TableRecord table = Measured();
  DeviceFacts limited = device_;
  limited.power_limit_w = 500;
  DeviceFacts other_silicon = device_;
  other_silicon.multiprocessors = 1;
  EXPECT_EQ(StaleReason(table, {limited, device_}, kernels_), "");
  EXPECT_THAT(StaleReason(table, std::vector<DeviceFacts>{limited}, kernels_),
              HasSubstr("power limit"));
  EXPECT_EQ(
      StaleReason(table, std::vector<DeviceFacts>{other_silicon}, kernels_),
      "");
}

}  // namespace
}  // namespace wavetune
