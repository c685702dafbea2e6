// What every Backend and Device must do (backend.h), run against each of them:
//
//   INSTANTIATE_TEST_SUITE_P(Fake, BackendContractTest,
//                            ::testing::Values(BackendContract{...}));
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_BACKEND_CONTRACT_TEST_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_BACKEND_CONTRACT_TEST_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "profiler_agent/measure/backend.h"

namespace wavetune {

struct BackendContract {
  std::function<std::unique_ptr<Backend>()> create;
  std::function<LoadedKernel()> kernel;  // One that the backend can run.
  Configuration configuration;           // Legal, correct.
  Problem problem;                       // Legal, can be measured.
  std::vector<Problem> correctness_problems;
};

class BackendContractTest : public ::testing::TestWithParam<BackendContract> {
 protected:
  void SetUp() override {
    backend_ = GetParam().create();
    const Backend::Enumeration found = backend_->Enumerate();
    if (found.devices.empty()) GTEST_SKIP() << found.note;
    facts_ = found.devices[0];
    absl::StatusOr<std::unique_ptr<Device>> device =
        backend_->Open(facts_.uuid, "");
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
  }

  absl::Status Load() { return device_->Load(GetParam().kernel()); }
  absl::StatusOr<Candidate> Prepare() {
    return device_->Prepare(GetParam().configuration,
                            GetParam().correctness_problems);
  }
  absl::StatusOr<LaunchTimes> Measure(int warmup, int launches) {
    return device_->Measure(GetParam().configuration, GetParam().problem,
                            warmup, launches);
  }
  // No kernel has such values.
  static Configuration OutsideOfTheSpace() { return {-7, -7, -7, -7, -7}; }

  std::unique_ptr<Backend> backend_;
  DeviceFacts facts_;
  std::unique_ptr<Device> device_;
};

TEST_P(BackendContractTest, FactsAreCompleteAndStable) {
  EXPECT_FALSE(facts_.uuid.empty());
  EXPECT_FALSE(facts_.label.empty());
  EXPECT_EQ(facts_.backend, backend_->name());
  EXPECT_FALSE(facts_.architecture.empty());
  EXPECT_GE(facts_.multiprocessors, 1);
  EXPECT_FALSE(facts_.compiler.empty());
  EXPECT_EQ(device_->facts(), facts_);
  EXPECT_EQ(GetParam().create()->Enumerate().devices[0], facts_);
}

TEST_P(BackendContractTest, AnUnknownDeviceIsNotFound) {
  EXPECT_EQ(backend_->Open("no such device", "").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_P(BackendContractTest, NothingWorksBeforeAKernelIsLoaded) {
  EXPECT_EQ(Prepare().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Measure(1, 1).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_P(BackendContractTest, RefusesAKernelOfAnotherBackendAndKeepsItsOwn) {
  ASSERT_TRUE(Load().ok());
  LoadedKernel other = GetParam().kernel();
  for (Implementation& implementation : other.spec.implementations) {
    implementation.backend = "abacus";
  }
  EXPECT_EQ(device_->Load(other).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Prepare().ok());
}

TEST_P(BackendContractTest, PreparesACandidate) {
  ASSERT_TRUE(Load().ok());
  const absl::StatusOr<Candidate> candidate = Prepare();
  ASSERT_TRUE(candidate.ok()) << candidate.status();
  EXPECT_EQ(candidate->configuration, GetParam().configuration);
  EXPECT_GE(candidate->blocks_per_multiprocessor, 1);
  EXPECT_GE(candidate->tiles_per_wave, facts_.multiprocessors);
  EXPECT_FALSE(candidate->excluded());
  EXPECT_EQ(*Prepare(), *candidate);
}

TEST_P(BackendContractTest, MeasuresAsOftenAsAsked) {
  ASSERT_TRUE(Load().ok());
  for (const int launches : {1, 7}) {
    const absl::StatusOr<LaunchTimes> times = Measure(2, launches);
    ASSERT_TRUE(times.ok()) << times.status();
    EXPECT_EQ(times->launch_us.size(), static_cast<size_t>(launches));
    for (const double us : times->launch_us) EXPECT_GT(us, 0);
    EXPECT_GT(times->warmup_us, 0);
  }
}

TEST_P(BackendContractTest, MeasuresWithoutPreparing) {
  // Another process prepared the candidate, or this one was restarted.
  ASSERT_TRUE(Load().ok());
  EXPECT_TRUE(Measure(1, 1).ok());
}

TEST_P(BackendContractTest, AReleasedDeviceKeepsItsKernel) {
  ASSERT_TRUE(Load().ok());
  device_->Release();
  EXPECT_TRUE(Prepare().ok());
  device_->Release();
  EXPECT_TRUE(Measure(1, 1).ok());
  EXPECT_TRUE(backend_->CheckHost().ok());
}

TEST_P(BackendContractTest, RefusesWhatIsOutsideOfTheSpace) {
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(device_->Prepare(OutsideOfTheSpace(), {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device_->Measure(OutsideOfTheSpace(), GetParam().problem, 1, 1)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(BackendContractTest, RefusesAProblemThatIsNoneAndGoesOn) {
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(
      device_->Measure(GetParam().configuration, {}, 1, 1).status().code(),
      absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Measure(1, 0).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(Measure(1, 1).ok());
}

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_BACKEND_CONTRACT_TEST_H_
