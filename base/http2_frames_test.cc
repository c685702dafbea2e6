#include "base/http2_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(Http2FramesTest, AFrameIsReadAsItWasWritten) {
  const std::string written =
      EncodeFrame(FrameType::kData, kEndStream, 1, "payload") + "rest";
  absl::string_view bytes = written;
  const auto frame = TakeFrame(&bytes);
  ASSERT_TRUE(frame.ok() && frame->has_value());
  EXPECT_EQ((*frame)->type, FrameType::kData);
  EXPECT_EQ((*frame)->flags, kEndStream);
  EXPECT_EQ((*frame)->stream, 1u);
  EXPECT_EQ((*frame)->payload, "payload");
  EXPECT_EQ(bytes, "rest");
}

TEST(Http2FramesTest, AFrameThatIsNotWholeWaits) {
  const std::string whole = EncodeFrame(FrameType::kPing, 0, 0, "12345678");
  for (size_t size = 0; size < whole.size(); ++size) {
    absl::string_view part = absl::string_view(whole).substr(0, size);
    const auto frame = TakeFrame(&part);
    ASSERT_TRUE(frame.ok());
    EXPECT_FALSE(frame->has_value()) << size;
    EXPECT_EQ(part.size(), size);
  }
}

TEST(Http2FramesTest, AFrameLargerThanAgreedIsRefused) {
  const std::string written =
      EncodeFrame(FrameType::kData, 0, 1, std::string(kMaxFrameBytes + 1, 'x'));
  absl::string_view bytes = written;
  EXPECT_TRUE(absl::IsDataLoss(TakeFrame(&bytes).status()));
}

// RFC 7541, C.2: the examples without Huffman coding.
TEST(Http2FramesTest, ReadsTheHeadersOfTheStandardsExamples) {
  EXPECT_THAT(*DecodeHeaders(absl::HexStringToBytes(
                  "400a637573746f6d2d6b65790d637573746f6d2d686561646572")),
              ElementsAre(Pair("custom-key", "custom-header")));
  // Standard fields: a path, and a method that is all index.
  EXPECT_THAT(
      *DecodeHeaders(absl::HexStringToBytes("040c2f73616d706c652f70617468")),
      IsEmpty());
  EXPECT_THAT(*DecodeHeaders(absl::HexStringToBytes("82")), IsEmpty());
}

TEST(Http2FramesTest, ReadsWhatItWrites) {
  EXPECT_THAT(
      *DecodeHeaders(EncodeRequestHeaders(
          "/wavetune.v1.TableService/" + std::string(200, 'x'), "localhost",
          "2001m")),
      ElementsAre(Pair("grpc-timeout", "2001m"), Pair("te", "trailers")));
}

TEST(Http2FramesTest, WritesStandardHeadersByTheirNumbers) {
  EXPECT_EQ(absl::BytesToHexString(EncodeRequestHeaders("/a", "b", "")),
            "8386"                                      // POST, http
            "04022f61"                                  // :path /a
            "010162"                                    // :authority b
            "0002746508747261696c657273"                // te trailers
            "0f10106170706c69636174696f6e2f67727063");  // content-type
  const std::string longer =
      EncodeRequestHeaders("/" + std::string(200, 'x'), "b", "");
  EXPECT_EQ(absl::BytesToHexString(longer.substr(2, 5)), "047f4a2f78");
}

TEST(Http2FramesTest, RefusesWhatIsNoHeaderBlock) {
  for (const char* hex : {"be", "ff", "ffffffffffff", "00", "000a61",
                          "0003616263", "3fe11f", "7f", "0085"}) {
    EXPECT_TRUE(
        absl::IsDataLoss(DecodeHeaders(absl::HexStringToBytes(hex)).status()))
        << hex;
  }
}

TEST(Http2FramesTest, AHuffmanCodedValueIsLeftOut) {
  // "a" with a Huffman-coded value of two bytes, then ":method GET".
  EXPECT_THAT(*DecodeHeaders(absl::HexStringToBytes("00016182aabb82")),
              ElementsAre(Pair("a", "")));
}

TEST(Http2FramesTest, PaddingAndPriorityAreNoContent) {
  const Http2Frame frame{.type = FrameType::kHeaders,
                         .flags = kPadded | kPriority,
                         .stream = 1,
                         .payload = absl::string_view("\x02"
                                                      "PPPPPblock\0\0",
                                                      13)};
  EXPECT_EQ(*ContentOf(frame), "block");
  const Http2Frame all_padding{
      .type = FrameType::kData, .flags = kPadded, .payload = "\x09x"};
  EXPECT_TRUE(absl::IsDataLoss(ContentOf(all_padding).status()));
}

TEST(Http2FramesTest, AStatusIsReadAsItWasWritten) {
  const auto fields = DecodeHeaders(EncodeStatusHeaders(7, "caf\xc3\xa9 100%"));
  EXPECT_EQ(fields->at("grpc-status"), "7");
  EXPECT_EQ(fields->at("grpc-message"), "caf%C3%A9 100%25");
  EXPECT_EQ(PercentDecoded(fields->at("grpc-message")), "caf\xc3\xa9 100%");
}

TEST(Http2FramesTest, MessagesArePercentDecoded) {
  EXPECT_EQ(PercentDecoded("caf%C3%A9 100% %2"), "caf\xc3\xa9 100% %2");
}

}  // namespace
}  // namespace wavetune
