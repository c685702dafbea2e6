// FleetNode: a daemon, and an agent, of a fleet; a test has several.
#ifndef WAVETUNE_TESTS_COMPONENT_FLEET_NODE_H_
#define WAVETUNE_TESTS_COMPONENT_FLEET_NODE_H_

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/lib/network_hosts.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/signing_keys.h"

namespace wavetune::testing {

// One of several nodes of a test.
class FleetNode : public NodeFixture {
 public:
  using NodeFixture::agent;
  using NodeFixture::Binary;
  using NodeFixture::Cli;
  using NodeFixture::daemon;
  using NodeFixture::Job;
  using NodeFixture::Log;
  using NodeFixture::Path;
  using NodeFixture::Reprofile;
  using NodeFixture::RunDaemon;
  using NodeFixture::StartAgent;
  using NodeFixture::WaitForJob;
  using NodeFixture::WaitUntil;
  using NodeFixture::WriteFile;

  // `kernel`: one of tests/data/kernels, or a folder.
  explicit FleetNode(const std::string& kernel = "repeats") {
    AddKernel(kernel);
    WriteFile(Path("key"), kSigningKeyPem);
    EXPECT_EQ(::chmod(Path("key").c_str(), 0600), 0);
    WriteFile(Path("trust"), std::string(kSigningPublicKey) + " *\n");
  }
  void TestBody() override {}
  void RunOn(const NetworkHosts& hosts, int host) {
    elsewhere_ = hosts.On(host, {});
  }

  std::vector<std::string> Arguments(const std::string& url,
                                     const std::string& name) const {
    return {"--fleet",     url,         "--fleet-trust", Path("trust"),
            "--fleet-key", Path("key"), "--fleet-node",  name};
  }
  void Start(const std::string& url, const std::string& name,
             const std::vector<std::string>& more = {},
             const std::vector<std::string>& of_agent = {},
             const std::string& backend = "opencl") {
    std::vector<std::string> arguments = Arguments(url, name);
    arguments.insert(arguments.end(), more.begin(), more.end());
    StartDaemon(arguments);
    if (HasFatalFailure()) return;
    StartAgent(of_agent, backend);
  }
  // Pretends facts of the devices of an agent with {"--inject",
  // Path("inject")}.
  void Pretend(const std::string& facts) {
    WriteFile(Path("inject.new"), facts);
    std::filesystem::rename(Path("inject.new"), Path("inject"));
  }
  // Digest of what serves; empty: nothing does.
  std::string Serving() const {
    const nlohmann::json tables = Cli({"tables", "list", "--json"})
                                      .Json()
                                      .value("tables", nlohmann::json::array());
    return tables.empty() ? "" : tables[0].value("digest", "");
  }
  // What a start with these arguments ends with.
  CliResult Refused(std::vector<std::string> more) const {
    std::vector<std::string> arguments = DaemonArguments();
    arguments.erase(arguments.begin());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunDaemon(arguments);
  }
};

inline bool AllServe(const std::vector<std::unique_ptr<FleetNode>>& nodes,
                     const std::string& digest) {
  return FleetNode::WaitUntil([&] {
    for (const auto& node : nodes) {
      if (node->Serving() != digest) return false;
    }
    return true;
  });
}

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_COMPONENT_FLEET_NODE_H_
