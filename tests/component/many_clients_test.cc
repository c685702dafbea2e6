// Many clients of one node at once: processes that connect, and watchers of a
// new table. Nothing is timed here (tests/bench/client_benchmark.cc is for
// that).
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/table_node.h"
#include "tests/lib/tiny_table.h"
#include "wavetune/client.h"

namespace wavetune::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kProcesses = 64;
constexpr int kWatchers = 100;

class ManyClientsTest : public NodeFixture {};

TEST_F(ManyClientsTest, SixtyFourProcessesConnectAtOnce) {
  SeedStore(store_, {TinyTable()});
  StartDaemon();
  std::vector<std::unique_ptr<Program>> processes;
  for (int i = 0; i < kProcesses; ++i) {
    processes.push_back(Program::Start(
        {Binary("wavetune"), "resolve", "add", "n=1000", "--json"},
        {.log_path = Path("err"),
         .out_path = Path("out" + std::to_string(i)),
         .environment = {{"WAVETUNE_ENDPOINT", Path("reader.sock")},
                         {"WAVETUNE_CACHE_DIR", Path("tables")}}}));
  }
  for (int i = 0; i < kProcesses; ++i) {
    EXPECT_EQ(
        processes[static_cast<size_t>(i)]->Wait(std::chrono::seconds(100)), 0)
        << ReadText(Path("err"));
    const std::string out = ReadText(Path("out" + std::to_string(i)));
    EXPECT_THAT(out, HasSubstr("FITTED"));
    EXPECT_THAT(out, HasSubstr("from the daemon"));
  }
}

TEST_F(ManyClientsTest, AllWatchersHearOfANewTable) {
  const TemporaryFolder folder;
  TableNode node(folder.path());
  Table table = TinyTable();
  node.Promote(table);
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<Tuner> tuners;
  for (int i = 0; i < kWatchers; ++i) {
    clients.push_back(
        Client::Connect({.endpoint = node.endpoint(), .cache_dir = ""})
            .value());
    tuners.push_back(
        clients.back()->GetTuner("add", {.prepares_on_demand = true}).value());
  }
  const auto all = [&](const std::function<bool(size_t)>& holds) {
    return WaitUntil([&] {
      for (size_t i = 0; i < clients.size(); ++i) {
        if (!holds(i)) return false;
      }
      return true;
    });
  };
  ASSERT_TRUE(all([&](size_t i) { return clients[i]->watching(); }));
  table.sub_tables[0].groups[0].models[0].segments[0].coefficients.delta = 7;
  const std::string digest = node.Promote(table);
  EXPECT_TRUE(all([&](size_t i) { return tuners[i].digest() == digest; }));
  EXPECT_EQ(tuners.back().Resolve({1000}).latency_us, 8);
  clients.clear();
  EXPECT_TRUE(WaitUntil([&] { return node.watchers() == 0; }));
}

}  // namespace
}  // namespace wavetune::testing
