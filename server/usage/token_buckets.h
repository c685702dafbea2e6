// TokenBuckets: how much of something each of many may have, over time.
//
//   TokenBuckets reports({.per_second = 100, .at_once = 1000}, &clock);
//   if (reports.TakeUpTo(user, 1) < 1) ...   // Too many.
//
// A bucket is full at first, unless who takes first says otherwise, and fills
// at a steady rate. Of the keys so many are remembered: one that is forgotten
// was full, or nearly.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_USAGE_TOKEN_BUCKETS_H_
#define WAVETUNE_SERVER_USAGE_TOKEN_BUCKETS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>

#include "base/clock.h"

namespace wavetune {

class TokenBuckets {
 public:
  struct Options {
    double per_second = 1;
    double at_once = 1;  // What a bucket holds.
    size_t most_keys = 4096;
  };

  // `clock` outlives the buckets.
  TokenBuckets(const Options& options, Clock* clock)
      : options_(options), clock_(clock) {}

  // Takes up to `wanted` (0 or more) out of the bucket of `key`, and returns
  // how much that was. A bucket that is new holds `at_first` (0 or more), or
  // what a full one does where that is less. Cost: O(log keys), O(keys) where
  // one is forgotten.
  double TakeUpTo(const std::string& key, double wanted,
                  double at_first = std::numeric_limits<double>::infinity());

  size_t keys() const;

 private:
  struct Bucket {
    double tokens = 0;
    int64_t at_us = 0;  // When it held so many.
  };

  // What a bucket holds now. Holds mutex_.
  double TokensNow(const Bucket& bucket, int64_t now_us) const;
  void ForgetFullest(int64_t now_us);

  const Options options_;
  Clock* const clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Bucket> buckets_;  // Guarded by mutex_.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_USAGE_TOKEN_BUCKETS_H_
