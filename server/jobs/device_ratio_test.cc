#include "server/jobs/device_ratio.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wavetune {
namespace {

SampleRecord At(const std::string& device, int64_t m, double latency_us) {
  SampleRecord record;
  record.sample = {.configuration = Configuration({64}),
                   .problem = {.extents = {m}},
                   .latency_us = latency_us,
                   .min_us = latency_us - 1,
                   .device_time_us = 10 * latency_us};
  record.device_uuid = device;
  return record;
}

// `pairs` pairs of each device, which is so many times as slow as the recorded.
std::vector<SampleRecord> Common(
    const std::vector<std::pair<std::string, double>>& devices,
    int pairs = static_cast<int>(kCommonPairs)) {
  std::vector<SampleRecord> samples;
  for (int m = 1; m <= pairs; ++m) {
    for (const auto& [device, factor] : devices) {
      samples.push_back(At(device, m, factor * (10 + 3 * m)));
    }
  }
  return samples;
}

TEST(DeviceRatioTest, IsAgainstTheMedianDevice) {
  const auto devices = DeviceRatios(
      Common({{"a", 1.02}, {"b", 1}, {"c", 0.99}, {"d", 1.01}, {"e", 1.3}}));
  EXPECT_NEAR(devices.at("a").ratio, 1.02 / 1.01, 1e-12);
  EXPECT_NEAR(devices.at("d").ratio, 1, 1e-12);
  EXPECT_NEAR(devices.at("e").ratio, 1.3 / 1.01, 1e-12);
  EXPECT_TRUE(devices.at("e").deviates());
  EXPECT_FALSE(devices.at("c").deviates());
}

TEST(DeviceRatioTest, OfTwoDevicesTheSlowerOneDeviates) {
  const auto devices = DeviceRatios(Common({{"a", 1.2}, {"b", 1}}));
  EXPECT_TRUE(devices.at("a").deviates());
  EXPECT_NEAR(devices.at("a").ratio, 1.2, 1e-12);
  EXPECT_FALSE(devices.at("b").deviates());
  EXPECT_NEAR(devices.at("b").ratio, 1, 1e-12);
}

TEST(DeviceRatioTest, AFewPairsSayNothing) {
  const auto devices =
      DeviceRatios(Common({{"a", 1.2}, {"b", 1}}, kLeastRatioPairs - 1));
  EXPECT_FALSE(devices.at("a").known());
  EXPECT_EQ(devices.at("a").ratio, 1);
  EXPECT_FALSE(devices.at("a").deviates());
}

TEST(DeviceRatioTest, SuspectSamplesDoNotCount) {
  std::vector<SampleRecord> samples = Common({{"a", 1}, {"b", 1}});
  for (SampleRecord record : Common({{"a", 2}})) {
    record.sample.suspect = true;
    samples.push_back(record);
  }
  EXPECT_NEAR(DeviceRatios(samples).at("a").ratio, 1, 1e-12);
}

TEST(NormaliseByDeviceTest, SamplesBecomeTheClasss) {
  std::vector<SampleRecord> samples = Common({{"a", 1.04}, {"b", 1}});
  samples.push_back(At("a", 99, 104));
  NormaliseByDevice(samples);
  ASSERT_EQ(samples.size(), 2 * kCommonPairs + 1);
  EXPECT_NEAR(samples.back().sample.latency_us, 100, 1e-9);
  EXPECT_NEAR(samples.back().sample.min_us, 103 / 1.04, 1e-9);
  EXPECT_EQ(samples.back().sample.device_time_us, 1040);
  EXPECT_NEAR(samples[0].sample.latency_us, samples[1].sample.latency_us, 1e-9);
}

TEST(NormaliseByDeviceTest, ADeviceThatDeviatesIsLeftOutNotAveraged) {
  std::vector<SampleRecord> samples =
      Common({{"a", 1}, {"b", 1.01}, {"c", 1.2}});
  samples.push_back(At("c", 99, 1));
  NormaliseByDevice(samples);
  EXPECT_EQ(samples.size(), 2 * kCommonPairs);
  for (const SampleRecord& record : samples) {
    EXPECT_NE(record.device_uuid, "c");
  }
}

TEST(NormaliseByDeviceTest, AJobForOneDeviceHasItsTimes) {
  std::vector<SampleRecord> samples =
      Common({{"a", 1}, {"b", 1.01}, {"c", 1.2}});
  samples.push_back(At("c", 99, 120));
  NormaliseByDevice(samples, "c");
  ASSERT_EQ(samples.size(), kCommonPairs + 1);
  EXPECT_NEAR(samples.back().sample.latency_us, 120, 1e-9);
}

TEST(NormaliseByDeviceTest, SamplesOfOneDeviceStayToTheLastBit) {
  std::vector<SampleRecord> samples = Common({{"a", 1.234567}});
  const std::vector<SampleRecord> before = samples;
  NormaliseByDevice(samples);
  EXPECT_EQ(samples, before);
}

TEST(NormaliseByDeviceTest, DevicesWithoutCommonPairsStayAsTheyAre) {
  std::vector<SampleRecord> samples = {At("a", 1, 10), At("b", 2, 20)};
  const std::vector<SampleRecord> before = samples;
  NormaliseByDevice(samples);
  EXPECT_EQ(samples, before);
}

}  // namespace
}  // namespace wavetune
