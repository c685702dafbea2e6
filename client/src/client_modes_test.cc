// Where decisions come from: WAVETUNE_MODE, table files, pins, manifests.
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "client/src/fake_node.h"
#include "client/src/kernel_defaults.h"
#include "client/src/table_cache.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "tests/lib/export_tables.h"
#include "tests/lib/source_paths.h"
#include "tests/lib/tiny_table.h"
#include "wavetune/client.h"

namespace wavetune {
namespace {

using testing::AddKernelStatus;
using testing::FakeNode;
using ::testing::HasSubstr;
using testing::Serve;
using testing::TinyTable;
using testing::TwoGroupTable;

constexpr char kGemmManifest[] = WAVETUNE_SOURCE_DIR "/kernels/gemm_f32";

class ClientModesTest : public ::testing::Test {
 protected:
  ClientOptions Options(ClientMode mode) const {
    return {.endpoint = node_.endpoint(),
            .cache_dir = node_.cache_dir(),
            .mode = mode};
  }
  std::unique_ptr<Client> Connect(const ClientOptions& options) const {
    return Client::Connect(options).value();
  }
  std::unique_ptr<Client> Connect(ClientMode mode) const {
    return Connect(Options(mode));
  }
  // A file with the table's payload.
  std::string Write(const FetchedTable& table) const {
    std::string path = folder_.path() + "/" + table.info.digest() + ".table";
    std::ofstream(path, std::ios::binary) << table.payload;
    return path;
  }
  void Cache(const FetchedTable& table) const {
    ASSERT_TRUE(TableCache(node_.cache_dir()).Put(table).ok());
  }

  const FetchedTable table_ = Serve(TinyTable());
  testing::TemporaryFolder folder_;
  FakeNode node_;
};

TEST_F(ClientModesTest, EveryDecisionSaysWhereItsTableCameFrom) {
  ClientOptions options = Options(ClientMode::kAuto);
  options.table_file = Write(table_);
  node_.AddKernel(AddKernelStatus());
  const auto origin = [&] {
    return Connect(options)->GetTuner("add").value().Resolve({1000}).origin;
  };
  EXPECT_EQ(origin(), TableOrigin::kFile) << "better than a default";
  node_.Promote(table_);
  EXPECT_EQ(origin(), TableOrigin::kDaemon);
  node_.Stop();
  EXPECT_EQ(origin(), TableOrigin::kCache);
  options.cache_dir = "";
  EXPECT_EQ(origin(), TableOrigin::kFile);
  node_.Start();
  node_.Retire(table_.info.digest());
  options.table_file = "";
  EXPECT_EQ(origin(), TableOrigin::kDefaults);
}

TEST_F(ClientModesTest, KernelsAreTheDaemonsElseThoseOfLocalTables) {
  using ::testing::ElementsAre;
  node_.AddKernel(AddKernelStatus());
  v1::KernelStatus invalid = AddKernelStatus();
  invalid.mutable_spec()->set_name("broken");
  invalid.set_problem("no parameters");
  node_.AddKernel(invalid);
  const std::unique_ptr<Client> client = Connect(ClientMode::kAuto);
  EXPECT_THAT(client->endpoints(), ElementsAre(node_.endpoint()));
  EXPECT_THAT(client->GetKernels().value(), ElementsAre("add"));
  node_.Stop();
  EXPECT_TRUE(absl::IsUnavailable(client->GetKernels().status()));
  EXPECT_TRUE(Connect(ClientMode::kOffline)->GetKernels()->empty());
  Cache(table_);
  EXPECT_THAT(client->GetKernels().value(), ElementsAre("add"));
  ClientOptions options = Options(ClientMode::kOffline);
  options.cache_dir = "";
  options.table_file = Write(table_);
  EXPECT_THAT(Connect(options)->GetKernels().value(), ElementsAre("add"));
}

TEST_F(ClientModesTest, TheDaemonSaysWithWhichArgumentsAKernelIsMeasured) {
  v1::KernelStatus kernel = AddKernelStatus();
  v1::Argument& x = *kernel.mutable_spec()->add_arguments();
  x.set_name("x");
  x.set_role(v1::Argument::INOUT);
  x.set_type(v1::Argument::BFLOAT16);
  x.mutable_elements()->mutable_text()->set_text("n");
  node_.AddKernel(kernel);
  const auto client = Connect(ClientMode::kAuto);
  const auto arguments = client->GetArguments("add");
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_THAT(*arguments, ::testing::ElementsAre(KernelArgument{
                              "x", "in-out buffer", "bfloat16"}));
  EXPECT_TRUE(absl::IsNotFound(client->GetArguments("other").status()));
  node_.Stop();
  EXPECT_TRUE(absl::IsUnavailable(client->GetArguments("add").status()));
}

TEST_F(ClientModesTest, AManifestBesideATableFileSaysItsArguments) {
  ClientOptions options = Options(ClientMode::kOffline);
  options.table_file =
      WAVETUNE_SOURCE_DIR "/kernels/triton_gemm/tables/h100.table";
  const auto arguments = Connect(options)->GetArguments("triton_gemm");
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  ASSERT_FALSE(arguments->empty());
  EXPECT_EQ(arguments->front(), (KernelArgument{"a", "input", "bfloat16"}));
  EXPECT_EQ(arguments->back(), (KernelArgument{"k", "scalar", "int32"}));
  options.table_file = Write(table_);
  const absl::Status unknown = Connect(options)->GetArguments("add").status();
  EXPECT_TRUE(absl::IsNotFound(unknown)) << unknown;
}

TEST_F(ClientModesTest, AKernelsFolderSaysItsManifest) {
  const auto client = Connect(ClientMode::kOffline);
  const std::string folder = WAVETUNE_SOURCE_DIR "/kernels/triton_gemm";
  const auto spec = client->GetSpec(folder);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ((*spec)->name, "triton_gemm");
  EXPECT_EQ(client->GetArguments(folder)->size(), (*spec)->arguments.size());
  EXPECT_TRUE(absl::IsNotFound(client->GetSpec("./nowhere").status()));
}

TEST_F(ClientModesTest, CertificateFilesThatCannotBeReadLeaveWhatIsCached) {
  Cache(table_);
  for (const char* name :
       {"WAVETUNE_TLS_CERT", "WAVETUNE_TLS_KEY", "WAVETUNE_TLS_CA"}) {
    ::setenv(name, "/nowhere/x.pem", 1);
  }
  ClientOptions options = Options(ClientMode::kAuto);
  options.endpoint = "localhost:9477";
  const auto client = Client::Connect(options);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ((*client)->GetTuner("add").value().origin(), TableOrigin::kCache);
  EXPECT_THAT(std::string((*client)->GetTuner("other").status().message()),
              HasSubstr("/nowhere/x.pem"));
  // A mistake in the environment is one of whoever calls.
  ::unsetenv("WAVETUNE_TLS_KEY");
  EXPECT_TRUE(absl::IsInvalidArgument(Client::Connect(options).status()));
  ::unsetenv("WAVETUNE_TLS_CERT");
  ::unsetenv("WAVETUNE_TLS_CA");
}

TEST_F(ClientModesTest, WhatTheDaemonRetiredDoesNotComeBackFromTheCache) {
  Cache(table_);
  node_.AddKernel(AddKernelStatus());
  const Tuner tuner = Connect(ClientMode::kAuto)->GetTuner("add").value();
  EXPECT_EQ(tuner.origin(), TableOrigin::kDefaults);
}

TEST_F(ClientModesTest, ADamagedTableOfTheDaemonLeavesTheCachedOne) {
  Cache(table_);
  node_.Promote(table_);
  node_.Damage(table_.payload.substr(1));
  const auto client = Connect(ClientMode::kAuto);
  const Tuner tuner = client->GetTuner("add").value();
  EXPECT_EQ(tuner.origin(), TableOrigin::kCache);
  EXPECT_TRUE(absl::IsDataLoss(client->last_problem()));
}

TEST_F(ClientModesTest, ADamagedCacheFileNeverEndsTheChain) {
  const auto damage = [&](const FetchedTable& table) {
    std::ofstream(node_.cache_dir() + "/" + table.info.digest() + ".table")
        << "damaged";
  };
  node_.Stop();
  Cache(table_);
  damage(table_);
  ClientOptions options = Options(ClientMode::kAuto);
  TunerOptions with_manifest;
  with_manifest.manifest = kGemmManifest;
  FetchedTable gemm = Serve(TinyTable());
  gemm.info.set_kernel("gemm_f32");
  Cache(gemm);
  damage(gemm);
  options.watch = false;  // What it finds would be the last problem.
  const auto client = Connect(options);
  EXPECT_EQ(client->GetTuner("gemm_f32", with_manifest)->origin(),
            TableOrigin::kDefaults);
  EXPECT_THAT(std::string(client->last_problem().message()),
              HasSubstr("damaged"));
  options.table_file = Write(table_);
  EXPECT_EQ(Connect(options)->GetTuner("add")->origin(), TableOrigin::kFile);
}

TEST_F(ClientModesTest, WhereTheNewestCachedTableIsDamagedTheOneBeforeDecides) {
  node_.Stop();
  Table other_driver = TinyTable();
  other_driver.environment_key = "driver=2";
  FetchedTable newest = Serve(other_driver);
  newest.info.set_epoch(2);
  Cache(table_);
  Cache(newest);
  std::ofstream(node_.cache_dir() + "/" + newest.info.digest() + ".table")
      << "damaged";
  EXPECT_EQ(Connect(ClientMode::kAuto)->GetTuner("add")->digest(),
            table_.info.digest());
}

TEST_F(ClientModesTest, ADamagedTableOfTheDaemonLeavesTheManifestsDefault) {
  FetchedTable gemm = Serve(TinyTable());
  gemm.info.set_kernel("gemm_f32");
  node_.Promote(gemm);
  TunerOptions with_manifest;
  with_manifest.manifest = kGemmManifest;
  EXPECT_EQ(
      Connect(ClientMode::kAuto)->GetTuner("gemm_f32", with_manifest)->origin(),
      TableOrigin::kDefaults);
}

TEST_F(ClientModesTest, ACacheThatCannotBeWrittenIsSaidOnce) {
  node_.Promote(table_);
  ClientOptions options = Options(ClientMode::kAuto);
  options.cache_dir = "/proc/wavetune";
  const auto client = Connect(options);
  EXPECT_EQ(client->GetTuner("add")->origin(), TableOrigin::kDaemon);
  EXPECT_EQ(client->GetTuner("add")->origin(), TableOrigin::kDaemon);
  int said = 0;
  for (const ClientEvent& event : client->events()) {
    if (event.kind != ClientEvent::Kind::kCacheProblem) continue;
    ++said;
    EXPECT_THAT(std::string(event.reason.message()),
                HasSubstr("/proc/wavetune"));
  }
  EXPECT_EQ(said, 1);
}

TEST_F(ClientModesTest, OffKnowsTheDefaultOfATableThatWasWithdrawn) {
  node_.Stop();
  FetchedTable table = table_;
  (*table.info.mutable_default_faults())[""] = "does not compile";
  Cache(table);
  const auto reason = [&](ClientMode mode) {
    const absl::StatusOr<Tuner> tuner = Connect(mode)->GetTuner("add");
    EXPECT_TRUE(tuner.ok()) << tuner.status();
    return tuner.ok() ? tuner->Resolve({1000}).reason : DefaultReason::kNone;
  };
  EXPECT_EQ(reason(ClientMode::kOff), DefaultReason::kDefaultUnusable);
  ASSERT_TRUE(TableCache(node_.cache_dir())
                  .Withdraw(table.info.digest(), "it is wrong")
                  .ok());
  EXPECT_EQ(reason(ClientMode::kOff), DefaultReason::kDefaultUnusable);
  EXPECT_EQ(reason(ClientMode::kAuto), DefaultReason::kDefaultUnusable);
}

TEST_F(ClientModesTest, ReplayAsksNoDaemon) {
  node_.Promote(table_);
  const auto client = Connect(ClientMode::kOffline);
  const absl::Status nothing = client->GetTuner("add").status();
  EXPECT_TRUE(absl::IsNotFound(nothing)) << nothing;
  EXPECT_THAT(std::string(nothing.message()), HasSubstr(node_.cache_dir()));
  Cache(table_);
  const Tuner tuner = client->GetTuner("add").value();
  EXPECT_EQ(tuner.origin(), TableOrigin::kCache);
  EXPECT_EQ(tuner.activation(), ActivationPolicy::kPinned);
  EXPECT_EQ(node_.fetches(), 0);
  EXPECT_EQ(node_.watchers(), 0);
}

TEST_F(ClientModesTest, ReplayTakesATableFile) {
  ClientOptions options = Options(ClientMode::kOffline);
  options.table_file = Write(table_);
  EXPECT_EQ(Connect(options)->GetTuner("add")->digest(), table_.info.digest());
  const absl::Status other = Connect(options)->GetTuner("gemm").status();
  EXPECT_TRUE(absl::IsNotFound(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr(options.table_file));
}

TEST_F(ClientModesTest, SeveralFilesThatFitAreAChoiceToMake) {
  Table other = TinyTable();
  other.silicon_key = "backend=replay;mp=8";
  const FetchedTable second = Serve(other, "GPU-9");
  Write(table_);
  Write(second);
  ClientOptions options = Options(ClientMode::kOffline);
  options.table_file = folder_.path();
  const auto client = Connect(options);
  const absl::Status status = client->GetTuner("add").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("mp=8"));
  EXPECT_EQ(client->GetTuner("add", {.digest = second.info.digest()})->digest(),
            second.info.digest());
}

TEST_F(ClientModesTest, AFileForOtherSiliconThanTheDevicesIsRefused) {
  node_.AddKernel(AddKernelStatus());
  node_.AddDevice(
      {.uuid = "GPU-1", .backend = "cuda", .architecture = "sm_90"});
  ClientOptions options = Options(ClientMode::kAuto);
  options.table_file = Write(table_);
  const auto client = Connect(options);
  const auto tuner = client->GetTuner("add", {.device = "GPU-1"});
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  EXPECT_EQ(tuner->origin(), TableOrigin::kDefaults);
  EXPECT_THAT(std::string(client->last_problem().message()),
              HasSubstr("silicon"));
}

TEST_F(ClientModesTest, ADamagedTableFileIsNamedAtOnce) {
  ClientOptions options = Options(ClientMode::kAuto);
  FetchedTable damaged = table_;
  damaged.payload.pop_back();
  options.table_file = Write(damaged);
  const absl::Status status = Client::Connect(options).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("option table_file"));
}

TEST_F(ClientModesTest, OffAnswersTheDefaultWhateverThereIs) {
  node_.AddKernel(AddKernelStatus());
  const Tuner asked = Connect(ClientMode::kOff)->GetTuner("add").value();
  EXPECT_EQ(asked.Resolve({1000}).configuration, Configuration({128}));
  Cache(table_);
  const Tuner cached = Connect(ClientMode::kOff)->GetTuner("add").value();
  const Decision decision = cached.Resolve({1000});
  EXPECT_EQ(decision.configuration, Configuration({256}));
  EXPECT_EQ(decision.source, DecisionSource::kDefault);
  EXPECT_EQ(decision.origin, TableOrigin::kDefaults);
  EXPECT_EQ(cached.digest(), "");
  EXPECT_EQ(cached.activation(), ActivationPolicy::kPinned);
}

TEST_F(ClientModesTest, AManifestTellsTheDefaultWhereNothingElseDoes) {
  node_.Stop();
  for (const ClientMode mode :
       {ClientMode::kAuto, ClientMode::kOffline, ClientMode::kOff}) {
    const auto client = Connect(mode);
    const auto tuner =
        client->GetTuner("gemm_f32", {.manifest = kGemmManifest});
    ASSERT_TRUE(tuner.ok()) << tuner.status();
    EXPECT_EQ(tuner->Resolve({1, 1, 1}).origin, TableOrigin::kDefaults);
    EXPECT_EQ(tuner->dimensions().size(), 3U);
    EXPECT_TRUE(absl::IsInvalidArgument(
        client->GetTuner("add", {.manifest = kGemmManifest}).status()));
    EXPECT_FALSE(client->GetTuner("gemm_f32").ok());
  }
}

TEST_F(ClientModesTest, ATableThatTheManifestDoesNotAllowDecidesNothing) {
  node_.Stop();
  const KernelSpec spec = SpecOfManifest(kGemmManifest, "gemm_f32").value();
  Table table = testing::FavouringTable(spec, std::string(64, 'a'),
                                        {spec.default_configuration}, 0);
  ClientOptions options = Options(ClientMode::kAuto);
  options.watch = false;  // What it finds would be the last problem.
  options.table_file = Write(Serve(table));
  const TunerOptions with_manifest{.manifest = kGemmManifest};
  EXPECT_EQ(Connect(options)->GetTuner("gemm_f32", with_manifest)->origin(),
            TableOrigin::kFile);
  ++table.dimensions[0].max;
  options.table_file = Write(Serve(table));
  const auto client = Connect(options);
  EXPECT_EQ(client->GetTuner("gemm_f32", with_manifest)->origin(),
            TableOrigin::kDefaults);
  EXPECT_THAT(std::string(client->last_problem().message()),
              HasSubstr("the table answers m"));
  // Who has the file alone cannot tell.
  EXPECT_EQ(client->GetTuner("gemm_f32")->origin(), TableOrigin::kFile);
}

TEST_F(ClientModesTest, APinnedSetIsKeptTo) {
  const FetchedTable gemm = Serve(TwoGroupTable());
  node_.Promote(table_);
  node_.Promote(gemm);
  ClientOptions options = Options(ClientMode::kAuto);
  options.pin = "add=" + table_.info.digest();
  const auto client = Connect(options);
  const Tuner tuner = client->GetTuner("add").value();
  EXPECT_EQ(tuner.digest(), table_.info.digest());
  EXPECT_EQ(tuner.activation(), ActivationPolicy::kPinned);
  const absl::Status other = client->GetTuner("gemm").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr(options.pin));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      client->GetTuner("add", {.digest = gemm.info.digest()}).status()));
}

TEST_F(ClientModesTest, APinnedTableThatNobodyHasIsNeverReplaced) {
  node_.Promote(table_);
  ClientOptions options = Options(ClientMode::kAuto);
  options.pin = "add=" + std::string(64, 'a');
  EXPECT_TRUE(absl::IsNotFound(Connect(options)->GetTuner("add").status()));
}

TEST_F(ClientModesTest, ASetIsPinnedByItsDigestInReplay) {
  node_.Promote(table_);
  std::string digest;
  {
    const auto client = Connect(ClientMode::kAuto);
    const Tuner tuner = client->GetTuner("add").value();
    digest = client->PublishTableSet().value();
  }
  Table newer = TinyTable();
  newer.near_tie = 0.01;
  Cache(Serve(newer, "GPU-1", 2));  // Must not displace what is pinned.
  ClientOptions options = Options(ClientMode::kOffline);
  options.pin = digest;
  EXPECT_EQ(Connect(options)->GetTuner("add")->digest(), table_.info.digest());
  options.pin = std::string(64, 'a');
  EXPECT_TRUE(absl::IsNotFound(Client::Connect(options).status()));
}

}  // namespace
}  // namespace wavetune
