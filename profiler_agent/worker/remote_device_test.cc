#include "profiler_agent/worker/remote_device.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_agent/measure/backend_contract_test.h"
#include "profiler_agent/measure/candidate_failure.h"
#include "profiler_agent/measure/environment_error.h"
#include "profiler_agent/measure/fake_device.h"
#include "profiler_agent/measure/tiny_kernel.h"
#include "profiler_agent/testing/injected_backend.h"
#include "profiler_agent/worker/frame.h"
#include "profiler_agent/worker/kernel_source.h"
#include "profiler_agent/worker/test_kernels.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

const char kFakeWorker[] = WAVETUNE_BIN_DIR "/fake_worker";
const Configuration kSound = {16, 8, 0};
const Configuration kCrashes = {16, 8, 1};
const Configuration kHangs = {64, 8, 1};
const Configuration kExits = {64, 32, 1};
const Configuration kIsKilled = {64, 32, 0};
const Configuration kRunsOutOfMemory = {64, 8, 0};
const Configuration kNeedsAFreshProcess = {16, 32, 0};
const Configuration kLosesTheDevice = {16, 32, 1};
const Problem kProblem = {.extents = {100, 30}};

DeviceFacts FakeFacts() {
  DeviceFacts facts = FakeDeviceScript().facts;
  facts.backend = "opencl";
  return facts;
}

// Returns whether a process ends within some seconds. An orphan that nobody
// reaps (no init in a container) is a zombie.
bool EndsSoon(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    FILE* stat = fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "r");
    if (stat == nullptr) return true;
    char state = '?';
    if (fscanf(stat, "%*d %*s %c", &state) != 1) state = '?';
    fclose(stat);
    if (state == 'Z') return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

class RemoteDeviceTest : public ::testing::Test {
 protected:
  RemoteDevice Create(std::vector<std::string> command = {kFakeWorker}) {
    return RemoteDevice({.command = std::move(command),
                         .facts = FakeFacts(),
                         .start_timeout = start_timeout_,
                         .prepare_timeout = milliseconds(300),
                         .measure_timeout = milliseconds(300),
                         .max_failed_starts = 4,
                         .clock = &clock_});
  }
  static absl::Status Load(RemoteDevice& device) {
    return device.Load(TestKernel(kColumnSum));
  }

  FakeClock clock_;
  milliseconds start_timeout_{10'000};
};

TEST_F(RemoteDeviceTest, IsReadyForWhatItWasWarmedUpFor) {
  RemoteDevice device({.command = {kFakeWorker},
                       .facts = FakeFacts(),
                       .prepare_nice = 3,
                       .clock = &clock_});
  ASSERT_TRUE(Load(device).ok());
  device.WarmUp(Device::Use::kMeasure);
  const pid_t measuring = device.worker_pid();
  ASSERT_GT(measuring, 0);
  ASSERT_TRUE(device.Measure(kSound, kProblem, 1, 1).ok());
  EXPECT_EQ(device.worker_pid(), measuring);
  device.WarmUp(Device::Use::kPrepare);
  const pid_t preparing = device.worker_pid();
  EXPECT_NE(preparing, measuring);
  ASSERT_TRUE(device.Prepare(kSound, {}).ok());
  EXPECT_EQ(device.worker_pid(), preparing);
}

TEST_F(RemoteDeviceTest, WhatFailsWhileItWarmsUpShowsWithTheCall) {
  RemoteDevice device = Create({"/nonexistent/worker"});
  ASSERT_TRUE(Load(device).ok());
  device.WarmUp(Device::Use::kMeasure);
  EXPECT_EQ(device.worker_pid(), -1);
  EXPECT_THAT(
      std::string(device.Measure(kSound, kProblem, 1, 1).status().message()),
      HasSubstr("the worker does not start"));
}

TEST_F(RemoteDeviceTest, AnotherPowerLimitIsTheSameDeviceAnotherDriverIsNot) {
  RemoteDeviceOptions options = {.command = {kFakeWorker},
                                 .facts = FakeFacts(),
                                 .max_failed_starts = 1,
                                 .clock = &clock_};
  options.facts.power_limit_w = 500;
  EXPECT_TRUE(RemoteDevice(options).Start().ok());
  options.facts.driver = "older";
  const absl::Status status = RemoteDevice(options).Start();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("looks for devices anew"));
}

TEST_F(RemoteDeviceTest, PreparesAndMeasuresInAnotherProcess) {
  RemoteDevice device = Create();
  ASSERT_TRUE(Load(device).ok());
  EXPECT_EQ(device.worker_pid(), -1);
  const absl::StatusOr<Candidate> candidate =
      device.Prepare(kSound, {kProblem});
  ASSERT_TRUE(candidate.ok()) << candidate.status();
  EXPECT_EQ(candidate->tiles_per_wave, 4);
  EXPECT_GT(device.worker_pid(), 0);
  const absl::StatusOr<LaunchTimes> times =
      device.Measure(kSound, kProblem, 1, 3);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_THAT(times->launch_us, ElementsAre(100, 100, 100));
}

TEST_F(RemoteDeviceTest, AWorkerIsNiceWhileItPreparesAndNotWhileItMeasures) {
  RemoteDevice device({.command = {kFakeWorker},
                       .facts = FakeFacts(),
                       .prepare_nice = 3,
                       .clock = &clock_});
  ASSERT_TRUE(Load(device).ok());
  const int own = getpriority(PRIO_PROCESS, 0);
  const auto priority = [&device] {
    return getpriority(PRIO_PROCESS, static_cast<id_t>(device.worker_pid()));
  };
  ASSERT_TRUE(device.Prepare(kSound, {}).ok());
  EXPECT_EQ(priority(), std::min(own + 3, 19));
  const pid_t preparing = device.worker_pid();
  ASSERT_TRUE(device.Prepare(kSound, {}).ok());
  EXPECT_EQ(device.worker_pid(), preparing);
  ASSERT_TRUE(device.Measure(kSound, kProblem, 1, 1).ok());
  EXPECT_EQ(priority(), own);
  EXPECT_NE(device.worker_pid(), preparing);
  ASSERT_TRUE(device.Prepare(kSound, {}).ok());
  EXPECT_EQ(priority(), std::min(own + 3, 19));
}

// One that changes nothing keeps its process.
TEST_F(RemoteDeviceTest, WithoutNiceOneProcessPreparesAndMeasures) {
  RemoteDevice device = Create();
  ASSERT_TRUE(Load(device).ok());
  ASSERT_TRUE(device.Prepare(kSound, {}).ok());
  const pid_t worker = device.worker_pid();
  ASSERT_TRUE(device.Measure(kSound, kProblem, 1, 1).ok());
  EXPECT_EQ(device.worker_pid(), worker);
}

TEST_F(RemoteDeviceTest, ThrottledBurstsAreALineAndItsSum) {
  ::testing::internal::CaptureStderr();
  RemoteDevice device = Create({kFakeWorker, "throttled"});
  ASSERT_TRUE(Load(device).ok());
  for (int i = 0; i < 20; ++i, clock_.Sleep(std::chrono::seconds(1))) {
    ASSERT_TRUE(device.Measure(kSound, kProblem, 1, 1).ok());
  }
  device.Release();
  device.Release();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2) << log;
  EXPECT_THAT(log, HasSubstr("device fake-0 is throttled (hardware thermal "
                             "slowdown; down to 1000 MHz)"));
  EXPECT_THAT(log, HasSubstr("was throttled, in 10 of 19 bursts within 18 s"));
}

TEST_F(RemoteDeviceTest, ACrashNamesTheSignalAndTheLastLine) {
  RemoteDevice device = Create();
  ASSERT_TRUE(Load(device).ok());
  const absl::Status status = device.Prepare(kCrashes, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("SIGSEGV"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("about to crash"));
  EXPECT_TRUE(device.Prepare(kSound, {}).ok());
}

TEST_F(RemoteDeviceTest, AnExitNamesTheCode) {
  RemoteDevice device = Create();
  ASSERT_TRUE(Load(device).ok());
  const absl::Status status = device.Measure(kExits, kProblem, 1, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("code 7"));
}

TEST_F(RemoteDeviceTest, AHangIsKilledAndTheWorkerStartedAgain) {
  RemoteDevice device = Create();
  ASSERT_TRUE(Load(device).ok());
  ASSERT_TRUE(device.Prepare(kSound, {}).ok());
  const pid_t first = device.worker_pid();
  EXPECT_EQ(device.Prepare(kHangs, {}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(kill(first, 0), -1);
  EXPECT_TRUE(device.Measure(kSound, kProblem, 1, 1).ok());
}

TEST_F(RemoteDeviceTest, ACrashOrAHangInTheReferenceIsNoCandidatesFault) {
  for (const char* const how : {"crashes", "hangs"}) {
    RemoteDevice device = Create({kFakeWorker, how});
    ASSERT_TRUE(Load(device).ok());
    const absl::Status status = device.Prepare(kSound, {kProblem}).status();
    EXPECT_TRUE(IsReferenceBroken(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("the reference kernel is broken: "));
    EXPECT_EQ(device.worker_pid(), -1);
  }
}

// A candidate before it may have written anywhere: a fresh process tells.
TEST_F(RemoteDeviceTest, OneAfterCandidatesMayPass) {
  for (const char* const how : {"late-crashes", "late-hangs"}) {
    RemoteDevice device = Create({kFakeWorker, how});
    ASSERT_TRUE(Load(device).ok());
    const absl::Status status = device.Prepare(kSound, {kProblem}).status();
    EXPECT_TRUE(MayPass(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("in the reference kernel"));
  }
}

TEST_F(RemoteDeviceTest, AWorkerKilledBySomebodyElseIsNotTheCandidatesFault) {
  RemoteDevice device = Create();
  ASSERT_TRUE(Load(device).ok());
  ASSERT_TRUE(device.Prepare(kSound, {}).ok());
  ASSERT_EQ(kill(device.worker_pid(), SIGKILL), 0);
  EXPECT_TRUE(device.Measure(kSound, kProblem, 1, 1).ok());
}

TEST_F(RemoteDeviceTest, OneThatIsAlwaysKilledIsNotSaidToCrash) {
  RemoteDevice device = Create();
  ASSERT_TRUE(Load(device).ok());
  for (const absl::Status& status :
       {device.Prepare(kIsKilled, {}).status(),
        device.Measure(kIsKilled, kProblem, 1, 1).status()}) {
    EXPECT_EQ(ExhaustedResource(status), Resource::kKilled) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("SIGKILL"));
  }
  EXPECT_TRUE(device.Prepare(kSound, {}).ok());
}

TEST_F(RemoteDeviceTest, AWorkerWhoseLastWordsAreOfMemoryDidNotCrash) {
  RemoteDevice device = Create();
  ASSERT_TRUE(Load(device).ok());
  const absl::Status status = device.Prepare(kRunsOutOfMemory, {}).status();
  EXPECT_EQ(ExhaustedResource(status), Resource::kMemory) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("out of memory"));
  EXPECT_FALSE(ExcludesCandidate(status));
}

TEST_F(RemoteDeviceTest, AWorkerThatDoesNotStartIsNoCandidatesFault) {
  RemoteDevice device = Create({"/bin/false"});
  ASSERT_TRUE(Load(device).ok());
  const absl::Status status = device.Prepare(kSound, {}).status();
  EXPECT_TRUE(IsDeviceLost(status));
  EXPECT_FALSE(WasTried(status));
}

TEST_F(RemoteDeviceTest, AReleasedWorkerIsStartedAgainByTheNextCall) {
  RemoteDevice device = Create();
  ASSERT_TRUE(Load(device).ok());
  ASSERT_TRUE(device.Prepare(kSound, {}).ok());
  device.Release();
  EXPECT_EQ(device.worker_pid(), -1);
  EXPECT_TRUE(device.Measure(kSound, kProblem, 1, 1).ok());
}

TEST_F(RemoteDeviceTest, ADeviceThatIsLostIsOpenedAgainInAFreshProcess) {
  RemoteDevice device = Create();
  ASSERT_TRUE(Load(device).ok());
  ASSERT_TRUE(device.Prepare(kSound, {}).ok());
  pid_t before = device.worker_pid();
  EXPECT_TRUE(device.Prepare(kNeedsAFreshProcess, {}).ok());
  EXPECT_NE(device.worker_pid(), before);
  before = device.worker_pid();
  EXPECT_TRUE(device.Measure(kNeedsAFreshProcess, kProblem, 1, 1).ok());
  EXPECT_NE(device.worker_pid(), before);
}

TEST_F(RemoteDeviceTest, WhatLosesTheDeviceInAFreshProcessTooIsToBlame) {
  RemoteDevice device = Create();
  ASSERT_TRUE(Load(device).ok());
  const absl::Status prepared = device.Prepare(kLosesTheDevice, {}).status();
  EXPECT_EQ(prepared, absl::AbortedError("lost"));
  EXPECT_EQ(device.worker_pid(), -1);
  const absl::Status measured =
      device.Measure(kLosesTheDevice, kProblem, 1, 1).status();
  EXPECT_EQ(measured, absl::AbortedError("fault"));
  EXPECT_TRUE(device.Prepare(kSound, {}).ok());
}

TEST_F(RemoteDeviceTest, ReopenStartsAFreshProcess) {
  RemoteDevice device = Create();
  ASSERT_TRUE(device.Start().ok());
  const pid_t before = device.worker_pid();
  EXPECT_TRUE(device.Start().ok());
  EXPECT_EQ(device.worker_pid(), before);
  EXPECT_TRUE(device.Reopen().ok());
  EXPECT_NE(device.worker_pid(), before);
}

TEST_F(RemoteDeviceTest, WhatAWorkerLeftBehindIsKilledAndKeepsNobodyWaiting) {
  const std::string file =
      ::testing::TempDir() + "left_behind_" + std::to_string(getpid());
  // The second one has left the group: it lives on with the stream.
  RemoteDevice device =
      Create({"/bin/sh", "-c",
              "sleep 40 >/dev/null & echo $! >" + file +
                  "; setsid sleep 40 >/dev/null & echo broken >&2; exit 3"});
  const auto begin = std::chrono::steady_clock::now();
  const absl::Status status = device.Start();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_THAT(std::string(status.message()), HasSubstr("code 3"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("broken"));
  pid_t sleeper = -1;
  std::ifstream(file) >> sleeper;
  ASSERT_GT(sleeper, 0);
  EXPECT_TRUE(EndsSoon(sleeper));
  std::remove(file.c_str());
}

TEST_F(RemoteDeviceTest, GivesUpAfterSeveralFailedStartsWithGrowingPauses) {
  RemoteDevice device = Create({"/bin/false"});
  ASSERT_TRUE(Load(device).ok());
  const absl::Status status = device.Prepare(kSound, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  const auto up_to = [](milliseconds most) {
    return AllOf(Ge(most / 2), Le(most));
  };
  EXPECT_THAT(clock_.sleeps(),
              ElementsAre(up_to(milliseconds(100)), up_to(milliseconds(200)),
                          up_to(milliseconds(400))));
  // From then on one attempt each.
  EXPECT_FALSE(device.Start().ok());
  EXPECT_EQ(clock_.sleeps().size(), 3u);
}

TEST_F(RemoteDeviceTest, AProgramThatIsNotThereIsUnavailable) {
  RemoteDevice device = Create({"/does/not/exist"});
  const absl::Status status = device.Start();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/does/not/exist"));
}

TEST_F(RemoteDeviceTest, GarbageOnThePipeIsNoAnswer) {
  RemoteDevice device =
      Create({"/bin/sh", "-c", "echo this is not a message; exec sleep 60"});
  const absl::Status status = device.Start();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("does not speak the protocol"));
}

TEST_F(RemoteDeviceTest, AFrameThatIsNoMessageIsNoAnswer) {
  RemoteDevice device = Create(
      {"/bin/sh", "-c", "printf '\\003\\000\\000\\000abc'; exec sleep 60"});
  EXPECT_EQ(device.Start().code(), absl::StatusCode::kUnavailable);
}

TEST_F(RemoteDeviceTest, AWorkerThatNeverAnswersIsKilled) {
  start_timeout_ = milliseconds(50);
  RemoteDevice device = Create({"/bin/sleep", "60"});
  EXPECT_EQ(device.Start().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(device.worker_pid(), -1);
}

TEST_F(RemoteDeviceTest, TheWorkerEndsWithTheAgentAlsoInTheMiddleOfAHang) {
  int pids[2];
  ASSERT_EQ(pipe(pids), 0);
  const pid_t agent = fork();
  if (agent == 0) {
    RemoteDevice device =
        RemoteDevice({.command = {kFakeWorker}, .facts = FakeFacts()});
    if (!Load(device).ok() || !device.Prepare(kSound, {}).ok()) _exit(1);
    const pid_t worker = device.worker_pid();
    if (write(pids[1], &worker, sizeof(worker)) < 0) _exit(1);
    (void)device.Prepare(kHangs, {}).status();
    _exit(1);
  }
  pid_t worker = -1;
  ASSERT_EQ(read(pids[0], &worker, sizeof(worker)),
            static_cast<ssize_t>(sizeof(worker)));
  std::this_thread::sleep_for(milliseconds(100));  // It hangs by now.
  kill(agent, SIGKILL);
  waitpid(agent, nullptr, 0);
  EXPECT_TRUE(EndsSoon(worker));
  close(pids[0]);
  close(pids[1]);
}

// A device whose worker's input goes to a file, too.
class RecordedDevice {
 public:
  RecordedDevice()
      : path_(::testing::TempDir() + "worker_input_" +
              std::to_string(getpid())),
        device_({.command = {"/bin/sh", "-c",
                             "tee -a " + path_ + " | " + kFakeWorker},
                 .facts = FakeFacts()}) {
    std::remove(path_.c_str());
  }
  ~RecordedDevice() { std::remove(path_.c_str()); }

  // Prepares with a kernel under a fingerprint.
  void Prepare(const std::string& fingerprint,
               const std::string& specialisation = "") {
    v1::KernelSource source = TestKernelSource(kColumnSum);
    source.set_fingerprint(fingerprint);
    absl::StatusOr<LoadedKernel> kernel = LoadedKernelFromProto(source);
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    kernel->specialisation = specialisation;
    ASSERT_TRUE(device_.Load(*std::move(kernel)).ok());
    const absl::Status status = device_.Prepare(kSound, {}).status();
    EXPECT_TRUE(status.ok()) << status;
  }
  void EndWorker() { device_.Release(); }

  // The kernels sent so far: "a", or "(a)" where it was only named.
  std::vector<std::string> Sent() const {
    std::vector<std::string> sent;
    const int file = open(path_.c_str(), O_RDONLY);
    for (;;) {
      const absl::StatusOr<std::string> frame = ReadFrame(file);
      v1::WorkerRequest request;
      if (!frame.ok() || !request.ParseFromString(*frame)) break;
      if (!request.has_load()) continue;
      const v1::KernelSource& kernel = request.load().kernel();
      sent.push_back(NamesKernel(kernel) ? "(" + kernel.fingerprint() + ")"
                                         : kernel.fingerprint());
    }
    close(file);
    return sent;
  }

 private:
  std::string path_;
  RemoteDevice device_;
};

TEST(RemoteKernelsTest, AWorkerGetsEachKernelOnce) {
  RecordedDevice device;
  device.Prepare("a");
  device.Prepare("a");
  device.Prepare("b");
  device.Prepare("a");
  device.Prepare("a", "wide");
  EXPECT_THAT(device.Sent(), ElementsAre("a", "b", "(a)", "(a)"));
}

TEST(RemoteKernelsTest, AWorkerThatIsStartedAgainGetsItsKernelWhole) {
  RecordedDevice device;
  device.Prepare("a");
  device.EndWorker();
  device.Prepare("a");
  device.Prepare("a", "wide");
  EXPECT_THAT(device.Sent(), ElementsAre("a", "a", "(a)"));
}

TEST(RemoteKernelsTest, TheKernelThatAWorkerNoLongerKeepsIsSentWhole) {
  RecordedDevice device;
  device.Prepare("first");
  for (size_t i = 0; i < KeptKernels::kMost; ++i) {
    device.Prepare(std::to_string(i));
  }
  device.Prepare("first");
  EXPECT_EQ(device.Sent().back(), "first");
}

TEST_F(RemoteDeviceTest, AWorkerThatHasForgottenAKernelGetsItWhole) {
  RemoteDevice device = Create({kFakeWorker, "forgets"});
  LoadedKernel kernel = TestKernel(kColumnSum);
  for (const char* specialisation : {"", "wide", ""}) {
    kernel.specialisation = specialisation;
    ASSERT_TRUE(device.Load(kernel).ok());
    EXPECT_TRUE(device.Prepare(kSound, {}).ok());
  }
}

// A kernel whose bytes changed is loaded, and compiled, again.
TEST(KernelSourceTest, EqualKernelsHaveEqualBytes) {
  v1::KernelSource one = TestKernelSource(kColumnSum);
  v1::KernelSource other = one;
  auto& first = *one.mutable_spec()->mutable_default_configuration();
  auto& second = *other.mutable_spec()->mutable_default_configuration();
  second.clear();
  std::vector<std::pair<std::string, int64_t>> entries(first.begin(),
                                                       first.end());
  for (auto it = entries.rbegin(); it != entries.rend(); ++it) {
    second[it->first] = it->second;
  }
  const absl::StatusOr<LoadedKernel> a = LoadedKernelFromProto(one);
  const absl::StatusOr<LoadedKernel> b = LoadedKernelFromProto(other);
  ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  EXPECT_EQ(*a->source_bytes, *b->source_bytes);
}

// A backend whose devices are in another process.
class RemoteBackend : public Backend {
 public:
  std::string name() const override { return "opencl"; }
  Enumeration Enumerate() override {
    return *RemoteDevice({.command = {kFakeWorker}}).Enumerate();
  }
  absl::StatusOr<std::unique_ptr<Device>> Open(const std::string& device_uuid,
                                               const std::string&) override {
    DeviceFacts facts = FakeFacts();
    facts.uuid = device_uuid;
    auto device = std::make_unique<RemoteDevice>(RemoteDeviceOptions{
        .command = {kFakeWorker}, .facts = facts, .max_failed_starts = 1});
    if (!device->Start().ok()) return absl::NotFoundError("does not start");
    return device;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Remote, BackendContractTest,
    ::testing::Values(BackendContract{
        .create = [] { return std::make_unique<RemoteBackend>(); },
        .kernel = [] { return TestKernel(kColumnSum); },
        .configuration = kSound,
        .problem = kProblem}));

// Here, as a program has the contract's tests once.
INSTANTIATE_TEST_SUITE_P(
    InjectedNothing, BackendContractTest,
    ::testing::Values(BackendContract{
        .create =
            [] {
              const std::string path =
                  ::testing::TempDir() + "injected_nothing.conf";
              std::ofstream(path) << "";
              return std::make_unique<InjectedBackend>(
                  std::make_unique<FakeBackend>(), path);
            },
        .kernel = [] { return TinyKernel("fake"); },
        .configuration = {16, 8, 0},
        .problem = {.extents = {100, 30}, .specialisation = "plain"},
        .correctness_problems = {{.extents = {7, 5},
                                  .specialisation = "plain"}}}));

}  // namespace
}  // namespace wavetune
