#include "base/printable_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace wavetune {
namespace {

TEST(PrintableTextTest, ValidTextStaysAsItIs) {
  for (const char* text :
       {"", "gemm", "Größe 16 µs", "行列", "🙂", "a\\b\n"}) {
    EXPECT_EQ(PrintableText(text), text);
    EXPECT_TRUE(IsUtf8(text));
  }
}

TEST(PrintableTextTest, ForeignBytesAreEscaped) {
  EXPECT_EQ(PrintableText("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(PrintableText("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(PrintableText("a\xc3"), "a\\xc3");           // Cut short.
  EXPECT_EQ(PrintableText("\xc3\xa9\xe9!"), "é\\xe9!");  // Both in one.
}

TEST(PrintableTextTest, WhatDecodersRefuseIsForeign) {
  EXPECT_FALSE(IsUtf8("\xc0\x80"));          // Overlong.
  EXPECT_FALSE(IsUtf8("\xe0\x80\x80"));      // Overlong.
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));      // A surrogate.
  EXPECT_FALSE(IsUtf8("\xf4\x90\x80\x80"));  // Beyond U+10FFFF.
  EXPECT_FALSE(IsUtf8("\x80"));              // A continuation alone.
  EXPECT_TRUE(IsUtf8("\xf4\x8f\xbf\xbf"));   // U+10FFFF.
}

TEST(PrintableTextTest, EscapedTextIsAlwaysValid) {
  std::string all;
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      all.push_back(static_cast<char>(first));
      all.push_back(static_cast<char>(second));
    }
  }
  EXPECT_FALSE(IsUtf8(all));
  EXPECT_TRUE(IsUtf8(PrintableText(all)));
  EXPECT_TRUE(IsUtf8(BoundedText(all, 4096)));
}

TEST(PrintableTextTest, LongTextsAreCutAndSayHowMuchIsMissing) {
  EXPECT_EQ(BoundedText("0123456789", 10), "0123456789");
  EXPECT_EQ(BoundedText("0123456789", 9), "012345678 ... (1 bytes more)");
  // Never within a character, nor within an escaped byte.
  EXPECT_EQ(BoundedText("aé", 2), "a ... (2 bytes more)");
  EXPECT_EQ(BoundedText("a\xe9", 4), "a ... (1 bytes more)");
}

TEST(PrintableTextTest, CutsBetweenCharacters) {
  EXPECT_EQ(CutBetweenCharacters("aéb", 2), "a");
  EXPECT_EQ(CutBetweenCharacters("aéb", 3), "aé");
  EXPECT_EQ(CutBetweenCharacters("aéb", 10), "aéb");
}

TEST(PrintableTextTest, ShortenedTextsEndBetweenCharactersAndSaySo) {
  EXPECT_EQ(ShortenedText("caf\xc3\xa9", 5), "caf\xc3\xa9");
  EXPECT_EQ(ShortenedText("caf\xc3\xa9s", 5), "caf\xc3\xa9...");
  EXPECT_EQ(ShortenedText("caf\xc3\xa9", 4), "caf...");
}

TEST(PrintableTextTest, NumbersHaveCommas) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1000), "1,000");
  EXPECT_EQ(WithCommas(4'097'000), "4,097,000");
}

}  // namespace
}  // namespace wavetune
