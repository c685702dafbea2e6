#include "base/standard_output.h"

#include <fstream>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

TEST(FinishOutputTest, WhatWasWrittenIsWell) {
  std::ostringstream out;
  out << "ok";
  EXPECT_TRUE(FinishOutput(out).ok());
}

TEST(FinishOutputTest, AFullDiskIsAFailureWithItsReason) {
  std::ofstream out("/dev/full");
  if (!out.is_open()) GTEST_SKIP() << "no /dev/full";
  out << "ok";
  const absl::Status status = FinishOutput(out);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("No space left"));
}

TEST(FinishOutputTest, AnEarlierFailureIsNotForgotten) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_FALSE(FinishOutput(out).ok());
}

}  // namespace
}  // namespace wavetune
