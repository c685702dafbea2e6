#include "base/digest.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace wavetune {
namespace {

constexpr char kEmptyDigest[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr char kAbcDigest[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(DigestTest, PeopleAreToldTheBytesThatADecisionCarries) {
  EXPECT_EQ(ShortDigest(kAbcDigest), "ba7816bf8f01cfea");
  EXPECT_EQ(DigestPrefix(kAbcDigest), 0xba7816bf8f01cfeaU);
  EXPECT_EQ(ShortDigest("ba78"), "ba78");
  EXPECT_EQ(ShortDigest(""), "");
}

// The vectors are from FIPS 180-4's examples.
TEST(DigestTest, MatchesPublishedVectors) {
  EXPECT_EQ(Sha256Hex(""), kEmptyDigest);
  EXPECT_EQ(Sha256Hex("abc"), kAbcDigest);
}

TEST(DigestTest, HashesZeroBytesToo) {
  EXPECT_NE(Sha256Hex(absl::string_view("a\0b", 3)), Sha256Hex("a"));
}

TEST(DigestTest, PrefixIsTheFirstEightBytesBigEndian) {
  EXPECT_EQ(DigestPrefix(kAbcDigest), 0xba7816bf8f01cfeaULL);
}

TEST(DigestTest, PrefixOfAnythingElseIsZero) {
  EXPECT_EQ(DigestPrefix(""), 0u);
  EXPECT_EQ(DigestPrefix("ba7816bf"), 0u);
  EXPECT_EQ(DigestPrefix(std::string(64, 'g')), 0u);
  EXPECT_EQ(DigestPrefix(std::string(64, 'A')), 0u);
}

TEST(DigestTest, RecognisesDigests) {
  EXPECT_TRUE(IsSha256Hex(kAbcDigest));
  EXPECT_FALSE(IsSha256Hex(std::string(63, '0')));
  EXPECT_FALSE(IsSha256Hex(std::string(64, 'F')));
}

TEST(DigestTest, TableSetIsHashedAsLinesInNameOrder) {
  EXPECT_EQ(TableSetDigest({}), kEmptyDigest);
  EXPECT_EQ(TableSetDigest({{"b", "2"}, {"a", "1"}}), Sha256Hex("a 1\nb 2\n"));
}

}  // namespace
}  // namespace wavetune
