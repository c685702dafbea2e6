// TestEtcd: an etcd on loopback, for tests, with a data folder of its own.
//
//   TestEtcd etcd;
//   etcd.Start();
//   auto options = ParseEtcdUrl(etcd.url());
//
// Thread safety: one thread at a time.
#ifndef WAVETUNE_SERVER_FLEET_ETCD_TEST_ETCD_H_
#define WAVETUNE_SERVER_FLEET_ETCD_TEST_ETCD_H_

#include <memory>
#include <string>
#include <vector>

#include "server/test_folder.h"
#include "tests/lib/program.h"

namespace wavetune::testing {

// Returns a loopback port that nobody listens at now.
int FreePort();

class TestEtcd {
 public:
  // `more`: arguments of etcd, as for TLS; `scheme`: of its client URL.
  explicit TestEtcd(std::vector<std::string> more = {},
                    std::string scheme = "http");
  ~TestEtcd();  // Ends it, and deletes what it has.

  // At all of this host's addresses, once it is started: not loopback alone.
  void ListenEverywhere() { listen_ = "0.0.0.0"; }

  // Returns when it answers, a minute at most. A fatal failure where it does
  // not, or is not installed.
  void Start();
  // As kill -9.
  void Kill();

  // Starts it with a backup (etcdctl snapshot save).
  void Restore(const std::string& backup);

  // Has it ask for users: root:secret, and node:open for entries beneath
  // `prefix`.
  void AskForUsers(const std::string& prefix) const;

  // Whether it runs, and leads its cluster.
  bool Leads() const;

  int port() const { return port_; }
  std::string endpoint() const;
  std::string peer_url() const;
  std::string url() const { return "etcd://" + endpoint(); }
  pid_t pid() const { return program_->pid(); }  // Once it was started.
  const std::string& folder() const { return folder_.path(); }
  std::string Log() const;

  // Runs etcdctl with arguments; returns what it printed.
  std::string Etcdctl(const std::vector<std::string>& arguments) const;

 private:
  friend std::vector<std::unique_ptr<TestEtcd>> StartEtcdCluster(int members);

  void Launch();
  void AwaitListening();

  std::vector<std::string> more_;
  const std::string scheme_;
  const TestFolder folder_;
  std::string listen_ = "127.0.0.1";
  int port_ = 0;
  int peer_port_ = 0;
  std::unique_ptr<Program> program_;
};

// Returns the members of a cluster, which answer. A fatal failure as of Start.
std::vector<std::unique_ptr<TestEtcd>> StartEtcdCluster(int members);

}  // namespace wavetune::testing

#endif  // WAVETUNE_SERVER_FLEET_ETCD_TEST_ETCD_H_
