#include "profiler_agent/worker/frame.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

using std::chrono::milliseconds;

class FrameTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(pipe(ends_), 0);
  }
  void TearDown() override {
    CloseReader();
    CloseWriter();
  }
  void CloseReader() { Close(ends_[0]); }
  void CloseWriter() { Close(ends_[1]); }
  void WriteRaw(const std::string& bytes) {
    ASSERT_EQ(write(ends_[1], bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }

 private:
  static void Close(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
  int ends_[2] = {-1, -1};
};

TEST_F(FrameTest, ReadsBackWhatWasWritten) {
  const std::string bytes("a\0b\n", 4);
  ASSERT_TRUE(WriteFrame(writer(), bytes).ok());
  ASSERT_TRUE(WriteFrame(writer(), "").ok());
  EXPECT_EQ(*ReadFrame(reader()), bytes);
  EXPECT_EQ(*ReadFrame(reader()), "");
}

TEST_F(FrameTest, LengthIsLittleEndian) {
  ASSERT_TRUE(WriteFrame(writer(), "abc").ok());
  char raw[7];
  ASSERT_EQ(read(reader(), raw, 7), 7);
  EXPECT_EQ(std::string(raw, 7), std::string("\3\0\0\0abc", 7));
}

TEST_F(FrameTest, AFrameLargerThanThePipePassesInPieces) {
  const std::string large(3'000'000, 'x');
  std::thread sender([&] { EXPECT_TRUE(WriteFrame(writer(), large).ok()); });
  EXPECT_EQ(*ReadFrame(reader()), large);
  sender.join();
}

TEST_F(FrameTest, WaitsForTheRestOfAFrame) {
  std::thread sender([&] {
    for (const char byte : std::string("\3\0\0\0abc", 7)) {
      WriteRaw(std::string(1, byte));
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(*ReadFrame(reader()), "abc");
  sender.join();
}

TEST_F(FrameTest, TheEndOfTheStreamIsOutOfRange) {
  CloseWriter();
  EXPECT_EQ(ReadFrame(reader()).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(FrameTest, TheEndWithinAFrameIsOutOfRange) {
  WriteRaw(std::string("\3\0\0\0a", 5));
  CloseWriter();
  EXPECT_EQ(ReadFrame(reader()).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(FrameTest, ALengthThatIsTextIsDataLossAndAllocatesNothing) {
  WriteRaw("warning: something was printed");
  EXPECT_EQ(ReadFrame(reader()).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(FrameTest, RefusesToWriteAFrameThatNobodyReads) {
  EXPECT_EQ(WriteFrame(writer(), std::string(kMaxFrameBytes + 1, 'x')).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(FrameTest, ReadingStopsAtTheDeadline) {
  WriteRaw(std::string("\3\0\0\0a", 5));
  EXPECT_EQ(ReadFrame(reader(), SystemClock().SteadyNow() + milliseconds(20))
                .status()
                .code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(FrameTest, WritingStopsAtTheDeadline) {
  fcntl(writer(), F_SETFL, O_NONBLOCK);
  EXPECT_EQ(WriteFrame(writer(), std::string(3'000'000, 'x'),
                       SystemClock().SteadyNow() + milliseconds(20))
                .code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(FrameTest, WritingToNobodyIsUnavailable) {
  CloseReader();
  EXPECT_EQ(WriteFrame(writer(), "abc").code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace wavetune
