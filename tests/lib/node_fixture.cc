#include "tests/lib/node_fixture.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "tests/lib/source_paths.h"

namespace wavetune::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::chrono::seconds kDeadline(240);
constexpr std::chrono::milliseconds kShortestPause(20);
constexpr std::chrono::milliseconds kLongestPause(250);
constexpr int kExitNoDevice = 3;  // Of wavetune-agent.

// Short, because a socket's path has at most 107 characters, and open to other
// users, because one test runs a daemon as another one.
std::string MakeScratchFolder() {
  char name[] = "/tmp/wavetune-test-XXXXXX";
  if (mkdtemp(name) == nullptr) std::abort();
  chmod(name, 0755);
  return name;
}

bool HasEnded(const json& job) {
  const std::string state = job.value("state", "");
  return state == "SUCCEEDED" || state == "FAILED" || state == "CANCELLED";
}

}  // namespace

json CliResult::Json() const {
  json parsed = json::parse(out, nullptr, /*allow_exceptions=*/false);
  return parsed.is_object() ? parsed : json::object();
}

NodeFixture::NodeFixture() : folder_(MakeScratchFolder()) {
  store_ = Path("store");
  fs::create_directory(Path("kernels"));
}

NodeFixture::~NodeFixture() {
  // The agent first: it would complain about the daemon. Gracefully, so that
  // its workers end too.
  if (agent_) agent_->Stop(std::chrono::seconds(20));
  if (daemon_) daemon_->Stop(std::chrono::seconds(20));
  if (HasFailure()) {
    std::cerr << "--- daemon\n"
              << Log("daemon") << "--- agent\n"
              << Log("agent");
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string NodeFixture::Path(const std::string& name) const {
  return folder_ + "/" + name;
}

std::string NodeFixture::Binary(const std::string& name) {
  return WAVETUNE_BIN_DIR "/" + name;
}

void NodeFixture::AddKernel(const std::string& name) {
  const fs::path folder =
      fs::path(WAVETUNE_SOURCE_DIR "/tests/data/kernels") / name;
  fs::copy(folder, fs::path(Path("kernels")) / folder.filename(),
           fs::copy_options::recursive);
}

void NodeFixture::WriteFile(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::vector<std::string> NodeFixture::DaemonArguments() const {
  return {Binary("wavetuned"), "--store",     store_,
          "--socket-dir",      folder_,       "--kernels-dir",
          Path("kernels"),     "--log-level", "info"};
}

void NodeFixture::StartDaemon(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = elsewhere_;
  const std::vector<std::string> own = DaemonArguments();
  arguments.insert(arguments.end(), own.begin(), own.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  daemon_ = Program::Start(arguments, {.log_path = Path("daemon.log")});
  ASSERT_TRUE(WaitUntil([&] {
    return daemon_->Poll() || Cli({"status"}).exit_code == 0;
  })) << "the daemon does not answer";
  ASSERT_FALSE(daemon_->Poll()) << "the daemon ended";
}

void NodeFixture::StartAgent(const std::vector<std::string>& more,
                             const std::string& backend) {
  std::vector<std::string> arguments = {
      Binary("wavetune-agent"), "--endpoint", Path("agent.sock"), "--backends",
      backend, "--cache-dir", Path("programs"), "--prepare-workers", "2",
      // Other tests are not nice either.
      "--nice", "0"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  agent_ = Program::Start(arguments, {.log_path = Path("agent.log")});
  ASSERT_TRUE(WaitUntil([&] {
    return agent_->Poll() ||
           Cli({"status", "--json"}).Json().value("devices_attached", 0) > 0;
  })) << "no device is attached";
  if (agent_->Poll() == kExitNoDevice)
    GTEST_SKIP() << "no device here: " << backend;
  ASSERT_FALSE(agent_->Poll()) << "the agent ended";
}

std::string NodeFixture::Log(const std::string& program) const {
  return ReadText(Path(program + ".log"));
}

CliResult NodeFixture::Run(const std::vector<std::string>& arguments,
                           const std::string& label, uid_t uid) const {
  const std::string out = Path(label + ".out");
  const std::string err = Path(label + ".err");
  std::error_code ignored;
  fs::remove(err, ignored);
  const auto program = Program::Start(
      arguments,
      {.log_path = err,
       .out_path = out,
       .environment = {{"WAVETUNE_ENDPOINT", "unix:" + Path("reader.sock")},
                       {"WAVETUNE_CACHE_DIR", Path("tables")}},
       .uid = uid});
  const std::optional<int> code = program->Wait(kDeadline);
  return {code.value_or(-1), ReadText(out), ReadText(err)};
}

CliResult NodeFixture::Cli(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command = {Binary("wavetune")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return Run(command, "cli", 0);
}

CliResult NodeFixture::RunDaemon(const std::vector<std::string>& arguments,
                                 uid_t uid) const {
  std::vector<std::string> command = {Binary("wavetuned")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return Run(command, "other", uid);
}

json NodeFixture::Job(uint64_t id) const {
  return Cli({"jobs", "show", std::to_string(id), "--json"}).Json();
}

json NodeFixture::WaitForJob(uint64_t id) const {
  json job;
  EXPECT_TRUE(WaitUntil([&] {
    job = Job(id);
    return HasEnded(job);
  })) << "job "
      << id << " does not end: " << job.dump(2);
  return job;
}

uint64_t NodeFixture::Reprofile(const std::string& kernel,
                                const std::vector<std::string>& more,
                                int samples_per_candidate) const {
  std::vector<std::string> arguments = {"reprofile",
                                        "--kernel",
                                        kernel,
                                        "--samples-per-candidate",
                                        std::to_string(samples_per_candidate),
                                        "--portfolio",
                                        "4",
                                        "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const CliResult result = Cli(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json jobs = result.Json().value("jobs", json::array());
  return jobs.empty() ? 0 : jobs[0].value("id", uint64_t{0});
}

bool NodeFixture::WaitUntil(const std::function<bool()>& condition) {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  while (!condition()) {
    const Clock::duration waited = Clock::now() - begun;
    if (waited > kDeadline) return false;
    // A look is mostly a command of 25 ms of processor, which what is waited
    // for needs, too.
    std::this_thread::sleep_for(
        std::clamp<Clock::duration>(waited / 8, kShortestPause, kLongestPause));
  }
  return true;
}

}  // namespace wavetune::testing
