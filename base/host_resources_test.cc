#include "base/host_resources.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMiB = int64_t{1} << 20;

// A made-up /proc and /sys/fs/cgroup.
class HostResourcesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "host_XXXXXX";
    ASSERT_NE(mkdtemp(root_.data()), nullptr);
    Write("/proc/meminfo",
          "MemTotal:       65536000 kB\nMemAvailable:   20480000 kB\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void MountV2(const std::string& own, const std::string& mounted = "/") const {
    Write("/proc/self/cgroup", "0::" + own + "\n");
    Write("/proc/self/mountinfo",
          "30 23 0:26 " + mounted +
              " /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  HostResources Read() const { return ReadHostResources(root_); }

  std::string root_;
};

TEST_F(HostResourcesTest, AMachineWithoutCgroupsHasNoLimits) {
  const HostResources host = Read();
  EXPECT_GE(host.affinity_cpus, 1);
  EXPECT_EQ(host.quota_cpus, 0);
  EXPECT_EQ(host.memory_limit_bytes, 0);
  EXPECT_EQ(host.memory_free_bytes, 20000 * kMiB);
  EXPECT_EQ(MemoryLimitText(root_), "");
  EXPECT_EQ(OomKills(root_), 0);
}

TEST_F(HostResourcesTest, TheTightestOfNestedCgroupsCounts) {
  MountV2("/agents.slice/agent.service");
  const std::string cgroup = "/sys/fs/cgroup/agents.slice";
  Write("/sys/fs/cgroup/memory.stat", "inactive_file 5\n");
  Write(cgroup + "/cpu.max", "150000 100000\n");
  Write(cgroup + "/memory.max", "1073741824\n");
  Write(cgroup + "/memory.current", "943718400\n");
  Write(cgroup + "/memory.stat", "anon 1\ninactive_file 104857600\n");
  Write(cgroup + "/agent.service/cpu.max", "max 100000\n");
  Write(cgroup + "/agent.service/memory.max", "max\n");
  Write(cgroup + "/agent.service/memory.events", "oom 9\noom_kill 4\n");
  const HostResources host = Read();
  EXPECT_EQ(host.quota_cpus, 1.5);
  EXPECT_EQ(host.memory_limit_bytes, 1024 * kMiB);
  // Caches of files are as good as free.
  EXPECT_EQ(host.memory_free_bytes, (1024 - 900 + 100) * kMiB);
  EXPECT_EQ(MemoryLimitText(root_), " (its cgroup may use 1024 MiB)");
  EXPECT_EQ(OomKills(root_), 4);
}

TEST_F(HostResourcesTest, AContainerSeesItsOwnCgroupAtTheMount) {
  // Without a namespace of cgroups the path begins outside, with one it is "/".
  for (const char* own : {"/docker/abc", "/", "/../.."}) {
    MountV2(own, "/docker/abc");
    Write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    Write("/sys/fs/cgroup/memory.max", "241172480\n");
    const HostResources host = Read();
    EXPECT_EQ(host.quota_cpus, 0.5) << own;
    EXPECT_EQ(host.memory_free_bytes, 230 * kMiB) << own;
  }
}

TEST_F(HostResourcesTest, ReadsVersionOneToo) {
  Write("/proc/self/cgroup", "4:memory:/gpu/agent\n1:cpu,cpuacct:/gpu\n0::/\n");
  Write("/proc/self/mountinfo",
        "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
        "32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  Write("/sys/fs/cgroup/cpu/gpu/cpu.cfs_quota_us", "300000\n");
  Write("/sys/fs/cgroup/cpu/gpu/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  const std::string memory = "/sys/fs/cgroup/memory";
  Write(memory + "/memory.limit_in_bytes", "9223372036854771712\n");
  Write(memory + "/gpu/agent/memory.limit_in_bytes", "536870912\n");
  Write(memory + "/gpu/agent/memory.usage_in_bytes", "268435456\n");
  Write(memory + "/gpu/agent/memory.stat", "total_inactive_file 0\n");
  Write(memory + "/gpu/agent/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  const HostResources host = Read();
  EXPECT_EQ(host.quota_cpus, 3);
  EXPECT_EQ(host.memory_limit_bytes, 512 * kMiB);
  EXPECT_EQ(host.memory_free_bytes, 256 * kMiB);
  EXPECT_EQ(OomKills(root_), 2);
}

TEST_F(HostResourcesTest, WhatMakesNoSenseIsNoLimit) {
  MountV2("/a");
  Write("/proc/meminfo", "nonsense\n");
  Write("/sys/fs/cgroup/a/cpu.max", "much\n");
  Write("/sys/fs/cgroup/a/memory.max", "\n");
  const HostResources host = Read();
  EXPECT_EQ(host.quota_cpus, 0);
  EXPECT_EQ(host.memory_free_bytes, -1);
}

TEST(UsableCpusTest, AreThoseOfTheAffinityOrOfTheQuotaRoundedUp) {
  EXPECT_EQ(UsableCpus({.affinity_cpus = 64}), 64);
  EXPECT_EQ(UsableCpus({.affinity_cpus = 2, .quota_cpus = 8}), 2);
  EXPECT_EQ(UsableCpus({.affinity_cpus = 64, .quota_cpus = 1.5}), 2);
  EXPECT_EQ(UsableCpus({.affinity_cpus = 64, .quota_cpus = 0.25}), 1);
}

}  // namespace
}  // namespace wavetune
