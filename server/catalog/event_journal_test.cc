#include "server/catalog/event_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "server/store/fake_event_store.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class EventJournalTest : public ::testing::Test {
 protected:
  void RunLater() {
    for (const auto& work : std::exchange(later_, {})) work();
  }
  std::vector<uint64_t> Ids(const EventFilter& filter = {}, size_t most = 100) {
    std::vector<uint64_t> ids;
    const auto events = journal_.List(filter, most);
    EXPECT_TRUE(events.ok()) << events.status();
    for (const EventRecord& event : *events) ids.push_back(event.id);
    return ids;
  }
  size_t Stored() {
    size_t count = 0;
    EXPECT_TRUE(store_
                    .Visit(0,
                           [&](const EventRecord&) {
                             ++count;
                             return true;
                           })
                    .ok());
    return count;
  }
  static EventRecord Promoted(const std::string& kernel) {
    return {.kind = EventKind::kPromoted, .kernel = kernel, .text = "promoted"};
  }

  FakeEventStore store_;
  FakeClock clock_;
  std::vector<std::function<void()>> later_;
  std::vector<EventRecord> logged_;
  EventJournal journal_{
      &store_, &clock_,
      [this](std::function<void()> work) { later_.push_back(std::move(work)); },
      [this](const EventRecord& event) { logged_.push_back(event); }};
};

TEST_F(EventJournalTest, ListsWhatIsNotStoredYetToo) {
  journal_.Record(Promoted("a"));
  journal_.Record(Promoted("b"));
  EXPECT_EQ(Stored(), 0u);
  EXPECT_THAT(Ids(), ElementsAre(2, 1));
  // However many wait, they are stored at once.
  EXPECT_THAT(later_, SizeIs(1));
  RunLater();
  EXPECT_EQ(Stored(), 2u);
  EXPECT_THAT(Ids(), ElementsAre(2, 1));
  EXPECT_THAT(logged_, SizeIs(2));
  EXPECT_EQ(logged_[1].kernel, "b");
  EXPECT_EQ(logged_[1].at_us, clock_.NowUs());
}

TEST_F(EventJournalTest, NumbersGoOnAfterARestart) {
  journal_.Record(Promoted("a"));
  RunLater();
  EventJournal again(
      &store_, &clock_, [](const std::function<void()>& work) { work(); },
      [](const EventRecord&) {});
  ASSERT_TRUE(again.Load().ok());
  again.Record(Promoted("b"));
  const auto events = again.List({}, 10);
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_THAT(*events, SizeIs(2));
  // Far above what the other may have told and not stored before it was killed.
  EXPECT_EQ((*events)[0].id, 2 + EventJournal::kSkippedIds);
}

TEST_F(EventJournalTest, FiltersAndCounts) {
  journal_.Record(Promoted("a"));
  RunLater();
  clock_.Advance(20);
  const int64_t later_us = clock_.NowUs();
  journal_.Record({.kind = EventKind::kDriverChanged, .device_uuid = "GPU-1"});
  journal_.Record(Promoted("b"));
  EXPECT_THAT(Ids({.kind = EventKind::kPromoted}), ElementsAre(3, 1));
  EXPECT_THAT(Ids({.kernel = "b"}), ElementsAre(3));
  EXPECT_THAT(Ids({.device_uuid = "GPU-1"}), ElementsAre(2));
  EXPECT_THAT(Ids({.since_us = later_us}), ElementsAre(3, 2));
  EXPECT_THAT(Ids({.after_id = 1}), ElementsAre(3, 2));
  EXPECT_THAT(Ids({}, 2), ElementsAre(3, 2));
  EXPECT_THAT(Ids({}, 0), IsEmpty());
}

TEST_F(EventJournalTest, CountsTheSameEventWhereItRepeats) {
  for (int i = 0; i < 5; ++i) journal_.Record(Promoted("a"));
  journal_.Record(Promoted("b"));
  EXPECT_THAT(Ids(), ElementsAre(2, 1));
  clock_.Advance(EventJournal::kRepeatUs * 1e-6);
  journal_.Record(Promoted("a"));
  EXPECT_THAT(Ids(), ElementsAre(3, 2, 1));
  EXPECT_THAT(logged_.back().text, HasSubstr("4 times more"));
  clock_.Advance(EventJournal::kRepeatUs * 1e-6);
  journal_.Record(Promoted("a"));
  EXPECT_EQ(logged_.back().text, "promoted");
}

TEST_F(EventJournalTest, TellsTheLastOfRepeatsAfterThePause) {
  const auto record = [this](EventKind kind, const std::string& text) {
    journal_.Record({.kind = kind, .kernel = "a", .text = text});
  };
  record(EventKind::kTableStale, "stale: driver 1");
  clock_.Advance(1);
  record(EventKind::kTableCurrent, "current");
  clock_.Advance(1);
  record(EventKind::kTableStale, "stale: driver 2");
  record(EventKind::kTableStale, "stale: driver 3");
  const int64_t last_us = clock_.NowUs();
  journal_.TellHeldBack();
  EXPECT_THAT(logged_, SizeIs(2));
  clock_.Advance(8);
  journal_.TellHeldBack();
  ASSERT_THAT(logged_, SizeIs(3));
  EXPECT_THAT(logged_.back().text, HasSubstr("stale: driver 3 (1 time more"));
  EXPECT_EQ(logged_.back().at_us, last_us);
  clock_.Advance(20);
  journal_.TellHeldBack();
  EXPECT_THAT(logged_, SizeIs(3));
}

TEST_F(EventJournalTest, ANewerEventOfTheTopicTakesThePlaceOfOneHeldBack) {
  const auto record = [this](EventKind kind) {
    journal_.Record({.kind = kind, .device_uuid = "GPU-1"});
  };
  record(EventKind::kDeviceAttached);
  clock_.Advance(9);
  record(EventKind::kDeviceAttached);
  record(EventKind::kDeviceDetached);
  clock_.Advance(5);
  journal_.TellHeldBack();
  // That it was attached in between is told, and not as the last word.
  ASSERT_THAT(logged_, SizeIs(2));
  EXPECT_EQ(logged_.back().kind, EventKind::kDeviceDetached);
  EXPECT_THAT(logged_.back().text, HasSubstr("1 time more"));
}

TEST_F(EventJournalTest, WhoDidItAndOnWhichSiliconMakesAnotherEvent) {
  EventRecord event = Promoted("a");
  journal_.Record(event);
  event.by = "1000";
  journal_.Record(event);
  event.silicon_key = "mp=132";
  journal_.Record(event);
  EXPECT_THAT(logged_, SizeIs(3));
}

TEST_F(EventJournalTest, WhatIsHeldBackIsToldBeforeTheEnd) {
  journal_.Record(Promoted("a"));
  journal_.Record(Promoted("a"));
  EXPECT_THAT(logged_, SizeIs(1));
  journal_.TellHeldBack(/*all=*/true);
  EXPECT_THAT(logged_, SizeIs(2));
}

TEST_F(EventJournalTest, ManyTopicsLoseNoLastWord) {
  journal_.Record(Promoted("first"));
  journal_.Record(Promoted("first"));
  for (int i = 0; i < 2000; ++i) {
    journal_.Record(Promoted("kernel" + std::to_string(i)));
  }
  EXPECT_THAT(logged_, SizeIs(2002));
}

TEST_F(EventJournalTest, JobsAreNotTheSameEvent) {
  journal_.Record({.kind = EventKind::kJobStarted, .kernel = "a", .job_id = 1});
  journal_.Record({.kind = EventKind::kJobStarted, .kernel = "a", .job_id = 2});
  EXPECT_THAT(Ids(), ElementsAre(2, 1));
}

TEST_F(EventJournalTest, WaitsWhileNothingCanBeStored) {
  store_.FailWrites(absl::ResourceExhaustedError("disk full"));
  for (size_t i = 0; i < EventJournal::kMostUnsaved + 10; ++i) {
    journal_.Record(Promoted("kernel" + std::to_string(i)));
    RunLater();
  }
  EXPECT_TRUE(absl::IsResourceExhausted(journal_.Save()));
  EXPECT_EQ(Stored(), 0u);
  EXPECT_THAT(Ids({}, 5000), SizeIs(EventJournal::kMostUnsaved));
  store_.FailWrites(absl::OkStatus());
  ASSERT_TRUE(journal_.Save().ok());
  EXPECT_EQ(Stored(), EventJournal::kMostUnsaved);
  EXPECT_THAT(Ids({}, 1), ElementsAre(EventJournal::kMostUnsaved + 10));
}

TEST_F(EventJournalTest, AWatcherHearsWhatItMissedAndThenEverything) {
  journal_.Record(Promoted("a"));
  journal_.Record(Promoted("b"));
  RunLater();
  journal_.Record(Promoted("c"));
  std::vector<uint64_t> heard;
  auto watch = journal_.Subscribe(
      1, 100, [&](const EventRecord& event) { heard.push_back(event.id); });
  ASSERT_TRUE(watch.ok()) << watch.status();
  ASSERT_THAT(watch->missed, SizeIs(2));
  EXPECT_EQ(watch->missed[0].id, 2u);
  EXPECT_EQ(watch->missed[1].id, 3u);
  journal_.Record(Promoted("d"));
  EXPECT_THAT(heard, ElementsAre(4));
  watch->handle.reset();
  journal_.Record(Promoted("e"));
  EXPECT_THAT(heard, ElementsAre(4));
}

TEST_F(EventJournalTest, AnEndlessTextIsCut) {
  journal_.Record({.kind = EventKind::kJobEnded,
                   .text = std::string(10 * EventJournal::kMaxTextBytes, 'x')});
  EXPECT_LE(logged_.back().text.size(), EventJournal::kMaxTextBytes + 64);
}

}  // namespace
}  // namespace wavetune
