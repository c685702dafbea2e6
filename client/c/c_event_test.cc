// The C ABI: what happened to a client's tables.
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "client/c/test_handles.h"
#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/tiny_table.h"
#include "wavetune/wavetune.h"

namespace wavetune {
namespace {

using testing::ClientHandle;
using testing::ConnectInC;
using testing::FakeNode;
using testing::GetTunerInC;
using ::testing::HasSubstr;
using testing::Serve;
using testing::TinyTable;
using testing::TunerHandle;

struct Seen {
  uint64_t number = 0;
  int32_t kind = -1;
  std::string kernel;
  std::string digest;
  int32_t reason_code = -1;
  std::string reason;
};

class CEventTest : public ::testing::Test {
 protected:
  CEventTest() {
    node_.AddTable(Serve(TinyTable()));
    Table next = TinyTable();
    next.near_tie += 0.01;
    second_ = Serve(next, "GPU-1", /*promoted_at_us=*/2);
    client_ = ConnectInC(node_.endpoint(), node_.cache_dir());
    tuner_ = GetTunerInC(client_.get(), "add");
  }

  static void Keep(void* seen, const wavetune_event* event) {
    EXPECT_GT(event->time_us, 0);
    static_cast<std::vector<Seen>*>(seen)->push_back(
        {event->number, event->kind, event->kernel, event->digest,
         event->reason_code, event->reason});
  }

  std::vector<Seen> EventsAfter(uint64_t number) {
    std::vector<Seen> seen;
    EXPECT_EQ(wavetune_client_visit_events(client_.get(), number, Keep, &seen),
              WAVETUNE_OK);
    return seen;
  }

  // Returns the first event of a kind, waiting for it; the test fails after a
  // generous deadline.
  Seen Await(int32_t kind) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      for (const Seen& event : EventsAfter(0)) {
        if (event.kind == kind) return event;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "no event of kind " << kind;
    return {};
  }

  FakeNode node_;
  FetchedTable second_;
  ClientHandle client_;
  TunerHandle tuner_;
};

TEST_F(CEventTest, WhatHappensToTablesIsToldInOrderAndOnce) {
  const Seen connected = Await(WAVETUNE_EVENT_CONNECTED);
  EXPECT_EQ(connected.number, 1u);
  EXPECT_EQ(connected.kernel, "");

  node_.Promote(second_);
  const Seen staged = Await(WAVETUNE_EVENT_STAGED);
  EXPECT_EQ(staged.kernel, "add");
  EXPECT_EQ(staged.digest, second_.info.digest());
  EXPECT_EQ(staged.reason, "");
  EXPECT_EQ(staged.reason_code, WAVETUNE_OK);
  EXPECT_TRUE(EventsAfter(staged.number).empty());

  ASSERT_EQ(wavetune_tuner_activate(tuner_.get(), staged.digest.c_str()),
            WAVETUNE_OK);
  const std::vector<Seen> since = EventsAfter(staged.number);
  ASSERT_EQ(since.size(), 1u);
  EXPECT_EQ(since[0].kind, WAVETUNE_EVENT_ACTIVATED);
  EXPECT_EQ(since[0].number, staged.number + 1);
}

TEST_F(CEventTest, ReasonsAreTold) {
  Await(WAVETUNE_EVENT_CONNECTED);
  node_.Stop();
  const Seen cut = Await(WAVETUNE_EVENT_DISCONNECTED);
  EXPECT_EQ(cut.reason_code, WAVETUNE_UNAVAILABLE);
  EXPECT_NE(cut.reason, "");
}

TEST_F(CEventTest, AVisitorMayActivateWhatItHearsOf) {
  node_.Promote(second_);
  Await(WAVETUNE_EVENT_STAGED);
  const auto activate = [](void* tuner, const wavetune_event* event) {
    if (event->kind != WAVETUNE_EVENT_STAGED) return;
    EXPECT_EQ(wavetune_tuner_activate(static_cast<wavetune_tuner*>(tuner),
                                      event->digest),
              WAVETUNE_OK);
  };
  ASSERT_EQ(
      wavetune_client_visit_events(client_.get(), 0, activate, tuner_.get()),
      WAVETUNE_OK);
  char digest[WAVETUNE_DIGEST_SIZE] = "";
  ASSERT_EQ(wavetune_tuner_digest(tuner_.get(), digest, sizeof(digest)),
            WAVETUNE_OK);
  EXPECT_EQ(digest, second_.info.digest());
}

TEST_F(CEventTest, ANullIsRefused) {
  EXPECT_EQ(wavetune_client_visit_events(nullptr, 0, Keep, nullptr),
            WAVETUNE_INVALID_ARGUMENT);
  EXPECT_THAT(wavetune_last_error(), HasSubstr("`client` is NULL"));
  EXPECT_EQ(wavetune_client_visit_events(client_.get(), 0, nullptr, nullptr),
            WAVETUNE_INVALID_ARGUMENT);
  EXPECT_THAT(wavetune_last_error(), HasSubstr("`visit` is NULL"));
}

}  // namespace
}  // namespace wavetune
