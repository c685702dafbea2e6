#include "model/table/byte_io.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace wavetune {
namespace {

TEST(ByteIoTest, ReadsBackWhatWasWritten) {
  ByteWriter writer;
  writer.U8(0xfe);
  writer.U16(0xfedc);
  writer.U32(0xfedcba98);
  writer.F64(-1.25);
  writer.String("text");
  ByteReader reader(writer.bytes());
  EXPECT_EQ(reader.U8(), 0xfe);
  EXPECT_EQ(reader.U16(), 0xfedc);
  EXPECT_EQ(reader.U32(), 0xfedcba98);
  EXPECT_EQ(reader.F64(), -1.25);
  EXPECT_EQ(reader.String(), "text");
  EXPECT_TRUE(reader.Finish().ok());
}

TEST(ByteIoTest, IsLittleEndian) {
  ByteWriter writer;
  writer.U32(0x04030201);
  EXPECT_EQ(writer.bytes(), "\x01\x02\x03\x04");
}

TEST(ByteIoTest, IntegersTakeAsManyBytesAsTheyNeed) {
  constexpr auto kMost = std::numeric_limits<uint64_t>::max();
  const std::pair<uint64_t, size_t> sizes[] = {
      {0, 1},           {127, 1},     {128, 2},        {16383, 2},
      {16384, 3},       {1 << 21, 4}, {1ull << 35, 6}, {(1ull << 63) - 1, 9},
      {1ull << 63, 10}, {kMost, 10}};
  for (const auto& [value, size] : sizes) {
    ByteWriter writer;
    writer.Uint(value);
    EXPECT_EQ(writer.bytes().size(), size) << value;
    ByteReader reader(writer.bytes());
    EXPECT_EQ(reader.Uint(), value);
    EXPECT_TRUE(reader.Finish().ok()) << reader.status();
  }
}

TEST(ByteIoTest, ReadsBackSignedIntegersFromEndToEnd) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const int64_t value :
       {int64_t{0}, int64_t{-1}, int64_t{1}, int64_t{63}, int64_t{-64},
        int64_t{64}, int64_t{-65}, kLeast, kLeast + 1, kMost, kMost - 1}) {
    ByteWriter writer;
    writer.Int(value);
    EXPECT_EQ(writer.bytes().size() == 1, value >= -64 && value < 64) << value;
    ByteReader reader(writer.bytes());
    EXPECT_EQ(reader.Int(), value);
    EXPECT_TRUE(reader.Finish().ok()) << value << ": " << reader.status();
  }
}

TEST(ByteIoTest, RefusesASecondEncodingOfAnInteger) {
  for (const std::string& bytes :
       {std::string("\x80\0", 2), std::string("\xff\x80\0", 3)}) {
    ByteReader reader(bytes);
    EXPECT_EQ(reader.Uint(), 0u);
    EXPECT_NE(reader.status().message().find("more bytes than it needs"),
              std::string::npos)
        << reader.status();
  }
}

TEST(ByteIoTest, RefusesIntegersOfMoreThan64BitsOrAboveTheirLimit) {
  const std::string nine(9, '\xff');
  for (const std::string& bytes : {nine + "\x02", nine + "\xff\x01"}) {
    ByteReader reader(bytes);
    EXPECT_EQ(reader.Uint(), 0u);
    EXPECT_NE(reader.status().message().find("more than 64 bits"),
              std::string::npos)
        << reader.status();
  }
  ByteReader reader("\x07\x08");
  EXPECT_EQ(reader.Uint(7), 7u);
  EXPECT_EQ(reader.Uint(7), 0u);
  EXPECT_EQ(reader.status().message(),
            "table payload, byte 2: a number above 7");
}

TEST(ByteIoTest, AnIntegerThatIsCutOffIsTruncated) {
  ByteReader reader("\x80");
  EXPECT_EQ(reader.Int(), 0);
  EXPECT_NE(reader.status().message().find("truncated"), std::string::npos);
}

TEST(ByteIoTest, SaysToUpgradeForWhatIsTooNew) {
  ByteReader reader("\x01");
  reader.FailTooNew("news");
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(reader.Finish().message(),
            "table payload, byte 0: news: upgrade this program");
}

TEST(ByteIoTest, WritesNegativeZeroAsZeroAndRefusesToReadIt) {
  ByteWriter writer;
  writer.F64(-0.0);
  EXPECT_EQ(writer.bytes(), std::string(8, '\0'));
  std::string bytes(8, '\0');
  bytes[7] = static_cast<char>(0x80);
  ByteReader reader(bytes);
  reader.F64();
  EXPECT_FALSE(reader.ok());
}

TEST(ByteIoTest, RefusesNumbersThatAreNotFinite) {
  for (const double value : {std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    ByteWriter writer;
    writer.F64(value);
    ByteReader reader(writer.bytes());
    EXPECT_EQ(reader.F64(), 0);
    EXPECT_FALSE(reader.ok());
  }
}

TEST(ByteIoTest, RefusesFlagsOtherThanZeroAndOne) {
  ByteReader reader("\x02");
  EXPECT_FALSE(reader.Bool());
  EXPECT_FALSE(reader.ok());
}

TEST(ByteIoTest, KeepsTheFirstFaultAndAnswersZeroFromThenOn) {
  ByteReader reader("\x01\x02\x03", 100);
  EXPECT_EQ(reader.U8(), 1);
  EXPECT_EQ(reader.U32(), 0u);
  EXPECT_EQ(reader.U8(), 0);
  EXPECT_TRUE(reader.String().empty());
  EXPECT_EQ(reader.Finish().message(),
            "table payload, byte 101: truncated: 4 bytes wanted, 2 left");
}

TEST(ByteIoTest, LeftOverBytesAreAFault) {
  ByteReader reader("\x01\x02");
  reader.U8();
  EXPECT_EQ(reader.Finish().message(),
            "table payload, byte 1: 1 trailing bytes");
}

}  // namespace
}  // namespace wavetune
