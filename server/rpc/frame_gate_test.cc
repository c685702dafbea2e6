#include "server/rpc/frame_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using Headers = std::vector<std::pair<std::string, std::string>>;

std::string Number(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string Frame(uint8_t type, uint8_t flags, uint32_t stream,
                  const std::string& payload = "") {
  return Number(static_cast<uint32_t>(payload.size())).substr(1) +
         std::string({static_cast<char>(type), static_cast<char>(flags)}) +
         Number(stream) + payload;
}

Headers Call(const std::string& path, const Headers& more = {}) {
  Headers headers = {{":method", "POST"},
                     {":scheme", "http"},
                     {":path", path},
                     {":authority", "somewhere"},
                     {"content-type", "application/grpc+proto"},
                     {"te", "trailers"}};
  headers.insert(headers.end(), more.begin(), more.end());
  return headers;
}

// What a frame is, in a word, for tests to compare.
std::string Shown(uint8_t type, uint8_t flags, uint32_t stream,
                  const std::string& payload) {
  constexpr const char* kNames[] = {
      "DATA",         "HEADERS", "PRIORITY", "RST_STREAM",    "SETTINGS",
      "PUSH_PROMISE", "PING",    "GOAWAY",   "WINDOW_UPDATE", "CONTINUATION"};
  std::string shown = absl::StrCat(kNames[type], " ", stream);
  const bool ends = type <= NGHTTP2_HEADERS && (flags & 1) != 0;
  const bool ack =
      (type == NGHTTP2_SETTINGS || type == NGHTTP2_PING) && (flags & 1) != 0;
  absl::StrAppend(&shown, ends ? " end" : "", ack ? " ack" : "");
  if (type == NGHTTP2_DATA) absl::StrAppend(&shown, " ", payload.size());
  if (type == NGHTTP2_RST_STREAM) {
    absl::StrAppend(&shown, " ", static_cast<int>(payload[3]));
  }
  return shown;
}

std::vector<std::string> Frames(std::string bytes) {
  std::vector<std::string> shown;
  if (bytes.substr(0, 3) == "PRI") bytes.erase(0, NGHTTP2_CLIENT_MAGIC_LEN);
  while (bytes.size() >= 9) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
    const size_t length = byte(0) << 16 | byte(1) << 8 | byte(2);
    const uint32_t stream = static_cast<uint32_t>(byte(5)) << 24 |
                            byte(6) << 16 | byte(7) << 8 | byte(8);
    shown.push_back(Shown(byte(3), byte(4), stream, bytes.substr(9, length)));
    bytes.erase(0, 9 + length);
  }
  EXPECT_EQ(bytes, "") << "half a frame";
  return shown;
}

class FrameGateTest : public ::testing::Test {
 protected:
  FrameGateTest() { nghttp2_hd_deflate_new(&deflater_, 4096); }
  ~FrameGateTest() override {
    gate_ = nullptr;
    nghttp2_hd_deflate_del(deflater_);
  }
  void SetUp() override {
    ServerSays(Frame(NGHTTP2_SETTINGS, 0, 0));
    ASSERT_TRUE(Greet().ok());
    Forget();
  }

  // As a peer with tables and Huffman codes writes them.
  std::string Block(const Headers& headers) {
    std::vector<nghttp2_nv> fields;
    for (const auto& [name, value] : headers) {
      fields.push_back(
          {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
           reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())),
           name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
    }
    std::string block(
        nghttp2_hd_deflate_bound(deflater_, fields.data(), fields.size()),
        '\0');
    const ssize_t size = nghttp2_hd_deflate_hd(
        deflater_, reinterpret_cast<uint8_t*>(block.data()), block.size(),
        fields.data(), fields.size());
    block.resize(static_cast<size_t>(size));
    return block;
  }
  std::string HeadersFrame(uint32_t stream, const Headers& headers,
                           bool ends = false) {
    return Frame(
        NGHTTP2_HEADERS,
        static_cast<uint8_t>(NGHTTP2_FLAG_END_HEADERS | (ends ? 1 : 0)), stream,
        Block(headers));
  }
  absl::Status Say(const std::string& bytes) {
    return gate_->FromPeer(bytes, &to_server_, &to_peer_);
  }
  absl::Status Greet() {
    return Say(std::string(NGHTTP2_CLIENT_MAGIC) +
               Frame(NGHTTP2_SETTINGS, 0, 0) +
               Frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0));
  }
  void ServerSays(const std::string& bytes) {
    gate_->FromServer(bytes, &to_peer_);
  }
  void Forget() {
    to_server_.clear();
    to_peer_.clear();
  }

  PeerShare share_;
  std::string denied_;  // What may not be called.
  std::unique_ptr<FrameGate> gate_ =
      std::make_unique<FrameGate>(FrameGate::Options{
          .share = &share_,
          .judge =
              [this](absl::string_view path) {
                return path == denied_ ? std::string("it is 100 % denied") : "";
              },
          .sends_many =
              [](absl::string_view path) { return path != "/a.B/Watch"; }});
  nghttp2_hd_deflater* deflater_ = nullptr;
  std::string to_server_;
  std::string to_peer_;
};

TEST_F(FrameGateTest, ACallGoesThroughByteForByte) {
  const std::string said = HeadersFrame(1, Call("/a.B/C")) +
                           Frame(NGHTTP2_DATA, 1, 1, std::string(5, '\0'));
  for (const char byte : said) ASSERT_TRUE(Say({byte}).ok());
  EXPECT_THAT(Frames(to_server_), ElementsAre("HEADERS 1", "DATA 1 end 5"));
  EXPECT_EQ(gate_->calls(), 1u);
  ServerSays(Frame(NGHTTP2_HEADERS, 5, 1, "answer"));
  EXPECT_EQ(to_peer_, Frame(NGHTTP2_HEADERS, 5, 1, "answer"));
  EXPECT_EQ(gate_->calls(), 0u);
}

TEST_F(FrameGateTest, TheServerSeesAFixedListOfHeadersAndNoOther) {
  ASSERT_TRUE(Say(HeadersFrame(1,
                               Call("/a.B/C", {{"grpclb_client_stats", "x"},
                                               {"grpc-trace-bin", "x"},
                                               {"grpc-timeout", "15S"},
                                               {"user-agent", "me"},
                                               {"host", "x"}}),
                               true))
                  .ok());
  const std::string first = std::exchange(to_server_, "");
  EXPECT_THAT(first, HasSubstr("/a.B/C"));
  EXPECT_THAT(first, HasSubstr("15S"));
  for (const char* not_seen :
       {"grpclb", "trace", "user-agent", "host\x01", "somewhere", "proto"}) {
    EXPECT_THAT(first, Not(HasSubstr(not_seen)));
  }
  // The peer's table has all of that; the server is told it anew.
  ASSERT_TRUE(
      Say(HeadersFrame(3, Call("/a.B/C", {{"grpc-timeout", "15S"}}), true))
          .ok());
  EXPECT_EQ(to_server_.substr(9), first.substr(9));
}

TEST_F(FrameGateTest, WhatIsNoCallIsRefusedAndTheConnectionGoesOn) {
  const std::vector<Headers> malformed = {
      {},
      {{":method", "GET"},
       {":scheme", "http"},
       {":path", "/a.B/C"},
       {"content-type", "application/grpc"}},
      Call("a.B/C"),
      Call("/a.B/C", {{":path", "/a.B/D"}}),
      Call("/a.B/C", {{"content-type", "application/grpc"}}),
      Call("/a.B/C", {{"grpc-timeout", "999999999S"}}),
      Call("/a.B/C", {{"te", "x"}}),
      Call("/a.B/C", {{":status", "200"}}),
  };
  uint32_t stream = 1;
  for (const Headers& headers : malformed) {
    ASSERT_TRUE(Say(HeadersFrame(stream, headers, true)).ok());
    EXPECT_THAT(Frames(to_peer_),
                ElementsAre(absl::StrCat("RST_STREAM ", stream, " 1")));
    EXPECT_THAT(to_server_, IsEmpty());
    Forget();
    stream += 2;
  }
  ASSERT_TRUE(Say(HeadersFrame(stream, Call("/a.B/C"), true)).ok());
  EXPECT_THAT(Frames(to_server_),
              ElementsAre(absl::StrCat("HEADERS ", stream, " end")));
}

TEST_F(FrameGateTest, WhoMayNotCallIsAnsweredWithoutTheServer) {
  denied_ = "/a.B/C";
  ASSERT_TRUE(Say(HeadersFrame(1, Call("/a.B/C")) +
                  Frame(NGHTTP2_DATA, 1, 1, std::string(5, '\0')))
                  .ok());
  EXPECT_THAT(to_server_, IsEmpty());
  // What was sent for nothing is no loss of the connection's window.
  EXPECT_THAT(Frames(to_peer_), ElementsAre("HEADERS 1 end", "RST_STREAM 1 0",
                                            "WINDOW_UPDATE 0"));
  EXPECT_THAT(to_peer_, HasSubstr("it is 100 %25 denied"));
}

TEST_F(FrameGateTest, CompressedMessagesAreNotTaken) {
  ASSERT_TRUE(
      Say(HeadersFrame(1, Call("/a.B/C", {{"grpc-encoding", "gzip"}}), true))
          .ok());
  EXPECT_THAT(to_peer_, HasSubstr("do not compress"));
  EXPECT_THAT(to_server_, IsEmpty());
  ASSERT_TRUE(Say(HeadersFrame(3, Call("/a.B/C"))).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(
      Say(Frame(NGHTTP2_DATA, 0, 3, {1, 0, 0, 0, 1, 'x'}))));
}

TEST_F(FrameGateTest, TheBoundOfCallsHoldsWhateverIsAcknowledged) {
  uint32_t stream = 1;
  for (size_t i = 0; i < FrameGate::kMostCalls; ++i, stream += 2) {
    ASSERT_TRUE(Say(HeadersFrame(stream, Call("/a.B/C"))).ok());
  }
  Forget();
  ASSERT_TRUE(Say(HeadersFrame(stream, Call("/a.B/C"))).ok());
  EXPECT_THAT(Frames(to_peer_),
              ElementsAre(absl::StrCat("RST_STREAM ", stream, " 7")));
  EXPECT_THAT(to_server_, IsEmpty());
  // One that has ended makes room.
  ServerSays(Frame(NGHTTP2_HEADERS, 5, 1, "answer"));
  Forget();
  ASSERT_TRUE(Say(HeadersFrame(stream + 2, Call("/a.B/C"))).ok());
  EXPECT_THAT(Frames(to_server_),
              ElementsAre(absl::StrCat("HEADERS ", stream + 2)));
}

TEST_F(FrameGateTest, ManyConnectionsOfAPeerHaveABoundTogether) {
  while (share_.BeginCall()) {
  }
  ASSERT_TRUE(Say(HeadersFrame(1, Call("/a.B/C"), true)).ok());
  EXPECT_THAT(to_server_, IsEmpty());
  EXPECT_THAT(to_peer_, HasSubstr("calls open"));
}

TEST_F(FrameGateTest, ReferencesToALargeHeaderCountEachTime) {
  // An entry of the table, and then its index, of a byte, again and again.
  const std::string large =
      "\x40\x01x\x7f\xbd\x1d" + std::string(127 + 0x3d + (0x1d << 7), 'y');
  ASSERT_TRUE(
      Say(Frame(NGHTTP2_HEADERS, 5, 1, Block(Call("/a.B/C")) + large)).ok());
  EXPECT_THAT(Frames(to_server_), ElementsAre("HEADERS 1 end"));
  const absl::Status status =
      Say(Frame(NGHTTP2_HEADERS, 5, 3, std::string(8000, '\xbe')));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("16 KiB of headers"));
}

TEST_F(FrameGateTest, HeadersHaveAnEnd) {
  ASSERT_TRUE(Say(Frame(NGHTTP2_HEADERS, 0, 1, Block(Call("/a.B/C")))).ok());
  absl::Status status;
  int frames = 0;
  // A value of 256 MiB, in pieces.
  std::string piece = std::string("\0\1x\x7f\x81\xff\xff\x7f", 8);
  for (; status.ok() && frames < 1000; ++frames) {
    status = Say(Frame(NGHTTP2_CONTINUATION, 0, 1, piece));
    piece = std::string(16000, 'c');
  }
  EXPECT_FALSE(status.ok());
  EXPECT_LE(frames, 4);
}

TEST_F(FrameGateTest, AMessageComesInFewFrames) {
  ASSERT_TRUE(Say(HeadersFrame(1, Call("/a.B/C")) +
                  Frame(NGHTTP2_DATA, 0, 1, {0, 0, 16, 0, 0}))
                  .ok());
  absl::Status status;
  int frames = 0;
  for (; status.ok() && frames < 10000; ++frames) {
    status = Say(Frame(NGHTTP2_DATA, 0, 1, "z"));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_LE(frames, 100);
}

TEST_F(FrameGateTest, SmallMessagesAreAsManyAsTheyLike) {
  ASSERT_TRUE(Say(HeadersFrame(1, Call("/a.B/C"))).ok());
  for (int i = 0; i < 1000; ++i) {
    // The prefix and the message apart, as some write them.
    ASSERT_TRUE(Say(Frame(NGHTTP2_DATA, 0, 1, {0, 0, 0, 0, 1})).ok());
    ASSERT_TRUE(Say(Frame(NGHTTP2_DATA, 0, 1, "z")).ok());
  }
  // A large one in whole frames.
  std::string large = {0, 0, 16, 0, 0};
  large.resize(16384, 'z');
  for (int i = 0; i < 64; ++i) {
    ASSERT_TRUE(Say(Frame(NGHTTP2_DATA, 0, 1, large)).ok());
    large.assign(16384, 'z');
  }
}

// What nobody is going to read would stay in the server.
TEST_F(FrameGateTest, ACallHasAsManyMessagesAsItsMethodTakes) {
  const std::string message = Frame(NGHTTP2_DATA, 0, 1, {0, 0, 0, 0, 1, 'x'});
  ASSERT_TRUE(Say(HeadersFrame(1, Call("/a.B/Watch")) + message).ok());
  Forget();
  const absl::Status status = Say(message);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("a second message"));
  EXPECT_THAT(to_server_, IsEmpty());
}

TEST_F(FrameGateTest, AnswersOfHereAreOwed) {
  denied_ = "/a.B/C";
  ASSERT_TRUE(share_.Settled(std::chrono::seconds(1)));
  ASSERT_TRUE(Say(HeadersFrame(1, Call("/a.B/C"), true)).ok());
  EXPECT_FALSE(share_.Settled(std::chrono::seconds(1)));
}

TEST_F(FrameGateTest, WhatMovesNoCallForwardIsOwed) {
  const Clock::Duration now = std::chrono::seconds(1);
  ASSERT_FALSE(share_.Overdrawn(now));
  // A reset is much more than a frame.
  for (uint32_t stream = 1; !share_.Overdrawn(now); stream += 2) {
    ASSERT_TRUE(Say(HeadersFrame(stream, Call("/a.B/C")) +
                    Frame(NGHTTP2_RST_STREAM, 0, stream, Number(8)))
                    .ok());
    ASSERT_LT(stream, 4 * PeerShare::kMostCalls);
    Forget();
  }
  EXPECT_FALSE(share_.Overdrawn(now + std::chrono::seconds(1)));
  // Calls of a connection that ends are given up, too.
  ASSERT_TRUE(share_.Settled(now + std::chrono::seconds(100)));
  for (uint32_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(Say(HeadersFrame(1000001 + 2 * i, Call("/a.B/C"))).ok());
  }
  gate_ = nullptr;
  EXPECT_FALSE(share_.Settled(now + std::chrono::seconds(100)));
  EXPECT_TRUE(share_.Settled(now + std::chrono::seconds(101)));
}

TEST_F(FrameGateTest, PaddingAndPrioritiesEndHere) {
  const std::string block = Block(Call("/a.B/C"));
  ASSERT_TRUE(Say(Frame(NGHTTP2_HEADERS,
                        NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_PADDED |
                            NGHTTP2_FLAG_PRIORITY,
                        1, std::string("\3\0\0\0\0\x10", 6) + block + "pad") +
                  Frame(NGHTTP2_PRIORITY, 0, 1, "12345") +
                  Frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED | 1, 1,
                        std::string("\3\0\0\0\0\0pad", 9)) +
                  Frame(0x4d, 0, 0, "unknown"))
                  .ok());
  EXPECT_THAT(Frames(to_server_), ElementsAre("HEADERS 1", "DATA 1 end 5"));
  EXPECT_THAT(Frames(to_peer_),
              ElementsAre("WINDOW_UPDATE 0", "WINDOW_UPDATE 1"));
}

TEST_F(FrameGateTest, TheServerHearsOnlyAnswersToWhatItAsked) {
  const std::string pong = Frame(NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, "12345678");
  ASSERT_TRUE(Say(pong + Frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0) +
                  Frame(NGHTTP2_WINDOW_UPDATE, 0, 0, Number(7)))
                  .ok());
  EXPECT_THAT(Frames(to_server_), ElementsAre("WINDOW_UPDATE 0"));
  Forget();
  EXPECT_EQ(gate_->awaited_ping(), 0);
  for (uint64_t ping = 1; ping <= 2; ++ping) {
    ServerSays(Frame(NGHTTP2_PING, 0, 0, "12345678"));
    EXPECT_EQ(gate_->awaited_ping(), ping);
    ASSERT_TRUE(Say(pong + pong).ok());
    EXPECT_THAT(Frames(to_server_), ElementsAre("PING 0 ack"));
    EXPECT_EQ(gate_->awaited_ping(), 0);
    Forget();
  }
}

TEST_F(FrameGateTest, OfSettingsOnlyKnownOnesPassInLegalValues) {
  ASSERT_TRUE(Say(Frame(NGHTTP2_SETTINGS, 0, 0,
                        std::string("\0\4\0\0\1\0", 6) +
                            std::string("\xfe\3\0\0\0\1", 6)))
                  .ok());
  EXPECT_EQ(to_server_,
            Frame(NGHTTP2_SETTINGS, 0, 0, std::string("\0\4\0\0\1\0", 6)));
  EXPECT_FALSE(
      Say(Frame(NGHTTP2_SETTINGS, 0, 0, std::string("\0\4\xff\0\0\0", 6)))
          .ok());
}

TEST_F(FrameGateTest, ThePeerIsToldTheBoundsOfHere) {
  ServerSays(
      Frame(NGHTTP2_SETTINGS, 0, 0,
            std::string("\0\5\0\1\0\0", 6) + std::string("\0\4\0\2\0\0", 6)));
  EXPECT_THAT(to_peer_, HasSubstr(std::string("\0\4\0\2\0\0", 6)));
  EXPECT_THAT(to_peer_, HasSubstr(std::string("\0\3\0\0\0\x80", 6)));
  EXPECT_THAT(to_peer_, Not(HasSubstr(std::string("\0\5\0\1", 4))));
}

TEST_F(FrameGateTest, NothingIsSaidWithinAFrameOfTheServer) {
  ServerSays(Frame(NGHTTP2_HEADERS, 0, 1, "half a block"));
  denied_ = "/a.B/C";
  ASSERT_TRUE(Say(HeadersFrame(1, Call("/a.B/C"), true)).ok());
  EXPECT_THAT(Frames(to_peer_), ElementsAre("HEADERS 1"));
  EXPECT_EQ(gate_->Goodbye(absl::InvalidArgumentError("x")), "");
  const std::string rest =
      Frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, 1, "the rest");
  ServerSays(rest.substr(0, 3));
  ServerSays(rest.substr(3));
  EXPECT_THAT(Frames(to_peer_),
              ElementsAre("HEADERS 1", "CONTINUATION 1", "HEADERS 1 end"));
  EXPECT_THAT(Frames(gate_->Goodbye(absl::InvalidArgumentError("x"))),
              ElementsAre("GOAWAY 0"));
}

TEST_F(FrameGateTest, AnswersThatNobodyReadsHoldUpTheNextFrames) {
  denied_ = "/a.B/C";
  std::string said;
  for (uint32_t stream = 1; stream < 4000; stream += 2) {
    said += HeadersFrame(stream, Call("/a.B/C"), true);
  }
  ASSERT_TRUE(Say(said).ok());
  EXPECT_TRUE(gate_->full());
  EXPECT_LT(to_peer_.size(), 20000u);
  size_t answers = 0;
  while (gate_->full()) {
    answers += Frames(std::exchange(to_peer_, "")).size();
    ASSERT_TRUE(Say("").ok());
  }
  EXPECT_EQ(answers + Frames(to_peer_).size(), 2000u);
}

TEST_F(FrameGateTest, WhatIsNoHttp2EndsTheConnection) {
  const std::vector<std::string> wrong = {
      Frame(NGHTTP2_DATA, 0, 0, "x"),
      Frame(NGHTTP2_DATA, 0, 3, "x"),
      Frame(NGHTTP2_DATA, 0, 1, "x"),  // It has ended its half.
      Frame(NGHTTP2_HEADERS, 4, 2, ""),
      Frame(NGHTTP2_HEADERS, 4, 3, "\x80"),
      Frame(NGHTTP2_HEADERS, 4, 3, "\xff\xff\xff\xff\xff\x0f"),
      Frame(NGHTTP2_HEADERS, 0, 3, "") + Frame(NGHTTP2_PING, 0, 0, "12345678"),
      Frame(NGHTTP2_CONTINUATION, 4, 1, ""),
      Frame(NGHTTP2_RST_STREAM, 0, 5, "1234"),
      Frame(NGHTTP2_RST_STREAM, 0, 1, "123"),
      Frame(NGHTTP2_SETTINGS, 0, 0, "12345"),
      Frame(NGHTTP2_SETTINGS, 1, 0, "123456"),
      Frame(NGHTTP2_PING, 0, 0, "1234567"),
      Frame(NGHTTP2_PUSH_PROMISE, 4, 1, "1234"),
      Frame(NGHTTP2_GOAWAY, 0, 0, "1234567"),
      Frame(NGHTTP2_WINDOW_UPDATE, 0, 0, Number(0)),
      Frame(NGHTTP2_WINDOW_UPDATE, 0, 3, Number(1)),
      Number(0x00400100) + std::string(5, '\0'),  // 16,385 bytes.
      Frame(NGHTTP2_HEADERS, 12, 3, std::string(1, '\x05')),
  };
  for (const std::string& frame : wrong) {
    gate_ = std::make_unique<FrameGate>(FrameGate::Options{.share = &share_});
    ServerSays(Frame(NGHTTP2_SETTINGS, 0, 0));
    ASSERT_TRUE(Greet().ok());
    ASSERT_TRUE(Say(HeadersFrame(1, Call("/a.B/C"), true)).ok());
    const absl::Status status = Say(frame);
    EXPECT_TRUE(absl::IsInvalidArgument(status))
        << ::testing::PrintToString(frame);
    EXPECT_THAT(std::string(status.message()), StartsWith("it broke HTTP/2"));
    nghttp2_hd_deflate_del(deflater_);
    nghttp2_hd_deflate_new(&deflater_, 4096);
  }
}

TEST_F(FrameGateTest, WithoutAPrefaceNothingIsHeard) {
  gate_ = std::make_unique<FrameGate>(FrameGate::Options{.share = &share_});
  EXPECT_FALSE(Say("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").ok());
}

}  // namespace
}  // namespace wavetune
