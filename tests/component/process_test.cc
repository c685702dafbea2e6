// A node of real processes: what survives kill -9, and what bad input says.
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lib/node_fixture.h"
#include "tests/lib/program.h"
#include "tests/lib/source_paths.h"

namespace wavetune::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uid_t kNobody = 65534;

// A node that serves a table of the kernel `repeats`.
class ServingNodeTest : public NodeFixture {
 protected:
  void SetUp() override {
    AddKernel("repeats");
    StartDaemon();
    StartAgent();
    if (HasFatalFailure() || IsSkipped()) return;
    const nlohmann::json job = WaitForJob(Reprofile("repeats"));
    ASSERT_EQ(job.value("state", ""), "SUCCEEDED") << job.dump(2);
    digest_ = job.value("digest", "");
    ASSERT_THAT(digest_, Not(IsEmpty())) << job.dump(2);
    ExpectServes("from the daemon");
  }

  void ExpectServes(const std::string& origin) const {
    const CliResult result =
        Cli({"resolve", "repeats", "n=700", "k=700", "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const nlohmann::json decision = result.Json();
    EXPECT_EQ(decision.value("digest", ""), digest_) << decision.dump(2);
    EXPECT_EQ(decision.value("origin", ""), origin) << decision.dump(2);
  }

  // Samples in the store; -1 while the daemon does not answer.
  int64_t StoredSamples() const {
    return Cli({"status", "--json"}).Json().value("samples", int64_t{-1});
  }

  // Starts measuring all anew and waits until it is well under way. Twice the
  // usual samples: on a busy machine the tests' own commands take long, too.
  uint64_t ReprofileToTheMiddle() const {
    const uint64_t id = Reprofile("repeats", {"--fresh"}, 16);
    nlohmann::json job;
    EXPECT_TRUE(WaitUntil([&] {
      job = Job(id);
      return job.value("samples", 0) >= 10;
    }));
    EXPECT_EQ(job.value("state", ""), "RUNNING") << "ended too early";
    return id;
  }

  // The job ends well, with every sample that was acknowledged.
  void ExpectSucceeds(uint64_t id, int64_t acknowledged) const {
    int64_t stored = acknowledged;
    EXPECT_TRUE(WaitUntil([&] {
      const int64_t now = StoredSamples();
      EXPECT_TRUE(now < 0 || now >= stored) << now << " of " << stored;
      stored = std::max(stored, now);
      return Job(id).value("finished_at_us", int64_t{0}) > 0;
    }));
    const nlohmann::json job = WaitForJob(id);
    EXPECT_EQ(job.value("state", ""), "SUCCEEDED") << job.dump(2);
    EXPECT_THAT(job.value("excluded", nlohmann::json::array()), IsEmpty())
        << job.dump(2);
  }

  std::string digest_;
};

TEST_F(ServingNodeTest, AJobGoesOnWhenItsWorkerIsKilled) {
  const uint64_t id = ReprofileToTheMiddle();
  const int64_t acknowledged = StoredSamples();
  const std::vector<pid_t> workers = ChildrenOf(agent().pid());
  ASSERT_THAT(workers, Not(IsEmpty()));
  for (const pid_t worker : workers) kill(worker, SIGKILL);
  ExpectServes("from the daemon");
  ExpectSucceeds(id, acknowledged);
  EXPECT_FALSE(agent().Poll()) << "the agent ended";
}

TEST_F(ServingNodeTest, AJobGoesOnWhenTheAgentIsKilledAndStartedAgain) {
  const uint64_t id = ReprofileToTheMiddle();
  const int64_t acknowledged = StoredSamples();
  const std::vector<pid_t> workers = ChildrenOf(agent().pid());
  agent().Kill();
  EXPECT_TRUE(WaitUntil([&] {
    return std::none_of(workers.begin(), workers.end(), [](pid_t worker) {
      return std::filesystem::exists("/proc/" + std::to_string(worker) +
                                     "/exe");
    });
  })) << "workers outlive their agent";
  EXPECT_TRUE(WaitUntil([&] {
    return Cli({"status", "--json"}).Json().value("devices_attached", -1) == 0;
  }));
  ExpectServes("from the daemon");
  EXPECT_EQ(Job(id).value("state", ""), "RUNNING");
  StartAgent();
  ExpectSucceeds(id, acknowledged);
}

TEST_F(ServingNodeTest, AJobGoesOnWhenTheDaemonIsKilledAndStartedAgain) {
  const uint64_t id = ReprofileToTheMiddle();
  const int64_t acknowledged = StoredSamples();
  daemon().Kill();
  ExpectServes("from the local cache");
  EXPECT_EQ(Cli({"status"}).exit_code, 3);
  StartDaemon();
  EXPECT_GE(StoredSamples(), acknowledged);
  ExpectServes("from the daemon");
  ExpectSucceeds(id, acknowledged);
}

// A node whose agent pretends a driver.
class DriverChangeTest : public NodeFixture {
 protected:
  void SetUp() override {
    AddKernel("repeats");
    Inject("driver = 1\n");
    StartDaemon();
    StartAgent({"--inject", injected_});
  }

  // With a rename, as the agent reads it at any time.
  void Inject(const std::string& text) {
    WriteFile(injected_ + ".new", text);
    chmod((injected_ + ".new").c_str(), 0600);
    std::filesystem::rename(injected_ + ".new", injected_);
  }

  // Of the attached device, as the daemon knows it.
  std::string EnvironmentKey() const {
    const nlohmann::json status = Cli({"status", "--json"}).Json();
    const nlohmann::json devices =
        status.value("device_list", nlohmann::json::array());
    return devices.empty() || !devices[0].value("attached", false)
               ? ""
               : devices[0].value("environment_key", "");
  }

  const std::string injected_ = Path("injected.conf");
};

TEST_F(DriverChangeTest, AnotherDriverIsNoticedAndTheOldTableServes) {
  const nlohmann::json before = WaitForJob(Reprofile("repeats"));
  ASSERT_EQ(before.value("state", ""), "SUCCEEDED") << before.dump(2);
  Inject("driver = 2\n");
  ASSERT_TRUE(WaitUntil([&] {
    return EnvironmentKey().find("driver=2;") != std::string::npos;
  })) << Log("agent");
  EXPECT_FALSE(agent().Poll()) << "the agent ended";
  const CliResult resolved =
      Cli({"resolve", "repeats", "n=700", "k=700", "--json"});
  EXPECT_EQ(resolved.exit_code, 0) << resolved.err;
  EXPECT_EQ(resolved.Json().value("digest", ""), before.value("digest", "-"));
  const nlohmann::json after = WaitForJob(Reprofile("repeats"));
  EXPECT_EQ(after.value("state", ""), "SUCCEEDED") << after.dump(2);
}

TEST_F(DriverChangeTest, AJobThatRunsEndsAndSaysWhy) {
  const uint64_t id = Reprofile("repeats", {}, 16);
  ASSERT_TRUE(WaitUntil([&] { return Job(id).value("samples", 0) >= 10; }));
  Inject("driver = 2\nslower = 1.3\n");
  const nlohmann::json job = WaitForJob(id);
  EXPECT_EQ(job.value("state", ""), "FAILED") << job.dump(2);
  EXPECT_THAT(job.value("message", ""),
              AllOf(HasSubstr("came back as another one"),
                    HasSubstr("driver=1;"), HasSubstr("driver=2;")));
}

TEST_F(ServingNodeTest, AKernelThatWasMadeWrongStopsServing) {
  const std::string source = Path("kernels/repeats/repeats.cl");
  const std::string right = ReadText(source);
  WriteFile(source, ReadText(WAVETUNE_SOURCE_DIR
                             "/tests/data/kernels/races/repeats.cl"));
  const nlohmann::json job = WaitForJob(Reprofile("repeats"));
  EXPECT_EQ(job.value("state", ""), "FAILED") << job.dump(2);
  EXPECT_GT(job.value("wrong_candidates", 0), 0);
  EXPECT_THAT(
      job.value("message", ""),
      AllOf(HasSubstr("wrong"), HasSubstr("table " + digest_.substr(0, 16) +
                                          " was withdrawn: it chooses ")));
  const auto expect_default = [&] {
    const nlohmann::json decision =
        Cli({"resolve", "repeats", "n=700", "k=700", "--json"}).Json();
    EXPECT_EQ(decision.value("source", ""), "DEFAULT") << decision.dump(2);
    // The default is wrong, too, which counts more to whoever knows it: the
    // daemon, once the device is attached.
    EXPECT_THAT(decision.value("reason", ""),
                AnyOf("TABLE_WITHDRAWN", "DEFAULT_UNUSABLE"))
        << decision.dump(2);
  };
  expect_default();
  EXPECT_THAT(Cli({"tables", "list"}).out, HasSubstr("was withdrawn: "));
  EXPECT_THAT(Cli({"status"}).out, HasSubstr("WITHDRAWN"));
  // Also after a restart, and from the cache while nobody answers.
  ASSERT_EQ(daemon().Stop(std::chrono::seconds(30)), 0);
  expect_default();
  StartDaemon();
  expect_default();
  // What was right is right again. The agent attaches when it next tries.
  ASSERT_TRUE(WaitUntil([&] {
    return Cli({"status", "--json"}).Json().value("devices_attached", 0) > 0;
  }));
  WriteFile(source, right);
  const nlohmann::json mended = WaitForJob(Reprofile("repeats"));
  EXPECT_EQ(mended.value("state", ""), "SUCCEEDED") << mended.dump(2);
  const nlohmann::json decision =
      Cli({"resolve", "repeats", "n=700", "k=700", "--json"}).Json();
  EXPECT_NE(decision.value("source", ""), "DEFAULT") << decision.dump(2);
}

TEST_F(ServingNodeTest, ADamagedStoreIsRefusedAndNotTouched) {
  ASSERT_EQ(daemon().Stop(std::chrono::seconds(30)), 0);
  const std::string current = ReadText(store_ + "/CURRENT");
  WriteFile(store_ + "/CURRENT", "not a file name");
  const CliResult result =
      RunDaemon({"--store", store_, "--socket-dir", Path("other"),
                 "--kernels-dir", Path("kernels")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("damaged"), HasSubstr(store_),
                                HasSubstr("restore a backup")));
  ExpectServes("from the local cache");
  // Nothing was made worse.
  WriteFile(store_ + "/CURRENT", current);
  StartDaemon();
  ExpectServes("from the daemon");
}

// The daemon alone: no device is needed.
class DaemonProcessTest : public NodeFixture {
 protected:
  // A daemon that should not start. Anything of it apart from the running one.
  CliResult Other(const std::map<std::string, std::string>& changes,
                  uid_t uid = 0) {
    std::map<std::string, std::string> options = {
        {"--store", Path("other-store")},
        {"--socket-dir", Path("other")},
        {"--kernels-dir", Path("kernels")}};
    for (const auto& [name, value] : changes) options[name] = value;
    std::vector<std::string> arguments;
    for (const auto& [name, value] : options) {
      arguments.push_back(name);
      arguments.push_back(value);
    }
    return RunDaemon(arguments, uid);
  }

  // Has a program read its surroundings anew twenty times, which it logs at
  // once.
  static std::vector<nlohmann::json> LogOfReloads(
      std::vector<std::string> arguments, const std::string& log,
      const std::string& ready) {
    arguments.insert(arguments.end(), {"--log-format", "json"});
    const auto program = Program::Start(arguments, {.log_path = log});
    EXPECT_TRUE(WaitUntil([&] {
      return program->Poll() || ReadText(log).find(ready) != std::string::npos;
    }));
    for (int i = 0; i < 20 && !program->Poll(); ++i) {
      kill(program->pid(), SIGHUP);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_EQ(program->Stop(std::chrono::seconds(30)), 0) << ReadText(log);
    std::vector<nlohmann::json> lines;
    std::istringstream text(ReadText(log));
    for (std::string line; std::getline(text, line);) {
      lines.push_back(nlohmann::json::parse(line, nullptr, false));
      EXPECT_TRUE(lines.back().is_object()) << line;
    }
    return lines;
  }
};

TEST_F(DaemonProcessTest, AMalformedManifestIsShownAndOthersWork) {
  AddKernel("repeats");
  WriteFile(Path("kernels/malformed/manifest.textproto"),
            "name: \"malformed\"\nno_such_field: 1\n");
  StartDaemon();
  const CliResult check = Cli({"kernels", "check", Path("kernels")});
  EXPECT_EQ(check.exit_code, 1);
  EXPECT_THAT(check.out + check.err,
              AllOf(HasSubstr("no_such_field"), HasSubstr("repeats: valid"),
                    HasSubstr("1 of 2 kernels refused")));
  const CliResult list = Cli({"kernels", "list"});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_THAT(list.out, AllOf(HasSubstr("malformed"), HasSubstr("repeats")));
  const CliResult resolve = Cli({"resolve", "repeats", "n=1", "k=1"});
  EXPECT_EQ(resolve.exit_code, 0) << resolve.err;
  EXPECT_THAT(resolve.out,
              HasSubstr("never profiled; run `wavetune reprofile"));
}

TEST_F(DaemonProcessTest, ASecondOneOnTheSameStoreNamesTheFirst) {
  StartDaemon();
  const CliResult result = Other({{"--store", store_}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("another wavetuned uses the store"),
                    HasSubstr("pid " + std::to_string(daemon().pid()))));
  EXPECT_EQ(Cli({"status"}).exit_code, 0);
}

TEST_F(DaemonProcessTest, ASecondOneOnTheSameSocketsIsRefused) {
  StartDaemon();
  const CliResult result = Other({{"--socket-dir", Path("")}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("a daemon already listens on"));
  EXPECT_EQ(Cli({"status"}).exit_code, 0) << "the first one's socket is gone";
}

TEST_F(DaemonProcessTest, ASocketPathThatIsAFileIsLeftAlone) {
  WriteFile(Path("other/reader.sock"), "precious");
  const CliResult result = Other({});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("exists and is no socket"));
  EXPECT_EQ(ReadText(Path("other/reader.sock")), "precious");
}

TEST_F(DaemonProcessTest, TakesUpTheSocketsOfAKilledOne) {
  StartDaemon();
  daemon().Kill();
  StartDaemon();
  EXPECT_EQ(daemon().Stop(std::chrono::seconds(30)), 0);
}

TEST_F(DaemonProcessTest, AStoreThatMayNotBeWrittenIsRefused) {
  std::filesystem::create_directory(store_);
  chmod(store_.c_str(), 0555);
  const uid_t uid = geteuid() == 0 ? kNobody : 0;  // root may write anywhere.
  const CliResult result = Other({{"--store", store_}}, uid);
  if (result.exit_code == 127) GTEST_SKIP() << "nobody may not run it here";
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("Permission denied"),
                                HasSubstr("give the daemon's user")));
}

TEST_F(DaemonProcessTest, WrongOptionsAreWrongUsage) {
  EXPECT_EQ(Other({{"--budget", "0"}}).exit_code, 2);
  EXPECT_EQ(Other({{"--log-level", "loud"}}).exit_code, 2);
  EXPECT_EQ(Other({{"--log-format", "xml"}}).exit_code, 2);
  const std::string log = Path("agent.log");
  EXPECT_EQ(Program::Start({Binary("wavetune-agent"), "--log-format", "xml"},
                           {.log_path = log})
                ->Wait(std::chrono::seconds(30)),
            2);
  EXPECT_THAT(ReadText(log), HasSubstr("--log-format"));
  const CliResult nowhere = Other({{"--kernels-dir", Path("nowhere")}});
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr(Path("nowhere")));
}

// Returns the messages that contain `text`.
std::vector<std::string> MessagesWith(const std::vector<nlohmann::json>& lines,
                                      const std::string& component,
                                      const std::string& text) {
  std::vector<std::string> messages;
  for (const nlohmann::json& line : lines) {
    const std::string message = line.value("message", "");
    if (message.find(text) == std::string::npos) continue;
    EXPECT_EQ(line.value("component", ""), component);
    EXPECT_EQ(line.value("level", ""), "info");
    EXPECT_EQ(line.value("time", "").size(), 24U) << line.dump();
    messages.push_back(message);
  }
  return messages;
}

TEST_F(DaemonProcessTest, AGroupThatIsNotThereIsNamedWithItsOption) {
  const CliResult result =
      RunDaemon({"--store", Path("other"), "--socket-dir", Path("other"),
                 "--agent-group", "no-such-group"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("--agent-group"), HasSubstr("no-such-group"),
                    HasSubstr("groupadd")));
}

TEST_F(DaemonProcessTest, TheLogIsJsonWhereAskedForAndSumsRepeatsUp) {
  const std::vector<std::string> messages = MessagesWith(
      LogOfReloads(DaemonArguments(), Path("daemon.log"), "serves on"),
      "daemon", "has read the kernel folders again");
  EXPECT_LE(messages.size(), 6U);  // On a slow machine it takes ten seconds.
  EXPECT_THAT(messages, Contains(HasSubstr("... repeated ")));
}

TEST_F(DaemonProcessTest, SoDoesTheAgents) {
  const std::vector<std::string> messages = MessagesWith(
      LogOfReloads({Binary("wavetune-agent"), "--endpoint", Path("agent.sock"),
                    "--backends", "replay", "--replay-trace",
                    WAVETUNE_SOURCE_DIR "/tests/data/h200_triton_gemm",
                    "--cache-dir", Path("programs")},
                   Path("agent.log"), "workers per device"),
      "agent", "reloading; cancelling what runs");
  EXPECT_LE(messages.size(), 6U);
  EXPECT_THAT(messages, Contains(HasSubstr("... repeated ")));
}

TEST_F(DaemonProcessTest, WithoutOneTheCommandLineSaysWhatToDo) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"status"},
        std::vector<std::string>{"reprofile", "--kernel", "repeats"},
        std::vector<std::string>{"resolve", "repeats", "n=1", "k=1"}}) {
    const CliResult result = Cli(arguments);
    EXPECT_EQ(result.exit_code, 3) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr(".sock")) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr("wavetuned")) << arguments[0];
  }
}

TEST_F(DaemonProcessTest, AnotherSocketThanTheReadersIsNamedAsThat) {
  StartDaemon();
  for (const std::string role : {"admin", "agent"}) {
    const std::string other = "unix:" + Path(role + ".sock");
    const CliResult result = Cli({"status", "--endpoint", other});
    EXPECT_EQ(result.exit_code, 2) << role;
    EXPECT_THAT(result.err, AllOf(HasSubstr("is the " + role + " socket"),
                                  HasSubstr(Path("reader.sock"))));
    EXPECT_THAT(Cli({"fleet", "status", "--endpoint", other}).err,
                Not(HasSubstr("older")));
  }
}

TEST_F(DaemonProcessTest, CompilingWithoutTheDeviceHasAnExitCodeOfItsOwn) {
  AddKernel("repeats");
  const CliResult result = Cli({"kernels", "compile", Path("kernels/repeats"),
                                "--device", "no-such-device"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("no device \"no-such-device\""));
}

TEST_F(DaemonProcessTest, WrongProblemsNameTheDimension) {
  AddKernel("repeats");
  StartDaemon();
  const std::map<std::string, std::vector<std::string>> faults = {
      {"dimension \"n\": \"0\" is zero", {"n=0", "k=1"}},
      {"dimension \"n\": \"-3\" is negative", {"n=-3", "k=1"}},
      {"dimension \"k\" is missing", {"n=1"}},
      {"unknown dimension \"z\"", {"n=1", "k=1", "z=1"}},
      {"dimension \"k\": \"99999999999999999999\" overflows",
       {"n=1", "k=99999999999999999999"}},
      {"dimension \"k\": \"65537\" is above", {"n=1", "k=65537"}},
      {"dimension \"k\": \"many\" is not a whole number", {"n=1", "k=many"}},
      {"\"n\" is given twice", {"n=1", "n=1", "k=1"}}};
  for (const auto& [message, problem] : faults) {
    std::vector<std::string> arguments = {"resolve", "repeats"};
    arguments.insert(arguments.end(), problem.begin(), problem.end());
    const CliResult result = Cli(arguments);
    EXPECT_EQ(result.exit_code, 2) << message;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
  const CliResult unknown = Cli({"resolve", "repeat", "n=1", "k=1"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("repeats")) << "what there is";
}

TEST_F(DaemonProcessTest, WithoutADeviceReprofileSaysWhatToDo) {
  AddKernel("repeats");
  StartDaemon();
  const CliResult result = Cli({"reprofile", "--kernel", "repeats"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("start wavetune-agent"));
}

// A store on a disk of its own. It is so small that RocksDB cannot reserve
// space for its log ahead (4 MiB), so that a full disk shows at the next write.
class FullDiskProcessTest : public ServingNodeTest {
 protected:
  void SetUp() override {
    store_ = Path("disk/store");
    disk_ = Path("disk");
    std::filesystem::create_directory(disk_);
    if (mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=3m") != 0) {
      GTEST_SKIP() << "may not mount a small disk here";
    }
    mounted_ = true;
    ServingNodeTest::SetUp();
  }

  // Detached: the daemon has files open until the fixture stops it.
  void TearDown() override {
    if (mounted_) umount2(disk_.c_str(), MNT_DETACH);
  }

  void Fill() const {
    std::ofstream filler(disk_ + "/filler", std::ios::binary | std::ios::app);
    const std::string block(4096, 'x');
    while (filler.write(block.data(), 4096).flush()) {
    }
    struct statvfs facts {};
    ASSERT_EQ(statvfs(disk_.c_str(), &facts), 0);
    EXPECT_EQ(facts.f_bavail, 0U);
  }
  // A bigger disk, because RocksDB writes again only with 4 MiB to spare.
  void MakeSpace() const {
    ASSERT_EQ(mount("tmpfs", disk_.c_str(), "tmpfs", MS_REMOUNT, "size=32m"),
              0);
  }

 private:
  std::string disk_;
  bool mounted_ = false;
};

TEST_F(FullDiskProcessTest, AJobFailsWithWhatToDoAndServingGoesOn) {
  const uint64_t id = ReprofileToTheMiddle();
  Fill();
  const nlohmann::json job = WaitForJob(id);
  EXPECT_EQ(job.value("state", ""), "FAILED") << job.dump(2);
  EXPECT_THAT(job.value("message", ""),
              AllOf(HasSubstr("disk"), HasSubstr("free space")));
  ExpectServes("from the daemon");

  MakeSpace();
  uint64_t again = 0;
  ASSERT_TRUE(WaitUntil([&] {
    const nlohmann::json queued =
        Cli({"reprofile", "--kernel", "repeats", "--json"}).Json();
    if (queued.contains("jobs")) again = queued["jobs"][0].value("id", 0U);
    return again != 0;
  })) << "writing does not resume";
  EXPECT_EQ(WaitForJob(again).value("state", ""), "SUCCEEDED");
}

}  // namespace
}  // namespace wavetune::testing
