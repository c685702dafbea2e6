#include "tests/lib/network_hosts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

namespace wavetune::testing {
namespace {

constexpr char kIp[] = "/usr/sbin/ip";  // Debian: iproute2.

std::string NetworkOf(const std::string& process) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/" + process + "/ns/net", ignored)
      .string();
}

std::string Port(int host) { return "host" + std::to_string(host); }

}  // namespace

NetworkHosts::NetworkHosts(int hosts) {
  own_network_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  if (unshare(CLONE_NEWNET) != 0) {
    why_not_ = std::string("no network namespaces (they need root): ") +
               std::strerror(errno);
    return;
  }
  if (!Run({kIp, "link", "set", "lo", "up"}) ||
      !Run({kIp, "link", "add", "bridge", "type", "bridge"}) ||
      !Run({kIp, "address", "add", std::string(kAddress) + "/24", "dev",
            "bridge"}) ||
      !Run({kIp, "link", "set", "bridge", "up"})) {
    return;
  }
  for (int i = 0; i < hosts; ++i) {
    if (!AddHost(i)) return;
  }
}

NetworkHosts::~NetworkHosts() {
  holders_.clear();
  if (own_network_ < 0) return;
  EXPECT_EQ(setns(own_network_, CLONE_NEWNET), 0) << std::strerror(errno);
  close(own_network_);
}

bool NetworkHosts::AddHost(int host) {
  holders_.push_back(Program::Start(
      {"/usr/bin/unshare", "--net", "/usr/bin/sleep", "infinity"}));
  const std::string pid = std::to_string(holders_.back()->pid());
  for (int i = 0; i < 1000 && NetworkOf(pid) == NetworkOf("thread-self"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const std::string port = Port(host);
  return Run({kIp, "link", "add", port, "type", "veth", "peer", "name", "eth0",
              "netns", pid}) &&
         Run({kIp, "link", "set", port, "master", "bridge", "up"}) &&
         Run(On(host, {kIp, "address", "add",
                       "10.77.0." + std::to_string(host + 2) + "/24", "dev",
                       "eth0"})) &&
         Run(On(host, {kIp, "link", "set", "lo", "up"})) &&
         Run(On(host, {kIp, "link", "set", "eth0", "up"}));
}

std::vector<std::string> NetworkHosts::On(
    int host, std::vector<std::string> arguments) const {
  const pid_t pid = holders_[static_cast<size_t>(host)]->pid();
  arguments.insert(arguments.begin(),
                   {"/usr/bin/nsenter",
                    "--net=/proc/" + std::to_string(pid) + "/ns/net", "--"});
  return arguments;
}

void NetworkHosts::CutOff(int host) {
  EXPECT_TRUE(Run({kIp, "link", "set", Port(host), "nomaster"})) << why_not_;
}

void NetworkHosts::Reconnect(int host) {
  EXPECT_TRUE(Run({kIp, "link", "set", Port(host), "master", "bridge"}))
      << why_not_;
}

bool NetworkHosts::Run(const std::vector<std::string>& arguments) {
  if (Program::Start(arguments)->Wait(std::chrono::seconds(30)) == 0)
    return true;
  why_not_ = "no network of namespaces (is iproute2 installed?):";
  for (const std::string& argument : arguments) why_not_ += " " + argument;
  return false;
}

}  // namespace wavetune::testing
