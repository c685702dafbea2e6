#include "server/rpc/stream_reactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/wavetune/v1/admin_service.pb.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

// What gRPC's reactors do, with the other end in the test's hands.
class FakeStream {
 public:
  virtual ~FakeStream() = default;
  virtual void OnWriteDone(bool) {}
  virtual void OnCancel() {}
  virtual void OnDone() {}

  void StartWrite(const v1::WatchJobResponse* message) {
    writing = true;
    written.push_back(message->job().message());
  }
  void Finish(const grpc::Status& status) { finished = status; }

  bool writing = false;
  std::vector<std::string> written;
  std::optional<grpc::Status> finished;
};

using Reactor = StreamReactor<FakeStream, v1::WatchJobResponse>;

constexpr QueueLimit kLimit = {.messages = 3, .bytes = 1000};

class StreamReactorTest : public ::testing::Test {
 protected:
  StreamReactorTest() { EXPECT_TRUE(reactor_->Open(&streams_, "1000")); }
  ~StreamReactorTest() override { reactor_->OnDone(); }

  static Reactor::Message Say(const std::string& text) {
    auto message = std::make_shared<v1::WatchJobResponse>();
    message->mutable_job()->set_message(text);
    return message;
  }
  // The reader takes what waits.
  void ReadAll() {
    while (reactor_->writing) {
      reactor_->writing = false;
      reactor_->OnWriteDone(true);
    }
  }

  StreamSet streams_;
  const std::shared_ptr<Reactor> reactor_ = std::make_shared<Reactor>();
};

TEST_F(StreamReactorTest, WhatDoesNotFitIsRefusedAsAWhole) {
  EXPECT_TRUE(reactor_->Queue({Say("1")}, kLimit));  // Is written at once.
  EXPECT_TRUE(reactor_->Queue({Say("2"), Say("3")}, kLimit));
  EXPECT_FALSE(reactor_->Queue({Say("4"), Say("5")}, kLimit));
  EXPECT_TRUE(reactor_->Queue({Say("6")}, kLimit));
  EXPECT_FALSE(reactor_->Queue({Say("7")}, kLimit));
  ReadAll();
  EXPECT_EQ(reactor_->written, (std::vector<std::string>{"1", "2", "3", "6"}));
  EXPECT_TRUE(reactor_->Queue({Say("8")}, kLimit));
}

TEST_F(StreamReactorTest, BytesCountToo) {
  EXPECT_TRUE(reactor_->Queue({Say("1")}, kLimit));
  // One message may be large, as it has to be sent somehow.
  EXPECT_TRUE(reactor_->Queue({Say(std::string(5000, 'x'))}, kLimit));
  EXPECT_FALSE(reactor_->Queue({Say("2")}, kLimit));
  ReadAll();
  EXPECT_TRUE(reactor_->Queue({Say("3")}, kLimit));
  EXPECT_TRUE(reactor_->Queue({Say(std::string(900, 'x'))}, kLimit));
  EXPECT_FALSE(reactor_->Queue({Say(std::string(900, 'x'))}, kLimit));
}

TEST_F(StreamReactorTest, OfWhatMakesTheLastOneNeedlessOneWaits) {
  EXPECT_TRUE(reactor_->Queue({Say("result 1")}, kLimit));
  for (int i = 0; i < 100000; ++i) {
    reactor_->QueueLatest(Say("progress " + std::to_string(i)));
  }
  EXPECT_TRUE(reactor_->Queue({Say("result 2")}, kLimit));
  reactor_->QueueLatest(Say("done"));
  ReadAll();
  EXPECT_EQ(reactor_->written,
            (std::vector<std::string>{"result 1", "result 2", "done"}));
}

TEST_F(StreamReactorTest, AnErrorDropsWhatWaitsAndIsToldWhenTheReaderReads) {
  EXPECT_TRUE(reactor_->Queue({Say("1")}, kLimit));
  EXPECT_TRUE(reactor_->Queue({Say("2")}, kLimit));
  reactor_->End({grpc::StatusCode::RESOURCE_EXHAUSTED, "too slow"});
  EXPECT_FALSE(reactor_->finished);
  ReadAll();
  EXPECT_EQ(reactor_->written, (std::vector<std::string>{"1"}));
  ASSERT_TRUE(reactor_->finished);
  EXPECT_EQ(reactor_->finished->error_message(), "too slow");
  // Later messages are dropped.
  EXPECT_TRUE(reactor_->Queue({Say("3")}, kLimit));
  EXPECT_EQ(reactor_->written.size(), 1u);
}

TEST_F(StreamReactorTest, NothingOlderFollowsTheLastOfAKind) {
  EXPECT_TRUE(reactor_->Queue({Say("result")}, kLimit));
  reactor_->QueueLatest(Say("running"));
  reactor_->QueueLatest(Say("done"), /*last=*/true);
  // Whoever had it before but was slower.
  reactor_->QueueLatest(Say("running"));
  reactor_->End(grpc::Status::OK);
  ReadAll();
  EXPECT_EQ(reactor_->written, (std::vector<std::string>{"result", "done"}));
  EXPECT_TRUE(reactor_->finished);
}

class StreamSetTest : public ::testing::Test {
 protected:
  ~StreamSetTest() override {
    for (const auto& reactor : reactors_) reactor->OnDone();
  }

  // Opens a stream; returns what it is told where it is refused.
  std::string Open(const std::string& user) {
    reactors_.push_back(std::make_shared<Reactor>());
    if (reactors_.back()->Open(&streams_, user)) return "";
    const std::optional<grpc::Status> status = reactors_.back()->finished;
    reactors_.back()->OnDone();
    reactors_.pop_back();
    EXPECT_TRUE(status);
    EXPECT_EQ(status->error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    return status->error_message();
  }
  void OpenMany(const std::string& user, size_t number) {
    for (size_t i = 0; i < number; ++i) ASSERT_EQ(Open(user), "");
  }
  void CloseOne() {
    reactors_.back()->OnDone();
    reactors_.pop_back();
  }

  StreamSet streams_;
  std::vector<std::shared_ptr<Reactor>> reactors_;
};

TEST_F(StreamSetTest, AUserOpensSoManyStreamsAndOthersTheirs) {
  OpenMany("1000", StreamSet::kMaxStreamsOfUser);
  EXPECT_THAT(Open("1000"), HasSubstr("this user has too many streams"));
  CloseOne();
  EXPECT_EQ(Open("1000"), "");
  EXPECT_EQ(Open("1001"), "");
}

TEST_F(StreamSetTest, ManyUsersLeaveRootAndTheDaemonsUserTheirs) {
  static_assert(StreamSet::kMaxStreams % StreamSet::kMaxStreamsOfUser == 0);
  constexpr size_t kUsers =
      StreamSet::kMaxStreams / StreamSet::kMaxStreamsOfUser;
  for (size_t user = 0; user < kUsers; ++user) {
    OpenMany("other " + std::to_string(user), StreamSet::kMaxStreamsOfUser);
  }
  EXPECT_THAT(Open("another"), HasSubstr("too many streams are open"));
  EXPECT_EQ(Open("0"), "");
  EXPECT_EQ(Open(std::to_string(::geteuid())), "");
}

TEST_F(StreamSetTest, CountsWhatHasEnded) {
  OpenMany("1000", 3);
  CloseOne();
  CloseOne();
  EXPECT_EQ(streams_.TakeEnded(), 2U);
  EXPECT_EQ(streams_.TakeEnded(), 0U);
}

TEST_F(StreamSetTest, EndsAll) {
  OpenMany("1000", 3);
  streams_.EndAll(grpc::Status(grpc::StatusCode::UNAVAILABLE, "stops"));
  for (const auto& reactor : reactors_) {
    ASSERT_TRUE(reactor->finished);
    EXPECT_EQ(reactor->finished->error_message(), "stops");
  }
}

}  // namespace
}  // namespace wavetune
