#include "base/terminal_text.h"

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

TEST(TerminalTextTest, WhatATerminalObeysIsEscapedInALine) {
  EXPECT_EQ(LineText("a\x1b[2J\nb\r\tc\x7f"), "a\\x1b[2J\\nb\\r\\tc\\u007f");
  EXPECT_EQ(LineText(absl::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(LineText("\xc2\x9b"
                     "1m"),
            "\\u009b1m");  // C1's CSI.
  EXPECT_EQ(LineText("\u202egpj.exe\u2069"), "\\u202egpj.exe\\u2069");
  EXPECT_EQ(LineText("caf\xe9 é µs 😀"), "caf\\xe9 é µs 😀");
}

TEST(TerminalTextTest, NoLineOfAParagraphPassesForALineOfItsOwn) {
  EXPECT_EQ(ParagraphText("one\ntwo\x1b\n", "  "), "one\n  two\\x1b\n");
  EXPECT_EQ(ParagraphText("", "  "), "");
}

}  // namespace
}  // namespace wavetune
