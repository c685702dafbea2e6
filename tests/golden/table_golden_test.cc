// Fixed tables have the same payload and digest everywhere.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/digest.h"
#include "model/table/table_codec.h"
#include "tests/golden/golden_file.h"
#include "tests/golden/golden_tables.h"
#include "tests/lib/source_paths.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::testing {
namespace {

TEST(TableGoldenTest, TablesEncodeToTheCommittedPayloads) {
  ExpectGolden("tiny.table", EncodeTable(TinyTable()).value());
  for (const GoldenTable& golden : kGoldenTables) {
    ExpectGolden(golden.FileName(), EncodeTable(golden.Build()).value());
  }
}

TEST(TableGoldenTest, CommittedPayloadsDecodeAndEncodeToThemselves) {
  for (const GoldenTable& golden : kGoldenTables) {
    const std::string payload = ReadGolden(golden.FileName());
    const auto table = DecodeTable(payload);
    ASSERT_TRUE(table.ok()) << golden.name << ": " << table.status();
    EXPECT_EQ(*table, golden.Build()) << golden.name;
    EXPECT_EQ(EncodeTable(*table).value(), payload) << golden.name;
  }
}

TEST(TableGoldenTest, DigestsAreTheCommittedOnes) {
  std::string digests =
      "tiny " + Sha256Hex(EncodeTable(TinyTable()).value()) + "\n";
  for (const GoldenTable& golden : kGoldenTables) {
    digests += std::string(golden.name) + " " +
               Sha256Hex(EncodeTable(golden.Build()).value()) + "\n";
  }
  ExpectGolden("digests.txt", digests);
}

TEST(TableGoldenTest, TheDocumentedDumpIsOfTheTinyTable) {
  std::ifstream file(WAVETUNE_SOURCE_DIR "/docs/table_format.md");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string digest = Sha256Hex(EncodeTable(TinyTable()).value());
  EXPECT_NE(text.str().find("Its digest is `" + digest + "`"),
            std::string::npos)
      << "docs/table_format.md shows other bytes than those of " << digest;
}

}  // namespace
}  // namespace wavetune::testing
