#include "base/process_facts.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/file_descriptor.h"

namespace wavetune {
namespace {

TEST(ProcessFactsTest, SaysWhatThisProcessTakes) {
  const ProcessFacts before = ReadProcessFacts();
  const double now_s = 1e-6 * static_cast<double>(SystemClock().NowUs());
  EXPECT_GT(before.resident_bytes, int64_t{1} << 20);
  EXPECT_GT(before.virtual_bytes, before.resident_bytes);
  EXPECT_LE(before.started_at_s, now_s + 1);
  EXPECT_GT(before.started_at_s, now_s - 86400);
  EXPECT_LT(before.cpu_s, 86400);
  EXPECT_GT(before.most_descriptors, before.open_descriptors);
  const FileDescriptor one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const ProcessFacts after = ReadProcessFacts();
  EXPECT_EQ(after.open_descriptors, before.open_descriptors + 1);
  EXPECT_GE(after.cpu_s, before.cpu_s);
}

}  // namespace
}  // namespace wavetune
