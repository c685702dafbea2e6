#include "profiler_agent/link/driver_watch.h"

#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

DeviceFacts Gpu(const std::string& uuid, const std::string& driver = "580") {
  return {.uuid = uuid,
          .backend = "cuda",
          .architecture = "sm_90",
          .multiprocessors = 132,
          .driver = driver,
          .runtime = "13.0",
          .power_limit_w = 700,
          .compiler = "NVRTC 13.0"};
}

class DriverWatchTest : public ::testing::Test {
 protected:
  DriverWatch Watch() {
    return DriverWatch(
        {.mark = [this] { return mark_; },
         .list =
             [this] {
               ++lists_;
               return DeviceList{.devices = found_, .cut_short = cut_short_};
             },
         .any_lost = [this] { return lost_; },
         .let_go = [this] { ++let_go_; }},
        {.devices = {Gpu("GPU-1"), Gpu("GPU-2")}, .cut_short = cut_short_},
        mark_, clock_);
  }
  // Looks as an agent does, for so long or until something has changed.
  std::string LookFor(DriverWatch& watch, int seconds) {
    for (int second = 0; second < seconds; second += 2) {
      clock_.Advance(2);
      std::string change = watch.Look();
      if (!change.empty()) return change;
    }
    return "";
  }

  FakeClock clock_;
  std::string mark_ = "580";
  std::vector<DeviceFacts> found_ = {Gpu("GPU-1"), Gpu("GPU-2")};
  bool lost_ = false;
  bool cut_short_ = false;  // By an error.
  int lists_ = 0;
  int let_go_ = 0;
};

TEST_F(DriverWatchTest, NothingIsListedWhileNothingChanges) {
  DriverWatch watch = Watch();
  EXPECT_EQ(LookFor(watch, 3600), "");
  EXPECT_EQ(lists_, 0);
  EXPECT_EQ(let_go_, 0);
}

TEST_F(DriverWatchTest, AnotherDriverIsNoticedAtTheNextLook) {
  DriverWatch watch = Watch();
  mark_ = "590";
  found_ = {Gpu("GPU-1"), Gpu("GPU-2", "590")};
  EXPECT_EQ(LookFor(watch, 2), "GPU-2 has driver 590, it had 580");
  EXPECT_EQ(let_go_, 1);
}

TEST_F(DriverWatchTest, AChangeBeforeTheFirstLookIsNoticedToo) {
  DriverWatch watch({.mark = [] { return "590"; },
                     .list = [this] { return DeviceList{.devices = found_}; }},
                    {.devices = {Gpu("GPU-1", "570")}}, "580", clock_);
  EXPECT_EQ(watch.Look(), "GPU-1 has driver 580, it had 570");
}

TEST_F(DriverWatchTest, SaysWhatElseIsAnotherOne) {
  const auto change_to = [this](const DeviceFacts& facts) {
    mark_ += "+";
    DriverWatch watch = Watch();
    mark_ += "+";
    found_ = {facts, Gpu("GPU-2")};
    return LookFor(watch, 2);
  };
  DeviceFacts facts = Gpu("GPU-1");
  facts.runtime = "13.1";
  EXPECT_EQ(change_to(facts), "GPU-1 has runtime 13.1, it had 13.0");
  facts = Gpu("GPU-1");
  facts.compiler = "NVRTC 13.1";
  EXPECT_EQ(change_to(facts),
            "GPU-1 has compiler NVRTC 13.1, it had NVRTC 13.0");
  facts = Gpu("GPU-1");
  facts.triton = "Triton 3.6.0";
  EXPECT_EQ(change_to(facts), "GPU-1 has Triton Triton 3.6.0, it had none");
  facts = Gpu("GPU-1");
  facts.multiprocessors = 66;
  EXPECT_EQ(change_to(facts),
            "GPU-1 is backend=cuda;arch=sm_90;mp=66;memory_mib=0;partition=, "
            "it was backend=cuda;arch=sm_90;mp=132;memory_mib=0;partition=");
}

// The monitor tells of it (DeviceHost::Watch).
TEST_F(DriverWatchTest, AnotherPowerLimitIsNoOtherDevice) {
  DriverWatch watch = Watch();
  mark_ = "590";
  found_[0].power_limit_w = 350;
  EXPECT_EQ(LookFor(watch, 600), "");
  EXPECT_EQ(lists_, 1);
}

TEST_F(DriverWatchTest, AFileThatFlapsCostsAListInHalfAMinute) {
  DriverWatch watch = Watch();
  for (int second = 0; second < 600; second += 2) {
    mark_ = second % 4 == 0 ? "580" : "580 again";
    EXPECT_EQ(LookFor(watch, 2), "");
  }
  EXPECT_LE(lists_, 23);
  EXPECT_GE(lists_, 18);
}

TEST_F(DriverWatchTest, InTheMiddleOfAnUpgradeDevicesAreWaitedFor) {
  DriverWatch watch = Watch();
  mark_ = "";
  found_ = {};
  EXPECT_EQ(LookFor(watch, 40), "");
  mark_ = "590";
  found_ = {Gpu("GPU-1")};  // The other one is not up yet.
  EXPECT_EQ(LookFor(watch, 60), "");
  found_ = {Gpu("GPU-1", "590"), Gpu("GPU-2", "590")};
  EXPECT_EQ(LookFor(watch, 32), "GPU-1 has driver 590, it had 580");
}

TEST_F(DriverWatchTest, ALostDeviceThatIsBackUnderAnotherDriverIsNoticed) {
  DriverWatch watch = Watch();
  lost_ = true;
  EXPECT_EQ(LookFor(watch, 100), "");
  found_ = {Gpu("GPU-1", "590"), Gpu("GPU-2", "590")};
  EXPECT_EQ(LookFor(watch, 32), "GPU-1 has driver 590, it had 580");
}

TEST_F(DriverWatchTest, ANewDeviceIsAChange) {
  DriverWatch watch = Watch();
  mark_ = "another mark";
  found_.push_back(Gpu("GPU-3"));
  EXPECT_EQ(LookFor(watch, 2), "GPU-3 is there, and was not");
}

// A fabric manager that is late changes no file of a driver.
TEST_F(DriverWatchTest, AListThatAnErrorCutShortIsMadeAgainUntilItIsWhole) {
  cut_short_ = true;
  DriverWatch watch = Watch();
  EXPECT_EQ(LookFor(watch, 3600), "");
  EXPECT_GE(lists_, 100);  // Each half minute.
  EXPECT_LE(lists_, 125);
  found_.push_back(Gpu("GPU-3"));
  cut_short_ = false;
  EXPECT_EQ(LookFor(watch, 32), "GPU-3 is there, and was not");
}

TEST_F(DriverWatchTest, AListThatIsWholeAgainIsEnough) {
  cut_short_ = true;
  DriverWatch watch = Watch();
  EXPECT_EQ(LookFor(watch, 60), "");
  cut_short_ = false;
  EXPECT_EQ(LookFor(watch, 32), "");
  const int lists = lists_;
  EXPECT_EQ(LookFor(watch, 3600), "");
  EXPECT_EQ(lists_, lists);
}

// A device that is attached and fails to be listed is no other one.
TEST_F(DriverWatchTest, ADeviceThatAnErrorHidesIsWaitedFor) {
  DriverWatch watch = Watch();
  mark_ = "another mark";
  found_ = {Gpu("GPU-1")};
  cut_short_ = true;
  EXPECT_EQ(LookFor(watch, 600), "");
  found_ = {Gpu("GPU-1"), Gpu("GPU-2")};
  cut_short_ = false;
  EXPECT_EQ(LookFor(watch, 60), "");
}

// What NVIDIA's OpenCL lists while CUDA does not start is no new device.
TEST_F(DriverWatchTest, ADeviceInAnothersPlaceIsNewOnlyAfterAMinute) {
  DriverWatch watch = Watch();
  mark_ = "";
  found_ = {Gpu("GPU-1"), Gpu("CL-2")};
  EXPECT_EQ(LookFor(watch, 58), "");
  EXPECT_EQ(LookFor(watch, 60), "CL-2 is there, and was not");
}

}  // namespace
}  // namespace wavetune
