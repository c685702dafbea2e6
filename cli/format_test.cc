#include "cli/format.h"

#include <cmath>
#include <sstream>
#include <string>

#include "cli/json.h"
#include "cli/statistics.h"
#include "cli/text_table.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"
#include "proto/wavetune/v1/kernel.pb.h"
#include "proto/wavetune/v1/types.pb.h"

namespace wavetune::cli {
namespace {

TEST(FormatTest, WritesTimesInReadableUnits) {
  EXPECT_EQ(FormatMicroseconds(1.234), "1.23 us");
  EXPECT_EQ(FormatMicroseconds(123.4), "123.4 us");
  EXPECT_EQ(FormatMicroseconds(1234), "1.23 ms");
  EXPECT_EQ(FormatMicroseconds(2.5e6), "2.50 s");
  EXPECT_EQ(FormatMicroseconds(std::nan("")), "-");
  EXPECT_EQ(FormatSeconds(8.4), "8 s");
  EXPECT_EQ(FormatSeconds(125), "2 min 05 s");
  EXPECT_EQ(FormatSeconds(7380), "2 h 03 min");
  EXPECT_EQ(FormatSeconds(-1), "unknown");
  EXPECT_EQ(FormatSeconds(1e300), "unknown");
}

TEST(FormatTest, WritesBytesInBinaryUnits) {
  EXPECT_EQ(FormatBytes(512), "512 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(int64_t{2} << 30), "2.0 GiB");
}

TEST(FormatTest, WritesProblemsAsTheyAreGivenOnTheCommandLine) {
  const KernelSpec grouped = wavetune::testing::GroupedGemmSpec();
  EXPECT_EQ(FormatProblem(grouped.dimensions,
                          {.extents = {0, 64, 32}, .repeated = {1, 2, 3}}),
            "m=1,2,3 n=64 k=32");
  EXPECT_EQ(FormatProblem(wavetune::testing::GemmSpec().dimensions,
                          {.extents = {1, 2, 3}, .specialisation = "causal"}),
            "m=1 n=2 k=3 specialisation=causal");
}

TEST(StatisticsTest, QuantilesInterpolateAsNumpyDoes) {
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 3, 2}, 0.05), 1.15);
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({7}, 0.05), 7);
  EXPECT_DOUBLE_EQ(Quantile({1, 2}, 1), 2);
  EXPECT_EQ(Quantile({}, 0.5), 0);
}

TEST(StatisticsTest, TheGeometricMeanOfReciprocalsIsOne) {
  EXPECT_DOUBLE_EQ(GeometricMean({0.5, 2}), 1);
  EXPECT_EQ(GeometricMean({}), 0);
}

TEST(TextTableTest, AlignsColumns) {
  TextTable table({"NAME", "SIZE", "LAST"});
  table.AddRow({"a", "1", "x"});
  table.AddRow({"longer", "100"});
  std::ostringstream out;
  Output output(&out);
  table.Print(output);
  EXPECT_EQ(out.str(),
            "NAME    SIZE  LAST\n"
            "a          1  x\n"
            "longer   100\n");
}

TEST(TextTableTest, SaysWhatAnEmptyTableMeans) {
  std::ostringstream out;
  Output output(&out);
  TextTable({"NAME"}).Print(output, "no devices");
  EXPECT_EQ(out.str(), "no devices\n");
}

TEST(JsonTest, WritesWideNumbersAsNumbersAndEnumsByName) {
  v1::JobInfo job;
  job.set_id(uint64_t{1} << 60);
  job.set_state(v1::RUNNING);
  job.add_excluded()->set_reason("hangs");
  const Json json = ToJson(job);
  EXPECT_EQ(json["id"].get<uint64_t>(), uint64_t{1} << 60);
  EXPECT_EQ(json["state"], "RUNNING");
  EXPECT_EQ(json["excluded"][0]["reason"], "hangs");
  EXPECT_EQ(json["samples"], 0);  // Defaults are there.
}

TEST(JsonTest, WritesMapsAsObjects) {
  v1::KernelSpec spec;
  (*spec.mutable_default_configuration())["BLOCK"] = 64;
  EXPECT_EQ(ToJson(spec)["default_configuration"]["BLOCK"], 64);
}

TEST(JsonTest, BytesThatAreNoTextDoNotStopIt) {
  std::ostringstream out;
  Output output(&out);
  PrintJson(output, Json{{"label", "\xff"}});
  EXPECT_NE(out.str().find("label"), std::string::npos);
}

TEST(JsonTest, WritesProblemsAndConfigurationsByName) {
  const KernelSpec spec = wavetune::testing::GroupedGemmSpec();
  EXPECT_EQ(ToJson(spec.dimensions,
                   Problem{.extents = {0, 64, 32}, .repeated = {1, 2}})
                .dump(),
            R"({"m":[1,2],"n":64,"k":32})");
  EXPECT_EQ(ToJson({"A", "B"}, Configuration({1, 2})).dump(),
            R"({"A":1,"B":2})");
}

}  // namespace
}  // namespace wavetune::cli
