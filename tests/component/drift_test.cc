// A driver upgrade under a running node, end to end: real daemon, agent and
// command line on this machine's OpenCL device, whose driver is pretended
// (--inject). The core of scripts/driver-upgrade-drill.sh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/lib/node_fixture.h"

namespace wavetune::testing {
namespace {

using nlohmann::json;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kKernel[] = "repeats";

uint64_t EpochOf(const json& table) {
  return table.value("epoch", uint64_t{0});
}

class DriftTest : public NodeFixture {
 protected:
  void SetUp() override {
    AddKernel(kKernel);
    Pretend("driver = 1.0\n");
    StartDaemon();
    StartAgent({"--inject", Path("inject")});
    if (HasFatalFailure() || IsSkipped()) return;
    const json job = WaitForJob(Reprofile(kKernel, {}, 16));
    ASSERT_EQ(job.value("state", ""), "SUCCEEDED") << job.dump(2);
    poller_ = Program::Start(
        {Binary("fetch_poller"), "unix:" + Path("reader.sock"), kKernel},
        {.log_path = Path("poller.err"), .out_path = Path("poller")});
  }

  void Pretend(const std::string& facts) {
    WriteFile(Path("inject.new"), facts);
    std::filesystem::rename(Path("inject.new"), Path("inject"));
  }

  // The table that serves; an empty object while several do.
  json Serving() const {
    const json tables =
        Cli({"tables", "list", "--json"}).Json().value("tables", json::array());
    return tables.empty() ? json::object()
                          : *std::max_element(tables.begin(), tables.end(),
                                              [](const json& a, const json& b) {
                                                return EpochOf(a) < EpochOf(b);
                                              });
  }

  bool IsCurrent() const {
    const json serving = Serving();
    return !serving.empty() && !serving.value("stale", false);
  }

  json LatestJob() const {
    const json jobs =
        Cli({"jobs", "list", "--json"}).Json().value("jobs", json::array());
    return jobs.empty() ? json::object() : jobs[0];
  }

  // Pretends a driver, and waits until a job has dealt with it.
  json Upgrade(const std::string& facts) {
    const uint64_t before = LatestJob().value("id", uint64_t{0});
    Pretend(facts);
    json job;
    EXPECT_TRUE(WaitUntil([&] {
      job = LatestJob();
      return job.value("id", before) != before &&
             job.value("finished_at_us", int64_t{0}) > 0;
    }));
    return job;
  }

  // What the poller said, once it has ended.
  std::vector<json> EndPolling() {
    poller_->Stop(std::chrono::seconds(20));
    std::vector<json> lines;
    std::istringstream text(ReadText(Path("poller")));
    for (std::string line; std::getline(text, line);) {
      lines.push_back(json::parse(line));
    }
    return lines;
  }

  std::unique_ptr<Program> poller_;
};

TEST_F(DriftTest, ADriverUpgradeIsDealtWithWhileTablesAreServed) {
  const json before = Serving();
  const json job = Upgrade("driver = 2.0\n");
  EXPECT_EQ(job.value("state", ""), "SUCCEEDED") << job.dump(2);
  ASSERT_TRUE(job.contains("drift")) << job.dump(2);
  const json& drift = job["drift"];
  EXPECT_LE(drift.value("samples", 0), 64);
  EXPECT_LE(drift.value("seconds", 99.0), 60);
  EXPECT_TRUE(IsCurrent()) << Serving().dump(2) << job.dump(2);
  const json after = Serving();
  EXPECT_EQ(EpochOf(after), EpochOf(before) + 1);
  const std::string events = Cli({"events"}).out;
  EXPECT_THAT(events, HasSubstr("driver-changed"));
  EXPECT_THAT(events, HasSubstr("drift-probe-result"));

  // Back again, in one command; what an operator chose is left alone.
  const json slower = Upgrade("driver = 3.0\nslower = 3 where REPEAT = 1\n");
  EXPECT_EQ(slower.value("state", ""), "SUCCEEDED") << slower.dump(2);
  EXPECT_EQ(slower.value("drift", json::object()).value("action", ""),
            "PROFILE")
      << slower.dump(2);
  if (Serving().value("digest", "") != after.value("digest", "")) {
    EXPECT_EQ(Cli({"tables", "rollback", kKernel}).exit_code, 0);
    EXPECT_EQ(Serving().value("digest", ""), after.value("digest", ""));
  }

  const std::vector<json> polled = EndPolling();
  ASSERT_THAT(polled, Not(IsEmpty()));
  const json& summary = polled.back();
  EXPECT_THAT(summary.value("fetches", 0), Ge(100));
  EXPECT_EQ(summary.value("failed", -1), 0) << summary.dump();
  EXPECT_THAT(polled.size(), Ge(2U));
  for (const json& line : polled) {
    EXPECT_LE(line.value("notice_ms", 0.0), 5000) << line.dump();
  }
}

TEST_F(DriftTest, ATableBesideItsKernelServesAtOnceUntilItIsVerified) {
  EndPolling();
  const json profiled = Serving();
  const std::string file = Path("kernels/repeats/tables/cpu.table");
  std::filesystem::create_directories(Path("kernels/repeats/tables"));
  ASSERT_EQ(Cli({"tables", "export", kKernel, "--out", file}).exit_code, 0);
  EXPECT_EQ(Cli({"tables", "verify", file}).exit_code, 0);
  // A new node: nothing was measured there.
  agent().Stop(std::chrono::seconds(20));
  daemon().Stop(std::chrono::seconds(20));
  store_ = Path("new_store");
  StartDaemon();
  StartAgent({"--inject", Path("inject")});
  ASSERT_TRUE(WaitUntil([&] { return !Serving().empty(); }));
  EXPECT_EQ(Serving().value("how", ""), "SHIPPED");
  EXPECT_EQ(Serving().value("digest", ""), profiled.value("digest", ""));
  EXPECT_THAT(Serving().value("stale_reason", ""),
              HasSubstr("shipped with the kernel"));
  const CliResult verified = Cli({"tables", "verify", kKernel});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("carried over, epoch 2"));
  EXPECT_TRUE(IsCurrent()) << Serving().dump(2);
  EXPECT_EQ(Serving().value("digest", ""), profiled.value("digest", ""));
  EXPECT_LE(LatestJob().value("samples", 99), 64) << LatestJob().dump(2);
}

TEST_F(DriftTest, ASlowerBuildOfTheKernelIsRefused) {
  const json before = Serving();
  const std::string source = Path("kernels/repeats/repeats.cl");
  std::string text = ReadText(source);
  const std::string loop = "repeat < REPEAT";
  ASSERT_NE(text.find(loop), std::string::npos);
  text.replace(text.find(loop), loop.size(), "repeat < 2 * REPEAT");
  WriteFile(source, text);
  const json job = WaitForJob(Reprofile(kKernel, {}, 16));
  EXPECT_EQ(job.value("state", ""), "SUCCEEDED") << job.dump(2);
  EXPECT_THAT(job.value("message", ""), HasSubstr("not promoted"));
  EXPECT_THAT(job.value("message", ""), HasSubstr("is slower"));
  EXPECT_EQ(Serving().value("digest", ""), before.value("digest", ""));
  EXPECT_THAT(Cli({"tables", "rejected", kKernel}).out, HasSubstr("slower"));
  EXPECT_EQ(EndPolling().back().value("failed", -1), 0);
}

}  // namespace
}  // namespace wavetune::testing
