// The wavetune-agent binary against a fake daemon: real workers, real kernels.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "formats/api_version.h"
#include "formats/types.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/link/fake_agent_service.h"
#include "profiler_agent/worker/test_kernels.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

const char kAgent[] = WAVETUNE_BIN_DIR "/wavetune-agent";
const char kKernels[] = WAVETUNE_SOURCE_DIR "/tests/data/kernels/";
const char kTrace[] = WAVETUNE_SOURCE_DIR "/tests/data/h200_triton_gemm";

// What came back for a batch, by index.
struct BatchResult {
  std::map<int, v1::CandidateReport> candidates;
  std::map<int, v1::SampleReport> samples;
  std::map<int, v1::FailureReport> failures;
  v1::BatchDone done;
  bool ended = false;
};

class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "agent_XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    socket_ = folder_ + "/agent.sock";
  }

  void TearDown() override {
    if (agent_ > 0) {
      kill(agent_, SIGKILL);
      waitpid(agent_, nullptr, 0);
    }
    daemon_.reset();
    fs::remove_all(folder_);
  }

  void StartDaemon(int api_version = kApiVersion) {
    daemon_ = std::make_unique<FakeAgentService>(socket_, api_version);
  }

  // Starts the agent; its log goes to a file.
  void StartAgent(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {kAgent, "--endpoint", socket_,
                                         "--cache-dir", folder_ + "/cache"});
    // Other tests are not nice either.
    if (std::find(arguments.begin(), arguments.end(), "--nice") ==
        arguments.end()) {
      arguments.insert(arguments.end(), {"--nice", "0"});
    }
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    agent_ = fork();
    if (agent_ == 0) {
      const int log =
          open((folder_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      dup2(log, STDERR_FILENO);
      execv(kAgent, argv.data());
      _exit(127);
    }
  }

  // Returns the device of the agent, or skips the test where there is none.
  void Attach() {
    const std::optional<v1::AgentHello> hello = daemon_->WaitForAgent();
    ASSERT_TRUE(hello.has_value()) << Log();
    ASSERT_GE(hello->devices_size(), 1);
    device_ = hello->devices(0).uuid();
  }

  std::string injected() const { return folder_ + "/injected.conf"; }
  // Replaces what is pretended, as docs/testing.md says: with a rename.
  void Inject(const std::string& text) const {
    const std::string written = injected() + ".new";
    std::ofstream(written) << text;
    chmod(written.c_str(), 0600);
    fs::rename(written, injected());
  }

  // Returns the hello with that driver; nothing where none comes.
  std::optional<v1::AgentHello> WaitForDriver(const std::string& driver) {
    for (int i = 0; i < 3000; ++i) {
      const std::optional<v1::AgentHello> hello = daemon_->WaitForAgent();
      if (hello.has_value() && hello->devices(0).driver() == driver)
        return hello;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return std::nullopt;
  }

  int WaitForExit() {
    int status = 0;
    waitpid(agent_, &status, 0);
    agent_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string Log() const {
    std::ifstream file(folder_ + "/log");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  v1::AttachResponse Prepare(const std::string& kernel,
                             const std::vector<Configuration>& configurations) {
    v1::AttachResponse message;
    v1::PrepareBatch* batch = message.mutable_prepare();
    batch->set_batch_id(++batch_id_);
    batch->set_device_uuid(device_);
    *batch->mutable_kernel() = TestKernelSource(kernel);
    for (const Configuration& configuration : configurations) {
      *batch->add_configurations() = ConfigurationToProto(configuration);
    }
    return message;
  }

  v1::AttachResponse Measure(
      const std::string& kernel,
      const std::vector<std::pair<Configuration, std::vector<int64_t>>>&
          items) {
    v1::AttachResponse message;
    v1::MeasureBatch* batch = message.mutable_measure();
    batch->set_batch_id(++batch_id_);
    batch->set_device_uuid(device_);
    *batch->mutable_kernel() = TestKernelSource(kernel);
    const std::vector<Dimension> dimensions =
        TestKernel(kernel).spec.dimensions;
    for (const auto& [configuration, extents] : items) {
      v1::MeasureItem* item = batch->add_requests();
      *item->mutable_configuration() = ConfigurationToProto(configuration);
      *item->mutable_problem() =
          ProblemToProto(dimensions, {.extents = extents});
    }
    return message;
  }

  // Collects reports up to the end of the batch.
  BatchResult Collect() {
    BatchResult result;
    while (std::optional<v1::AttachRequest> message = daemon_->Next()) {
      if (message->has_candidate()) {
        result.candidates[message->candidate().index()] = message->candidate();
      } else if (message->has_sample()) {
        result.samples[message->sample().index()] = message->sample();
      } else if (message->has_failure()) {
        result.failures[message->failure().index()] = message->failure();
      } else if (message->has_done()) {
        result.done = message->done();
        result.ended = true;
        break;
      }
    }
    EXPECT_TRUE(result.ended) << Log();
    return result;
  }

  BatchResult Run(const v1::AttachResponse& message) {
    daemon_->Send(message);
    return Collect();
  }

  // Process ids of the agent's workers.
  std::vector<pid_t> Workers() const {
    std::vector<pid_t> workers;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      std::ifstream stat(entry.path() / "stat");
      pid_t pid = 0;
      pid_t parent = 0;
      std::string name;
      char state = 0;
      if (stat >> pid >> name >> state >> parent && parent == agent_) {
        workers.push_back(pid);
      }
    }
    return workers;
  }

  // Of each of them, as nice(2) counts.
  std::vector<int> Priorities() const {
    std::vector<int> priorities;
    for (const pid_t worker : Workers()) {
      priorities.push_back(
          getpriority(PRIO_PROCESS, static_cast<id_t>(worker)));
    }
    return priorities;
  }

  std::string folder_;
  std::string socket_;
  std::unique_ptr<FakeAgentService> daemon_;
  pid_t agent_ = -1;
  std::string device_;
  uint64_t batch_id_ = 0;
};

TEST_F(AgentTest, SaysWhyTheDaemonRefusesIt) {
  StartDaemon();
  daemon_->Refuse({grpc::StatusCode::ALREADY_EXISTS,
                   "device GPU-h200-trace is held by another agent, n1:42"});
  StartAgent({"--backends", "replay", "--replay-trace", kTrace});
  // It logs the first answer before it asks again.
  ASSERT_TRUE(daemon_->WaitForRefusals(2)) << Log();
  EXPECT_THAT(Log(), HasSubstr("device GPU-h200-trace is held by another "
                               "agent, n1:42; trying again"));
  EXPECT_THAT(Log(), Not(HasSubstr("CANCELLED")));
}

TEST_F(AgentTest, SaysHelloBeatsAndEndsOnSigterm) {
  StartDaemon();
  StartAgent({"--backends", "replay", "--replay-trace", kTrace});
  const std::optional<v1::AgentHello> hello = daemon_->WaitForAgent();
  ASSERT_TRUE(hello.has_value()) << Log();
  EXPECT_EQ(hello->api_version(), kApiVersion);
  EXPECT_FALSE(hello->agent_name().empty());
  ASSERT_EQ(hello->devices_size(), 1);
  EXPECT_EQ(hello->devices(0).uuid(), "GPU-h200-trace");
  EXPECT_EQ(hello->devices(0).multiprocessors(), 132);
  EXPECT_TRUE(daemon_->WaitForHeartbeat());
  kill(agent_, SIGTERM);
  EXPECT_EQ(WaitForExit(), 0) << Log();
}

TEST_F(AgentTest, ReplaysATrace) {
  StartDaemon();
  StartAgent(
      {"--backends", "replay", "--replay-trace", kTrace, "--replay-judged"});
  Attach();
  const Configuration recorded = {16, 64, 32, 2, 4};
  const BatchResult prepared = Run(Prepare(kTrace, {recorded}));
  EXPECT_EQ(prepared.done.error(), "");
  EXPECT_GT(prepared.candidates.at(0).facts().tiles_per_wave(), 132);
  const BatchResult measured = Run(Measure(
      kTrace, {{recorded, {19, 1536, 7168}}, {recorded, {20, 1536, 7168}}}));
  EXPECT_EQ(measured.done.error(), "");
  const v1::Sample& sample = measured.samples.at(0).sample();
  EXPECT_DOUBLE_EQ(sample.latency_us(), 159.019);
  EXPECT_EQ(sample.device_uuid(), "GPU-h200-trace");
  EXPECT_GT(sample.measured_at_us(), 0);
  EXPECT_FALSE(sample.suspect());
  EXPECT_THAT(measured.failures.at(1).reason(), HasSubstr("nearest"));
  EXPECT_FALSE(measured.failures.at(1).exclude_candidate());
}

TEST_F(AgentTest, SaysWhatIsInjected) {
  StartDaemon();
  Inject(
      "driver = 590.12\n"
      "other_processes = 2\n"
      "slower = 2 where block_m = 16\n");
  StartAgent({"--backends", "replay", "--replay-trace", kTrace, "--inject",
              injected(), "--replay-judged"});
  const std::optional<v1::AgentHello> hello = daemon_->WaitForAgent();
  ASSERT_TRUE(hello.has_value()) << Log();
  device_ = hello->devices(0).uuid();
  EXPECT_EQ(hello->devices(0).driver(), "590.12");
  EXPECT_THAT(Log(), HasSubstr("of no use but for drills"));
  std::optional<v1::AttachRequest> state = daemon_->Next();
  ASSERT_TRUE(state.has_value() && state->has_state()) << Log();
  EXPECT_THAT(state->state().state().busy(),
              HasSubstr("is used by 2 other processes"));
  const BatchResult measured =
      Run(Measure(kTrace, {{{16, 64, 32, 2, 4}, {19, 1536, 7168}}}));
  EXPECT_EQ(measured.done.error(), "");
  EXPECT_DOUBLE_EQ(measured.samples.at(0).sample().latency_us(), 2 * 159.019);
}

TEST_F(AgentTest, AChangedDriverIsNoticedWithoutARestart) {
  StartDaemon();
  Inject("driver = 580\n");
  StartAgent({"--backends", "replay", "--replay-trace", kTrace, "--inject",
              injected()});
  Attach();
  Inject("driver = 590\n");
  const std::optional<v1::AgentHello> hello = WaitForDriver("590");
  ASSERT_TRUE(hello.has_value()) << Log();
  EXPECT_EQ(hello->devices(0).uuid(), device_);
  EXPECT_THAT(Log(), HasSubstr("GPU-h200-trace has driver 590, it had 580"));
  EXPECT_EQ(Run(Prepare(kTrace, {{16, 64, 32, 2, 4}})).done.error(), "");
  kill(agent_, SIGTERM);
  EXPECT_EQ(WaitForExit(), 0) << Log();
}

// As in the middle of an upgrade.
TEST_F(AgentTest, AnAgentThatHadDevicesWaitsForThem) {
  StartDaemon();
  Inject("driver = 580\n");
  StartAgent({"--backends", "replay", "--replay-trace", kTrace, "--inject",
              injected()});
  Attach();
  Inject("broken\n");
  kill(agent_, SIGHUP);
  for (int i = 0;
       i < 1000 && Log().find("waiting for one") == std::string::npos; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_THAT(Log(), HasSubstr("no usable device any more; waiting for one"));
  Inject("driver = 590\n");
  EXPECT_TRUE(WaitForDriver("590").has_value()) << Log();
  kill(agent_, SIGTERM);
  EXPECT_EQ(WaitForExit(), 0) << Log();
}

TEST_F(AgentTest, AFaultInWhatIsInjectedIsWrongUsage) {
  Inject("drivre = 590.12\n");
  StartAgent({"--backends", "replay", "--replay-trace", kTrace, "--inject",
              injected()});
  EXPECT_EQ(WaitForExit(), 2);
  EXPECT_THAT(Log(), HasSubstr("injected.conf: line 1: unknown key"));
}

TEST_F(AgentTest, ProgramsThatWereUsedLongestAgoGo) {
  const fs::path programs = folder_ + "/cache/programs";
  fs::create_directories(programs);
  fs::permissions(folder_ + "/cache", fs::perms::owner_all);
  const fs::file_time_type now = fs::file_time_type::clock::now();
  for (const int hours_ago : {100, 50, 0}) {
    const fs::path file = programs / (std::to_string(hours_ago) + ".program");
    std::ofstream(file) << std::string(700 << 10, 'x');
    fs::last_write_time(file, now - std::chrono::hours(hours_ago));
  }
  StartDaemon();
  StartAgent({"--backends", "replay", "--replay-trace", kTrace,
              "--cache-limit-mib", "1"});
  Attach();
  for (int i = 0; i < 1000 && fs::exists(programs / "50.program"); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_FALSE(fs::exists(programs / "100.program"));
  EXPECT_FALSE(fs::exists(programs / "50.program")) << Log();
  EXPECT_TRUE(fs::exists(programs / "0.program"));
  kill(agent_, SIGTERM);
  EXPECT_EQ(WaitForExit(), 0);
  EXPECT_THAT(Log(), HasSubstr("removed the 2 compiled programs that were used "
                               "longest ago, 1 of 2 MiB"));
}

TEST_F(AgentTest, ComesBackWhenTheDaemonDoes) {
  StartDaemon();
  StartAgent({"--backends", "replay", "--replay-trace", kTrace});
  Attach();
  daemon_.reset();
  StartDaemon();
  Attach();
  EXPECT_EQ(Run(Prepare(kTrace, {{16, 64, 32, 2, 4}})).done.error(), "");
}

TEST_F(AgentTest, WaitsForADaemonThatStartsLater) {
  StartAgent({"--backends", "replay", "--replay-trace", kTrace});
  std::this_thread::sleep_for(milliseconds(300));
  StartDaemon();
  Attach();
}

TEST_F(AgentTest, DoesNotServeADaemonOfAnotherMajorVersion) {
  StartDaemon(kApiVersion + 1000);
  StartAgent({"--backends", "replay", "--replay-trace", kTrace});
  ASSERT_TRUE(daemon_->WaitForAgent().has_value());
  for (int i = 0; i < 1000 && Log().find("speaks API") == std::string::npos;
       ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_THAT(Log(), HasSubstr("speaks API"));
  kill(agent_, SIGTERM);
  EXPECT_EQ(WaitForExit(), 0);
}

TEST_F(AgentTest, WithoutADeviceItSaysWhyAndExits) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);  // On a machine with a GPU, too.
  StartAgent({"--backends", "cuda,replay"});
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(WaitForExit(), 3);
  EXPECT_THAT(Log(),
              ::testing::ContainsRegex("cuda: (not built in|.*NVIDIA driver)"));
  EXPECT_THAT(Log(), HasSubstr("no usable device"));
}

TEST_F(AgentTest, WrongUsageIsExitCodeTwo) {
  StartAgent({"--no-such-flag"});
  EXPECT_EQ(WaitForExit(), 2);
}

TEST_F(AgentTest, AnUnknownDeviceEndsTheBatch) {
  StartDaemon();
  StartAgent({"--backends", "replay", "--replay-trace", kTrace});
  Attach();
  device_ = "GPU-other";
  EXPECT_THAT(Run(Prepare(kTrace, {})).done.error(), HasSubstr("GPU-other"));
}

// With a real device.
class OpenClAgentTest : public AgentTest {
 protected:
  void StartAndAttach(const std::vector<std::string>& more = {}) {
    StartDaemon();
    std::vector<std::string> arguments = {"--backends", "opencl"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    StartAgent(arguments);
    Attach();
  }
};

TEST_F(OpenClAgentTest, PreparesOnSeveralWorkersAndMeasuresOnOne) {
  StartAndAttach({"--prepare-workers", "2", "--nice", "5"});
  const int own = getpriority(PRIO_PROCESS, 0);
  const int nicer = std::min(own + 5, 19);
  const std::string kernel = std::string(kKernels) + "column_sum";
  const std::vector<Configuration> all = {
      {16, 8, 0}, {16, 32, 0}, {64, 8, 0}, {64, 32, 0}};
  const BatchResult prepared = Run(Prepare(kernel, all));
  EXPECT_EQ(prepared.done.error(), "");
  EXPECT_EQ(prepared.candidates.size(), 4u);
  for (const auto& [index, report] : prepared.candidates) {
    EXPECT_EQ(report.excluded_reason(), "") << index;
    EXPECT_GE(report.facts().tiles_per_wave(), 1);
  }
  // The one that will measure is on its way, or there.
  EXPECT_THAT(Priorities(), AnyOf(UnorderedElementsAre(nicer, nicer),
                                  UnorderedElementsAre(nicer, nicer, own)));
  std::vector<std::pair<Configuration, std::vector<int64_t>>> items;
  for (const Configuration& configuration : all) {
    items.push_back({configuration, {1024, 256}});
  }
  const BatchResult measured = Run(Measure(kernel, items));
  EXPECT_EQ(measured.done.error(), "");
  EXPECT_EQ(measured.samples.size(), 4u);
  EXPECT_THAT(Priorities(), ElementsAre(own));
}

TEST_F(OpenClAgentTest, ExcludesWhatIsBrokenAndGoesOn) {
  StartAndAttach();
  const std::map<std::string, std::string> reasons = {
      {"does_not_compile", "does not compile: "},
      {"wrong_result", "wrong result: "},
      {"no_tail", "wrong result: "},
      {"crashes", "crashed: "}};
  for (const auto& [kernel, reason] : reasons) {
    const BatchResult prepared =
        Run(Prepare(kKernels + kernel, {{16, 8, 1}, {16, 8, 0}}));
    EXPECT_EQ(prepared.done.error(), "") << kernel;
    ASSERT_EQ(prepared.candidates.size(), 2u) << kernel;
    EXPECT_THAT(prepared.candidates.at(0).excluded_reason(),
                StartsWith(reason));
    EXPECT_EQ(prepared.candidates.at(1).excluded_reason(), "") << kernel;
  }
}

TEST_F(OpenClAgentTest, AReferenceThatCrashesEndsTheBatchAndExcludesNobody) {
  StartAndAttach();
  const std::string kernel = std::string(kKernels) + "reference_crashes";
  v1::AttachResponse message = Prepare(kernel, {{16, 8}, {64, 8}});
  const KernelSpec spec = TestKernel(kernel).spec;
  for (const WeightedProblem& declared : spec.correctness_problems) {
    *message.mutable_prepare()->add_correctness_problems() =
        ProblemToProto(spec.dimensions, declared.problem);
  }
  const BatchResult prepared = Run(message);
  EXPECT_THAT(prepared.done.error(),
              StartsWith("the reference kernel is broken: the worker"));
  EXPECT_TRUE(prepared.done.kernel_broken());
  EXPECT_TRUE(prepared.candidates.empty());
}

TEST_F(OpenClAgentTest, ExcludesWhatHangsAndGoesOn) {
  const std::string kernel = std::string(kKernels) + "hangs";
  StartAndAttach();
  ASSERT_EQ(Run(Prepare(kernel, {{16, 8, 0}})).candidates.size(), 1u);
  kill(agent_, SIGTERM);
  ASSERT_EQ(WaitForExit(), 0) << Log();
  // Now that the sound candidate is in the cache, a short limit hits the other
  // one only, however busy the machine is.
  daemon_.reset();
  StartAndAttach({"--prepare-timeout", "10"});
  const BatchResult prepared = Run(Prepare(kernel, {{16, 8, 1}, {16, 8, 0}}));
  EXPECT_EQ(prepared.done.error(), "");
  EXPECT_THAT(prepared.candidates.at(0).excluded_reason(),
              StartsWith("hung: "));
  EXPECT_EQ(prepared.candidates.at(1).excluded_reason(), "");
}

TEST_F(OpenClAgentTest, ABatchGoesOnWhenAWorkerIsKilled) {
  StartAndAttach({"--prepare-workers", "1"});
  const std::string kernel = std::string(kKernels) + "column_sum";
  std::vector<std::pair<Configuration, std::vector<int64_t>>> items;
  for (int64_t n = 1000; n < 1040; ++n) items.push_back({{16, 8, 0}, {n, 512}});
  daemon_->Send(Measure(kernel, items));
  const std::optional<v1::AttachRequest> first = daemon_->Next();
  ASSERT_TRUE(first.has_value() && first->has_sample()) << Log();
  for (const pid_t worker : Workers()) kill(worker, SIGKILL);
  const BatchResult rest = Collect();
  EXPECT_EQ(rest.done.error(), "");
  EXPECT_EQ(rest.samples.size(), items.size() - 1);
  EXPECT_TRUE(rest.failures.empty());
}

TEST_F(OpenClAgentTest, ABatchEndsWhereTheDriverChangesUnderIt) {
  Inject("driver = 1\n");
  StartAndAttach({"--prepare-workers", "1", "--inject", injected()});
  const std::string kernel = std::string(kKernels) + "column_sum";
  std::vector<std::pair<Configuration, std::vector<int64_t>>> items;
  for (int64_t n = 1; n < 20000; ++n) items.push_back({{16, 8, 0}, {n, 4096}});
  daemon_->Send(Measure(kernel, items));
  std::optional<v1::AttachRequest> first = daemon_->Next();
  while (first.has_value() && !first->has_sample()) first = daemon_->Next();
  ASSERT_TRUE(first.has_value()) << Log();
  Inject("driver = 2\nslower = 1.3\n");
  const BatchResult rest = Collect();
  // A burst sees it, or a worker that opens the device anew, or the watch.
  EXPECT_TRUE(rest.done.cancelled() || !rest.done.error().empty());
  EXPECT_LT(rest.samples.size(), items.size() / 2);
  ASSERT_TRUE(WaitForDriver("2").has_value()) << Log();
  const BatchResult again = Run(Measure(kernel, {{{16, 8, 0}, {1000, 4096}}}));
  EXPECT_EQ(again.done.error(), "");
  EXPECT_EQ(again.samples.size(), 1u);
}

TEST_F(OpenClAgentTest, CancellingEndsABatchEarly) {
  StartAndAttach({"--prepare-workers", "1"});
  const std::string kernel = std::string(kKernels) + "column_sum";
  std::vector<std::pair<Configuration, std::vector<int64_t>>> items;
  for (int64_t n = 1; n < 5000; ++n) items.push_back({{16, 8, 0}, {n, 4096}});
  daemon_->Send(Measure(kernel, items));
  ASSERT_TRUE(daemon_->Next().has_value());
  v1::AttachResponse cancel;
  cancel.mutable_cancel()->set_batch_id(batch_id_);
  daemon_->Send(cancel);
  const BatchResult rest = Collect();
  EXPECT_TRUE(rest.done.cancelled());
  EXPECT_LT(rest.samples.size(), items.size() / 2);
  kill(agent_, SIGTERM);
  EXPECT_EQ(WaitForExit(), 0);
}

}  // namespace
}  // namespace wavetune
