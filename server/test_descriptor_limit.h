// LowDescriptorLimit: a process that may open few files, while it lives.
#ifndef WAVETUNE_SERVER_TEST_DESCRIPTOR_LIMIT_H_
#define WAVETUNE_SERVER_TEST_DESCRIPTOR_LIMIT_H_

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace wavetune {

class LowDescriptorLimit {
 public:
  // Open ones stay so.
  explicit LowDescriptorLimit(rlim_t most) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit few = before_;
    few.rlim_cur = most;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~LowDescriptorLimit() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  LowDescriptorLimit(const LowDescriptorLimit&) = delete;
  LowDescriptorLimit& operator=(const LowDescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_TEST_DESCRIPTOR_LIMIT_H_
