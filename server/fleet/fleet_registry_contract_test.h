// What every FleetRegistry does, as tests: instantiate with a factory of
// fleets.
//
//   INSTANTIATE_TEST_SUITE_P(Etcd, FleetRegistryContractTest,
//                            ::testing::Values(&MakeEtcdFleet));
#ifndef WAVETUNE_SERVER_FLEET_FLEET_REGISTRY_CONTRACT_TEST_H_
#define WAVETUNE_SERVER_FLEET_FLEET_REGISTRY_CONTRACT_TEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/fleet/fleet_registry.h"

namespace wavetune::testing {

// A fleet under test: each call of Join is another node.
class FleetUnderTest {
 public:
  virtual ~FleetUnderTest() = default;
  virtual std::unique_ptr<FleetRegistry> Join() = 0;
  // The registry cannot be reached by anybody from now on; then it can again,
  // with what it had.
  virtual void Stop() = 0;
  virtual void Start() = 0;
};

using FleetFactory = std::unique_ptr<FleetUnderTest> (*)();

// What a watch told, put together as whoever follows it would.
class FleetFollower {
 public:
  FleetFollower(FleetRegistry* registry, const std::string& prefix,
                const FleetBounds& bounds = {})
      : watch_(registry->Watch(prefix, bounds, [this](const FleetNews& news) {
          const std::lock_guard lock(mutex_);
          if (!news.status.ok()) {
            ++outages_;
          } else {
            Take(news);
          }
          changed_.notify_all();
        })) {}

  // Waits, a minute at most, until it knows of just these values by key.
  bool Sees(const std::map<std::string, std::string>& values) {
    std::unique_lock lock(mutex_);
    const bool seen = changed_.wait_for(lock, std::chrono::minutes(1), [&] {
      return listed_ && values_ == values;
    });
    if (!seen)
      ADD_FAILURE() << "it knows " << ::testing::PrintToString(values_);
    return seen;
  }
  bool SeesOutage() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1),
                             [&] { return outages_ > 0; });
  }
  std::vector<std::string> told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }

 private:
  void Take(const FleetNews& news) {
    if (news.whole) values_.clear();
    listed_ = listed_ || news.whole;
    for (const FleetNews::Entry& one : news.entries) {
      EXPECT_GE(news.revision, one.entry.revision);
      told_.push_back(one.deleted ? "-" + one.entry.key : one.entry.value);
      if (one.deleted) {
        values_.erase(one.entry.key);
      } else {
        values_[one.entry.key] = one.entry.value;
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool listed_ = false;
  int outages_ = 0;
  std::map<std::string, std::string> values_;
  std::vector<std::string> told_;
  std::unique_ptr<FleetRegistry::WatchHandle> watch_;  // Ends first.
};

class FleetRegistryContractTest
    : public ::testing::TestWithParam<FleetFactory> {
 protected:
  FleetRegistryContractTest() : fleet_(GetParam()()), node_(fleet_->Join()) {}

  int64_t Put(const std::string& key, const std::string& value) {
    const auto revision = node_->Commit({{.key = key, .value = value}});
    EXPECT_TRUE(revision.ok()) << revision.status();
    return revision.value_or(0);
  }
  // Waits until the node has a session.
  static void AwaitSession(FleetRegistry& node) {
    std::mutex mutex;
    std::condition_variable begun;
    bool has = false;
    const auto handle = node.OnSession([&] {
      const std::lock_guard lock(mutex);
      has = true;
      begun.notify_all();
    });
    std::unique_lock lock(mutex);
    ASSERT_TRUE(
        begun.wait_for(lock, std::chrono::minutes(1), [&] { return has; }));
  }

  const std::unique_ptr<FleetUnderTest> fleet_;
  const std::unique_ptr<FleetRegistry> node_;
};

TEST_P(FleetRegistryContractTest, WhatIsWrittenIsRead) {
  EXPECT_TRUE(absl::IsNotFound(node_->Get("a/1").status()));
  const int64_t revision = Put("a/1", "one");
  EXPECT_GT(revision, 0);
  const auto entry = node_->Get("a/1");
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(*entry, (FleetEntry{"a/1", "one", revision}));
  EXPECT_GT(Put("a/1", std::string("tw\0o", 4)), revision);
  EXPECT_EQ(fleet_->Join()->Get("a/1")->value, std::string("tw\0o", 4));
}

TEST_P(FleetRegistryContractTest, ListsWhatIsBeneathAPrefix) {
  Put("a/2", "two");
  Put("a/1", "one");
  Put("a", "no");
  const int64_t revision = Put("b/1", "no");
  const auto listing = node_->List("a/");
  ASSERT_TRUE(listing.ok()) << listing.status();
  EXPECT_EQ(listing->revision, revision);
  ASSERT_EQ(listing->entries.size(), 2u);
  EXPECT_EQ(listing->entries[0].value, "one");
  EXPECT_EQ(listing->entries[1].value, "two");
  EXPECT_TRUE(node_->List("c/")->entries.empty());
  EXPECT_TRUE(node_->Get("a").ok());
}

TEST_P(FleetRegistryContractTest, TheWriterWhoseExpectationHoldsWins) {
  const auto made =
      node_->Commit({{.key = "head", .value = "1", .expected = 0}});
  ASSERT_TRUE(made.ok()) << made.status();
  const auto other = fleet_->Join();
  const auto late =
      other->Commit({{.key = "head", .value = "2", .expected = 0}});
  EXPECT_TRUE(absl::IsAborted(late.status())) << late.status();
  EXPECT_THAT(std::string(late.status().message()),
              ::testing::HasSubstr("head"));
  ASSERT_TRUE(
      other->Commit({{.key = "head", .value = "3", .expected = *made}}).ok());
  EXPECT_TRUE(absl::IsAborted(
      node_->Commit({{.key = "head", .value = "4", .expected = *made}})
          .status()));
  EXPECT_EQ(node_->Get("head")->value, "3");
}

TEST_P(FleetRegistryContractTest, ACommitIsAllOrNothing) {
  Put("a", "1");
  EXPECT_TRUE(
      absl::IsAborted(node_
                          ->Commit({{.key = "b", .value = "2"},
                                    {.key = "a", .value = "3", .expected = 0}})
                          .status()));
  EXPECT_TRUE(absl::IsNotFound(node_->Get("b").status()));
  const auto revision =
      node_->Commit({{.key = "b", .value = "2"}, {.key = "a"}});
  ASSERT_TRUE(revision.ok()) << revision.status();
  EXPECT_EQ(node_->Get("b")->revision, *revision);
  EXPECT_TRUE(absl::IsNotFound(node_->Get("a").status()));
}

TEST_P(FleetRegistryContractTest, RefusesWhatNoRegistryTakes) {
  EXPECT_TRUE(absl::IsInvalidArgument(node_->Commit({}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      node_->Commit({{.key = "", .value = "1"}}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      node_->Commit({{.key = "a", .value = "1"}, {.key = "a"}}).status()));
  const std::string most(FleetRegistry::kMaxValueBytes, 'x');
  EXPECT_TRUE(absl::IsInvalidArgument(
      node_->Commit({{.key = "a", .value = most + "x"}}).status()));
  Put("a", most);
  EXPECT_EQ(node_->Get("a", FleetRegistry::kMaxValueBytes)->value, most);
  std::vector<FleetWrite> many(FleetRegistry::kMaxWrites);
  for (size_t i = 0; i < many.size(); ++i)
    many[i] = {.key = "many/" + std::to_string(i), .value = "x"};
  EXPECT_TRUE(node_->Commit(many).ok());
  many.push_back({.key = "one more", .value = "x"});
  EXPECT_TRUE(absl::IsInvalidArgument(node_->Commit(many).status()));
}

TEST_P(FleetRegistryContractTest, AWatchTellsAllThenEachChangeInOrder) {
  Put("heads/a", "1");
  Put("other", "no");
  const auto other = fleet_->Join();
  FleetFollower follower(other.get(), "heads/");
  ASSERT_TRUE(follower.Sees({{"heads/a", "1"}}));
  for (const char* const value : {"2", "3", "4"}) Put("heads/a", value);
  Put("heads/b", "5");
  Put("other", "no");
  ASSERT_TRUE(node_->Commit({{.key = "heads/a"}}).ok());
  ASSERT_TRUE(follower.Sees({{"heads/b", "5"}}));
  EXPECT_THAT(follower.told(),
              ::testing::ElementsAre("1", "2", "3", "4", "5", "-heads/a"));
}

TEST_P(FleetRegistryContractTest, SeveralWatchesOfANodeAreIndependent) {
  FleetFollower a(node_.get(), "a/");
  auto b = std::make_unique<FleetFollower>(node_.get(), "b/");
  ASSERT_TRUE(a.Sees({}) && b->Sees({}));
  Put("a/1", "one");
  Put("b/1", "two");
  EXPECT_TRUE(a.Sees({{"a/1", "one"}}) && b->Sees({{"b/1", "two"}}));
  b.reset();
  Put("b/1", "nobody hears");
  Put("a/1", "three");
  EXPECT_TRUE(a.Sees({{"a/1", "three"}}));
}

TEST_P(FleetRegistryContractTest, WhatIsTooLargeComesWithoutItsValue) {
  Put("a/1", std::string(100, 'x'));
  Put("a/2", "two");
  const auto entry = node_->Get("a/1", 99);
  EXPECT_TRUE(entry->cut && entry->value.empty()) << entry->value;
  EXPECT_FALSE(node_->Get("a/1", 100)->cut);
  const auto listing = node_->List("a/", {.entry_bytes = 99});
  ASSERT_EQ(listing->entries.size(), 2u);
  EXPECT_TRUE(listing->entries[0].cut);
  EXPECT_EQ(listing->entries[1].value, "two");
  EXPECT_EQ(node_->List("a/", {.entry_bytes = 0})->entries[1].value, "");
  FleetFollower follower(node_.get(), "a/", {.entry_bytes = 99});
  ASSERT_TRUE(follower.Sees({{"a/1", ""}, {"a/2", "two"}}));
  Put("a/2", std::string(100, 'x'));
  EXPECT_TRUE(follower.Sees({{"a/1", ""}, {"a/2", ""}}));
}

TEST_P(FleetRegistryContractTest, MoreThanTheBoundsIsAnOutageUntilThereIsLess) {
  Put("a/1", "one");
  Put("a/2", "two");
  const FleetBounds few{.entries = 2};
  FleetFollower follower(node_.get(), "a/", few);
  ASSERT_TRUE(follower.Sees({{"a/1", "one"}, {"a/2", "two"}}));
  EXPECT_TRUE(
      absl::IsResourceExhausted(node_->List("a/", {.all_bytes = 10}).status()));
  Put("a/3", "three");
  EXPECT_TRUE(follower.SeesOutage());
  EXPECT_TRUE(absl::IsResourceExhausted(node_->List("a/", few).status()));
  ASSERT_TRUE(node_->Commit({{.key = "a/1"}}).ok());
  EXPECT_TRUE(follower.Sees({{"a/2", "two"}, {"a/3", "three"}}));
}

TEST_P(FleetRegistryContractTest, WhatIsOfASessionGoesWithItsNode) {
  auto other = fleet_->Join();
  AwaitSession(*other);
  const absl::Status session = other->Session();
  EXPECT_TRUE(session.ok()) << session;
  FleetFollower follower(node_.get(), "nodes/");
  ASSERT_TRUE(
      other
          ->Commit({{.key = "nodes/b", .value = "here", .of_session = true},
                    {.key = "nodes/kept", .value = "kept"}})
          .ok());
  ASSERT_TRUE(follower.Sees({{"nodes/b", "here"}, {"nodes/kept", "kept"}}));
  EXPECT_TRUE(node_->Get("nodes/b")->of_session);
  EXPECT_FALSE(node_->Get("nodes/kept")->of_session);
  other.reset();
  EXPECT_TRUE(follower.Sees({{"nodes/kept", "kept"}}));
}

TEST_P(FleetRegistryContractTest, AnOutageIsNewsAndNothingIsMissed) {
  AwaitSession(*node_);
  Put("heads/a", "1");
  FleetFollower follower(node_.get(), "heads/");
  ASSERT_TRUE(follower.Sees({{"heads/a", "1"}}));
  fleet_->Stop();
  EXPECT_TRUE(follower.SeesOutage());
  const absl::Status out = node_->Get("heads/a").status();
  EXPECT_TRUE(absl::IsUnavailable(out)) << out;
  EXPECT_TRUE(absl::IsUnavailable(
      node_->Commit({{.key = "heads/a", .value = "2"}}).status()));
  fleet_->Start();
  const auto other = fleet_->Join();
  absl::StatusOr<int64_t> revision = absl::UnavailableError("");
  for (int i = 0; i < 100 && absl::IsUnavailable(revision.status()); ++i)
    revision = other->Commit({{.key = "heads/a", .value = "3"}});
  ASSERT_TRUE(revision.ok()) << revision.status();
  EXPECT_TRUE(follower.Sees({{"heads/a", "3"}}));
}

}  // namespace wavetune::testing

#endif  // WAVETUNE_SERVER_FLEET_FLEET_REGISTRY_CONTRACT_TEST_H_
