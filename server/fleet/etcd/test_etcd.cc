#include "server/fleet/etcd/test_etcd.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "nlohmann/json.hpp"

namespace wavetune::testing {
namespace {

namespace fs = std::filesystem;

bool Listens(int port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool connected =
      connect(descriptor, reinterpret_cast<const sockaddr*>(&address),
              sizeof address) == 0;
  close(descriptor);
  return connected;
}

}  // namespace

int FreePort() {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(descriptor, plain, size), 0);
  EXPECT_EQ(getsockname(descriptor, plain, &size), 0);
  close(descriptor);
  return ntohs(address.sin_port);
}

TestEtcd::TestEtcd(std::vector<std::string> more, std::string scheme)
    : more_(std::move(more)),
      scheme_(std::move(scheme)),
      port_(FreePort()),
      peer_port_(FreePort()) {}

TestEtcd::~TestEtcd() { Kill(); }

std::string TestEtcd::endpoint() const {
  return "127.0.0.1:" + std::to_string(port_);
}

std::string TestEtcd::peer_url() const {
  return "http://127.0.0.1:" + std::to_string(peer_port_);
}

std::string TestEtcd::Log() const { return ReadText(folder_ / "log"); }

void TestEtcd::Start() {
  Launch();
  AwaitListening();
}

void TestEtcd::Launch() {
  const std::string client = scheme_ + "://" + endpoint();
  const std::string peer = peer_url();
  std::vector<std::string> arguments = {"/usr/bin/etcd",
                                        "--name=test",
                                        "--data-dir=" + folder_ / "data",
                                        "--listen-client-urls=" + scheme_ +
                                            "://" + listen_ + ":" +
                                            std::to_string(port_),
                                        "--advertise-client-urls=" + client,
                                        "--listen-peer-urls=" + peer,
                                        "--initial-advertise-peer-urls=" + peer,
                                        "--initial-cluster=test=" + peer};
  arguments.insert(arguments.end(), more_.begin(), more_.end());
  program_ = Program::Start(arguments, {.log_path = folder_ / "log"});
}

void TestEtcd::AwaitListening() {
  for (int i = 0; i < 600 && !program_->Poll(); ++i) {
    if (Listens(port_)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  FAIL() << "etcd does not start (is etcd-server installed? see "
            "scripts/install_dependencies.sh):\n"
         << Log();
}

void TestEtcd::Kill() {
  if (program_ != nullptr) program_->Kill();
}

void TestEtcd::Restore(const std::string& backup) {
  Kill();
  fs::remove_all(folder_ / "data");
  Etcdctl({"snapshot", "restore", backup, "--name=test",
           "--data-dir=" + folder_ / "data",
           "--initial-advertise-peer-urls=" + peer_url(),
           "--initial-cluster=test=" + peer_url()});
  Start();
}

void TestEtcd::AskForUsers(const std::string& prefix) const {
  Etcdctl({"user", "add", "root:secret"});
  Etcdctl({"user", "grant-role", "root", "root"});
  Etcdctl({"user", "add", "node:open"});
  Etcdctl({"role", "add", "wavetune"});
  Etcdctl({"role", "grant-permission", "wavetune", "--prefix=true", "readwrite",
           prefix});
  Etcdctl({"user", "grant-role", "node", "wavetune"});
  Etcdctl({"auth", "enable"});
}

bool TestEtcd::Leads() const {
  if (program_ == nullptr || program_->Poll() || !Listens(port_)) return false;
  const auto status = nlohmann::json::parse(
      Etcdctl({"endpoint", "status", "--write-out=json"}));
  const nlohmann::json& of = status[0]["Status"];
  return of.value("leader", uint64_t{0}) ==
         of["header"]["member_id"].get<uint64_t>();
}

std::string TestEtcd::Etcdctl(const std::vector<std::string>& arguments) const {
  std::vector<std::string> whole = {"/usr/bin/etcdctl",
                                    "--endpoints=" + endpoint()};
  whole.insert(whole.end(), arguments.begin(), arguments.end());
  const auto program =
      Program::Start(whole, {.log_path = folder_ / "etcdctl.log",
                             .out_path = folder_ / "etcdctl.out",
                             .environment = {{"ETCDCTL_API", "3"}}});
  EXPECT_EQ(program->Wait(std::chrono::seconds(30)), 0)
      << ReadText(folder_ / "etcdctl.log");
  return ReadText(folder_ / "etcdctl.out");
}

std::vector<std::unique_ptr<TestEtcd>> StartEtcdCluster(int members) {
  std::vector<std::unique_ptr<TestEtcd>> cluster;
  std::string all = "--initial-cluster=";
  for (int i = 0; i < members; ++i) {
    cluster.push_back(std::make_unique<TestEtcd>());
    const std::string name = "member-" + std::to_string(i);
    // The last of two of one name counts.
    cluster.back()->more_ = {"--name=" + name};
    all += (i == 0 ? "" : ",") + name + "=" + cluster.back()->peer_url();
  }
  for (const auto& member : cluster) {
    member->more_.push_back(all);
    member->Launch();
  }
  for (const auto& member : cluster) {
    member->AwaitListening();
    if (::testing::Test::HasFatalFailure()) break;
  }
  return cluster;
}

}  // namespace wavetune::testing
