#include "server/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <vector>

namespace wavetune {
namespace {

using ::testing::ElementsAre;

TEST(WorkQueueTest, DoesWhatWaitsInOrderBeforeItEnds) {
  std::vector<int> done;
  {
    WorkQueue queue(8);
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(queue.Run([&done, i] { done.push_back(i); }));
    }
    queue.RunAlways([&done] { done.push_back(4); });
  }
  EXPECT_THAT(done, ElementsAre(0, 1, 2, 3, 4));
}

TEST(WorkQueueTest, WhoQueuesDoesNotWait) {
  std::promise<void> disk;
  std::promise<std::thread::id> worker;
  WorkQueue queue(8);
  queue.Run([&] {
    worker.set_value(std::this_thread::get_id());
    disk.get_future().wait();
  });
  EXPECT_NE(worker.get_future().get(), std::this_thread::get_id());
  disk.set_value();
}

TEST(WorkQueueTest, RefusesWhatIsTooMuchButNotWhatMustBeDone) {
  std::promise<void> disk;
  std::promise<void> started;
  int done = 0;
  {
    WorkQueue queue(2);
    queue.Run([&] {
      started.set_value();
      disk.get_future().wait();
    });
    started.get_future().wait();
    EXPECT_TRUE(queue.Run([&] { ++done; }));
    EXPECT_TRUE(queue.Run([&] { ++done; }));
    EXPECT_FALSE(queue.Run([&] { ++done; }));
    queue.RunAlways([&] { ++done; });
    disk.set_value();
  }
  EXPECT_EQ(done, 3);
}

}  // namespace
}  // namespace wavetune
