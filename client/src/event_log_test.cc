#include "client/src/event_log.h"

#include "gtest/gtest.h"

namespace wavetune {
namespace {

using Kind = ClientEvent::Kind;

TEST(EventLogTest, KeepsTheLastOnesInOrder) {
  EventLog log;
  EXPECT_TRUE(log.events().empty());
  for (size_t i = 0; i < EventLog::kKept + 3; ++i) {
    log.Add(Kind::kStaged, "add", std::to_string(i));
  }
  const std::vector<ClientEvent> events = log.events();
  ASSERT_EQ(events.size(), EventLog::kKept);
  EXPECT_EQ(events.front().digest, "3");
  EXPECT_EQ(events.back().digest, std::to_string(EventLog::kKept + 2));
  EXPECT_EQ(events.front().number, 4u);
  EXPECT_EQ(events.back().number, EventLog::kKept + 3);
  EXPECT_GT(events.back().time_us, 0);
}

TEST(EventLogTest, RemembersTheLastProblem) {
  EventLog log;
  EXPECT_TRUE(log.last_problem().ok());
  log.Add(Kind::kRefused, "add", "d", absl::DataLossError("torn"));
  log.Add(Kind::kActivated, "add", "e");
  EXPECT_EQ(log.last_problem(), absl::DataLossError("torn"));
}

TEST(EventLogTest, NamesEveryKind) {
  EXPECT_EQ(ToString(Kind::kStaged), "STAGED");
  EXPECT_EQ(ToString(Kind::kActivated), "ACTIVATED");
  EXPECT_EQ(ToString(Kind::kWithdrawn), "WITHDRAWN");
  EXPECT_EQ(ToString(Kind::kRefused), "REFUSED");
  EXPECT_EQ(ToString(Kind::kConnected), "CONNECTED");
  EXPECT_EQ(ToString(Kind::kDisconnected), "DISCONNECTED");
  EXPECT_EQ(ToString(static_cast<Kind>(99)), "UNKNOWN");
}

}  // namespace
}  // namespace wavetune
