// Boards that nodes of a fleet lend to one that profiles: both sides, and a
// registry between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "formats/types.h"
#include "server/catalog/disk_kernel_catalog.h"
#include "server/fleet/fake_fleet_registry.h"
#include "server/fleet/fleet_borrower.h"
#include "server/fleet/fleet_lender.h"
#include "server/fleet/fleet_test_support.h"
#include "server/fleet/signed_content.h"
#include "server/jobs/fake_measurement_executor.h"
#include "server/test_folder.h"

namespace wavetune::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using IfBusy = MeasurementExecutor::IfBusy;

constexpr char kFleetName[] = "/wavetune/";
constexpr char kProfileId[] = "0123456789abcdef";

FleetTrust TrustInTheFirst() {
  return FleetTrust::Parse(TestSigningKey(1).public_key() + " *\n").value();
}

std::shared_ptr<const SigningKey> KeyOf(char seed) {
  return std::make_shared<const SigningKey>(TestSigningKey(seed));
}

ProfileKey KeyOn(KernelCatalog& kernels) {
  const DeviceFacts device = TestFleetDevice("any");
  return {"copy", *kernels.Fingerprint("copy", device), SiliconKey(device),
          EnvironmentKey(device)};
}

// A node with one board, which it lends.
class LendingNode {
 public:
  LendingNode(FakeFleet* fleet, const std::string& kernels,
              const std::string& name, const ProfileKey& wanted, char key = 1)
      : uuid("GPU-" + name),
        registry(fleet),
        catalog({kernels}),
        board({.facts = TestFleetDevice(uuid),
               .latency_us = [](const Configuration& c, const Problem& p) {
                 return static_cast<double>(p.extents[0]) /
                            static_cast<double>(c[0]) +
                        static_cast<double>(c[1]);
               }}) {
    catalog.Reload();
    executors.Attach(&board);
    lender = std::make_unique<FleetLender>(FleetLender::Options{
        .registry = &registry,
        .kernels = &catalog,
        .executors = &executors,
        .leases = leases,
        .party = {kFleetName, name},
        .trust = TrustInTheFirst(),
        .key = KeyOf(key),
        .devices =
            [this] {
              return std::vector<AgentDirectory::Known>{
                  {.record = {.facts = TestFleetDevice(uuid)},
                   .attached = true}};
            },
        .profiles =
            [this, wanted] {
              return std::vector<FleetView::Profile>{
                  {.profile = {.id = kProfileId, .key = wanted},
                   .holder = held ? "holder" : ""}};
            },
        .look_interval = std::chrono::milliseconds(10),
        .jitter = std::chrono::milliseconds(1),
        .retry_interval = std::chrono::milliseconds(50),
        .report_interval = std::chrono::milliseconds(1),
        .sign_interval = std::chrono::milliseconds(100)});
    lender->Start();
  }
  ~LendingNode() {
    board.OnReport([] {});
  }

  const std::string uuid;
  std::atomic<bool> held = true;
  FakeFleetRegistry registry;
  DiskKernelCatalog catalog;
  FakeMeasurementExecutor board;
  FakeExecutorDirectory executors;
  std::shared_ptr<DeviceLeases> leases = std::make_shared<DeviceLeases>();
  std::unique_ptr<FleetLender> lender;
};

class FleetBoardsTest : public ::testing::Test {
 protected:
  using Device = std::shared_ptr<AgentDevice>;

  FleetBoardsTest() {
    kernels_.Reload();
    key_ = KeyOn(kernels_);
    kernel_ = kernels_.Get("copy", TestFleetDevice("any")).value();
    Hold(1);
  }
  // The node that does the profile.
  void Hold(char key, double silence_s = 10) {
    borrower_ = nullptr;
    borrower_ = std::make_unique<FleetBorrower>(FleetBorrower::Options{
        .registry = &holder_,
        .party = {kFleetName, "holder"},
        .trust = TrustInTheFirst(),
        .key = KeyOf(key),
        .held =
            [this] {
              return std::vector<HeldProfile>{{key_, kProfileId, 7}};
            },
        .lend =
            [this](uint64_t job, std::vector<Device> boards) {
              EXPECT_EQ(job, 7);
              const std::lock_guard lock(mutex_);
              boards_ = std::move(boards);
            },
        .look_interval = std::chrono::milliseconds(10),
        .silence_s = silence_s});
    borrower_->Start();
  }
  LendingNode& Lend(const std::string& name, char key = 1) {
    nodes_.push_back(std::make_unique<LendingNode>(&fleet_, folder_ / "kernels",
                                                   name, key_, key));
    return *nodes_.back();
  }
  std::vector<Device> Boards() {
    const std::lock_guard lock(mutex_);
    return boards_;
  }
  // The first that is lent; nullptr: none is.
  Device Board() {
    EXPECT_TRUE(Eventually([&] { return !Boards().empty(); }));
    const std::vector<Device> boards = Boards();
    return boards.empty() ? nullptr : boards[0];
  }
  static std::vector<MeasureItem> Items(int count) {
    std::vector<MeasureItem> items;
    for (int i = 1; i <= count; ++i)
      items.push_back({{16, 4}, {.extents = {32 * i, 8}}});
    return items;
  }
  // How a batch on the board ends; `outcomes` gets a latency for each item that
  // was measured.
  absl::Status Measure(const Device& board, int count,
                       std::map<size_t, double>& outcomes) {
    return board->Measure(kernel_->files, Items(count), IfBusy::kYield,
                          [&](const MeasurementExecutor::Outcome& outcome) {
                            if (outcome.sample != nullptr) {
                              outcomes[outcome.index] =
                                  outcome.sample->latency_us;
                            }
                            return true;
                          });
  }
  absl::Status Measure(const Device& board, int count) {
    std::map<size_t, double> outcomes;
    return Measure(board, count, outcomes);
  }
  std::vector<FleetEntry> Entries(const std::string& of) {
    return watcher_.List(BoardsPrefix(key_, kProfileId) + of)->entries;
  }

  // The id of what a node offers.
  std::string OfferOf(const std::string& node) {
    for (const FleetEntry& entry : Entries("offers/")) {
      v1::FleetOfferContent content;
      const auto read = ReadSignedContent("offer", entry.key, entry.value);
      if (content.ParseFromString(read->content) && content.node() == node)
        return content.id();
    }
    return "";
  }
  // Writes what is signed with a key as a node's.
  template <typename Content>
  void Write(const std::string& node, const std::string& place,
             const Content& content, char key = 1) {
    ASSERT_TRUE(
        watcher_
            .Commit({{.key = place,
                      .value = SignBoardContent({kFleetName, node}, place,
                                                TestSigningKey(key), content)}})
            .ok());
  }

  const TestFolder folder_;
  FakeFleet fleet_;
  FakeFleetRegistry watcher_{&fleet_};
  FakeFleetRegistry holder_{&fleet_};
  DiskKernelCatalog kernels_{WithKernel(folder_)};
  ProfileKey key_;
  std::shared_ptr<const TunableKernel> kernel_;
  std::mutex mutex_;
  std::vector<Device> boards_;
  std::unique_ptr<FleetBorrower> borrower_;
  std::vector<std::unique_ptr<LendingNode>> nodes_;

 private:
  static std::vector<std::string> WithKernel(const TestFolder& folder) {
    folder.WriteKernel("copy");
    return {folder / "kernels"};
  }
};

TEST_F(FleetBoardsTest, ABoardOfAnotherNodePreparesAndMeasures) {
  LendingNode& node = Lend("a");
  node.board.Refuse({32, 8}, "too many registers");
  node.board.Exhaust({32, 4}, "no memory");
  const Device board = Board();
  ASSERT_NE(board, nullptr);
  EXPECT_EQ(board->device(), TestFleetDevice("GPU-a"));
  std::map<Configuration, MeasurementExecutor::Preparation> prepared;
  const std::vector<Configuration> configurations = {{16, 4}, {32, 8}, {32, 4}};
  ASSERT_TRUE(board
                  ->Prepare(kernel_->files, "", configurations,
                            {{.extents = {64, 128}}}, IfBusy::kYield,
                            [&](const auto& one) {
                              prepared[one.candidate.configuration] = one;
                              return true;
                            })
                  .ok());
  ASSERT_THAT(prepared, SizeIs(3));
  EXPECT_EQ((prepared[{16, 4}].candidate.tiles_per_wave), 64);
  EXPECT_EQ((prepared[{32, 8}].candidate.excluded_reason),
            "too many registers");
  EXPECT_TRUE((prepared[{32, 4}].environment));

  std::map<size_t, double> outcomes;
  node.board.FailAt({.extents = {64, 8}}, "no memory");
  ASSERT_TRUE(Measure(board, 50, outcomes).ok());
  EXPECT_EQ(outcomes.size(), 49);
  EXPECT_EQ(outcomes[0], 6);
  EXPECT_EQ(outcomes[49], 104);
  EXPECT_EQ(node.board.prepared(), 3) << "{16, 4} was compiled";
  // One entry of each kind, however much was measured.
  EXPECT_THAT(Entries(""), SizeIs(3));
  EXPECT_EQ(borrower_->counts().borrowed, 1);
  EXPECT_TRUE(Eventually([&] { return node.lender->counts().lent == 1; }));
}

TEST_F(FleetBoardsTest, WhatOtherBoardsCompiledIsCompiledFirst) {
  LendingNode& node = Lend("a");
  const Device board = Board();
  ASSERT_TRUE(Measure(board, 3).ok());
  ASSERT_TRUE(Measure(board, 4).ok());
  EXPECT_EQ(node.board.prepared(), 1);
  EXPECT_EQ(node.board.measured(), 7);
}

TEST_F(FleetBoardsTest, ABatchThatIsCancelledLeavesTheBoardUsable) {
  LendingNode& node = Lend("a");
  const Device board = Board();
  node.board.OnReport([&] {
    if (node.board.measured() == 3) {
      board->CancelBatch();
      // Until the lender has heard of it.
      Eventually([&] { return node.board.cancels() > 0; });
    }
  });
  EXPECT_TRUE(absl::IsCancelled(Measure(board, 50)));
  EXPECT_LT(node.board.measured(), 50);
  node.board.OnReport([] {});
  EXPECT_TRUE(Measure(board, 5).ok());
}

TEST_F(FleetBoardsTest, AJobOfTheLenderTakesItsBoardBack) {
  LendingNode& node = Lend("a");
  const Device board = Board();
  ASSERT_TRUE(board != nullptr);
  DeviceLease lease;
  node.board.OnReport([&] {
    // A job comes in the middle of the batch.
    if (node.board.measured() != 5) return;
    EXPECT_EQ(node.leases->TryTake(node.uuid, 3), nullptr);
  });
  std::map<size_t, double> outcomes;
  EXPECT_TRUE(absl::IsUnavailable(Measure(board, 50, outcomes)));
  EXPECT_GE(outcomes.size(), 5) << "what was measured counts";
  EXPECT_LT(outcomes.size(), 50);
  EXPECT_TRUE(Eventually([&] {
    lease = node.leases->TryTake(node.uuid, 3);
    return lease != nullptr;
  }));
  EXPECT_TRUE(Eventually([&] { return Entries("").empty(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_THAT(Entries(""), IsEmpty()) << "while the job has it";
  lease = nullptr;
  EXPECT_TRUE(Eventually([&] { return !Boards().empty(); }));
}

TEST_F(FleetBoardsTest, ABoardThatOthersUseIsNotLent) {
  LendingNode& node = Lend("a");
  ASSERT_NE(Board(), nullptr);
  node.board.SetBusy("GPU-a is used by 2 other processes");
  EXPECT_TRUE(Eventually([&] { return Boards().empty(); }));
  node.board.SetBusy("");
  EXPECT_TRUE(Eventually([&] { return !Boards().empty(); }));
  node.board.SetHot("it is hot");
  EXPECT_TRUE(Eventually([&] { return Boards().empty(); }));
}

TEST_F(FleetBoardsTest, ALenderThatIsGoneEndsItsBatch) {
  LendingNode& node = Lend("a");
  const Device board = Board();
  std::atomic<bool> midway = false;
  node.board.OnReport([&] {
    if (node.board.measured() != 5 || midway.exchange(true)) return;
    Eventually([&] { return Boards().empty(); });
  });
  std::map<size_t, double> outcomes;
  auto batch = std::async(std::launch::async,
                          [&] { return Measure(board, 50, outcomes); });
  ASSERT_TRUE(Eventually([&] { return midway.load(); }));
  node.registry.Disconnect();
  node.registry.EndSession();
  const absl::Status ended = batch.get();
  EXPECT_TRUE(absl::IsUnavailable(ended)) << ended;
  EXPECT_THAT(std::string(ended.message()), HasSubstr("node a"));
  EXPECT_LT(outcomes.size(), 50);
  // The lender gives up, too, and offers again when it is back.
  EXPECT_TRUE(Eventually([&] { return node.lender->counts().lent == 0; }));
  EXPECT_LT(node.board.measured(), 50);
  node.registry.Connect();
  EXPECT_TRUE(Measure(Board(), 5).ok());
}

TEST_F(FleetBoardsTest, AHolderWithoutTheRegistryHasItsOwnBoardsAlone) {
  LendingNode& node = Lend("a");
  const Device board = Board();
  holder_.Disconnect();
  EXPECT_THAT(Boards(), IsEmpty());
  EXPECT_TRUE(absl::IsUnavailable(Measure(board, 5)));
  holder_.Connect();
  EXPECT_TRUE(Measure(Board(), 5).ok());
  EXPECT_EQ(node.board.measured(), 5);
}

TEST_F(FleetBoardsTest, TheBoardIsTakenBackWhereTheHolderIsGone) {
  LendingNode& node = Lend("a");
  ASSERT_NE(Board(), nullptr);
  node.held = false;
  EXPECT_TRUE(Eventually([&] { return Entries("").empty(); }));
  EXPECT_TRUE(Eventually([&] { return node.lender->counts().lent == 0; }));
}

TEST_F(FleetBoardsTest, SoManyBoardsAreLentAndNoMore) {
  for (int i = 0; i < 9; ++i) Lend("n" + std::to_string(i));
  EXPECT_TRUE(Eventually([&] { return Boards().size() == kMostLentBoards; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_THAT(Entries("offers/"), SizeIs(kMostLentBoards));
  for (const Device& board : Boards()) EXPECT_TRUE(Measure(board, 5).ok());
}

TEST_F(FleetBoardsTest, ANodeWithAnotherKernelLendsNothing) {
  const TestFolder other;
  other.WriteKernel("copy");
  other.Write("kernels/copy/copy.cl", "another source");
  LendingNode node(&fleet_, other / "kernels", "a", key_);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_THAT(Entries(""), IsEmpty());
}

TEST_F(FleetBoardsTest, ABatchOfAnotherKernelIsNotRun) {
  LendingNode& node = Lend("a");
  const Device board = Board();
  KernelFiles files = kernel_->files;
  files.fingerprint = std::string(64, '0');
  const absl::Status status =
      board->Measure(files, Items(3), IfBusy::kYield,
                     [](const MeasurementExecutor::Outcome&) { return true; });
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("is another one there"));
  EXPECT_EQ(node.board.measured() + node.board.prepared(), 0);
}

TEST_F(FleetBoardsTest, WhatAHolderWantsThatNobodyTrustsIsNotRun) {
  Hold(9);
  LendingNode& node = Lend("a");
  const absl::Status status = Measure(Board(), 3);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(node.board.measured() + node.board.prepared(), 0);
  EXPECT_GE(node.lender->counts().refused_signature, 1);
}

TEST_F(FleetBoardsTest, WhatALenderOffersThatNobodyTrustsIsRefused) {
  // It knows that itself; so its offer is forged.
  v1::FleetOfferContent offer;
  offer.set_id("fedcba9876543210");
  offer.mutable_device()->set_uuid("GPU-x");
  const std::string place = OfferPlace(BoardsPrefix(key_, kProfileId), 0);
  const FleetParty party{kFleetName, "x"};
  ASSERT_TRUE(watcher_
                  .Commit({{.key = place,
                            .value = SignBoardContent(
                                party, place, TestSigningKey(9), offer)}})
                  .ok());
  EXPECT_TRUE(
      Eventually([&] { return borrower_->counts().refused_signature == 1; }));
  ASSERT_TRUE(watcher_.Commit({{.key = place, .value = "nothing"}}).ok());
  EXPECT_TRUE(
      Eventually([&] { return borrower_->counts().refused_signature == 2; }));
  EXPECT_THAT(Boards(), IsEmpty());
  Lend("b", 9);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_THAT(Entries("offers/"), SizeIs(1));
}

TEST_F(FleetBoardsTest, ABatchThatWasRunIsNotRunAgain) {
  LendingNode& node = Lend("a");
  ASSERT_TRUE(Measure(Board(), 3).ok());
  const FleetEntry batch = Entries("batches/").at(0);
  ASSERT_TRUE(watcher_.Commit({{.key = batch.key, .value = batch.value}}).ok());
  EXPECT_TRUE(
      Eventually([&] { return node.lender->counts().refused_replayed == 1; }));
  EXPECT_EQ(node.board.measured(), 3);
  EXPECT_TRUE(Measure(Board(), 4).ok());
  // Nor where it does not belong.
  LendingNode& other = Lend("b");
  ASSERT_TRUE(Eventually([&] { return Boards().size() == 2; }));
  ASSERT_TRUE(watcher_
                  .Commit({{.key = BatchPlace(BoardsPrefix(key_, kProfileId),
                                              OfferOf("b")),
                            .value = batch.value}})
                  .ok());
  EXPECT_TRUE(Eventually(
      [&] { return other.lender->counts().refused_signature == 1; }));
  EXPECT_EQ(other.board.measured(), 0);
}

TEST_F(FleetBoardsTest, AReportThatIsForgedOrReplayedIsRefused) {
  LendingNode& node = Lend("a");
  const Device board = Board();
  std::vector<FleetEntry> before;
  node.board.OnReport([&] {
    if (node.board.measured() != 20) return;
    const std::vector<FleetEntry> now = Entries("reports/");
    ASSERT_THAT(now, SizeIs(1));
    // One of before, then one of another key, in the middle of a batch.
    v1::FleetReportContent content;
    ASSERT_TRUE(content.ParseFromString(
        ReadSignedContent("report", now[0].key, now[0].value)->content));
    ASSERT_TRUE(
        watcher_.Commit({{.key = now[0].key, .value = now[0].value}}).ok());
    content.set_number(content.number() + 1);
    for (v1::AttachRequest& report : *content.mutable_reports()) {
      if (!report.has_sample()) continue;
      report.mutable_sample()->set_index(40);
      report.mutable_sample()->mutable_sample()->set_latency_us(1e-3);
    }
    ASSERT_TRUE(
        watcher_
            .Commit({{.key = now[0].key,
                      .value = SignBoardContent({kFleetName, "a"}, now[0].key,
                                                TestSigningKey(9), content)}})
            .ok());
  });
  std::map<size_t, double> outcomes;
  ASSERT_TRUE(Measure(board, 50, outcomes).ok());
  EXPECT_EQ(borrower_->counts().refused_replayed, 1);
  EXPECT_EQ(borrower_->counts().refused_signature, 1);
  EXPECT_THAT(outcomes, SizeIs(50));
  EXPECT_EQ(outcomes[40], 86);
}

TEST_F(FleetBoardsTest, WhereAReportIsMissingTheBatchEnds) {
  LendingNode& node = Lend("a");
  const Device board = Board();
  Lend("b");
  ASSERT_TRUE(Eventually([&] { return Boards().size() == 2; }));
  const Device other = Boards()[1];
  bool written = false;
  node.board.OnReport([&] {
    if (node.board.measured() != 20 || std::exchange(written, true)) return;
    const std::string place =
        ReportPlace(BoardsPrefix(key_, kProfileId), OfferOf("a"));
    v1::FleetReportContent content;
    content.set_number(1000);
    ASSERT_TRUE(
        watcher_
            .Commit({{.key = place,
                      .value = SignBoardContent({kFleetName, "a"}, place,
                                                TestSigningKey(1), content)}})
            .ok());
  });
  const absl::Status status = Measure(board, 50);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  // It is the same board, which has lost nothing; nor has the other one.
  EXPECT_TRUE(Eventually([&] {
    const std::vector<Device> boards = Boards();
    return !boards.empty() && boards[0] != board;
  }));
  std::map<size_t, double> outcomes;
  EXPECT_TRUE(Measure(Board(), 30, outcomes).ok());
  EXPECT_THAT(outcomes, SizeIs(30));
  EXPECT_EQ(Boards()[1], other);
}

TEST_F(FleetBoardsTest, ABoardThatWasSilentForAWhileComesBack) {
  Hold(1, /*silence_s=*/0.05);
  Lend("a");
  const Device board = Board();
  ASSERT_TRUE(Eventually([&] { return board->EndIfSilent(); }));
  EXPECT_TRUE(Eventually([&] {
    const std::vector<Device> boards = Boards();
    return !boards.empty() && boards[0] != board && !boards[0]->silent();
  }));
}

TEST_F(FleetBoardsTest, AnOfferWhoseAnswerWasLostIsTakenBack) {
  LendingNode& node = Lend("a");
  ASSERT_NE(Board(), nullptr);
  node.held = false;
  ASSERT_TRUE(Eventually(
      [&] { return node.lender->counts().lent == 0 && Entries("").empty(); }));
  node.registry.LoseNextAnswer();
  node.held = true;
  EXPECT_TRUE(Eventually([&] { return node.lender->counts().lent == 1; }));
  EXPECT_TRUE(Measure(Board(), 5).ok());
  EXPECT_THAT(Entries("offers/"), SizeIs(1));
}

TEST_F(FleetBoardsTest, OfTwoOffersOfADeviceTheNewerCounts) {
  v1::FleetOfferContent older;
  older.set_id("fedcba9876543210");
  *older.mutable_device() = DeviceFactsToProto(TestFleetDevice("GPU-a"));
  Write("another", OfferPlace(BoardsPrefix(key_, kProfileId), 6), older);
  const Device lost = Board();
  Lend("a");
  ASSERT_TRUE(Eventually([&] {
    const std::vector<Device> boards = Boards();
    return !boards.empty() && boards[0] != lost;
  }));
  EXPECT_THAT(Boards(), SizeIs(1));
  EXPECT_TRUE(Measure(Board(), 5).ok());
  EXPECT_EQ(Boards()[0]->lent_by(), "a");
}

TEST_F(FleetBoardsTest, WhatIsCancelledTooLateIsNotTheNextJobs) {
  LendingNode& node = Lend("a");
  const Device board = Board();
  const std::string boards = BoardsPrefix(key_, kProfileId);
  DeviceLease lease;
  const auto watch =
      watcher_.Watch(boards + "reports/", [&](const FleetNews& news) {
        for (const FleetNews::Entry& one : news.entries) {
          v1::FleetReportContent content;
          const auto read =
              ReadSignedContent("report", one.entry.key, one.entry.value);
          if (!read.ok() || !content.ParseFromString(read->content)) continue;
          for (const v1::AttachRequest& report : content.reports()) {
            if (!report.has_done()) continue;
            // The lender is about to hear that its report is there.
            lease = node.leases->TryTake(node.uuid, 3);
            v1::FleetBatchContent cancel;
            cancel.mutable_cancel()->set_batch_id(report.done().batch_id());
            Write("holder", BatchPlace(boards, OfferOf("a")), cancel);
          }
        }
      });
  ASSERT_TRUE(Measure(board, 3).ok());
  ASSERT_NE(lease, nullptr) << "the board is free when the batch has ended";
  EXPECT_EQ(node.board.cancels(), 0);
}

TEST_F(FleetBoardsTest, ABoardThatIsOfAnotherClassNowMeasuresNothing) {
  LendingNode& node = Lend("a");
  const Device board = Board();
  DeviceFacts facts = TestFleetDevice(node.uuid);
  facts.driver = "2";
  node.board.SetFacts(facts);
  const absl::Status status = Measure(board, 3);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("another class"));
  EXPECT_EQ(node.board.measured() + node.board.prepared(), 0);
}

}  // namespace
}  // namespace wavetune::testing
