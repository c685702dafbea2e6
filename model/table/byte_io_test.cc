#include "model/table/byte_io.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace wavetune {
namespace {

TEST(ByteIoTest, ReadsBackWhatWasWritten) {
  ByteWriter writer;
  writer.U8(0xfe);
  writer.U16(0xfedc);
  writer.U32(0xfedcba98);
  writer.I64(std::numeric_limits<int64_t>::min());
  writer.F64(-1.25);
  writer.String("text");
  ByteReader reader(writer.bytes());
  EXPECT_EQ(reader.U8(), 0xfe);
  EXPECT_EQ(reader.U16(), 0xfedc);
  EXPECT_EQ(reader.U32(), 0xfedcba98);
  EXPECT_EQ(reader.I64(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(reader.F64(), -1.25);
  EXPECT_EQ(reader.String(), "text");
  EXPECT_TRUE(reader.Finish().ok());
}

TEST(ByteIoTest, IsLittleEndian) {
  ByteWriter writer;
  writer.U32(0x04030201);
  EXPECT_EQ(writer.bytes(), "\x01\x02\x03\x04");
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
