// NetworkHosts: hosts of a network that can be cut off, as network namespaces
// of this machine. Needs root's rights; nothing of it outlives the test.
//
//   NetworkHosts hosts(2);
//   if (!hosts.why_not().empty()) GTEST_SKIP() << hosts.why_not();
//   auto daemon = Program::Start(hosts.On(0, {bin + "/wavetuned", …}));
//   hosts.CutOff(0);  // Packets get lost, and nobody is told.
//
// While it lives, the calling thread and what it starts are on a host of their
// own, kAddress; what they listen at, the others reach.
//
// Thread safety: one thread.
#ifndef WAVETUNE_TESTS_LIB_NETWORK_HOSTS_H_
#define WAVETUNE_TESTS_LIB_NETWORK_HOSTS_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/lib/program.h"

namespace wavetune::testing {

class NetworkHosts {
 public:
  static constexpr char kAddress[] = "10.77.0.1";

  explicit NetworkHosts(int hosts);
  ~NetworkHosts();
  NetworkHosts(const NetworkHosts&) = delete;
  NetworkHosts& operator=(const NetworkHosts&) = delete;

  // Why there can be none here; empty: they are there.
  const std::string& why_not() const { return why_not_; }

  // Returns the command that runs `arguments` on a host.
  std::vector<std::string> On(int host,
                              std::vector<std::string> arguments) const;

  void CutOff(int host);
  void Reconnect(int host);

 private:
  // Whether the command succeeds; says so in why_not_ where it does not.
  bool Run(const std::vector<std::string>& arguments);
  bool AddHost(int host);

  std::string why_not_;
  int own_network_ = -1;  // Where the thread was before.
  std::vector<std::unique_ptr<Program>> holders_;  // One keeps each namespace.
};

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_NETWORK_HOSTS_H_
