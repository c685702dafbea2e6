#include "model/table/table_codec.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/table/byte_io.h"
#include "model/table/table_codec_records.h"
#include "tests/lib/lcg.h"
#include "tests/lib/random_table.h"
#include "tests/lib/tiny_table.h"

namespace wavetune {
namespace {

using testing::Lcg;
using testing::RandomLargeTable;
using testing::RandomTable;
using testing::TinyTable;

// Places in a payload: see docs/table_format.md.
constexpr size_t kMajorAt = 8;
constexpr size_t kMinorAt = 10;
constexpr size_t kCountAt = 12;
constexpr size_t kEntriesAt = 16;
constexpr size_t kEntryBytes = 12;

std::string Payload() { return EncodeTable(TinyTable()).value(); }

std::string U32(uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) {
    bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
  return bytes;
}

// Returns the payload with one more section after its three.
std::string WithSection(uint32_t id, uint32_t flags, const std::string& body) {
  std::string payload = Payload();
  payload[kCountAt] = 4;
  payload.insert(
      kEntriesAt + 3 * kEntryBytes,
      U32(id) + U32(flags) + U32(static_cast<uint32_t>(body.size())));
  return payload + body;
}

TEST(TableCodecTest, RoundTripsRandomTables) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Lcg random(seed);
    const Table table = RandomTable(random);
    const auto payload = EncodeTable(table);
    ASSERT_TRUE(payload.ok()) << seed << ": " << payload.status();
    const auto decoded = DecodeTable(*payload);
    ASSERT_TRUE(decoded.ok()) << seed << ": " << decoded.status();
    ASSERT_EQ(*decoded, table) << seed;
    ASSERT_EQ(EncodeTable(*decoded).value(), *payload) << seed;
  }
}

TEST(TableCodecTest, RefusesEveryTruncation) {
  const std::string payload = Payload();
  for (size_t size = 0; size < payload.size(); ++size) {
    const auto table = DecodeTable(payload.substr(0, size));
    ASSERT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument)
        << size;
  }
}

TEST(TableCodecTest, BitFlipsGiveAnErrorOrAnotherCanonicalTable) {
  const std::string payload = Payload();
  int accepted = 0;
  for (size_t bit = 0; bit < payload.size() * 8; ++bit) {
    std::string flipped = payload;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const auto table = DecodeTable(flipped);
    if (!table.ok()) continue;
    ++accepted;
    const std::string again = EncodeTable(*table).value();
    if (bit / 8 == kMinorAt || bit / 8 == kMinorAt + 1) {
      ASSERT_EQ(again, payload);  // A later minor version of the same table.
    } else {
      ASSERT_NE(*table, TinyTable()) << bit;
      ASSERT_EQ(again, flipped) << bit;
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST(TableCodecTest, RefusesTrailingBytes) {
  EXPECT_EQ(DecodeTable(Payload() + '\0').status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TableCodecTest, RefusesTrailingBytesInASection) {
  std::string payload = Payload() + '\0';
  ++payload[kEntriesAt + 2 * kEntryBytes + 8];
  EXPECT_EQ(DecodeTable(payload).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TableCodecTest, RefusesAnythingWithoutTheMagic) {
  std::string payload = Payload();
  payload[0] = 'x';
  EXPECT_TRUE(absl::StrContains(DecodeTable(payload).status().message(),
                                "not a table payload"));
}

TEST(TableCodecTest, RefusesAFutureMajorVersionAndSaysWhatToDo) {
  std::string payload = Payload();
  payload[kMajorAt] = 2;
  const absl::Status status = DecodeTable(payload).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(absl::StrContains(status.message(), "upgrade")) << status;
  payload[kMajorAt] = 0;
  EXPECT_EQ(DecodeTable(payload).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TableCodecTest, ReadsAFutureMinorVersion) {
  std::string payload = Payload();
  payload[kMinorAt] = 9;
  EXPECT_EQ(DecodeTable(payload).value(), TinyTable());
}

TEST(TableCodecTest, SkipsAnUnknownSectionThatIsNotCritical) {
  EXPECT_EQ(DecodeTable(WithSection(77, 0, "news")).value(), TinyTable());
}

TEST(TableCodecTest, RefusesAnUnknownCriticalSectionAndSaysWhatToDo) {
  const absl::Status status = DecodeTable(WithSection(77, 1, "news")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(absl::StrContains(status.message(), "upgrade")) << status;
}

TEST(TableCodecTest, RefusesSectionsTwiceOutOfOrderMissingOrWithUnknownFlags) {
  EXPECT_FALSE(DecodeTable(WithSection(3, 1, "")).ok());
  EXPECT_FALSE(DecodeTable(WithSection(77, 2, "")).ok());
  std::string missing = Payload();
  missing[kEntriesAt + 2 * kEntryBytes] = 4;      // Section 3 becomes 4,
  missing[kEntriesAt + 2 * kEntryBytes + 4] = 0;  // not critical.
  EXPECT_EQ(DecodeTable(missing).status().code(),
            absl::StatusCode::kInvalidArgument);
  std::string optional = Payload();
  optional[kEntriesAt + 4] = 0;
  EXPECT_FALSE(DecodeTable(optional).ok());
}

// Returns the tiny table with another form; its payload has a fifth section.
Table Overlapping() {
  Table table = TinyTable();
  table.sub_tables[0].form = WaveForm::kOverlap;
  table.sub_tables[0].groups[0].models[0].segments[0].coefficients.alpha_row =
      0.125;
  return table;
}

TEST(TableCodecTest, OnlyTablesWithAFormThatIsNoSumHaveTheirSection) {
  EXPECT_EQ(Payload()[kCountAt], 3);
  EXPECT_EQ(Payload()[kMinorAt], 0);
  const std::string payload = EncodeTable(Overlapping()).value();
  EXPECT_EQ(payload[kCountAt], 4);
  EXPECT_EQ(payload[kMinorAt], 2);
  EXPECT_EQ(DecodeTable(payload).value(), Overlapping());
}

TEST(TableCodecTest, RefusesFormsInTheVersionBeforeThemAndTheirVersionWithout) {
  std::string payload = EncodeTable(Overlapping()).value();
  payload[kMinorAt] = 0;
  EXPECT_EQ(DecodeTable(payload).status().code(),
            absl::StatusCode::kInvalidArgument);
  payload = Payload();
  payload[kMinorAt] = 2;
  EXPECT_EQ(DecodeTable(payload).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TableCodecTest, RefusesUnknownFormsAndAllSums) {
  const std::string good = EncodeTable(Overlapping()).value();
  const Table table = Overlapping();
  const SubTable& sub = table.sub_tables[0];
  const size_t segments =
      sub.groups.size() * sub.row_regimes.size() * sub.max_waves.size();
  const size_t form_at = good.size() - segments * sizeof(double) - 1;
  ASSERT_EQ(good[form_at], static_cast<char>(WaveForm::kOverlap));
  for (const char form : {char{0}, char{1}, char{2}, char{4}}) {
    std::string payload = good;
    payload[form_at] = form;
    const absl::Status status = DecodeTable(payload).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(),
                                  form == 1 ? "all sums" : "does not have"))
        << status;
  }
}

TEST(TableCodecTest, ASectionThatIsUnknownMayStandBeforeTheForms) {
  std::string payload = EncodeTable(Overlapping()).value();
  payload[kCountAt] = 5;
  // Section 4, not critical, no bytes; the header has 12 for each section.
  payload.insert(kCountAt + 4 + 3 * size_t{12},
                 std::string("\4\0\0\0\0\0\0\0\0\0\0\0", 12));
  EXPECT_EQ(DecodeTable(payload).value(), Overlapping());
  payload[kMinorAt] = 0;
  EXPECT_EQ(DecodeTable(payload).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TableCodecTest, SaysWhatToDoWithTheFormsOfVersion11) {
  std::string payload = EncodeTable(Overlapping()).value();
  payload[kMinorAt] = 1;
  const absl::Status status = DecodeTable(payload).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(absl::StrContains(status.message(), "reprofile")) << status;
}

// Returns the same with a rank margin; its payload has a seventh section.
Table WithMargin() {
  Table table = Overlapping();
  table.sub_tables[0].groups[0].models[0].segments[0].rank_margin = 200;
  return table;
}

TEST(TableCodecTest, OnlyTablesWithARankMarginHaveTheirSection) {
  const std::string payload = EncodeTable(WithMargin()).value();
  EXPECT_EQ(payload[kCountAt], 5);
  EXPECT_EQ(payload[kMinorAt], 4);
  EXPECT_EQ(DecodeTable(payload).value(), WithMargin());
}

TEST(TableCodecTest, RefusesMarginsInTheVersionBeforeThemAndAllZero) {
  const std::string good = EncodeTable(WithMargin()).value();
  for (const char minor : {char{0}, char{2}, char{3}}) {
    std::string payload = good;
    payload[kMinorAt] = minor;
    const absl::Status status = DecodeTable(payload).status();
    EXPECT_TRUE(absl::StrContains(status.message(), "another minor version"))
        << status;
  }
  std::string payload = good;
  ASSERT_EQ(payload.back(), static_cast<char>(200));
  payload.back() = 0;
  const absl::Status status = DecodeTable(payload).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "all zero")) << status;
}

TEST(TableCodecTest, RefusesAMarginThatASumDoesNotRead) {
  Table table = TinyTable();
  table.sub_tables[0].groups[0].models[0].segments[0].rank_margin = 1;
  const absl::Status status = EncodeTable(table).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "rank margin")) << status;
}

TEST(TableCodecTest, RefusesARowTermThatASumDoesNotRead) {
  Table table = Overlapping();
  table.sub_tables[0].form = WaveForm::kSum;
  EXPECT_EQ(EncodeTable(table).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// Returns the payload of version 1.3 that holds the table packed, whether or
// not it would fit otherwise.
std::string PackedPayload(const Table& table) {
  std::string entries;
  ByteWriter body;
  const auto add = [&](uint32_t id, auto write) {
    const size_t begin = body.bytes().size();
    write(table, body);
    entries += U32(id) + U32(1) +
               U32(static_cast<uint32_t>(body.bytes().size() - begin));
  };
  add(1, WriteIdentity);
  add(2, WriteSignature);
  add(6, WritePackedSubTables);
  return Payload().substr(0, kMinorAt) + std::string("\3\0", 2) + U32(3) +
         entries + body.bytes();
}

TEST(TableCodecTest, PacksTablesThatDoNotFitOtherwise) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Lcg random(seed);
    const Table table = RandomLargeTable(random);
    const std::string payload = EncodeTable(table).value();
    EXPECT_LE(payload.size(), kMaxPayloadBytes);
    EXPECT_EQ(payload, PackedPayload(table));
    const auto decoded = DecodeTable(payload);
    ASSERT_TRUE(decoded.ok()) << seed << ": " << decoded.status();
    ASSERT_EQ(*decoded, table) << seed;
  }
}

TEST(TableCodecTest, PackedTablesHaveTheirMarginsInASectionOfTheirOwn) {
  Lcg random(4);
  Table table = RandomLargeTable(random);
  testing::AddRankMargins(random, table.sub_tables[0]);
  const std::string payload = EncodeTable(table).value();
  EXPECT_EQ(payload[kCountAt], 4);
  EXPECT_EQ(payload[kMinorAt], 4);
  const auto decoded = DecodeTable(payload);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, table);
}

TEST(TableCodecTest, LayersAreASectionOfTheirOwnBesideAnyOther) {
  Lcg random(5);
  for (int i = 0; i < 40; ++i) {
    Table table = i % 4 == 0 ? RandomLargeTable(random)
                             : RandomTable(random, testing::TableKind::kGemm,
                                           /*portfolio=*/6);
    if (i % 4 == 1) testing::MakeOverlap(random, table.sub_tables[0]);
    if (table.sub_tables[0].form == WaveForm::kOverlap && i % 8 < 4) {
      testing::AddRankMargins(random, table.sub_tables[0]);
    }
    testing::AddLayers(random, table, /*most=*/5, table.sub_tables[0]);
    const auto payload = EncodeTable(table);
    if (!payload.ok()) continue;  // A large one that layers made too large.
    EXPECT_EQ((*payload)[kMinorAt], 5);
    const auto decoded = DecodeTable(*payload);
    ASSERT_TRUE(decoded.ok()) << i << ": " << decoded.status();
    ASSERT_EQ(*decoded, table) << i;
    ASSERT_EQ(EncodeTable(*decoded).value(), *payload) << i;
  }
}

TEST(TableCodecTest, SustainedLoadIsASectionOfItsOwnBesideAnyOther) {
  Lcg random(6);
  for (int i = 0; i < 40; ++i) {
    Table table = i % 4 == 0 ? RandomLargeTable(random)
                             : RandomTable(random, testing::TableKind::kGemm,
                                           /*portfolio=*/6);
    SubTable& sub = table.sub_tables[0];
    if (i % 4 == 1) testing::MakeOverlap(random, sub);
    if (sub.form == WaveForm::kOverlap && i % 8 < 4) {
      testing::AddRankMargins(random, sub);
    }
    if (i % 3 == 0) testing::AddLayers(random, table, /*most=*/5, sub);
    testing::AddPowerLimitSlowdown(random, sub);
    const auto payload = EncodeTable(table);
    if (!payload.ok()) continue;  // A large one that this made too large.
    EXPECT_EQ((*payload)[kMinorAt], 6);
    const auto decoded = DecodeTable(*payload);
    ASSERT_TRUE(decoded.ok()) << i << ": " << decoded.status();
    ASSERT_EQ(*decoded, table) << i;
    ASSERT_EQ(EncodeTable(*decoded).value(), *payload) << i;
  }
}

TEST(TableCodecTest, RefusesASectionOfNoSustainedLoad) {
  std::string payload = WithSection(9, 1, std::string(16, '\0'));
  payload[kMinorAt] = 6;
  const absl::Status status = DecodeTable(payload).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "there is none")) << status;
}

TEST(TableCodecTest, RefusesASectionOfNoLayers) {
  std::string payload = WithSection(8, 1, std::string(1, '\0'));
  payload[kMinorAt] = 5;
  const absl::Status status = DecodeTable(payload).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "there are none")) << status;
}

TEST(TableCodecTest, RefusesToUnpackWhatFitsUnpacked) {
  for (const Table& table : {TinyTable(), Overlapping()}) {
    const absl::Status status = DecodeTable(PackedPayload(table)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(), "fit unpacked")) << status;
  }
}

TEST(TableCodecTest, RefusesPackedFieldsThatDidNotChange) {
  // The tiny table's one segment is the end of its payload: a mask, the fields
  // that are not zero and one byte of micro table. Its min_iterations is zero.
  constexpr uint16_t kMinIterations = 1 << 10;
  const std::string good = PackedPayload(TinyTable());
  const auto with_mask = [&good](uint16_t bit, const std::string& field) {
    size_t mask_at = good.size();
    // delta, beta, floor, both bounds, max_iterations, step, both waves, micro.
    mask_at -= 2 + 9 * 8 + 1;
    std::string payload = good;
    payload[mask_at] = static_cast<char>(payload[mask_at] | bit);
    payload[mask_at + 1] = static_cast<char>(payload[mask_at + 1] | bit >> 8);
    // After delta, beta, floor and the bounds.
    payload.insert(mask_at + 2 + 5 * size_t{8}, field);
    const size_t size_at = kEntriesAt + 2 * kEntryBytes + 8;
    payload[size_at] = static_cast<char>(payload[size_at] + field.size());
    return DecodeTable(payload).status();
  };
  const absl::Status same = with_mask(kMinIterations, std::string(8, '\0'));
  EXPECT_TRUE(absl::StrContains(same.message(), "did not change")) << same;
}

TEST(TableCodecTest, RefusesPackedTablesInTheVersionBeforeThem) {
  std::string payload = PackedPayload(TinyTable());
  payload[kMinorAt] = 2;
  const absl::Status status = DecodeTable(payload).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "another minor version"))
      << status;
}

TEST(TableCodecTest, BitFlipsInPackedTablesGiveAnErrorOrAnotherTable) {
  Lcg random(3);
  const Table table = RandomLargeTable(random);
  const std::string payload = EncodeTable(table).value();
  int accepted = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto bit = static_cast<size_t>(
                         random.Below(static_cast<int64_t>(payload.size()))) *
                         8 +
                     static_cast<size_t>(random.Below(8));
    if (bit / 8 == kMinorAt || bit / 8 == kMinorAt + 1) continue;
    std::string flipped = payload;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const auto decoded = DecodeTable(flipped);
    if (!decoded.ok()) continue;
    ++accepted;
    ASSERT_NE(*decoded, table) << bit;
    ASSERT_EQ(EncodeTable(*decoded).value(), flipped) << bit;
  }
  EXPECT_GT(accepted, 100);
}

TEST(TableCodecTest, RefusesPayloadsAboveTheLimitBothWays) {
  Lcg random(1);
  Table table = RandomTable(random, testing::TableKind::kGemm, 40);
  const SubTable sub = table.sub_tables[0];
  for (int i = 0; i < 40; ++i) {
    table.sub_tables.push_back(sub);
    table.sub_tables.back().specialisation = absl::StrCat("s", 100 + i);
  }
  EXPECT_EQ(EncodeTable(table).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(DecodeTable(std::string(kMaxPayloadBytes + 1, 'x')).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TableCodecTest, WritesNegativeZeroAsZero) {
  Table table = TinyTable();
  const std::string payload = EncodeTable(table).value();
  ASSERT_EQ(table.near_tie, 0);
  table.near_tie = -0.0;
  EXPECT_EQ(EncodeTable(table).value(), payload);
}

TEST(TableCodecTest, RefusesDeepNestingWithoutRecursingIntoIt) {
  // 60,000 products of one factor each, where the mapping of the sub-table is.
  std::string payload = Payload();
  const std::string specialisation("\0\0", 2);
  const size_t sub_tables =
      payload.size() -
      static_cast<uint8_t>(payload[kEntriesAt + 2 * kEntryBytes + 8]) -
      256u * static_cast<uint8_t>(payload[kEntriesAt + 2 * kEntryBytes + 9]);
  std::string section = payload.substr(sub_tables, 1) + specialisation + '\1';
  for (int i = 0; i < 30000; ++i) section += "\5\1";
  payload.replace(kEntriesAt + 2 * kEntryBytes + 8, 4,
                  U32(static_cast<uint32_t>(section.size())));
  const absl::Status status =
      DecodeTable(payload.substr(0, sub_tables) + section).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "nested too deeply"))
      << status;
}

}  // namespace
}  // namespace wavetune
