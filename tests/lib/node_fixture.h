// NodeFixture: a node of real processes for one test: wavetuned and
// wavetune-agent on sockets in a scratch folder, driven by the `wavetune`
// command as a user would.
//
//   class MyTest : public NodeFixture {
//    protected:
//     void SetUp() override {  // What fails or skips here ends the test.
//       AddKernel("column_sum");
//       StartDaemon();
//       StartAgent();
//     }
//   };
//   TEST_F(MyTest, Answers) { EXPECT_EQ(Cli({"status"}).exit_code, 0); }
//
// Nothing sleeps for a fixed time: WaitUntil polls with a deadline that suits a
// busy machine and a sanitizer. All processes end with the fixture.
#ifndef WAVETUNE_TESTS_LIB_NODE_FIXTURE_H_
#define WAVETUNE_TESTS_LIB_NODE_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lib/program.h"

namespace wavetune::testing {

// What a command said.
struct CliResult {
  int exit_code = -1;  // -1: it did not end in time.
  std::string out;
  std::string err;

  // The output as JSON; an empty object where it is none.
  nlohmann::json Json() const;
};

class NodeFixture : public ::testing::Test {
 protected:
  NodeFixture();
  ~NodeFixture() override;

  // Absolute path of something in the scratch folder.
  std::string Path(const std::string& name) const;
  static std::string Binary(const std::string& name);

  // Copies a kernel of tests/data/kernels, or of a folder, for the daemon to
  // find.
  void AddKernel(const std::string& name);
  void WriteFile(const std::string& path, const std::string& text);

  // Starts and waits until it answers; a test failure where it does not.
  void StartDaemon(const std::vector<std::string>& more = {});
  // Starts and waits until a device is attached; skips the test where there is
  // none.
  void StartAgent(const std::vector<std::string>& more = {},
                  const std::string& backend = "opencl");

  Program& daemon() { return *daemon_; }
  Program& agent() { return *agent_; }
  std::string Log(const std::string& program) const;

  // Runs the command line on this node's daemon and cache.
  CliResult Cli(const std::vector<std::string>& arguments) const;
  // Runs another daemon until it ends, at most as long as a WaitUntil.
  CliResult RunDaemon(const std::vector<std::string>& arguments,
                      uid_t uid = 0) const;
  std::vector<std::string> DaemonArguments() const;

  // A job by its id; an empty object while the daemon does not answer.
  nlohmann::json Job(uint64_t id) const;
  // Waits until a job ends and returns it.
  nlohmann::json WaitForJob(uint64_t id) const;
  // Queues profiling of a kernel and returns the job's id; 0 after a failure.
  uint64_t Reprofile(const std::string& kernel,
                     const std::vector<std::string>& more = {},
                     int samples_per_candidate = 8) const;

  // Polls until true, ever less often, up to each quarter of a second; false
  // after a generous deadline.
  static bool WaitUntil(const std::function<bool()>& condition);

  std::string store_;  // The daemon's; in the scratch folder unless changed.
  // The command that starts a command elsewhere (NetworkHosts::On): the daemon
  // is started there. Empty: here.
  std::vector<std::string> elsewhere_;

 private:
  CliResult Run(const std::vector<std::string>& arguments,
                const std::string& label, uid_t uid) const;

  const std::string folder_;
  std::unique_ptr<Program> daemon_;
  std::unique_ptr<Program> agent_;
};

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_NODE_FIXTURE_H_
