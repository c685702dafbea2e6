// A process killed at any instruction loses nothing that it acknowledged.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "gtest/gtest.h"
#include "server/store/rocksdb_test_support.h"
#include "server/store/store_contract_test_records.h"

namespace wavetune::testing {
namespace {

std::string Payload(int64_t number) {
  return absl::StrCat("payload ", number, std::string(1000, 'x'));
}

// Appends sample after sample, now and then a table, from `next` on, and says
// through the pipe which one is safe. Ends by being killed.
[[noreturn]] void Work(const std::string& path, int64_t next, int pipe) {
  const auto store = RocksDbStore::Open({.path = path});
  if (!store.ok()) _exit(1);
  for (;; ++next) {
    const std::vector<SampleRecord> samples = {TestSample(next)};
    if (!(*store)->samples().Append(TestKey(), 1, samples, {}).ok()) _exit(2);
    if (next % 5 == 0 &&
        !(*store)->tables().Promote(TestTable(TestKey()), Payload(next)).ok()) {
      _exit(3);
    }
    if (write(pipe, &next, sizeof next) != sizeof next) _exit(4);
  }
}

// Runs a worker until it has acknowledged `count` more samples and kills it.
// Returns the last acknowledged one.
int64_t RunAndKill(const std::string& path, int64_t next, int count) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    Work(path, next, ends[1]);
  }
  close(ends[1]);
  int64_t acknowledged = next - 1;
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(read(ends[0], &acknowledged, sizeof acknowledged),
              static_cast<ssize_t>(sizeof acknowledged));
  }
  kill(child, SIGKILL);
  // What was acknowledged before the signal arrived.
  while (read(ends[0], &acknowledged, sizeof acknowledged) ==
         static_cast<ssize_t>(sizeof acknowledged)) {
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "exit status " << WEXITSTATUS(status);
  return acknowledged;
}

TEST(RocksDbCrashTest, LosesNoAcknowledgedSampleOrTable) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("store");
  int64_t next = 0;
  int64_t before = -1;  // Acknowledged by the worker before.
  for (int round = 0; round < 20; ++round) {
    const int64_t acknowledged = RunAndKill(path, next, 3 + 7 * (round % 4));
    ASSERT_GE(acknowledged, next);
    const auto store = RocksDbStore::Open({.path = path});
    ASSERT_TRUE(store.ok()) << store.status();
    const SampleSet set = (*store)->samples().Load(TestKey(), 1).value();
    // One more may be there: stored, and not yet acknowledged.
    const int64_t count = static_cast<int64_t>(set.samples.size());
    ASSERT_GE(count, acknowledged + 1);
    ASSERT_LE(count, acknowledged + 2);
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(set.samples[static_cast<size_t>(i)], TestSample(i));
    }
    EXPECT_EQ((*store)->samples().GetStats()->samples, count);

    const auto serving = (*store)->tables().ListServing();
    ASSERT_EQ(serving->size(), 1u);
    const TableRecord& table = serving->front();
    EXPECT_EQ((*store)->tables().Revision(), table.revision);
    EXPECT_TRUE((*store)->tables().Get(table.digest).ok());
    // A sample that was stored but not acknowledged may lack its table.
    const int64_t last = acknowledged / 5 * 5;
    if (last <= before || last >= next) {
      EXPECT_TRUE((*store)->tables().Get(Sha256Hex(Payload(last))).ok());
    }
    before = acknowledged;
    EXPECT_TRUE((*store)->Check()->ok());
    next = count;
  }
}

}  // namespace
}  // namespace wavetune::testing
