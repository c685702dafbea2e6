// kill -9 at random moments while samples and tables are written: what the
// daemon told a client stays, and the next one starts.
//
//   WAVETUNE_KILLS=1000 build/ci/bin/kill_test
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "proto/wavetune/v1/admin_service.grpc.pb.h"
#include "proto/wavetune/v1/status_service.grpc.pb.h"
#include "proto/wavetune/v1/table_service.grpc.pb.h"
#include "server/store/rocksdb_store.h"
#include "tests/lib/environment.h"
#include "tests/lib/lcg.h"
#include "tests/lib/node_fixture.h"

namespace wavetune::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kKills = 10;

// What the daemon said is stored.
struct Acknowledged {
  uint64_t job = 0;
  int64_t samples = 0;  // Of that job.
  std::set<std::string> digests;
  // What serves; empty where a promotion or a retirement may have happened that
  // nobody was told of.
  std::string serving;
  int64_t samples_of_all = 0;
  int64_t promotions = 0;
};

// Profiles one kernel over and over, as an operator without patience would, and
// retires each table before the next profile, so that each is promoted.
class Operator {
 public:
  Operator(const std::string& admin, const std::string& reader,
           Acknowledged* acknowledged)
      : admin_(v1::AdminService::NewStub(Connect(admin))),
        status_(v1::StatusService::NewStub(Connect(reader))),
        tables_(v1::TableService::NewStub(Connect(reader))),
        acknowledged_(acknowledged),
        thread_([this] { Work(); }) {}
  ~Operator() {
    ends_ = true;
    thread_.join();
  }

 private:
  static std::shared_ptr<grpc::Channel> Connect(const std::string& path) {
    grpc::ChannelArguments own;  // A pooled one would wait before it retries.
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("unix:" + path,
                                     grpc::InsecureChannelCredentials(), own);
  }

  // Until the daemon is gone.
  void Work() {
    while (!ends_) {
      if (!running_ && !(Retire() && Queue())) return;
      if (!Look()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // What serves, also where its promotion was not seen.
  bool Retire() {
    grpc::ClientContext listing;
    v1::ListTablesResponse tables;
    if (!tables_->ListTables(&listing, {}, &tables).ok()) return false;
    acknowledged_->serving.clear();
    for (const v1::TableInfo& table : tables.tables()) {
      grpc::ClientContext context;
      v1::RetireTableRequest request;
      v1::RetireTableResponse response;
      request.set_digest(table.digest());
      request.set_reason("kill_test");
      request.set_although_it_serves(true);
      if (!admin_->RetireTable(&context, request, &response).ok()) return false;
    }
    return true;
  }

  bool Queue() {
    grpc::ClientContext context;
    v1::ReprofileRequest request;
    v1::ReprofileResponse response;
    request.set_kernel("repeats");
    request.set_fresh(true);
    // Other samples each time, so that the table is another one.
    request.set_samples_per_candidate(8 + static_cast<int>(jobs_++ % 8));
    request.set_reason("kill_test");
    if (!admin_->Reprofile(&context, request, &response).ok()) return false;
    if (response.jobs().empty()) return true;  // No device yet.
    running_ = true;
    if (acknowledged_->job == response.jobs(0).id()) return true;
    acknowledged_->job = response.jobs(0).id();
    acknowledged_->samples = 0;
    return true;
  }

  bool Look() {
    if (!running_) return true;
    grpc::ClientContext context;
    v1::GetJobRequest request;
    v1::GetJobResponse response;
    request.set_id(acknowledged_->job);
    if (!status_->GetJob(&context, request, &response).ok()) return false;
    const v1::JobInfo& job = response.job();
    acknowledged_->samples_of_all +=
        std::max<int64_t>(0, job.samples() - acknowledged_->samples);
    acknowledged_->samples = std::max(acknowledged_->samples, job.samples());
    if (job.finished_at_us() > 0) running_ = false;
    if (running_ || job.digest().empty()) return true;
    acknowledged_->digests.insert(job.digest());
    acknowledged_->serving = job.digest();
    ++acknowledged_->promotions;
    return true;
  }

  std::unique_ptr<v1::AdminService::Stub> admin_;
  std::unique_ptr<v1::StatusService::Stub> status_;
  std::unique_ptr<v1::TableService::Stub> tables_;
  Acknowledged* const acknowledged_;
  bool running_ = false;
  uint64_t jobs_ = 0;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

// A node whose device is a recording, so that a profile takes no second.
class KillTest : public NodeFixture {
 protected:
  void SetUp() override {
    WriteFile(Path("shapes.csv"), "n,k\n700,100\n");
    AddKernel("repeats");
    StartDaemon();
    StartAgent();
    if (HasFatalFailure() || IsSkipped()) return;
    const CliResult recorded =
        Cli({"bench", "repeats", "--shapes", Path("shapes.csv"), "--json",
             "--record", Path("trace"), "--anchors", "30"});
    ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
    ASSERT_EQ(agent().Stop(std::chrono::seconds(20)), 0);
    ASSERT_EQ(daemon().Stop(std::chrono::seconds(20)), 0);
    fs::remove_all(Path("kernels/repeats"));
    fs::copy(Path("trace"), Path("kernels/repeats"));
    StartDaemon();
    StartReplay();
  }

  void StartReplay() {
    StartAgent({"--replay-trace", Path("trace")}, "replay");
  }

  // In the store of a daemon that was killed.
  void ExpectHolds(const Acknowledged& acknowledged) const {
    const auto store = RocksDbStore::Open({.path = store_});
    ASSERT_TRUE(store.ok()) << store.status();
    for (const std::string& digest : acknowledged.digests) {
      EXPECT_TRUE((*store)->tables().Get(digest).ok()) << digest;
    }
    if (!acknowledged.serving.empty()) {
      const auto serving = (*store)->tables().ListServing();
      ASSERT_TRUE(serving.ok()) << serving.status();
      ASSERT_EQ(serving->size(), 1u);
      EXPECT_EQ((*serving)[0].digest, acknowledged.serving);
    }
    if (acknowledged.job == 0) return;
    const auto job = (*store)->jobs().Get(acknowledged.job);
    ASSERT_TRUE(job.ok()) << job.status();
    if (acknowledged.samples == 0) return;
    const auto set = (*store)->samples().Load(job->key, job->generation);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_GE(static_cast<int64_t>(set->samples.size()), acknowledged.samples);
  }
};

TEST_F(KillTest, LosesNothingThatWasAcknowledged) {
  const int kills = static_cast<int>(NumberFrom("WAVETUNE_KILLS", kKills));
  Acknowledged acknowledged;
  // One that nobody kills says how long a profile takes here.
  const auto begin = std::chrono::steady_clock::now();
  const nlohmann::json whole = WaitForJob(Reprofile("repeats"));
  const std::chrono::duration<double, std::milli> took =
      std::chrono::steady_clock::now() - begin;
  ASSERT_NE(whole.value("digest", ""), "") << whole.dump(2);
  acknowledged.digests.insert(whole.value("digest", ""));
  acknowledged.serving = whole.value("digest", "");
  const auto longest_round_ms = static_cast<int64_t>(1.5 * took.count());
  Lcg random(20260101);
  for (int round = 0; round < kills; ++round) {
    {
      const Operator busy(Path("admin.sock"), Path("reader.sock"),
                          &acknowledged);
      std::this_thread::sleep_for(
          std::chrono::milliseconds(random.Below(longest_round_ms)));
      daemon().Kill();
    }
    ExpectHolds(acknowledged);
    // It flaps, too: one that lived would wait longer each time.
    agent().Kill();
    StartDaemon();
    StartReplay();
    if (HasFailure()) FAIL() << "after kill " << round + 1 << " of " << kills;
  }
  EXPECT_GT(acknowledged.samples_of_all, kills) << "too little was going on";
  RecordProperty("kills", kills);
  RecordProperty("promotions", std::to_string(acknowledged.promotions));
  RecordProperty("samples", std::to_string(acknowledged.samples_of_all));
  RecordProperty("tables", static_cast<int>(acknowledged.digests.size()));
}

}  // namespace
}  // namespace wavetune::testing
