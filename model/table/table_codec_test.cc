#include "model/table/table_codec.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/table/byte_io.h"
#include "model/table/coefficient_list.h"
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
using testing::TwoGroupTable;

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

// Section 3 of the tiny table, which is the end of its payload.
std::string SubTables() {
  const std::string payload = Payload();
  const size_t size_at = kEntriesAt + 2 * kEntryBytes + 8;
  return payload.substr(payload.size() -
                        static_cast<uint8_t>(payload[size_at]) -
                        256u * static_cast<uint8_t>(payload[size_at + 1]));
}

// Returns the tiny table's payload with another section 3.
std::string WithSubTables(const std::string& section) {
  std::string payload = Payload();
  payload.resize(payload.size() - SubTables().size());
  payload.replace(kEntriesAt + 2 * kEntryBytes + 8, 4,
                  U32(static_cast<uint32_t>(section.size())));
  return payload + section;
}

TEST(TableCodecTest, KeepsSumsInMappings) {
  Lcg random(7);
  for (int i = 0; i < 20; ++i) {
    const Table table =
        RandomTable(random,
                    i % 2 == 0 ? testing::TableKind::kSums
                               : testing::TableKind::kGroupedSums,
                    /*portfolio=*/6);
    const std::string payload = EncodeTable(table).value();
    const auto decoded = DecodeTable(payload);
    ASSERT_TRUE(decoded.ok()) << i << ": " << decoded.status();
    ASSERT_EQ(*decoded, table) << i;
    ASSERT_EQ(EncodeTable(*decoded).value(), payload) << i;
  }
}

TEST(TableCodecTest, AMappingWithWhatIsNotKnownIsTooNew) {
  std::string section = SubTables();
  constexpr size_t kMappingAt = 3;  // After a count and an empty name.
  ASSERT_EQ(section[kMappingAt], 1);
  section[kMappingAt] = static_cast<char>(0x81);
  const auto table = DecodeTable(WithSubTables(section));
  EXPECT_EQ(table.status().code(), absl::StatusCode::kUnimplemented)
      << table.status();
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

TEST(TableCodecTest, SaysWhatToDoWithTablesOfReleasesBefore10) {
  std::string payload = Payload();
  payload[3] = 'B';
  const absl::Status status = DecodeTable(payload).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(absl::StrContains(status.message(), "before 1.0")) << status;
  EXPECT_TRUE(absl::StrContains(
      status.message(), "wavetune reprofile --kernel NAME --refit-only"))
      << status;
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

// Places in the tiny table's section 3.
constexpr size_t kTilesAt = 4;
constexpr size_t kPredicatesAt = 13;
constexpr size_t kPreconditionsAt = 14;
constexpr size_t kFormAt = 15;

TEST(TableCodecTest, RefusesUnknownWaveFormsAndSaysWhatToDo) {
  std::string section = SubTables();
  ASSERT_EQ(section[kFormAt], static_cast<char>(WaveForm::kSum));
  for (const int form : {0, 2, 4, 0x80, 0x82, 0x84, 0x41}) {
    section[kFormAt] = static_cast<char>(form);
    const absl::Status status = DecodeTable(WithSubTables(section)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_TRUE(absl::StrContains(status.message(), "wave form")) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "upgrade")) << status;
  }
}

// Readers that know no wary sub-tables know no such form.
TEST(TableCodecTest, AWarySubTableHasAWaveFormOfItsOwn) {
  for (const WaveForm form : {WaveForm::kSum, WaveForm::kOverlap}) {
    Table table = TinyTable();
    table.sub_tables[0].form = form;
    const std::string usual = EncodeTable(table).value();
    table.sub_tables[0].wary = true;
    std::string payload = EncodeTable(table).value();
    EXPECT_EQ(DecodeTable(payload).value(), table);
    const size_t at = usual.size() - SubTables().size() + kFormAt;
    EXPECT_EQ(static_cast<uint8_t>(payload[at]),
              0x80 | static_cast<uint8_t>(form));
    payload[at] = usual[at];
    EXPECT_EQ(payload, usual);
  }
}

// Returns the tiny table's payload with another group, other coefficients and
// another mask of its segment, whose fields follow.
std::string WithGroup(const std::string& group, const std::string& coefficients,
                      uint64_t mask, const std::string& fields) {
  // Number of groups, lead; number of coefficients, delta, beta; a mask of two
  // bytes, floor, both bounds, max_wave in a byte, max_iterations, delta, beta;
  // no layers.
  constexpr size_t kEnd = 2 + 3 + 2 + 6 * 8 + 1 + 1;
  const std::string section = SubTables();
  ByteWriter writer;
  writer.Raw(section.substr(0, section.size() - kEnd));
  writer.Raw(group);
  writer.U8(static_cast<uint8_t>(coefficients.size()));
  writer.Raw(coefficients);
  writer.Uint(mask);
  writer.Raw(fields);
  writer.U8(0);
  return WithSubTables(writer.bytes());
}

// What the tiny table has there.
const std::string kOneGroup("\1\0", 2);
const std::string kDeltaAndBeta = "\1\5";
constexpr uint64_t kTinyMask = 0b11'0001001111;
std::string TinyFields() {
  const std::string section = SubTables();
  constexpr size_t kFields = 6 * 8 + 1;
  return section.substr(section.size() - 1 - kFields, kFields);
}

std::string Integer(int64_t value) {
  ByteWriter writer;
  writer.Int(value);
  return writer.bytes();
}

TEST(TableCodecTest, ASegmentIsAMaskAndTheFieldsThatDiffer) {
  EXPECT_EQ(WithGroup(kOneGroup, kDeltaAndBeta, kTinyMask, TinyFields()),
            Payload());
}

TEST(TableCodecTest, RefusesAFieldThatDidNotChange) {
  constexpr uint64_t kMinWave = 1 << 9;
  std::string fields = TinyFields();
  fields.insert(fields.size() - 2 * 8, Integer(1));  // Before delta and beta.
  const absl::Status same = DecodeTable(WithGroup(kOneGroup, kDeltaAndBeta,
                                                  kTinyMask | kMinWave, fields))
                                .status();
  EXPECT_EQ(same.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(same.message(), "did not change")) << same;
}

TEST(TableCodecTest, RefusesAMicroTableThatDidNotChange) {
  constexpr uint64_t kMicro = 1 << 7;
  std::string fields = TinyFields();
  fields.insert(fields.size() - 2 * 8, 1, '\0');  // The lead.
  const absl::Status same = DecodeTable(WithGroup(kOneGroup, kDeltaAndBeta,
                                                  kTinyMask | kMicro, fields))
                                .status();
  EXPECT_TRUE(absl::StrContains(same.message(), "did not change")) << same;
}

TEST(TableCodecTest, RefusesAMaskOfFieldsThatASegmentDoesNotHave) {
  const absl::Status status =
      DecodeTable(WithGroup(kOneGroup, kDeltaAndBeta, kTinyMask | 1 << 12,
                            TinyFields() + std::string(8, '\1')))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "above 4095")) << status;
}

TEST(TableCodecTest, RefusesAnUnknownCoefficientAndSaysWhatToDo) {
  for (const char* ids : {"\1\x9", "\1\xff"}) {
    const absl::Status status =
        DecodeTable(WithGroup(kOneGroup, ids, kTinyMask, TinyFields()))
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_TRUE(absl::StrContains(status.message(), "coefficient")) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "upgrade")) << status;
  }
}

TEST(TableCodecTest, RefusesCoefficientsThatDoNotAscend) {
  for (const char* ids : {"\5\1", "\1\1"}) {
    const absl::Status status =
        DecodeTable(WithGroup(kOneGroup, ids, kTinyMask, TinyFields()))
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(), "ascend")) << status;
  }
}

// As hostile payloads may be, of which no table is made.
TEST(TableCodecTest, RefusesACoefficientWithoutWhatItIsMultipliedWith) {
  const absl::Status status =
      DecodeTable(WithGroup(kOneGroup, "\1\x8", kTinyMask, TinyFields()))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "coefficient cold, but its mapping lacks"))
      << status;
}

TEST(TableCodecTest, RefusesWhatNoCoefficientIsMultipliedWith) {
  Table table = TinyTable();
  table.dimensions.push_back({.name = "experts", .repeated = true});
  SubTable& sub = table.sub_tables[0];
  sub.mapping.cold_bytes = Expression::SumOver(1, Expression::Constant(4));
  sub.groups[0].models[0].segments[0].coefficients = {.delta = 1, .cold = 2};
  std::string payload = EncodeTable(table).value();
  const size_t ids_at = payload.find(std::string("\2\1\x8", 3));
  ASSERT_NE(ids_at, std::string::npos);
  payload[ids_at + 2] = 5;  // beta has what was cold's.
  const absl::Status status = DecodeTable(payload).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(
      status.message(), "the expression of coefficient cold, which no segment"))
      << status;
}

TEST(TableCodecTest, RefusesACoefficientThatIsZeroEverywhere) {
  constexpr uint64_t kWithDeltaW = 0b101'0001001111;
  const absl::Status status =
      DecodeTable(WithGroup(kOneGroup, "\1\2\5", kWithDeltaW, TinyFields()))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "zero everywhere")) << status;
}

TEST(TableCodecTest, EveryCoefficientOfTheListHasItsOwnIdAndSurvives) {
  uint8_t previous = 0;
  for (const CoefficientField& field : kCoefficients) {
    EXPECT_GT(field.id, previous) << field.name;
    previous = field.id;
    Table table = TinyTable();
    SubTable& sub = table.sub_tables[0];
    if (!Reads(sub.form, field)) sub.form = WaveForm::kOverlap;
    if (field.factor != nullptr) {
      table.dimensions.push_back({.name = "experts", .repeated = true});
      sub.mapping.*field.factor =
          Expression::SumOver(1, Expression::Constant(4));
    }
    sub.groups[0].models[0].segments[0].coefficients = {};
    sub.groups[0].models[0].segments[0].coefficients.*field.value = 0.75;
    const auto payload = EncodeTable(table);
    ASSERT_TRUE(payload.ok()) << field.name << ": " << payload.status();
    EXPECT_EQ(DecodeTable(*payload).value(), table) << field.name;
  }
}

TEST(TableCodecTest, RefusesALeadOutOfRange) {
  const absl::Status status =
      DecodeTable(WithGroup("\1\1", kDeltaAndBeta, kTinyMask, TinyFields()))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "lead")) << status;
}

TEST(TableCodecTest, RefusesMorePreconditionsThanPredicates) {
  std::string section = SubTables();
  ASSERT_EQ(section[kPredicatesAt], 0);
  section[kPreconditionsAt] = 1;
  const absl::Status status = DecodeTable(WithSubTables(section)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "preconditions")) << status;
}

// dimension number 0 > bound.
Relation Above(int64_t bound) {
  return {.left = {{1, {0}}},
          .op = Relation::Operator::kGreater,
          .right = {{bound, {}}}};
}

TEST(TableCodecTest, GroupsHaveTheirPredicatesWhateverTheirNumber) {
  for (const int count : {1, 7, 8, 9, 16, 17, 200, 255}) {
    for (const int preconditions : {0, 1, count}) {
      Table table = TwoGroupTable();
      SubTable& sub = table.sub_tables[0];
      sub.preconditions = preconditions;
      for (int i = 0; i < count; ++i) {
        sub.predicates.push_back(Above(i));
        if (i < preconditions || i % 3 == 0) {
          sub.groups[0].predicates.push_back(static_cast<uint8_t>(i));
        }
        if (i < preconditions || i == count - 1) {
          sub.groups[1].predicates.push_back(static_cast<uint8_t>(i));
        }
      }
      const auto payload = EncodeTable(table);
      ASSERT_TRUE(payload.ok()) << count << ": " << payload.status();
      ASSERT_EQ(DecodeTable(*payload).value(), table) << count;
    }
  }
}

TEST(TableCodecTest, RefusesABitBeyondTheLastPredicate) {
  Table table = TinyTable();
  table.sub_tables[0].predicates = {Above(1)};
  table.sub_tables[0].groups[0].predicates = {0};
  const std::string good = EncodeTable(table).value();
  // The bits stand before the coefficients of the one group.
  const size_t bits_at = good.size() - (3 + 2 + 6 * 8 + 1 + 1) - 1;
  ASSERT_EQ(good[bits_at], 1);
  for (int bit = 1; bit < 8; ++bit) {
    std::string payload = good;
    payload[bits_at] = static_cast<char>(1 | 1 << bit);
    const absl::Status status = DecodeTable(payload).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(), "predicate out of range"))
        << status;
  }
}

// Returns a mapping after the way through its bytes.
absl::StatusOr<Mapping> ThroughBytes(const Mapping& mapping) {
  ByteWriter writer;
  WriteMapping(mapping, writer);
  ByteReader reader(writer.bytes());
  Mapping read = ReadMapping(reader);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return read;
}

TEST(TableCodecTest, SumsInTilesAreATreeOfTheirTerms) {
  Mapping mapping = TwoGroupTable().sub_tables[0].mapping;
  mapping.tiles =
      Expression::Sum({mapping.tiles, Expression::OfDimension(0),
                       Expression::Product({Expression::Constant(3),
                                            Expression::OfParameter(1)})});
  const auto read = ThroughBytes(mapping);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, mapping);
}

TEST(TableCodecTest, RefusesKindsOfExpressionsThatNoMappingHas) {
  std::string section = SubTables();
  ASSERT_EQ(section[kTilesAt], static_cast<char>(Expression::Kind::kCeilDiv));
  for (const char kind : {0, 9, 10, 11, 12, 13, 14, 15}) {
    section[kTilesAt] = kind;
    const absl::Status status = DecodeTable(WithSubTables(section)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(), "kind of expression"))
        << status;
  }
}

TEST(TableCodecTest, RoundTripsTablesOfEveryPartAndSize) {
  Lcg random(5);
  for (int i = 0; i < 80; ++i) {
    Table table = i % 4 == 0 ? RandomLargeTable(random)
                             : RandomTable(random, testing::TableKind::kGemm,
                                           /*portfolio=*/6);
    SubTable& sub = table.sub_tables[0];
    if (i % 4 == 1) testing::MakeOverlap(random, sub);
    if (sub.form == WaveForm::kOverlap && i % 8 < 4) {
      testing::AddRankMargins(random, sub);
    }
    if (i % 3 == 0) testing::AddLayers(random, table, /*most=*/5, sub);
    if (i % 5 == 0) testing::AddPowerLimitSlowdown(random, sub);
    if (i % 7 == 0) testing::MakeWary(random, table);
    const auto payload = EncodeTable(table);
    ASSERT_TRUE(payload.ok()) << i << ": " << payload.status();
    const auto decoded = DecodeTable(*payload);
    ASSERT_TRUE(decoded.ok()) << i << ": " << decoded.status();
    ASSERT_EQ(*decoded, table) << i;
    ASSERT_EQ(EncodeTable(*decoded).value(), *payload) << i;
  }
}

TEST(TableCodecTest, BitFlipsInLargeTablesGiveAnErrorOrAnotherTable) {
  Lcg random(3);
  const Table table = RandomLargeTable(random);
  const std::string payload = EncodeTable(table).value();
  int accepted = 0;
  for (int i = 0; i < 800; ++i) {
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
  EXPECT_GT(accepted, 40);
}

TEST(TableCodecTest, RefusesPayloadsAboveTheLimitBothWays) {
  Lcg random(1);
  Table table = RandomTable(random, testing::TableKind::kGemm, 40);
  const SubTable sub = table.sub_tables[0];
  for (int i = 0; i < 200; ++i) {
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
  // 30,000 products of one factor each, where the mapping of the sub-table is.
  std::string section = SubTables().substr(0, kTilesAt);
  for (int i = 0; i < 30000; ++i) section += "\5\1";
  const absl::Status status = DecodeTable(WithSubTables(section)).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "nested too deeply"))
      << status;
}

}  // namespace
}  // namespace wavetune
