// What Prometheus is told, and that documents, alerts and the dashboard speak
// of the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/signing_key.h"
#include "server/daemon_fixture.h"
#include "server/fleet/fake_fleet_registry.h"
#include "server/fleet/fleet_test_support.h"
#include "server/http_get.h"
#include "server/store/fake_store_maintenance.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSubsetOf;
using Names = std::set<std::string>;

std::string ReadFile(const std::string& path) {
  std::ifstream stream(std::string(WAVETUNE_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(stream) << path;
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Returns the first group of every match.
Names AllMatches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern, std::regex::multiline);
  Names names;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end;
       ++it) {
    names.insert((*it)[1]);
  }
  return names;
}

class DaemonMetricsTest : public DaemonFixture {
 protected:
  void SetUp() override {
    folder_.WriteKernel("copy");
    StartDaemon(FleetOptions());
  }
  void TearDown() override { daemon_ = nullptr; }  // Before its registry.

  // With metrics, and in a fleet.
  DaemonOptions FleetOptions() {
    DaemonOptions options = Options();
    options.metrics_address = "127.0.0.1:0";
    SigningKey key = testing::TestSigningKey(1);
    const std::string trusted = key.public_key() + " *";
    options.fleet = {.registry = &registry_,
                     .name = "/wavetune/",
                     .node = "node-1",
                     .trust = FleetTrust::Parse(trusted).value(),
                     .key = std::make_shared<const SigningKey>(std::move(key))};
    registry_.Connect();
    return options;
  }

  std::string Scrape() const {
    return HttpGet(daemon_->metrics_port(), "/metrics");
  }
  // Returns the value of a series as the scrape has it; empty: it is not there.
  std::string Value(const std::string& series) const {
    const std::string text = Scrape();
    const size_t at = text.find("\n" + series + " ");
    if (at == text.npos) return "";
    const size_t begin = at + series.size() + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
  }
  Names ScrapedNames() const {
    return AllMatches(Scrape(), "^# TYPE ((?:wavetune|process)_[a-z_]+) ");
  }

  FakeFleet fleet_;
  FakeFleetRegistry registry_{&fleet_};
};

TEST_F(DaemonMetricsTest, ANodeOfAFleetTellsHowItStandsToIt) {
  EXPECT_TRUE(
      WaitUntil([&] { return Value("wavetune_fleet_registry_up") == "1"; }));
  const auto agent = Attach("GPU-1");
  EXPECT_EQ(Reprofile().state(), v1::SUCCEEDED);
  const std::string published =
      "wavetune_fleet_tables_total{what=\"published\"}";
  EXPECT_TRUE(WaitUntil([&] { return Value(published) == "1"; }));
  EXPECT_TRUE(
      WaitUntil([&] { return Value("wavetune_fleet_profiles") == "0"; }));
  const std::string text = Scrape();
  EXPECT_THAT(text, HasSubstr("wavetune_fleet_head_info{class=\""));
  EXPECT_THAT(text, HasSubstr("kernel=\"copy\",epoch=\"1\",digest=\""));
  const std::string place =
      "{class=\"" +
      *AllMatches(text, "wavetune_fleet_head_info\\{class=\"([0-9a-f]+)\"")
           .begin() +
      "\",kernel=\"copy\"}";
  EXPECT_EQ(Value("wavetune_fleet_behind" + place), "0");
  EXPECT_EQ(Value("wavetune_fleet_frozen" + place), "0");
  v1::FreezeInFleetRequest freeze;
  freeze.mutable_place()->set_kernel("copy");
  v1::FreezeInFleetResponse frozen;
  EXPECT_TRUE(Call(&v1::AdminService::Stub::FreezeInFleet,
                   Stub<v1::AdminService>("admin.sock"), freeze, &frozen)
                  .ok());
  EXPECT_TRUE(
      WaitUntil([&] { return Value("wavetune_fleet_frozen" + place) == "1"; }));
  // A reload that revokes its own key.
  DaemonOptions options = FleetOptions();
  const std::string key = testing::TestSigningKey(1).public_key();
  options.fleet.trust = FleetTrust::Parse(key + " *\nrevoked " + key).value();
  daemon_->Change(options);
  EXPECT_TRUE(WaitUntil([&] {
    return Value("wavetune_fleet_refused_total{reason=\"signature\"}") == "1";
  }));
  EXPECT_EQ(Value("wavetune_fleet_behind" + place), "1");
  registry_.Disconnect();
  EXPECT_TRUE(
      WaitUntil([&] { return Value("wavetune_fleet_registry_up") == "0"; }));
}

TEST_F(DaemonMetricsTest, ADaemonOfNoFleetTellsOfNone) {
  DaemonOptions options = Options();
  options.metrics_address = "127.0.0.1:0";
  StartDaemon(options);
  EXPECT_EQ(Value("wavetune_fleet_registry_up"), "");
  v1::FreezeInFleetResponse frozen;
  EXPECT_THAT(Call(&v1::AdminService::Stub::FreezeInFleet,
                   Stub<v1::AdminService>("admin.sock"),
                   v1::FreezeInFleetRequest(), &frozen)
                  .error_message(),
              HasSubstr("in no fleet"));
}

TEST_F(DaemonMetricsTest, ADaemonThatProfilesTellsOfIt) {
  const auto agent = Attach("GPU-1");
  EXPECT_EQ(Reprofile().state(), v1::SUCCEEDED);
  EXPECT_EQ(Value("wavetune_build_info{version=\"1.2.3\"}"), "1");
  EXPECT_EQ(Value("wavetune_device_attached{device=\"GPU-1\"}"), "1");
  EXPECT_EQ(Value("wavetune_jobs_ended_total{state=\"succeeded\"}"), "1");
  EXPECT_EQ(Value("wavetune_jobs{state=\"queued\"}"), "0");
  EXPECT_EQ(Value("wavetune_store_healthy"), "1");
  EXPECT_EQ(Value("wavetune_events_total{kind=\"promoted\"}"), "1");
  EXPECT_NE(Value("wavetune_samples_total{result=\"clean\"}"), "0");
  const std::string text = Scrape();
  EXPECT_THAT(text, HasSubstr("wavetune_table_info{kernel=\"copy\""));
  EXPECT_THAT(text, HasSubstr("wavetune_table_stale{kernel=\"copy\""));
  EXPECT_THAT(text, HasSubstr("wavetune_rpcs_total{method=\"Reprofile\","
                              "code=\"OK\"}"));
  EXPECT_THAT(text, HasSubstr("wavetune_rpc_duration_seconds_bucket{"
                              "method=\"Reprofile\",le=\"+Inf\"}"));
}

TEST_F(DaemonMetricsTest, TellsHowWellATableFitsAndWhatADriftProbeFound) {
  const std::string probe =
      "wavetune_drift_probe_ratio{kernel=\"copy\",silicon=\"mp=4\"}";
  EXPECT_EQ(Value(probe), "");
  JobRecord job;
  job.state = JobState::kSucceeded;
  job.key.kernel = "copy";
  job.key.silicon_key = "mp=4";
  job.drift.emplace();
  job.drift->regimes = {{.median_ratio = 1.25}};
  ASSERT_TRUE(jobs_.Create(job).ok());
  DaemonOptions options = Options();
  options.metrics_address = "127.0.0.1:0";
  options.profiling.fit_table = [](const ProfileInput& input) {
    auto fit = FakeProfiling().fit_table(input);
    if (fit.ok()) fit->report.median_relative_error = 0.03125;
    return fit;
  };
  StartDaemon(options);
  // Also after a restart.
  EXPECT_EQ(Value(probe), "1.25");
  const auto agent = Attach("GPU-1");
  EXPECT_EQ(Reprofile().state(), v1::SUCCEEDED);
  const std::string text = Scrape();
  const size_t at = text.find("\nwavetune_fit_residual_ratio{kernel=\"copy\"");
  ASSERT_NE(at, text.npos) << text;
  EXPECT_THAT(text.substr(at, text.find('\n', at + 1) - at),
              HasSubstr("} 0.03125"));
}

TEST_F(DaemonMetricsTest, TheDocumentListsWhatAScrapeYields) {
  const Names documented = AllMatches(ReadFile("docs/metrics.md"),
                                      "`((?:wavetune|process)_[a-z_]+)[`{]");
  Names scraped = ScrapedNames();
  // Only where the store's folder is there, and it is not in this test.
  scraped.insert("wavetune_store_free_bytes");
  EXPECT_EQ(documented, scraped);
}

TEST_F(DaemonMetricsTest, AlertsAndDashboardNameMetricsThatThereAre) {
  Names there = ScrapedNames();
  there.insert("wavetune_store_free_bytes");
  for (const char* suffix : {"_bucket", "_sum", "_count"})
    there.insert(std::string("wavetune_rpc_duration_seconds") + suffix);
  for (const char* path :
       {"deploy/prometheus/rules.yml", "deploy/prometheus/rules_test.yml",
        "deploy/grafana/wavetune.json"}) {
    const Names named = AllMatches(ReadFile(path), "\\b(wavetune_[a-z_]+)");
    EXPECT_FALSE(named.empty()) << path;
    EXPECT_THAT(named, IsSubsetOf(there)) << path;
  }
}

TEST_F(DaemonMetricsTest, EveryAlertLeadsToItsSectionAndHasATest) {
  const std::string rules = ReadFile("deploy/prometheus/rules.yml");
  const std::string tests = ReadFile("deploy/prometheus/rules_test.yml");
  const std::string runbook = ReadFile("docs/runbook.md");
  const Names alerts = AllMatches(rules, "- alert: ([A-Za-z]+)");
  EXPECT_GE(alerts.size(), 10u);
  Names anchors;
  for (const std::string& alert : alerts) {
    EXPECT_THAT(tests, HasSubstr("alertname: " + alert));
    EXPECT_THAT(runbook, HasSubstr("\n### " + alert + "\n"));
    anchors.insert(absl::AsciiStrToLower(alert));
  }
  // Where the package installs it.
  EXPECT_EQ(AllMatches(rules,
                       "runbook_url: "
                       "\"file:///usr/share/doc/wavetune/docs/"
                       "runbook.md#([a-z]+)\""),
            anchors);
}

TEST_F(DaemonMetricsTest, TellsOfBackupsAndOfTheProcess) {
  const std::string backup = "wavetune_store_last_backup_timestamp_seconds";
  EXPECT_EQ(Value(backup), "");  // None can be asked for.
  FakeStoreMaintenance maintenance;
  maintenance.newest_backup_s = 1234;
  DaemonOptions options = Options();
  options.metrics_address = "127.0.0.1:0";
  options.backup_folder = "/backup";
  DaemonStores stores = Stores();
  stores.maintenance = &maintenance;
  daemon_ = nullptr;  // Of the same sockets.
  daemon_ = Daemon::Start(stores, options).value();
  EXPECT_EQ(Value(backup), "1234");
  EXPECT_EQ(Value(backup), "1234");
  EXPECT_EQ(maintenance.newest_asked, 1);
  EXPECT_NE(Value("process_resident_memory_bytes"), "0");
  EXPECT_NE(Value("process_open_fds"), "0");
  daemon_ = nullptr;  // Before its store.
}

TEST_F(DaemonMetricsTest, OnlyMetricsAreAnswered) {
  EXPECT_THAT(HttpGet(daemon_->metrics_port(), "/"),
              ::testing::StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(HttpGet(daemon_->metrics_port(), "/../../etc/passwd"),
              ::testing::Not(HasSubstr("root:")));
}

TEST_F(DaemonMetricsTest, AProbeMayAskForTheHeadAlone) {
  const std::string head =
      HttpAsk(ConnectToHttp(daemon_->metrics_port()), "/metrics", "HEAD");
  EXPECT_THAT(head, ::testing::StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, ::testing::EndsWith("\r\n\r\n"));
  EXPECT_THAT(
      HttpAsk(ConnectToHttp(daemon_->metrics_port()), "/metrics", "POST"),
      ::testing::StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(HttpAsk(ConnectToHttp(daemon_->metrics_port()), "/me trics"),
              ::testing::StartsWith("HTTP/1.1 400"));
}

TEST_F(DaemonMetricsTest, HalfRequestsHoldUpNoScrape) {
  std::vector<int> halves;
  for (int i = 0; i < 100; ++i) {
    halves.push_back(ConnectToHttp(daemon_->metrics_port()));
    const std::string half = "GET /metrics HTTP/1.1\r\nHost: x\r\n";
    ::send(halves.back(), half.data(), half.size(), MSG_NOSIGNAL);
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(Scrape(), ::testing::StartsWith("HTTP/1.1 200"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
  for (const int fd : halves) ::close(fd);
}

TEST_F(DaemonMetricsTest, ListensOnIpv6WhereThereIsSome) {
  DaemonOptions options = Options();
  options.metrics_address = "[::1]:0";
  if (!TryToStart(options).ok()) GTEST_SKIP() << "there is no IPv6 here";
  EXPECT_THAT(HttpAsk(ConnectToHttp(daemon_->metrics_port(), /*ipv6=*/true),
                      "/metrics"),
              HasSubstr("wavetune_build_info"));
}

TEST_F(DaemonMetricsTest, IsOffUnlessAskedFor) {
  StartDaemon();
  EXPECT_EQ(daemon_->metrics_port(), 0);
}

TEST_F(DaemonMetricsTest, AnAddressThatIsNoneOrTakenIsSaidAtTheStart) {
  DaemonOptions options = Options();
  options.metrics_address = "nine";
  EXPECT_THAT(std::string(TryToStart(options).message()),
              HasSubstr("--metrics-address: cannot listen on \"nine\""));
  // On the loopback address, where another daemon's metrics are.
  StartDaemon(options = [&] {
    DaemonOptions first = Options();
    first.metrics_address = "127.0.0.1:0";
    return first;
  }());
  options.metrics_address =
      "127.0.0.1:" + std::to_string(daemon_->metrics_port());
  const std::unique_ptr<Daemon> other = std::move(daemon_);
  options.reader_socket += "2";
  options.agent_socket += "2";
  options.admin_socket += "2";
  const absl::Status taken = TryToStart(options);
  EXPECT_TRUE(absl::IsAlreadyExists(taken)) << taken;
  EXPECT_THAT(std::string(taken.message()),
              HasSubstr("choose another --metrics-address"));
}

}  // namespace
}  // namespace wavetune
