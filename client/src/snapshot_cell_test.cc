#include "client/src/snapshot_cell.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

// All values are alike while it lives, and zero afterwards.
class Whole {
 public:
  explicit Whole(uint64_t value) {
    alive.fetch_add(1);
    values_.fill(value);
  }
  ~Whole() {
    values_.fill(0);
    alive.fetch_sub(1);
  }
  Whole(const Whole&) = delete;
  Whole& operator=(const Whole&) = delete;

  // 0 where it is torn or gone.
  uint64_t Value() const {
    for (const uint64_t value : values_) {
      if (value != values_[0]) return 0;
    }
    return values_[0];
  }

  static std::atomic<int> alive;

 private:
  std::array<uint64_t, 32> values_{};
};
std::atomic<int> Whole::alive = 0;

std::shared_ptr<const Whole> Make(uint64_t value) {
  return std::make_shared<const Whole>(value);
}

uint64_t ReadValue(const SnapshotCell<Whole>& cell) {
  return cell.Read([](const Whole& whole) { return whole.Value(); });
}

TEST(SnapshotCellTest, ReadsWhatWasPublishedLast) {
  SnapshotCell<Whole> cell(Make(1));
  EXPECT_EQ(ReadValue(cell), 1U);
  cell.Publish(Make(2));
  EXPECT_EQ(ReadValue(cell), 2U);
  EXPECT_EQ(cell.Get()->Value(), 2U);
}

TEST(SnapshotCellTest, FreesWhatIsReplacedWhenNobodyReads) {
  {
    SnapshotCell<Whole> cell(Make(1));
    for (uint64_t i = 2; i < 1000; ++i) {
      cell.Publish(Make(i));
      ASSERT_EQ(Whole::alive.load(), 1);
    }
    EXPECT_EQ(cell.Collect(), 0U);
  }
  EXPECT_EQ(Whole::alive.load(), 0);
}

TEST(SnapshotCellTest, WhatIsBeingReadOutlivesItsReplacement) {
  SnapshotCell<Whole> cell(Make(1));
  const uint64_t read = cell.Read([&](const Whole& whole) {
    std::thread([&] {
      for (uint64_t i = 2; i < 10; ++i) cell.Publish(Make(i));
    }).join();
    EXPECT_EQ(cell.Collect(), 8U);
    EXPECT_EQ(Whole::alive.load(), 9);
    return whole.Value();
  });
  EXPECT_EQ(read, 1U);
  EXPECT_EQ(cell.Collect(), 0U);
  EXPECT_EQ(Whole::alive.load(), 1);
}

TEST(SnapshotCellTest, AReadMayStandInsideOfAnother) {
  SnapshotCell<Whole> cell(Make(1));
  SnapshotCell<Whole> other(Make(7));
  cell.Read([&](const Whole& whole) {
    EXPECT_EQ(ReadValue(other), 7U);
    cell.Publish(Make(2));
    EXPECT_EQ(ReadValue(cell), 2U);  // Its end must not end the outer one.
    EXPECT_EQ(cell.Collect(), 1U);
    EXPECT_EQ(whole.Value(), 1U);
    return 0;
  });
  EXPECT_EQ(cell.Collect(), 0U);
}

TEST(SnapshotCellTest, WhatWasTakenAwayIsKept) {
  SnapshotCell<Whole> cell(Make(1));
  const std::shared_ptr<const Whole> kept = cell.Get();
  cell.Publish(Make(2));
  EXPECT_EQ(cell.Collect(), 0U);
  EXPECT_EQ(kept->Value(), 1U);
}

// Readers check that what they read is whole and never goes back in time.
TEST(SnapshotCellTest, ReadersAndWritersDoNotDisturbEachOther) {
  {
    SnapshotCell<Whole> cell(Make(1));
    std::atomic<bool> stop = false;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        uint64_t last = 0;
        while (!stop.load(std::memory_order_relaxed)) {
          const uint64_t value = ReadValue(cell);
          if (value < last || value == 0) wrong.fetch_add(1);
          last = value;
        }
      });
    }
    for (uint64_t i = 2; i < 5000; ++i) cell.Publish(Make(i));
    stop = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(cell.Collect(), 0U);
    EXPECT_EQ(Whole::alive.load(), 1);
  }
  EXPECT_EQ(Whole::alive.load(), 0);
}

TEST(SnapshotCellTest, SeveralMayPublish) {
  SnapshotCell<Whole> cell(Make(1));
  std::vector<std::thread> threads;
  for (uint64_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 500; ++i) {
        cell.Publish(Make(t * 1000 + i));
        if (ReadValue(cell) == 0) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cell.Collect(), 0U);
  EXPECT_EQ(Whole::alive.load(), 1);
}

TEST(SnapshotCellTest, ThreadsThatEndGiveTheirRecordsBack) {
  const SnapshotCell<Whole> cell(Make(1));
  for (int i = 0; i < kMaxReaders + 10; ++i) {
    bool has_record = false;
    std::thread([&] {
      ReadValue(cell);
      has_record = internal::this_reader != nullptr;
    }).join();
    ASSERT_TRUE(has_record) << "thread " << i;
  }
}

TEST(SnapshotCellTest, MoreThreadsThanRecordsReadAsWell) {
  SnapshotCell<Whole> cell(Make(1));
  ReadValue(cell);
  internal::ReaderRecord* const mine = internal::this_reader;
  while (internal::ClaimRecord() != nullptr) {
  }
  internal::LeaveWithoutRecord();
  internal::this_reader = mine;
  std::thread([&] {
    cell.Read([&](const Whole& whole) {
      EXPECT_EQ(internal::this_reader, nullptr);
      cell.Publish(Make(2));
      EXPECT_EQ(cell.Collect(), 1U);
      EXPECT_EQ(whole.Value(), 1U);
      return 0;
    });
  }).join();
  EXPECT_EQ(cell.Collect(), 0U);
  EXPECT_EQ(ReadValue(cell), 2U);
  ForgetOtherThreads();  // Gives the records back.
}

#if !defined(__SANITIZE_THREAD__)  // It ends a process that forks threads.
TEST(SnapshotCellTest, AChildDoesNotWaitForTheParentsReaders) {
  SnapshotCell<Whole> cell(Make(1));
  std::atomic<bool> inside = false;
  std::atomic<bool> leave = false;
  std::thread reader([&] {
    cell.Read([&](const Whole&) {
      inside = true;
      while (!leave) std::this_thread::yield();
      return 0;
    });
  });
  while (!inside) std::this_thread::yield();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    cell.Publish(Make(2));
    _exit(cell.Collect() == 0 && ReadValue(cell) == 2 ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  leave = true;
  reader.join();
}
#endif

}  // namespace
}  // namespace wavetune
