// Clients and tuners in forked processes, whose parent used gRPC.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "client/src/event_log.h"
#include "client/src/fake_node.h"
#include "client/src/table_cache.h"
#include "client/src/table_files.h"
#include "client/src/table_finder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/tiny_table.h"
#include "wavetune/client.h"

namespace wavetune {
namespace {

using testing::FakeNode;
using testing::Serve;
using testing::TinyTable;

constexpr int kOk = 0;
constexpr unsigned kPatienceS = 60;

bool Eventually(const std::function<bool()>& condition) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceS / 2);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// Returns how a child that runs `function` ends: its exit code, or -signal. One
// that hangs is ended by its alarm (SIGALRM).
int InAChild(const std::function<int()>& function) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kPatienceS);
    _exit(function());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

Table WithDelta(double delta) {
  Table table = TinyTable();
  table.sub_tables[0].groups[0].models[0].segments[0].coefficients.delta =
      delta;
  return table;
}

class ClientForkTest : public ::testing::Test {
 protected:
  ClientForkTest() {
    node_.Promote(first_);
    client_ = Connect();
    tuner_ = std::make_unique<Tuner>(client_->GetTuner("add").value());
    EXPECT_TRUE(Eventually([&] { return client_->watching(); }));
  }

  std::unique_ptr<Client> Connect() {
    return Client::Connect({.endpoint = node_.endpoint(),
                            .cache_dir = node_.cache_dir(),
                            .usage_interval_s = 0.01})
        .value();
  }

  const FetchedTable first_ = Serve(WithDelta(2), "GPU-1", 1);
  const FetchedTable second_ = Serve(WithDelta(3), "GPU-1", 2);
  FakeNode node_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Tuner> tuner_;
};

TEST_F(ClientForkTest, AChildDecidesWithWhatItHasAndEnds) {
  EXPECT_EQ(InAChild([&] {
              const Decision decision = tuner_->Resolve({1000});
              const bool same = decision.source == DecisionSource::kFitted &&
                                tuner_->digest() == first_.info.digest();
              tuner_.reset();
              client_.reset();
              return same ? kOk : 1;
            }),
            kOk);
  EXPECT_TRUE(client_->watching()) << "the parent's client is none the worse";
  EXPECT_EQ(tuner_->Resolve({1000}).source, DecisionSource::kFitted);
}

TEST_F(ClientForkTest, AChildThatCallsExitEnds) {
  EXPECT_EQ(InAChild([&]() -> int {
              static std::unique_ptr<Client> until_exit;
              until_exit = std::move(client_);
              std::exit(kOk);  // NOLINT: runs destructors, which is the point.
            }),
            kOk);
}

TEST_F(ClientForkTest, TheParentsClientAsksTheDaemonInAChild) {
  node_.Promote(second_);
  EXPECT_TRUE(Eventually([&] {
    return tuner_->staged() || tuner_->digest() == second_.info.digest();
  }));
  EXPECT_EQ(InAChild([&] {
              const absl::StatusOr<Tuner> tuner = client_->GetTuner("add");
              if (!tuner.ok() || tuner->digest() != second_.info.digest())
                return 1;
              if (tuner->origin() != TableOrigin::kDaemon) return 2;
              if (client_->watching()) return 3;
              if (client_->last_problem().message().find("forked") ==
                  absl::string_view::npos)
                return 4;
              return kOk;
            }),
            kOk);
}

TEST_F(ClientForkTest, AClientThatConnectsInAChildWorksAsAny) {
  const double reported = node_.reported_decisions();
  EXPECT_EQ(InAChild([&] {
              std::unique_ptr<Client> own = Connect();
              absl::StatusOr<Tuner> tuner =
                  own->GetTuner("add", {.prepares_on_demand = true});
              if (!tuner.ok() || tuner->origin() != TableOrigin::kDaemon)
                return 1;
              if (!own->GetTuner("unknown").status().ok() &&
                  !absl::IsNotFound(own->GetTuner("unknown").status()))
                return 2;
              if (!Eventually([&] { return own->watching(); })) return 3;
              if (tuner->Resolve({1000}).source != DecisionSource::kFitted)
                return 4;
              own.reset();  // Ends its watch and reports.
              return kOk;
            }),
            kOk);
  EXPECT_TRUE(
      Eventually([&] { return node_.reported_decisions() > reported; }));
  EXPECT_TRUE(client_->watching());
}

TEST_F(ClientForkTest, AChildOfAChildConnectsToo) {
  EXPECT_EQ(InAChild([&] {
              const std::unique_ptr<Client> own = Connect();
              const Tuner tuner = own->GetTuner("add").value();
              return InAChild([&] {
                const std::unique_ptr<Client> other = Connect();
                return other->GetTuner("add").ok() &&
                               tuner.digest() == first_.info.digest()
                           ? kOk
                           : 1;
              });
            }),
            kOk);
}

TEST_F(ClientForkTest, ADaemonThatIsDownIsSaidAndTheCacheAnswersInAChild) {
  node_.Stop();
  EXPECT_EQ(InAChild([&] {
              const std::unique_ptr<Client> own = Connect();
              const absl::StatusOr<Tuner> tuner = own->GetTuner("add");
              if (!tuner.ok() || tuner->origin() != TableOrigin::kCache)
                return 1;
              return absl::IsUnavailable(own->GetTuner("other").status()) ? kOk
                                                                          : 2;
            }),
            kOk);
}

TEST_F(ClientForkTest, ADaemonThatHangsHoldsUpNoChild) {
  node_.Hang();
  EXPECT_EQ(InAChild([&] {
              const std::unique_ptr<Client> own =
                  Client::Connect({.endpoint = node_.endpoint(),
                                   .cache_dir = node_.cache_dir(),
                                   .timeout_s = 0.05})
                      .value();
              return own->GetTuner("add")->origin() == TableOrigin::kCache ? kOk
                                                                           : 1;
            }),
            kOk);
  node_.GoOn();
}

TEST_F(ClientForkTest, NoForkCatchesATableThatIsTakingOver) {
  std::atomic<bool> stop = false;
  std::thread promoting([&] {
    for (int i = 0; !stop; ++i)
      node_.Promote(Serve(WithDelta(2 + i), "GPU-1", 3 + i));
  });
  Tuner taking = client_->GetTuner("add", {.prepares_on_demand = true}).value();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(InAChild([&] {
                const bool decides = taking.Resolve({1000}).latency_us > 0 &&
                                     !taking.digest().empty();
                taking.SetPrepared({});
                (void)client_->events();
                (void)client_->GetTableSet().status();
                client_.reset();
                return decides ? kOk : 1;
              }),
              kOk);
  }
  stop = true;
  promoting.join();
}

TEST_F(ClientForkTest, NoForkCatchesATableThatIsWithdrawn) {
  const TableCache no_cache("");
  const TableFiles no_files;
  EventLog log;
  const TableFinder finder({}, &no_cache, &no_files, &log);
  v1::TableInfo wrong = first_.info;
  wrong.set_withdrawn("it is wrong");
  finder.NoteWithdrawn(wrong);
  std::atomic<bool> stop = false;
  std::thread withdrawing([&] {
    while (!stop) finder.NoteWithdrawn(wrong);
  });
  const auto refuses = [&] {
    return absl::IsFailedPrecondition(
        finder.FindLocally("add", {.digest = wrong.digest()}).status());
  };
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(InAChild([&] {
                if (!refuses()) return 1;
                finder.NoteWithdrawn(wrong);
                return refuses() ? kOk : 2;
              }),
              kOk);
  }
  stop = true;
  withdrawing.join();
}

TEST_F(ClientForkTest, AChildGetsTunersWhileTablesAreWithdrawn) {
  node_.AddKernel(testing::AddKernelStatus());
  std::atomic<bool> stop = false;
  std::thread withdrawing([&] {
    for (int i = 0; !stop && i < 200; ++i) {
      const FetchedTable table = Serve(WithDelta(2 + i), "GPU-1", 3 + i);
      node_.Promote(table);
      node_.Withdraw(table.info.digest(), "it is wrong");
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(InAChild([&] {
                const absl::StatusOr<Tuner> tuner = client_->GetTuner("add");
                return tuner.ok() ? kOk : 1;
              }),
              kOk);
  }
  stop = true;
  withdrawing.join();
}

}  // namespace
}  // namespace wavetune
