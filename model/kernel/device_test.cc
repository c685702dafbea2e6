#include "model/kernel/device.h"

#include "gtest/gtest.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

DeviceFacts H200() {
  DeviceFacts facts = testing::H200();
  facts.backend = "cuda";
  return facts;
}

TEST(DeviceKeyTest, AreCanonical) {
  EXPECT_EQ(SiliconKey(H200()),
            "backend=cuda;arch=sm_90;mp=132;memory_mib=143771;partition=");
  EXPECT_EQ(EnvironmentKey(H200()),
            "driver=580.159.04;runtime=13.0;power_w=700");
}

TEST(DeviceKeyTest, DoNotDependOnLabelOrUuid) {
  DeviceFacts other = H200();
  other.label = "another marketing name";
  other.uuid = "GPU-1";
  other.compiler = "NVRTC 13.1";
  EXPECT_EQ(SiliconKey(other), SiliconKey(H200()));
  EXPECT_EQ(EnvironmentKey(other), EnvironmentKey(H200()));
}

TEST(DeviceKeyTest, APartitionIsOtherSilicon) {
  DeviceFacts other = H200();
  other.partition = "1g.18gb";
  EXPECT_NE(SiliconKey(other), SiliconKey(H200()));
}

TEST(DeviceKeyTest, ADriverIsAnotherEnvironmentOnTheSameSilicon) {
  DeviceFacts other = H200();
  other.driver = "590.1";
  EXPECT_EQ(SiliconKey(other), SiliconKey(H200()));
  EXPECT_NE(EnvironmentKey(other), EnvironmentKey(H200()));
}

TEST(DeviceKeyTest, EscapeWhatWouldBreakTheForm) {
  DeviceFacts facts = H200();
  facts.architecture = "x;mp=1\n%";
  facts.driver = "a=b;c";
  EXPECT_EQ(SiliconKey(facts),
            "backend=cuda;arch=x%3Bmp%3D1%0A%25;mp=132;memory_mib=143771;"
            "partition=");
  EXPECT_EQ(EnvironmentKey(facts), "driver=a%3Db%3Bc;runtime=13.0;power_w=700");
}

}  // namespace
}  // namespace wavetune
