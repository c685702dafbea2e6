#include "wavetune/client.h"

#include <memory>
#include <string>

#include "client/src/fake_node.h"
#include "client/src/table_slot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/tiny_table.h"
#include "wavetune/tuner.h"

namespace wavetune {
namespace {

using testing::AddKernelStatus;
using testing::FakeNode;
using ::testing::HasSubstr;
using testing::Serve;
using testing::TemporaryFolder;
using testing::TinyTable;
using testing::TwoGroupTable;

std::string Text(const absl::Status& status) { return status.ToString(); }

class ClientTest : public ::testing::Test {
 protected:
  std::unique_ptr<Client> Connect() {
    return Client::Connect(
               {.endpoint = node_.endpoint(), .cache_dir = node_.cache_dir()})
        .value();
  }

  FakeNode node_;
};

TEST_F(ClientTest, DecidesWithATableOfTheDaemon) {
  node_.AddTable(Serve(TinyTable()));
  const auto tuner = Connect()->GetTuner("add");
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  EXPECT_EQ(tuner->origin(), TableOrigin::kDaemon);
  const Decision decision = tuner->Resolve({1000});
  EXPECT_EQ(decision.source, DecisionSource::kFitted);
  EXPECT_EQ(decision.configuration, Configuration({256}));
  EXPECT_EQ(decision.latency_us, 3);  // 2 + 0.25 * 4 tiles
  EXPECT_EQ(tuner->ParameterIndex("BLOCK"), 0);
  EXPECT_EQ(tuner->ParameterIndex("block"), -1);
  EXPECT_EQ(tuner->Value(decision, "BLOCK").value(), 256);
  const absl::Status unknown = tuner->Value(decision, "BLOK").status();
  EXPECT_TRUE(absl::IsNotFound(unknown)) << unknown;
  EXPECT_THAT(
      std::string(unknown.message()),
      HasSubstr("\"add\" has no parameter \"BLOK\"; did you mean BLOCK?"));
  EXPECT_EQ(tuner->configurations(),
            std::vector<Configuration>{Configuration({256})});
}

TEST_F(ClientTest, SaysWhichSiliconAndCompilerATableIsOfAlsoFromTheCache) {
  FetchedTable table = Serve(TinyTable());
  table.info.set_compiler("Triton 3.6.0");
  table.info.set_device_label("GPU of the test");
  node_.AddTable(table);
  const auto client = Connect();
  const auto tuner = client->GetTuner("add");
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  EXPECT_EQ(tuner->silicon_key(), TinyTable().silicon_key);
  EXPECT_EQ(tuner->compiler(), "Triton 3.6.0");

  const auto offline = Client::Connect(
      {.cache_dir = node_.cache_dir(), .mode = ClientMode::kOffline});
  ASSERT_TRUE(offline.ok()) << offline.status();
  const auto cached = (*offline)->GetTuner("add");
  ASSERT_TRUE(cached.ok()) << cached.status();
  EXPECT_EQ(cached->silicon_key(), TinyTable().silicon_key);
  EXPECT_EQ(cached->compiler(), "Triton 3.6.0");

  const auto found = (*offline)->FindTable("add", {});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)->device_label, "GPU of the test");
  EXPECT_EQ((*found)->compiler, "Triton 3.6.0");
  EXPECT_EQ((*found)->table->digest(), cached->digest());
}

TEST_F(ClientTest, SaysNeitherSiliconNorCompilerWithoutATable) {
  node_.AddKernel(AddKernelStatus());
  node_.AddDevice("GPU-1");
  const auto tuner = Connect()->GetTuner("add");
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  EXPECT_EQ(tuner->silicon_key(), "");
  EXPECT_EQ(tuner->compiler(), "");
}

TEST_F(ClientTest, AnIllegalProblemGetsTheDefault) {
  node_.AddTable(Serve(TinyTable()));
  const auto tuner = Connect()->GetTuner("add");
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  EXPECT_EQ(tuner->Resolve({0}).reason, DefaultReason::kExtentOutOfRange);
  EXPECT_EQ(tuner->Resolve({1, 2}).reason, DefaultReason::kWrongDimensionCount);
  EXPECT_EQ(tuner->Resolve({0}).configuration, Configuration({256}));
}

TEST_F(ClientTest, FallsBackToTheCacheWhenTheDaemonIsDown) {
  node_.AddTable(Serve(TinyTable()));
  ASSERT_TRUE(Connect()->GetTuner("add").ok());
  node_.Stop();
  const auto tuner = Connect()->GetTuner("add");
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  EXPECT_EQ(tuner->origin(), TableOrigin::kCache);
  EXPECT_EQ(tuner->Resolve({1000}).latency_us, 3);
}

TEST_F(ClientTest, FindsItsTableInTheCacheForAnotherDeviceOfTheClass) {
  node_.AddTable(Serve(TinyTable(), "GPU-1"));
  ASSERT_TRUE(Connect()->GetTuner("add", {.device = "GPU-2"}).ok());
  node_.Stop();
  EXPECT_TRUE(Connect()->GetTuner("add", {.device = "GPU-2"}).ok());
  const absl::Status other =
      Connect()->GetTuner("add", {.device = "GPU-3"}).status();
  EXPECT_TRUE(absl::IsUnavailable(other)) << other;
  EXPECT_THAT(Text(other), HasSubstr("GPU-3"));
}

TEST_F(ClientTest, SaysBothWhenTheDaemonIsDownAndNothingIsCached) {
  node_.Stop();
  const absl::Status status = Connect()->GetTuner("add").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(Text(status), HasSubstr(node_.endpoint()));
  EXPECT_THAT(Text(status), HasSubstr(node_.cache_dir()));
  EXPECT_THAT(Text(status), HasSubstr("WAVETUNE_ENDPOINT"));
}

TEST_F(ClientTest, ListsTheChoicesOfAnAmbiguousRequest) {
  Table other = TinyTable();
  other.silicon_key = "backend=replay;mp=8";
  node_.AddTable(Serve(TinyTable(), "GPU-1"));
  node_.AddTable(Serve(other, "GPU-9"));
  const absl::Status status = Connect()->GetTuner("add").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(Text(status), HasSubstr("GPU-9"));
  EXPECT_TRUE(Connect()->GetTuner("add", {.device = "GPU-9"}).ok());
  EXPECT_TRUE(Connect()->GetTuner("add", {.device = "GPU-1"}).ok());

  node_.Stop();  // The cache is as ambiguous.
  const absl::Status cached = Connect()->GetTuner("add").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(cached)) << cached;
  EXPECT_THAT(Text(cached), HasSubstr("GPU-1"));
  EXPECT_THAT(Text(cached), HasSubstr("GPU-9"));
}

TEST_F(ClientTest, TakesTheNewestCachedTableOfOneSilicon) {
  Table driver = TinyTable();
  driver.environment_key += ";driver=2";
  Table edited = TinyTable();
  edited.fingerprint = std::string(64, '9');
  const TableCache cache(node_.cache_dir());
  ASSERT_TRUE(cache.Put(Serve(edited, "GPU-1", 2), "GPU-1").ok());
  ASSERT_TRUE(cache.Put(Serve(driver, "GPU-1", 3), "GPU-1").ok());
  ASSERT_TRUE(cache.Put(Serve(TinyTable(), "GPU-1", 1), "GPU-1").ok());
  node_.Stop();
  for (const std::string device : {"", "GPU-1"}) {
    const auto tuner = Connect()->GetTuner("add", {.device = device});
    ASSERT_TRUE(tuner.ok()) << tuner.status();
    EXPECT_EQ(tuner->digest(), Serve(driver).info.digest());
  }
  const auto pinned =
      Connect()->GetTuner("add", {.fingerprint = edited.fingerprint});
  ASSERT_TRUE(pinned.ok()) << pinned.status();
  EXPECT_EQ(pinned->digest(), Serve(edited).info.digest());
}

TEST_F(ClientTest, ListsTheSpecialisationsWhenOneIsUnknown) {
  node_.AddTable(Serve(TinyTable()));
  const absl::Status status =
      Connect()->GetTuner("add", {.specialisation = "causal"}).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(Text(status), HasSubstr("causal"));
  EXPECT_THAT(Text(status), HasSubstr("it has: \"\""));
}

TEST_F(ClientTest, AnswersDefaultsForAKernelWithoutATable) {
  node_.AddKernel(AddKernelStatus());
  const auto tuner = Connect()->GetTuner("add");
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  EXPECT_EQ(tuner->origin(), TableOrigin::kDefaults);
  EXPECT_EQ(tuner->digest(), "");
  const Decision decision = tuner->Resolve({1000});
  EXPECT_EQ(decision.source, DecisionSource::kDefault);
  EXPECT_EQ(decision.reason, DefaultReason::kNoTable);
  EXPECT_EQ(decision.configuration, Configuration({128}));
  EXPECT_TRUE(tuner->Explain({1000}).empty());
  EXPECT_EQ(tuner->configurations(),
            std::vector<Configuration>{Configuration({128})});
}

// AddKernel for CUDA, whose default is meant for compute capability 9.0 only:
// 128 * 9.0 <= BLOCK * compute capability.
v1::KernelStatus HopperKernel() {
  v1::KernelStatus status = AddKernelStatus();
  v1::Implementation& cuda = *status.mutable_spec()->mutable_implementations(0);
  cuda.set_backend("cuda");
  cuda.add_device_predicates()->mutable_text()->set_text(
      "128 * 90 <= BLOCK * compute_capability");
  return status;
}

DeviceFacts Gpu(const std::string& architecture) {
  return {
      .uuid = architecture, .backend = "cuda", .architecture = architecture};
}

TEST_F(ClientTest, AnswersTheDefaultThatIsMeantForTheDevice) {
  node_.AddKernel(HopperKernel());
  const auto resolve = [this](const std::string& device) {
    const auto tuner = Connect()->GetTuner("add", {.device = device});
    EXPECT_TRUE(tuner.ok()) << tuner.status();
    return tuner.ok() ? tuner->Resolve({1000}).configuration : Configuration();
  };
  EXPECT_EQ(resolve(""), Configuration({128}));  // No device is known.
  node_.AddDevice(Gpu("sm_80"));
  EXPECT_EQ(resolve(""), Configuration({256}));
  node_.AddDevice(Gpu("sm_90"));
  EXPECT_EQ(resolve("sm_80"), Configuration({256}));
  EXPECT_EQ(resolve("sm_90"), Configuration({128}));
  // Both are possible now.
  const absl::Status status = Connect()->GetTuner("add").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(Text(status), HasSubstr("say which device is meant"));
}

TEST_F(ClientTest, NamesTheKernelsThereAreWhenOneIsUnknown) {
  node_.AddKernel(AddKernelStatus());
  const absl::Status status = Connect()->GetTuner("ad").status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(Text(status), HasSubstr("it has: add"));
}

TEST_F(ClientTest, AMisspeltDeviceIsAnErrorNotADefault) {
  node_.AddKernel(AddKernelStatus());
  node_.AddDevice("GPU-1");
  EXPECT_TRUE(Connect()->GetTuner("add", {.device = "GPU-1"}).ok());
  const absl::Status status =
      Connect()->GetTuner("add", {.device = "GPU-7"}).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(Text(status), HasSubstr("GPU-1"));
}

TEST_F(ClientTest, APinnedDigestIsTakenAndKept) {
  const FetchedTable table = Serve(TinyTable());
  node_.AddTable(table);
  const std::string digest = table.info.digest();
  const auto tuner = Connect()->GetTuner("add", {.digest = digest});
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  EXPECT_EQ(tuner->digest(), digest);
  node_.Stop();
  const auto cached = Connect()->GetTuner("add", {.digest = digest});
  ASSERT_TRUE(cached.ok()) << cached.status();
  EXPECT_EQ(cached->digest(), digest);
}

TEST_F(ClientTest, APinnedDigestOfAnotherKernelIsRefused) {
  const FetchedTable table = Serve(TinyTable());
  node_.AddTable(table);
  const auto ask = [&] {
    return Connect()
        ->GetTuner("gemm", {.digest = table.info.digest()})
        .status();
  };
  EXPECT_TRUE(absl::IsNotFound(ask())) << ask();
  EXPECT_THAT(Text(ask()), HasSubstr("is for kernel \"add\""));
  // And so it is while only the cache can answer.
  ASSERT_TRUE(Connect()->GetTuner("add").ok());
  node_.Stop();
  EXPECT_FALSE(ask().ok());
  EXPECT_THAT(Text(ask()), HasSubstr("is for kernel \"add\""));
}

TEST_F(ClientTest, APinnedDigestThatTheDaemonForgotComesFromTheCache) {
  const FetchedTable table = Serve(TinyTable());
  ASSERT_TRUE(TableCache(node_.cache_dir()).Put(table).ok());
  const auto tuner =
      Connect()->GetTuner("add", {.digest = table.info.digest()});
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  EXPECT_EQ(tuner->origin(), TableOrigin::kCache);
}

TEST_F(ClientTest, AnUnknownPinIsNeverReplacedByDefaults) {
  node_.AddKernel(AddKernelStatus());
  EXPECT_TRUE(absl::IsNotFound(
      Connect()->GetTuner("add", {.digest = std::string(64, 'a')}).status()));
}

TEST_F(ClientTest, RefusesADamagedTable) {
  node_.AddTable(Serve(TinyTable()));
  node_.Damage(Serve(TwoGroupTable()).payload);
  const absl::Status status = Connect()->GetTuner("add").status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  node_.Damage("nonsense");
  EXPECT_FALSE(Connect()->GetTuner("add").ok());
}

TEST_F(ClientTest, RefusesAFingerprintThatIsTooShort) {
  const absl::Status status =
      Connect()->GetTuner("add", {.fingerprint = "00"}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

TEST_F(ClientTest, RefusesATimeoutThatMakesNoSense) {
  for (double timeout_s : {0.0, -1.0, 1e9}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        Client::Connect({.endpoint = node_.endpoint(), .timeout_s = timeout_s})
            .status()));
  }
}

TEST_F(ClientTest, MarksAStaleTable) {
  FetchedTable table = Serve(TinyTable());
  table.info.set_stale(true);
  table.info.set_stale_reason("driver \"1\", now \"2\"");
  node_.AddTable(table);
  const auto tuner = Connect()->GetTuner("add");
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  EXPECT_TRUE(tuner->stale());
  EXPECT_EQ(tuner->stale_reason(), "driver \"1\", now \"2\"");
  EXPECT_EQ(tuner->Resolve({1000}).source, DecisionSource::kStale);
}

TEST_F(ClientTest, ATunerOutlivesItsClientAndDoesNoMoreCalls) {
  node_.AddTable(Serve(TwoGroupTable()));
  auto client = Connect();
  const Tuner tuner = client->GetTuner("gemm").value();
  client.reset();
  const int fetches = node_.fetches();
  for (int64_t m = 1; m < 100; ++m) tuner.Resolve({m, 64, 64});
  EXPECT_EQ(node_.fetches(), fetches);
  EXPECT_EQ(tuner.Explain({64, 64, 64}).size(), 2u);
}

}  // namespace
}  // namespace wavetune
