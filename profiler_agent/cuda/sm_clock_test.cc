// Looks at the counters of a fake GPU, whose multiprocessors count as told.
#include "profiler_agent/cuda/sm_clock.h"

#include <cstdint>
#include <optional>

#include "gtest/gtest.h"
#include "profiler_agent/cuda/fake_cuda_driver.h"

namespace wavetune {
namespace {

class SmClockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<const Nvrtc*> nvrtc = Nvrtc::Load();
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    driver_.AddKernel("look_at_clock", [this](const FakeLaunch& launch) {
      auto* const looks = launch.Get<uint64_t*>(0);
      for (int64_t i = 0; i < launch.blocks; ++i) {
        const uint64_t multiprocessor = first_ + static_cast<uint64_t>(i) / 2;
        looks[3 * i] = nanoseconds_;
        // They need not have begun together.
        looks[3 * i + 1] = cycles_ + 1000 * multiprocessor;
        looks[3 * i + 2] = multiprocessor;
      }
      return CUDA_SUCCESS;
    });
    absl::StatusOr<SmClock> clock =
        SmClock::Create({.driver = &driver_.driver(),
                         .multiprocessors = FakeCudaDriver::kMultiprocessors},
                        CudaCompiler(**nvrtc, CudaArchitectureOf(86), ""));
    ASSERT_TRUE(clock.ok()) << clock.status();
    clock_.emplace(*std::move(clock));
  }

  void Run(uint64_t nanoseconds, uint64_t cycles) {
    nanoseconds_ += nanoseconds;
    cycles_ += cycles;
  }

  FakeCudaDriver driver_;
  uint64_t nanoseconds_ = 1'700'000'000'000'000'000;
  uint64_t cycles_ = 5'000'000;
  uint64_t first_ = 0;  // Multiprocessor that the first blocks come to.
  std::optional<SmClock> clock_;
};

TEST_F(SmClockTest, CountsCyclesBetweenTwoLooks) {
  ASSERT_TRUE(clock_->Read(SmClock::Mark::kBegin).ok());
  Run(2'000'000, 2'800'000);
  ASSERT_TRUE(clock_->Read(SmClock::Mark::kEnd).ok());
  const std::optional<SmClock::Span> span = clock_->Read();
  ASSERT_TRUE(span.has_value());
  EXPECT_DOUBLE_EQ(span->Mhz(), 1400);
  EXPECT_DOUBLE_EQ(span->nanoseconds,
                   2e6 * 2 * FakeCudaDriver::kMultiprocessors);
}

TEST_F(SmClockTest, AMultiprocessorThatTookOnlyOneLookDoesNotCount) {
  ASSERT_TRUE(clock_->Read(SmClock::Mark::kBegin).ok());
  first_ = FakeCudaDriver::kMultiprocessors - 1;
  Run(1'000'000, 1'980'000);
  ASSERT_TRUE(clock_->Read(SmClock::Mark::kEnd).ok());
  std::optional<SmClock::Span> span = clock_->Read();
  ASSERT_TRUE(span.has_value());
  EXPECT_DOUBLE_EQ(span->Mhz(), 1980);
  EXPECT_DOUBLE_EQ(span->nanoseconds, 2 * 1e6);

  first_ = 100;
  ASSERT_TRUE(clock_->Read(SmClock::Mark::kEnd).ok());
  EXPECT_FALSE(clock_->Read().has_value());
}

TEST_F(SmClockTest, ACounterThatBeganAnewDoesNotCount) {
  ASSERT_TRUE(clock_->Read(SmClock::Mark::kBegin).ok());
  nanoseconds_ += 1'000'000;
  cycles_ = 10;
  ASSERT_TRUE(clock_->Read(SmClock::Mark::kEnd).ok());
  EXPECT_FALSE(clock_->Read().has_value());
}

TEST_F(SmClockTest, BeforeAnyLookThereIsNothing) {
  EXPECT_FALSE(clock_->Read().has_value());
}

TEST(SmClockSpanTest, TheMeanIsOverTime) {
  SmClock::Span span;
  EXPECT_EQ(span.Mhz(), 0);
  span.Add({.cycles = 1980, .nanoseconds = 1000});
  span.Add({.cycles = 3 * 1400, .nanoseconds = 3000});
  EXPECT_DOUBLE_EQ(span.Mhz(), 1545);
}

}  // namespace
}  // namespace wavetune
