#include "server/rpc/event_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "server/store/fake_event_store.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FakeEventSink : public EventHandler::Sink {
 public:
  void Push(const std::vector<EventNotice>& events) override {
    for (const EventNotice& event : events) {
      if (event->has_event()) {
        ids.push_back(event->event().id());
      } else {
        missed = ids.size();
      }
    }
  }
  size_t missed = 0;  // How many came before all else.
  std::vector<uint64_t> ids;
};

class EventHandlerTest : public ::testing::Test {
 protected:
  void Record(EventKind kind, const std::string& kernel) {
    journal_.Record({.kind = kind, .kernel = kernel, .text = "text"});
  }
  std::shared_ptr<EventHandler::Watch> Watch(uint64_t after_id) {
    v1::WatchEventsRequest request;
    request.set_after_id(after_id);
    auto watch = handler_.WatchEvents(request, sink_);
    EXPECT_TRUE(watch.ok()) << watch.status();
    return *watch;
  }

  FakeEventStore store_;
  FakeClock clock_;
  EventJournal journal_{&store_, &clock_, [](const auto& work) { work(); },
                        [](const EventRecord&) {}};
  EventHandler handler_{&journal_};
  const std::shared_ptr<FakeEventSink> sink_ =
      std::make_shared<FakeEventSink>();
};

TEST_F(EventHandlerTest, ListsWhatIsAskedFor) {
  Record(EventKind::kPromoted, "a");
  Record(EventKind::kWithdrawn, "a");
  Record(EventKind::kPromoted, "b");
  v1::ListEventsResponse all;
  ASSERT_TRUE(handler_.ListEvents({}, &all).ok());
  ASSERT_EQ(all.events_size(), 3);
  EXPECT_EQ(all.events(0).kind(), v1::Event::PROMOTED);
  EXPECT_EQ(all.events(0).kernel(), "b");
  EXPECT_EQ(all.events(0).text(), "text");
  EXPECT_EQ(all.events(0).at_us(), clock_.NowUs());
  v1::ListEventsRequest request;
  request.set_kind(v1::Event::PROMOTED);
  request.set_limit(1);
  v1::ListEventsResponse one;
  ASSERT_TRUE(handler_.ListEvents(request, &one).ok());
  ASSERT_EQ(one.events_size(), 1);
  EXPECT_EQ(one.events(0).id(), 3u);
  request.set_kernel("a");
  v1::ListEventsResponse of_a;
  ASSERT_TRUE(handler_.ListEvents(request, &of_a).ok());
  EXPECT_EQ(of_a.events(0).id(), 1u);
}

TEST_F(EventHandlerTest, RefusesALimitOrKindThatIsNone) {
  v1::ListEventsResponse response;
  v1::ListEventsRequest request;
  request.set_limit(EventHandler::kMaxEvents + 1);
  EXPECT_TRUE(absl::IsInvalidArgument(handler_.ListEvents(request, &response)));
  request.set_limit(0);
  request.set_kind(static_cast<v1::Event::Kind>(99));
  EXPECT_TRUE(absl::IsInvalidArgument(handler_.ListEvents(request, &response)));
}

TEST_F(EventHandlerTest, AWatchGoesOnFromAnId) {
  Record(EventKind::kPromoted, "a");
  Record(EventKind::kPromoted, "b");
  auto watch = Watch(1);
  EXPECT_THAT(sink_->ids, ElementsAre(2));
  EXPECT_EQ(sink_->missed, 1u);
  Record(EventKind::kPromoted, "c");
  EXPECT_THAT(sink_->ids, ElementsAre(2, 3));
  watch.reset();
  Record(EventKind::kPromoted, "d");
  EXPECT_THAT(sink_->ids, ElementsAre(2, 3));
}

TEST_F(EventHandlerTest, AWatchWithoutAnIdTellsNothingOfThePast) {
  Record(EventKind::kPromoted, "a");
  const auto watch = Watch(0);
  EXPECT_THAT(sink_->ids, IsEmpty());
  Record(EventKind::kPromoted, "b");
  EXPECT_THAT(sink_->ids, ElementsAre(2));
}

TEST_F(EventHandlerTest, SoManyFollowAtOnce) {
  std::vector<std::shared_ptr<EventHandler::Watch>> watches;
  for (int i = 0; i < EventHandler::kMaxWatches; ++i) {
    watches.push_back(Watch(0));
  }
  const auto more = [&] {
    return handler_.WatchEvents(v1::WatchEventsRequest(), sink_).status();
  };
  EXPECT_TRUE(absl::IsResourceExhausted(more())) << more();
  watches.pop_back();
  EXPECT_TRUE(more().ok());
}

}  // namespace
}  // namespace wavetune
