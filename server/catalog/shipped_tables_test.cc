#include "server/catalog/shipped_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "server/catalog/catalog_fixture.h"
#include "server/catalog/table_staleness.h"
#include "server/test_folder.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Kernel "copy" in a folder, and a device of each class.
class ShippedTablesTest : public CatalogFixture {
 protected:
  void SetUp() override {
    folder_.WriteKernel("copy");
    kernels_.Reload();
    See(device_);
  }

  static DeviceFacts Cpu(const std::string& driver) {
    return {.uuid = "CPU-1",
            .label = "a CPU",
            .backend = "opencl",
            .multiprocessors = 4,
            .driver = driver,
            .compiler = "PoCL 3.1"};
  }
  ProfileKey KeyOn(const DeviceFacts& device) {
    return {"copy", *kernels_.Fingerprint("copy", device), SiliconKey(device),
            EnvironmentKey(device)};
  }
  Table TableOf(const ProfileKey& key, double latency_us) {
    const KernelSpec& spec = **kernels_.Spec("copy");
    return FixedTable(spec, key, spec.default_configuration, latency_us);
  }
  void WriteShipped(const std::string& file, const Table& table) {
    folder_.Write("kernels/copy/tables/" + file, *EncodeTable(table));
    kernels_.Refresh();
  }
  TableRecord Profile(const ProfileKey& key, double latency_us) {
    return Promote(**kernels_.Spec("copy"), key, latency_us);
  }

  const TestFolder folder_;
  const DeviceFacts device_ = Cpu("1");
  DiskKernelCatalog kernels_{{folder_ / "kernels"}};
  TableAdmission admission_{&devices_, &kernels_, &samples_, &clock_};
  std::vector<std::string> warnings_;
  std::vector<EventRecord> refused_;
  ShippedTables shipped_{
      {.tables = &tables_,
       .devices = &devices_,
       .kernels = &kernels_,
       .admission = &admission_,
       .warn = [this](const std::string& w) { warnings_.push_back(w); },
       .refused = [this](const EventRecord& e) { refused_.push_back(e); }}};
};

TEST_F(ShippedTablesTest, WhatLiesBesideItsKernelServesAsStale) {
  WriteShipped("cpu.table", TableOf(KeyOn(device_), 10));
  folder_.Write("kernels/copy/tables/README.md", "measured on a CPU");
  shipped_.Look();
  ASSERT_THAT(Serving(), SizeIs(1));
  const TableRecord table = Serving()[0];
  EXPECT_EQ(table.how, PromotionKind::kShipped);
  EXPECT_EQ(table.by, kDaemonUser);
  EXPECT_EQ(table.why, "tables/cpu.table");
  EXPECT_EQ(table.device_label, "a CPU");
  EXPECT_EQ(StaleReason(table, device_, kernels_),
            "shipped with the kernel, not verified here");
  ASSERT_THAT(*tables_.History("copy", SiliconKey(device_)), SizeIs(1));
  shipped_.Look();
  EXPECT_THAT(*tables_.History("copy", SiliconKey(device_)), SizeIs(1));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ShippedTablesTest, WaitsForADeviceOfItsSilicon) {
  DeviceFacts larger = Cpu("1");
  larger.uuid = "CPU-2";
  larger.multiprocessors = 8;
  WriteShipped("larger.table", TableOf(KeyOn(larger), 10));
  shipped_.Look();
  EXPECT_THAT(Serving(), IsEmpty());
  See(larger);
  shipped_.Look();
  EXPECT_THAT(Serving(), SizeIs(1));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ShippedTablesTest, NeverTakesThePlaceOfWhatSomebodyChoseOrVerified) {
  const TableRecord profiled = Profile(KeyOn(Cpu("0")), 11);
  WriteShipped("cpu.table", TableOf(KeyOn(device_), 10));
  shipped_.Look();
  EXPECT_THAT(Serving(), ElementsAre(profiled));
  // Without it nothing serves.
  ASSERT_TRUE(tables_.Retire(profiled.key).ok());
  shipped_.Look();
  ASSERT_THAT(Serving(), SizeIs(1));
  EXPECT_EQ(Serving()[0].how, PromotionKind::kShipped);
  // What is profiled takes its place, and a newer shipped one not that one's.
  const TableRecord better = Profile(KeyOn(device_), 9);
  WriteShipped("cpu.table", TableOf(KeyOn(device_), 8));
  shipped_.Look();
  EXPECT_THAT(Serving(), ElementsAre(better));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ShippedTablesTest, AnUpgradeReplacesAnOlderShippedTable) {
  WriteShipped("cpu.table", TableOf(KeyOn(Cpu("0")), 10));
  shipped_.Look();
  ASSERT_THAT(Serving(), SizeIs(1));
  const TableRecord old = Serving()[0];
  WriteShipped("cpu.table", TableOf(KeyOn(device_), 9));
  shipped_.Look();
  ASSERT_THAT(Serving(), SizeIs(1));
  EXPECT_EQ(Serving()[0].key, KeyOn(device_));
  EXPECT_NE(Serving()[0].digest, old.digest);
  EXPECT_THAT(*tables_.History("copy", SiliconKey(device_)), SizeIs(2));
  // What an operator went back to stays.
  ASSERT_TRUE(tables_.RollBack(old, "1000", "was better", 1).ok());
  WriteShipped("cpu.table", TableOf(KeyOn(device_), 8));
  shipped_.Look();
  ASSERT_THAT(Serving(), SizeIs(1));
  EXPECT_EQ(Serving()[0].digest, old.digest);
}

TEST_F(ShippedTablesTest, WhatWasRetiredDoesNotComeBack) {
  WriteShipped("cpu.table", TableOf(KeyOn(device_), 10));
  shipped_.Look();
  ASSERT_THAT(Serving(), SizeIs(1));
  ASSERT_TRUE(tables_.RetireByDigest(Serving()[0].digest, "1000", "slow").ok());
  shipped_.Look();
  kernels_.Reload();
  shipped_.Look();
  EXPECT_THAT(Serving(), IsEmpty());
  // Nor after a restart.
  TableCatalog again(&store_, [](const std::string&) {});
  ASSERT_TRUE(again.Load().ok());
  ShippedTables({.tables = &again,
                 .devices = &devices_,
                 .kernels = &kernels_,
                 .admission = &admission_})
      .Look();
  EXPECT_THAT(again.snapshot()->tables, IsEmpty());
}

TEST_F(ShippedTablesTest, APinKeepsItAway) {
  WriteShipped("cpu.table", TableOf(KeyOn(device_), 10));
  shipped_.Look();
  const TableRecord old = Serving().at(0);
  ASSERT_TRUE(tables_
                  .Pin({.kernel = "copy",
                        .silicon_key = SiliconKey(device_),
                        .by = "1000"})
                  .ok());
  WriteShipped("cpu.table", TableOf(KeyOn(device_), 9));
  shipped_.Look();
  EXPECT_THAT(Serving(), ElementsAre(old));
  ASSERT_TRUE(tables_.Unpin("copy", SiliconKey(device_)).ok());
  shipped_.Look();
  ASSERT_THAT(Serving(), SizeIs(1));
  EXPECT_NE(Serving()[0].digest, old.digest);
}

TEST_F(ShippedTablesTest, OfSeveralTheOneOfTheCompilerHereServes) {
  DeviceFacts other = device_;
  other.compiler = "PoCL 5.0";
  WriteShipped("a.table", TableOf(KeyOn(other), 10));
  WriteShipped("b.table", TableOf(KeyOn(device_), 10));
  shipped_.Look();
  ASSERT_THAT(Serving(), SizeIs(1));
  EXPECT_EQ(Serving()[0].why, "tables/b.table");
}

TEST_F(ShippedTablesTest, ABadFileIsOneWarning) {
  folder_.Write("kernels/copy/tables/bad.table", "nonsense");
  Table foreign = TableOf(KeyOn(device_), 10);
  foreign.kernel = "other";
  WriteShipped("foreign.table", foreign);
  Table edited = TableOf(KeyOn(device_), 10);
  edited.parameters[0] += "_old";
  WriteShipped("old.table", edited);
  Table wider = TableOf(KeyOn(device_), 10);
  wider.dimensions[0].max = kExpressionLimit;
  WriteShipped("wider.table", wider);
  WriteShipped("open.table", TableOf(KeyOn(device_), 10));
  std::filesystem::permissions(folder_ / "kernels/copy/tables/open.table",
                               std::filesystem::perms(0666));
  kernels_.Refresh();
  shipped_.Look();
  EXPECT_THAT(Serving(), IsEmpty());
  EXPECT_THAT(
      warnings_,
      ElementsAre(
          AllOf(HasSubstr("tables/bad.table"), HasSubstr("is no table")),
          AllOf(HasSubstr("foreign.table"), HasSubstr("of kernel other")),
          AllOf(HasSubstr("old.table"), HasSubstr("another version")),
          AllOf(HasSubstr("open.table"), HasSubstr("can be written by")),
          AllOf(HasSubstr("wider.table"), HasSubstr("the table answers n"))));
  kernels_.Reload();
  shipped_.Look();
  EXPECT_THAT(warnings_, SizeIs(5));
  EXPECT_THAT(kernels_.Names(), ElementsAre("copy"));
  // Mended, it serves.
  std::filesystem::permissions(folder_ / "kernels/copy/tables/open.table",
                               std::filesystem::perms(0644));
  kernels_.Refresh();
  shipped_.Look();
  EXPECT_THAT(Serving(), SizeIs(1));
}

TEST_F(ShippedTablesTest, WhatSamplesHereShowWrongDoesNotServe) {
  WriteShipped("cpu.table", TableOf(KeyOn(device_), 10));
  CandidateRecord wrong;
  wrong.candidate.configuration =
      (*kernels_.Spec("copy"))->default_configuration;
  wrong.candidate.excluded_reason = "wrong result: output 'out' at n=1";
  ASSERT_TRUE(
      samples_
          .Append(KeyOn(device_), 1, {}, std::vector<CandidateRecord>{wrong})
          .ok());
  shipped_.Look();
  kernels_.Reload();
  shipped_.Look();
  EXPECT_THAT(Serving(), IsEmpty());
  ASSERT_THAT(refused_, SizeIs(1));
  EXPECT_EQ(refused_[0].kind, EventKind::kRefused);
  EXPECT_TRUE(refused_[0].warning);
  EXPECT_EQ(refused_[0].kernel, "copy");
  EXPECT_THAT(refused_[0].text,
              AllOf(HasSubstr("tables/cpu.table"), HasSubstr("wrong results")));
}

TEST_F(ShippedTablesTest, AFullDiskPutsItOff) {
  WriteShipped("cpu.table", TableOf(KeyOn(device_), 10));
  store_.writes().Fail(absl::ResourceExhaustedError("disk full"));
  shipped_.Look();
  shipped_.Look();
  EXPECT_THAT(Serving(), IsEmpty());
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("disk full")));
  store_.writes().Heal();
  shipped_.Look();
  EXPECT_THAT(Serving(), SizeIs(1));
}

}  // namespace
}  // namespace wavetune
