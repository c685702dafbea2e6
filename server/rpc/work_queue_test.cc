#include "server/rpc/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WorkQueueTest, DoesWhatWaitsInOrderBeforeItEnds) {
  std::vector<int> done;
  {
    WorkQueue queue({.works = 8});
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(queue.Run([&done, i] { done.push_back(i); }).ok());
    }
    queue.RunAlways([&done] { done.push_back(4); });
  }
  EXPECT_THAT(done, ElementsAre(0, 1, 2, 3, 4));
}

TEST(WorkQueueTest, WhoQueuesDoesNotWait) {
  std::promise<void> disk;
  std::promise<std::thread::id> worker;
  WorkQueue queue({.works = 8});
  const absl::Status queued = queue.Run([&] {
    worker.set_value(std::this_thread::get_id());
    disk.get_future().wait();
  });
  EXPECT_TRUE(queued.ok());
  EXPECT_NE(worker.get_future().get(), std::this_thread::get_id());
  disk.set_value();
}

TEST(WorkQueueTest, RefusesWhatIsTooMuchButNotWhatMustBeDone) {
  std::promise<void> disk;
  std::promise<void> started;
  int done = 0;
  {
    WorkQueue queue({.works = 2});
    queue.RunAlways([&] {
      started.set_value();
      disk.get_future().wait();
    });
    started.get_future().wait();
    EXPECT_TRUE(queue.Run([&] { ++done; }).ok());
    EXPECT_TRUE(queue.Run([&] { ++done; }).ok());
    EXPECT_FALSE(queue.Run([&] { ++done; }).ok());
    queue.RunAlways([&] { ++done; });
    disk.set_value();
  }
  EXPECT_EQ(done, 3);
}

TEST(WorkQueueTest, AUserHasAShareAndNoMore) {
  std::promise<void> disk;
  std::promise<void> started;
  {
    WorkQueue queue({.works = 8, .bytes = 1000}, {.works = 2, .bytes = 400});
    queue.RunAlways([&] {
      started.set_value();
      disk.get_future().wait();
    });
    started.get_future().wait();
    const auto run = [&](const std::string& user, size_t bytes) {
      return queue.Run([] {}, {.user = user, .bytes = bytes});
    };
    EXPECT_TRUE(run("1", 300).ok());
    EXPECT_THAT(std::string(run("1", 101).message()),
                HasSubstr("of this user"));
    EXPECT_TRUE(run("1", 100).ok());
    EXPECT_EQ(run("1", 0).code(), absl::StatusCode::kResourceExhausted);
    // Of whom nothing waits, one of any size that all together may have.
    EXPECT_TRUE(run("2", 600).ok());
    EXPECT_THAT(std::string(run("3", 1).message()),
                HasSubstr("too many requests wait"));
    EXPECT_TRUE(run("3", 0).ok());
    disk.set_value();
  }
}

TEST(WorkQueueTest, WhatIsDoneMakesRoom) {
  WorkQueue queue({.works = 1, .bytes = 10});
  for (int i = 0; i < 100; ++i) {
    std::promise<void> done;
    const absl::Status queued =
        queue.Run([&] { done.set_value(); }, {.user = "1", .bytes = 10});
    ASSERT_TRUE(queued.ok()) << queued;
    done.get_future().wait();
  }
}

}  // namespace
}  // namespace wavetune
