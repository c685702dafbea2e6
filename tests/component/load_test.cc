// Many clients of a real daemon at once, and more than it takes.
//
// WAVETUNE_LOAD_CLIENTS: how many connections (default 100; scripts/soak.sh:
// 1,000). Nothing is judged by the clock (tests/bench/table_rpc_benchmark.cc is
// for that); how long calls took is printed.
#include <grpcpp/grpcpp.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "proto/wavetune/v1/table_service.grpc.pb.h"
#include "tests/lib/environment.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/table_node.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCallsOfEach = 10;
// A connection has at most 128 calls at once, a user 2,048 streams.
constexpr int kStreamsOfEach = 120;
constexpr int kMostStreams = 2048;

int Clients() {
  return std::max(1,
                  static_cast<int>(NumberFrom("WAVETUNE_LOAD_CLIENTS", 100)));
}

// What many calls share: how they ended, and how many are to come.
class Ends {
 public:
  explicit Ends(size_t expected) : left_(expected) {}

  void Add(const grpc::Status& status) {
    std::lock_guard lock(mutex_);
    ++codes_[status.error_code()];
    if (!status.ok()) message_ = status.error_message();
    if (--left_ == 0) ended_.notify_all();
  }
  // Waits for all; returns how often each code came.
  std::map<grpc::StatusCode, int> Wait() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(ended_.wait_for(lock, std::chrono::minutes(4),
                                [this] { return left_ == 0; }))
        << left_ << " calls have not ended";
    return codes_;
  }
  // What the last one that failed was told.
  std::string message() {
    std::lock_guard lock(mutex_);
    return message_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  // Guarded by mutex_.
  size_t left_;
  std::map<grpc::StatusCode, int> codes_;
  std::string message_;
};

// A watch that is open until it is dropped, or refused.
class OpenWatch final
    : public grpc::ClientReadReactor<v1::WatchTablesResponse> {
 public:
  // `synced` hears when the watch has everything, or how it ended before.
  OpenWatch(v1::TableService::Stub* stub, Ends* synced) : synced_(synced) {
    stub->async()->WatchTables(&context_, &request_, this);
    StartRead(&notice_);
    StartCall();
  }
  ~OpenWatch() override {
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return done_; });
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (notice_.kind() == v1::WatchTablesResponse::SYNCED)
      Tell(grpc::Status::OK);
    StartRead(&notice_);
  }
  void OnDone(const grpc::Status& status) override {
    Tell(status);
    std::lock_guard lock(mutex_);
    done_ = true;
    ended_.notify_all();
  }

 private:
  void Tell(const grpc::Status& status) {
    if (Ends* const synced = std::exchange(synced_, nullptr))
      synced->Add(status);
  }

  Ends* synced_;
  grpc::ClientContext context_;
  v1::WatchTablesRequest request_;
  v1::WatchTablesResponse notice_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;  // Guarded by mutex_.
};

// A process as the daemon sees it: a connection of its own.
class LoadClient {
 public:
  explicit LoadClient(const std::string& endpoint) {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = v1::TableService::NewStub(grpc::CreateCustomChannel(
        endpoint, grpc::InsecureChannelCredentials(), own));
  }
  void Watch(Ends* synced) {
    watches_.push_back(std::make_unique<OpenWatch>(stub_.get(), synced));
  }
  void EndWatches() { watches_.clear(); }

  // Asks for a table again and again, one call after the other.
  void GetTables(int calls, Ends* ends, std::vector<double>* took_ms) {
    left_ = calls;
    Next(ends, took_ms);
  }

 private:
  void Next(Ends* ends, std::vector<double>* took_ms) {
    context_ = std::make_unique<grpc::ClientContext>();
    request_.set_kernel("add");
    const auto start = Clock::now();
    stub_->async()->GetTable(
        context_.get(), &request_, &response_,
        [this, ends, took_ms, start](const grpc::Status& status) {
          took_ms->push_back(
              std::chrono::duration<double, std::milli>(Clock::now() - start)
                  .count());
          const bool last = --left_ == 0;
          if (!last) Next(ends, took_ms);
          ends->Add(status);  // The last thing: then all may be gone.
        });
  }

  std::unique_ptr<v1::TableService::Stub> stub_;
  std::vector<std::unique_ptr<OpenWatch>> watches_;
  std::unique_ptr<grpc::ClientContext> context_;
  v1::GetTableRequest request_;
  v1::GetTableResponse response_;
  int left_ = 0;
};

class LoadTest : public NodeFixture {
 protected:
  void SetUp() override {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    SeedStore(store_, {TinyTable()});
    StartDaemon();
  }
  std::vector<std::unique_ptr<LoadClient>> Connect(int clients) const {
    std::vector<std::unique_ptr<LoadClient>> all;
    for (int i = 0; i < clients; ++i)
      all.push_back(
          std::make_unique<LoadClient>("unix:" + Path("reader.sock")));
    return all;
  }
};

TEST_F(LoadTest, EveryClientOfManyIsServed) {
  const int clients = Clients();
  const auto all = Connect(clients);
  Ends synced(static_cast<size_t>(clients));
  for (const auto& client : all) client->Watch(&synced);
  EXPECT_EQ(synced.Wait()[grpc::StatusCode::OK], clients) << synced.message();

  Ends answered(static_cast<size_t>(clients * kCallsOfEach));
  std::vector<std::vector<double>> took_ms(static_cast<size_t>(clients));
  const auto start = Clock::now();
  for (size_t i = 0; i < all.size(); ++i)
    all[i]->GetTables(kCallsOfEach, &answered, &took_ms[i]);
  EXPECT_EQ(answered.Wait()[grpc::StatusCode::OK], clients * kCallsOfEach)
      << answered.message();
  const double seconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  std::vector<double> sorted;
  for (const auto& of_client : took_ms)
    sorted.insert(sorted.end(), of_client.begin(), of_client.end());
  std::sort(sorted.begin(), sorted.end());
  std::printf("%d clients: %.0f calls/s, p50 %.1f ms, p99 %.1f ms\n", clients,
              static_cast<double>(sorted.size()) / seconds,
              sorted[sorted.size() / 2], sorted[sorted.size() * 99 / 100]);
}

TEST_F(LoadTest, WhoAsksForTooMuchIsToldSoAndNobodyElseNotices) {
  const auto others = Connect(4);
  Ends synced(others.size());
  for (const auto& other : others) other->Watch(&synced);
  ASSERT_EQ(synced.Wait()[grpc::StatusCode::OK], 4) << synced.message();

  constexpr int kGreedy = kMostStreams / kStreamsOfEach + 2;
  const auto greedy = Connect(kGreedy);
  Ends opened(kGreedy * kStreamsOfEach);
  for (const auto& client : greedy) {
    for (int i = 0; i < kStreamsOfEach; ++i) client->Watch(&opened);
  }
  const auto codes = opened.Wait();
  EXPECT_EQ(codes.at(grpc::StatusCode::OK), kMostStreams - 4);
  EXPECT_EQ(codes.at(grpc::StatusCode::RESOURCE_EXHAUSTED),
            kGreedy * kStreamsOfEach - kMostStreams + 4);
  EXPECT_EQ(codes.size(), 2u) << opened.message();
  EXPECT_NE(opened.message().find("too many streams"), std::string::npos)
      << opened.message();

  // Calls go on, of everybody.
  Ends answered((others.size() + greedy.size()) * kCallsOfEach);
  std::vector<std::vector<double>> took_ms(others.size() + greedy.size());
  for (size_t i = 0; i < took_ms.size(); ++i) {
    LoadClient& client =
        i < others.size() ? *others[i] : *greedy[i - others.size()];
    client.GetTables(kCallsOfEach, &answered, &took_ms[i]);
  }
  EXPECT_EQ(answered.Wait()[grpc::StatusCode::OK],
            static_cast<int>(took_ms.size()) * kCallsOfEach)
      << answered.message();

  // With the streams the refusals end.
  for (const auto& client : greedy) client->EndWatches();
  EXPECT_TRUE(WaitUntil([&] {
    Ends again(1);
    greedy[0]->Watch(&again);
    return again.Wait()[grpc::StatusCode::OK] == 1;
  }));
}

}  // namespace
}  // namespace wavetune::testing
