// What every EventStore promises. Use: as sample_store_contract_test.h.
#ifndef WAVETUNE_SERVER_STORE_EVENT_STORE_CONTRACT_TEST_H_
#define WAVETUNE_SERVER_STORE_EVENT_STORE_CONTRACT_TEST_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/event_store.h"

namespace wavetune::testing {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using EventStoreFactory = std::shared_ptr<EventStore> (*)();

inline EventRecord TestEvent(uint64_t id) {
  return {.id = id,
          .at_us = 1'700'000'000'000'000 + static_cast<int64_t>(id),
          .kind = EventKind::kPromoted,
          .warning = id % 2 == 0,
          .kernel = "gemm_f32",
          .device_uuid = "GPU-1",
          .silicon_key = "mp=132",
          .digest = std::string(64, 'd'),
          .job_id = 3,
          .by = "1000",
          .text = "table dddddddd serves"};
}

class EventStoreContractTest
    : public ::testing::TestWithParam<EventStoreFactory> {
 protected:
  std::vector<EventRecord> All() {
    std::vector<EventRecord> events;
    EXPECT_TRUE(store_
                    ->Visit(0,
                            [&](const EventRecord& event) {
                              events.push_back(event);
                              return true;
                            })
                    .ok());
    return events;
  }

  const std::shared_ptr<EventStore> store_ = GetParam()();
};

TEST_P(EventStoreContractTest, KeepsEveryKind) {
  std::vector<EventRecord> events;
  for (int kind = 1; kind < static_cast<int>(EventKind::kEnd); ++kind) {
    events.push_back(TestEvent(static_cast<uint64_t>(kind)));
    events.back().kind = static_cast<EventKind>(kind);
  }
  ASSERT_TRUE(store_->Append(events).ok());
  std::reverse(events.begin(), events.end());
  EXPECT_EQ(All(), events);
}

TEST_P(EventStoreContractTest, IsEmptyAtFirst) {
  EXPECT_THAT(All(), IsEmpty());
  EXPECT_EQ(store_->LastId().value(), 0u);
  EXPECT_TRUE(store_->Append({}).ok());
}

TEST_P(EventStoreContractTest, ListsNewestFirst) {
  const std::vector<EventRecord> two = {TestEvent(1), TestEvent(2)};
  ASSERT_TRUE(store_->Append(two).ok());
  const std::vector<EventRecord> one = {TestEvent(256)};
  ASSERT_TRUE(store_->Append(one).ok());
  EXPECT_THAT(All(), ElementsAre(TestEvent(256), TestEvent(2), TestEvent(1)));
  EXPECT_EQ(store_->LastId().value(), 256u);
}

TEST_P(EventStoreContractTest, AVisitMayEndEarly) {
  const std::vector<EventRecord> events = {TestEvent(1), TestEvent(2)};
  ASSERT_TRUE(store_->Append(events).ok());
  int visited = 0;
  ASSERT_TRUE(store_
                  ->Visit(0,
                          [&](const EventRecord&) {
                            ++visited;
                            return false;
                          })
                  .ok());
  EXPECT_EQ(visited, 1);
}

TEST_P(EventStoreContractTest, VisitsOnlyWhatIsNewer) {
  std::vector<EventRecord> events;
  for (uint64_t id = 10; id <= 10'000; id += 10)
    events.push_back(TestEvent(id));
  ASSERT_TRUE(store_->Append(events).ok());
  std::vector<uint64_t> ids;
  ASSERT_TRUE(store_
                  ->Visit(7'005,
                          [&](const EventRecord& event) {
                            ids.push_back(event.id);
                            return true;
                          })
                  .ok());
  ASSERT_THAT(ids, SizeIs(300));
  EXPECT_EQ(ids.front(), 10'000u);
  EXPECT_EQ(ids.back(), 7'010u);
  EXPECT_TRUE(std::is_sorted(ids.rbegin(), ids.rend()));
}

TEST_P(EventStoreContractTest, AGapInTheNumbersCostsNoEvents) {
  const std::vector<EventRecord> before = {TestEvent(1), TestEvent(2)};
  ASSERT_TRUE(store_->Append(before).ok());
  const std::vector<EventRecord> after = {TestEvent(1'000'003)};
  ASSERT_TRUE(store_->Append(after).ok());
  EXPECT_THAT(All(),
              ElementsAre(TestEvent(1'000'003), TestEvent(2), TestEvent(1)));
}

TEST_P(EventStoreContractTest, ForgetsTheOldest) {
  std::vector<EventRecord> events;
  for (uint64_t id = 1; id <= EventStore::kEventsKept + 3; ++id) {
    events.push_back(TestEvent(id));
  }
  const absl::Span<const EventRecord> all(events);
  ASSERT_TRUE(store_->Append(all.first(EventStore::kEventsKept)).ok());
  EXPECT_THAT(All(), SizeIs(EventStore::kEventsKept));
  ASSERT_TRUE(store_->Append(all.subspan(EventStore::kEventsKept)).ok());
  const std::vector<EventRecord> kept = All();
  ASSERT_THAT(kept, SizeIs(EventStore::kEventsKept));
  EXPECT_EQ(kept.back().id, 4u);
}

}  // namespace wavetune::testing

#endif  // WAVETUNE_SERVER_STORE_EVENT_STORE_CONTRACT_TEST_H_
