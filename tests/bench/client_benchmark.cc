// What a client waits for outside of decisions: fetching a table over the unix
// socket, connecting until the first decision, and hearing of a new table among
// a thousand watchers.
//
//   build/ci/bin/client_benchmark [--watchers=1000] [--calls=2000]
//
// A main of its own: Google Benchmark has no percentiles. Its options that
// scripts/soak.sh passes to every benchmark are ignored. The daemon's side (the
// table service on a RocksDB store, 100 tables) runs in a process of its own,
// so that its memory can be told apart. What it should reach is in
// docs/client.md.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/src/daemon_link.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "proto/wavetune/v1/table_service.grpc.pb.h"
#include "tests/lib/table_node.h"
#include "tests/lib/tiny_table.h"
#include "wavetune/client.h"

namespace wavetune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTables = 100;

double MicrosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start)
      .count();
}

void Print(const std::string& name, std::vector<double> us) {
  std::sort(us.begin(), us.end());
  const auto at = [&](double q) {
    return us[static_cast<size_t>(q * static_cast<double>(us.size() - 1))];
  };
  std::printf("%-28s n %6zu  p50 %9.1f us  p99 %9.1f us  max %9.1f us\n",
              name.c_str(), us.size(), at(0.5), at(0.99), us.back());
}

Table WithDelta(double delta) {
  Table table = testing::TinyTable();
  table.sub_tables[0].groups[0].models[0].segments[0].coefficients.delta =
      delta;
  return table;
}

// The daemon's side, in a child: each byte written to it promotes a table of
// `add`; it answers with a byte when that is done.
class NodeProcess {
 public:
  explicit NodeProcess(const std::string& folder) : folder_(folder) {
    if (pipe(orders_) != 0 || pipe(answers_) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) Serve();
    char ready = 0;
    if (read(answers_[0], &ready, 1) != 1) std::abort();
  }
  ~NodeProcess() {
    close(orders_[1]);  // The child ends at the end of its orders.
    waitpid(pid_, nullptr, 0);
  }
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;

  std::string endpoint() const { return "unix:" + folder_ + "/reader.sock"; }

  void Promote() {
    char byte = 'p';
    if (write(orders_[1], &byte, 1) != 1 || read(answers_[0], &byte, 1) != 1)
      std::abort();
  }

  double ResidentMib() const {
    std::ifstream status(absl::StrCat("/proc/", pid_, "/status"));
    for (std::string line; std::getline(status, line);) {
      double kib = 0;
      if (std::sscanf(line.c_str(), "VmRSS: %lf kB", &kib) == 1)
        return kib / 1024;
    }
    return 0;
  }

 private:
  [[noreturn]] void Serve() {
    close(orders_[1]);
    testing::TableNode node(folder_);
    for (int i = 0; i < kTables - 1; ++i) {
      Table table = testing::TwoGroupTable();
      table.kernel = absl::StrCat("gemm_", i);
      node.Promote(table);
    }
    double delta = 2;
    node.Promote(WithDelta(delta));
    char byte = 'r';
    do {
      if (write(answers_[1], &byte, 1) != 1) break;
      if (read(orders_[0], &byte, 1) != 1) break;
      node.Promote(WithDelta(delta += 1));
    } while (true);
    _exit(0);
  }

  const std::string folder_;
  int orders_[2];
  int answers_[2];
  pid_t pid_ = 0;
};

void MeasureGetTable(const NodeProcess& node, int calls) {
  const auto link = DaemonLink::Open(node.endpoint(), 2).value();
  v1::GetTableRequest request;
  request.set_kernel("gemm_7");
  std::vector<double> us;
  for (int i = 0; i < calls; ++i) {
    const auto start = Clock::now();
    if (!link->GetTable(request).ok()) std::abort();
    if (i > 0) us.push_back(MicrosecondsSince(start));  // 0 connects.
  }
  Print("GetTable", us);
}

void MeasureFirstDecision(const NodeProcess& node, int calls) {
  std::vector<double> us;
  for (int i = 0; i < calls; ++i) {
    const auto start = Clock::now();
    const auto client =
        Client::Connect({.endpoint = node.endpoint(), .cache_dir = ""}).value();
    const Tuner tuner = client->GetTuner("gemm_7").value();
    if (tuner.Resolve({64, 64, 64}).source == DecisionSource::kDefault)
      std::abort();
    us.push_back(MicrosecondsSince(start));
  }
  Print("ConnectToFirstDecision", us);
}

// Of one watcher: a connection of its own, as a process has.
class Watcher final : public grpc::ClientReadReactor<v1::WatchTablesResponse> {
 public:
  using OnNotice = std::function<void(const v1::WatchTablesResponse&)>;

  Watcher(const std::string& endpoint, OnNotice on_notice)
      : on_notice_(std::move(on_notice)) {
    grpc::ChannelArguments own_connection;
    own_connection.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel(
        endpoint, grpc::InsecureChannelCredentials(), own_connection);
    stub_ = v1::TableService::NewStub(channel_);
    stub_->async()->WatchTables(&context_, &request_, this);
    StartRead(&notice_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    on_notice_(notice_);
    StartRead(&notice_);
  }
  void OnDone(const grpc::Status&) override {
    std::lock_guard lock(mutex_);
    done_ = true;
    ended_.notify_all();
  }
  void End() {
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return done_; });
  }

 private:
  const OnNotice on_notice_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::TableService::Stub> stub_;
  grpc::ClientContext context_;
  v1::WatchTablesRequest request_;
  v1::WatchTablesResponse notice_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;  // Guarded by mutex_.
};

void MeasureWatchers(NodeProcess& node, int watchers, int rounds) {
  std::mutex mutex;
  std::condition_variable heard;
  int synced = 0;
  std::vector<double> us;
  Clock::time_point start;
  const double before_mib = node.ResidentMib();
  std::vector<std::unique_ptr<Watcher>> all;
  for (int i = 0; i < watchers; ++i) {
    all.push_back(std::make_unique<Watcher>(
        node.endpoint(), [&](const v1::WatchTablesResponse& notice) {
          std::lock_guard lock(mutex);
          if (notice.kind() == v1::WatchTablesResponse::SYNCED) ++synced;
          if (notice.kind() == v1::WatchTablesResponse::PROMOTED)
            us.push_back(MicrosecondsSince(start));
          heard.notify_all();
        }));
  }
  std::unique_lock lock(mutex);
  heard.wait(lock, [&] { return synced == watchers; });
  for (int round = 1; round <= rounds; ++round) {
    start = Clock::now();
    lock.unlock();
    node.Promote();
    lock.lock();
    const size_t expected = static_cast<size_t>(round) * watchers;
    heard.wait(lock, [&] { return us.size() == expected; });
  }
  lock.unlock();
  Print(absl::StrCat("PromotedToWatchers/", watchers), us);
  std::printf("%-28s %.1f MiB; before watchers %.1f MiB\n", "DaemonResident",
              node.ResidentMib(), before_mib);
  for (const auto& watcher : all) watcher->End();
}

int Option(int argc, char** argv, absl::string_view name, int otherwise) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view text = argv[i];
    int value = 0;
    if (absl::ConsumePrefix(&text, name) && absl::SimpleAtoi(text, &value))
      return value;
  }
  return otherwise;
}

int Main(int argc, char** argv) {
  // A thousand connections are a thousand files, on both sides.
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const int calls = Option(argc, argv, "--calls=", 2000);
  const int watchers = Option(argc, argv, "--watchers=", 1000);
  char folder[] = "/tmp/wavetune-bench-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  {
    NodeProcess node(folder);  // Before gRPC starts here: it forks.
    MeasureGetTable(node, calls);
    MeasureFirstDecision(node, std::max(1, calls / 20));
    MeasureWatchers(node, watchers, /*rounds=*/5);
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace wavetune

int main(int argc, char** argv) { return wavetune::Main(argc, argv); }
