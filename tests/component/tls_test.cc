// A node of real processes over TCP: the commands of docs/security.md make the
// certificates, and command line, client library and agent connect with them.
#include <sys/stat.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/program.h"
#include "tests/lib/source_paths.h"

namespace wavetune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The commands of a document that are marked as tested.
std::string CommandsOf(const std::string& path) {
  const std::string text = ReadText(path);
  const std::string begin = "```sh\n";
  const size_t at = text.find(begin);
  EXPECT_NE(at, std::string::npos) << path;
  if (at == std::string::npos) return "";
  const size_t from = at + begin.size();
  return text.substr(from, text.find("```", from) - from);
}

class TlsNodeTest : public NodeFixture {
 protected:
  void SetUp() override {
    AddKernel("repeats");
    fs::create_directory(Path("tls"));
    const std::string script =
        "cd " + Path("tls") + "\nset -eu\n" +
        CommandsOf(WAVETUNE_SOURCE_DIR "/docs/security.md");
    const auto made = Program::Start({"/bin/bash", "-c", script},
                                     {.log_path = Path("made.log")});
    ASSERT_EQ(made->Wait(std::chrono::seconds(60)), 0)
        << ReadText(Path("made.log"));
    fs::copy_file(WAVETUNE_SOURCE_DIR "/deploy/authz/policy.json",
                  Path("tls/policy.json"));
    ASSERT_EQ(::chmod(Path("tls/policy.json").c_str(), 0644), 0);
    StartDaemonOnTcp();
  }
  ~TlsNodeTest() override {
    if (daemon_) daemon_->Stop(std::chrono::seconds(20));
    if (HasFailure()) std::cerr << "--- daemon\n" << ReadText(Path("tcp.log"));
  }

  void StartDaemonOnTcp() {
    std::vector<std::string> arguments = DaemonArguments();
    for (const std::string& more :
         {std::string("--listen-tcp"), std::string("127.0.0.1:0"),
          std::string("--tls-cert"), Path("tls/daemon.crt"),
          std::string("--tls-key"), Path("tls/daemon.key"),
          std::string("--tls-ca"), Path("tls/ca.crt"),
          std::string("--authz-policy"), Path("tls/policy.json")}) {
      arguments.push_back(more);
    }
    daemon_ = Program::Start(arguments, {.log_path = Path("tcp.log")});
    const std::string said = "with TLS, on ";
    ASSERT_TRUE(WaitUntil([&] {
      const std::string log = ReadText(Path("tcp.log"));
      const size_t at = log.find(said);
      if (at == std::string::npos) return daemon_->Poll().has_value();
      const size_t from = at + said.size();
      endpoint_ = log.substr(from, log.find(',', from) - from);
      return true;
    }));
    ASSERT_FALSE(daemon_->Poll()) << "the daemon ended";
  }

  std::map<std::string, std::string> As(const std::string& name) const {
    return {{"WAVETUNE_ENDPOINT", endpoint_},
            {"WAVETUNE_CACHE_DIR", Path("tables")},
            {"WAVETUNE_TLS_CERT", Path("tls/" + name + ".crt")},
            {"WAVETUNE_TLS_KEY", Path("tls/" + name + ".key")},
            {"WAVETUNE_TLS_CA", Path("tls/ca.crt")}};
  }
  CliResult CliWith(const std::map<std::string, std::string>& environment,
                    const std::vector<std::string>& arguments) const {
    std::vector<std::string> command = {Binary("wavetune")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    fs::remove(Path("cli.err"));
    const auto program = Program::Start(command, {.log_path = Path("cli.err"),
                                                  .out_path = Path("cli.out"),
                                                  .environment = environment});
    const auto code = program->Wait(std::chrono::seconds(120));
    return {code.value_or(-1), ReadText(Path("cli.out")),
            ReadText(Path("cli.err"))};
  }

  std::string endpoint_;
  std::unique_ptr<Program> daemon_;
};

TEST_F(TlsNodeTest, ReadersReadAndAdminsAdminister) {
  const CliResult read = CliWith(As("reader"), {"status", "--json"});
  EXPECT_EQ(read.exit_code, 0) << read.err;
  EXPECT_EQ(read.Json().value("devices_attached", -1), 0);
  // The client library, by the command that decides.
  const CliResult decided =
      CliWith(As("reader"), {"resolve", "repeats", "n=700", "k=700", "--json"});
  EXPECT_EQ(decided.exit_code, 0) << decided.err;
  const CliResult refused =
      CliWith(As("reader"), {"reprofile", "--kernel", "repeats"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("spiffe://wavetune/reader/bob may not "
                                     "call"));
  // Allowed, and there is no device.
  const CliResult admin =
      CliWith(As("admin"), {"reprofile", "--kernel", "repeats"});
  EXPECT_THAT(admin.err,
              AllOf(Not(HasSubstr("may not call")), HasSubstr("device")));
}

TEST_F(TlsNodeTest, WithoutACertificateTheCommandLineSaysWhatToSet) {
  const CliResult result = CliWith({{"WAVETUNE_ENDPOINT", endpoint_},
                                    {"WAVETUNE_CACHE_DIR", Path("tables")}},
                                   {"status"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("WAVETUNE_TLS_CERT"));
}

TEST_F(TlsNodeTest, SomeOfTheVariablesAreNotEnough) {
  std::map<std::string, std::string> environment = As("reader");
  environment["WAVETUNE_TLS_KEY"] = "";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"status"},
        std::vector<std::string>{"resolve", "repeats", "n=700", "k=700"}}) {
    const CliResult result = CliWith(environment, command);
    EXPECT_NE(result.exit_code, 0);
    EXPECT_THAT(result.err, HasSubstr("missing: WAVETUNE_TLS_KEY"));
  }
}

TEST_F(TlsNodeTest, AnAgentAttachesOverTcp) {
  const auto agent = Program::Start(
      {Binary("wavetune-agent"), "--endpoint", endpoint_, "--backends",
       "opencl", "--cache-dir", Path("programs")},
      {.log_path = Path("agent.log"), .environment = As("agent")});
  constexpr int kNoDevice = 3;
  EXPECT_TRUE(WaitUntil([&] {
    return agent->Poll() || CliWith(As("reader"), {"status", "--json"})
                                    .Json()
                                    .value("devices_attached", 0) > 0;
  })) << ReadText(Path("agent.log"));
  if (agent->Poll() == kNoDevice) GTEST_SKIP() << "no OpenCL device here";
  EXPECT_FALSE(agent->Poll()) << ReadText(Path("agent.log"));
  agent->Stop(std::chrono::seconds(20));
}

TEST_F(TlsNodeTest, AnAgentWithAReadersCertificateIsToldWhy) {
  const auto agent = Program::Start(
      {Binary("wavetune-agent"), "--endpoint", endpoint_, "--backends",
       "opencl", "--cache-dir", Path("programs")},
      {.log_path = Path("agent.log"), .environment = As("reader")});
  EXPECT_TRUE(WaitUntil([&] {
    return agent->Poll() || ReadText(Path("agent.log")).find("may not call") !=
                                std::string::npos;
  }));
  if (agent->Poll()) GTEST_SKIP() << "no OpenCL device here";
  EXPECT_THAT(ReadText(Path("agent.log")),
              HasSubstr("spiffe://wavetune/reader/bob may not call "
                        "/wavetune.v1.AgentService/Attach"));
  agent->Stop(std::chrono::seconds(20));
}

}  // namespace
}  // namespace wavetune::testing
