// A node of several devices, rehearsed from a recording: they share a profile,
// and a hot one costs nothing.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lib/node_fixture.h"
#include "tests/lib/source_paths.h"

namespace wavetune::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const char kTrace[] = WAVETUNE_SOURCE_DIR "/tests/data/h200/gemm_bf16";
// A few samples of each candidate are enough to see who measured them.
constexpr int kSamplesPerCandidate = 6;

class SeveralDevicesTest : public NodeFixture {
 protected:
  void Start(size_t devices) {
    fs::copy(kTrace, Path("kernels/gemm_bf16"));
    WriteFile(Path("inject"), "");
    fs::permissions(Path("inject"), fs::perms(0600));
    StartDaemon();
    StartAgent(
        {"--replay-trace", kTrace, "--replay-devices", std::to_string(devices),
         "--replay-pace", "3", "--inject", Path("inject")},
        "replay");
    ASSERT_TRUE(WaitUntil([&] { return Uuids().size() == devices; }));
  }

  // Of attached devices.
  std::vector<std::string> Uuids() const {
    std::vector<std::string> uuids;
    for (const nlohmann::json& device : Devices()) {
      if (device["attached"]) uuids.push_back(device["facts"]["uuid"]);
    }
    return uuids;
  }

  nlohmann::json Devices() const {
    return Cli({"devices", "--json"})
        .Json()
        .value("devices", nlohmann::json::array());
  }

  // Heats a device until the daemon leaves it out.
  void Heat(const std::string& uuid) {
    WriteFile(Path("hot"), "[" + uuid + "]\nthrottle_reasons = 0x40\n");
    fs::permissions(Path("hot"), fs::perms(0600));
    fs::rename(Path("hot"), Path("inject"));
    ASSERT_TRUE(WaitUntil([&] {
      for (const nlohmann::json& device : Devices()) {
        if (device["facts"]["uuid"] == uuid && device["left_out"] != "") {
          return true;
        }
      }
      return false;
    }));
  }

  nlohmann::json Profile() {
    return WaitForJob(Reprofile("gemm_bf16", {}, kSamplesPerCandidate));
  }
};

TEST_F(SeveralDevicesTest, ShareAProfile) {
  Start(3);
  const nlohmann::json job = Profile();
  EXPECT_EQ(job.value("state", ""), "SUCCEEDED") << job.dump(2);
  EXPECT_THAT(job["device_uuids"], SizeIs(3));
  for (const nlohmann::json& device : Devices()) {
    // They answer alike.
    EXPECT_DOUBLE_EQ(device["class_ratio"], 1) << device.dump(2);
    EXPECT_EQ(device["left_out"], "");
  }
}

TEST_F(SeveralDevicesTest, AHotOneIsToldAndTheOtherFinishes) {
  Start(2);
  const std::vector<std::string> uuids = Uuids();
  Heat(uuids[1]);
  const nlohmann::json job = Profile();
  EXPECT_EQ(job.value("state", ""), "SUCCEEDED") << job.dump(2);
  EXPECT_EQ(job["device_uuids"], nlohmann::json({uuids[0]}));
  EXPECT_THAT(Cli({"events", "--kind", "hot-device"}).out,
              AllOf(HasSubstr(uuids[1]), HasSubstr("left out of profiles: it "
                                                   "is hot: hardware thermal "
                                                   "slowdown")));
}

TEST_F(SeveralDevicesTest, AJobOfAHotDeviceAloneSaysWhatItWaitsFor) {
  Start(1);
  Heat(Uuids()[0]);
  const uint64_t id = Reprofile("gemm_bf16", {}, kSamplesPerCandidate);
  ASSERT_TRUE(WaitUntil([&] { return Job(id).value("waits_for", "") != ""; }));
  EXPECT_THAT(Job(id).value("waits_for", ""),
              AllOf(HasSubstr("to cool: it is hot"), HasSubstr("gives up in")));
  EXPECT_EQ(Cli({"jobs", "cancel", std::to_string(id)}).exit_code, 0);
  EXPECT_EQ(WaitForJob(id).value("state", ""), "CANCELLED");
}

}  // namespace
}  // namespace wavetune::testing
