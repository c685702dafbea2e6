#include "server/usage/token_buckets.h"

#include <algorithm>

namespace wavetune {

double TokenBuckets::TakeUpTo(const std::string& key, double wanted,
                              double at_first) {
  std::lock_guard lock(mutex_);
  const int64_t now_us = clock_->NowUs();
  auto found = buckets_.find(key);
  if (found == buckets_.end()) {
    if (buckets_.size() >= options_.most_keys) ForgetFullest(now_us);
    const double tokens = std::min(options_.at_once, at_first);
    found = buckets_.emplace(key, Bucket{tokens, now_us}).first;
  }
  Bucket& bucket = found->second;
  const double tokens = TokensNow(bucket, now_us);
  const double taken = std::min(tokens, wanted);
  bucket = {tokens - taken, now_us};
  return taken;
}

size_t TokenBuckets::keys() const {
  std::lock_guard lock(mutex_);
  return buckets_.size();
}

double TokenBuckets::TokensNow(const Bucket& bucket, int64_t now_us) const {
  // The clock may have been set back.
  const double elapsed_s =
      std::max(0.0, static_cast<double>(now_us - bucket.at_us) * 1e-6);
  return std::min(options_.at_once,
                  bucket.tokens + elapsed_s * options_.per_second);
}

void TokenBuckets::ForgetFullest(int64_t now_us) {
  const auto fullest = std::max_element(
      buckets_.begin(), buckets_.end(), [&](const auto& a, const auto& b) {
        return TokensNow(a.second, now_us) < TokensNow(b.second, now_us);
      });
  if (fullest != buckets_.end()) buckets_.erase(fullest);
}

}  // namespace wavetune
