#include "wavetune/expected_routing.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

// Tokens that are drawn. More of them are in the same proportions: by then an
// expert's slots differ from its share by less than experts do from each other.
constexpr int64_t kDrawn = 4096;
constexpr int64_t kStride = 64;
// Where the search for a number's expert begins: so many parts of all of them.
constexpr uint64_t kGuides = 1024;

// 64 quantiles of the log-normal distribution of sigma 1, in 1/4096:
// exp(Phi^-1((i + 1/2) / 64)).
constexpr std::array<int64_t, 64> kLogNormal = {
    365,   561,   704,   826,   939,   1045,  1147,  1247,  1346,  1443,  1541,
    1638,  1736,  1835,  1934,  2035,  2138,  2242,  2349,  2457,  2568,  2682,
    2798,  2917,  3040,  3166,  3297,  3431,  3570,  3713,  3862,  4017,  4177,
    4344,  4518,  4700,  4890,  5089,  5298,  5519,  5751,  5996,  6256,  6533,
    6828,  7143,  7482,  7847,  8242,  8673,  9145,  9665,  10243, 10891, 11625,
    12468, 13453, 14625, 16058, 17876, 20308, 23848, 29887, 45951};

// A number at random for each of a token's choices (the finalizer of
// SplitMix64).
uint64_t NumberOf(int64_t token, int64_t choice) {
  uint64_t x =
      (static_cast<uint64_t>(token) << 20 | static_cast<uint64_t>(choice)) +
      0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// A step through all of `count` places, near the golden section of them: the
// first few places are then like all.
int64_t SpreadStep(int64_t count) {
  int64_t step = std::max<int64_t>(1, count * 618 / 1000);
  while (std::gcd(step, count) != 1) ++step;
  return step;
}

absl::Status CheckCounts(int64_t experts, int64_t top_k) {
  if (1 <= top_k && top_k <= std::min(experts, ExpectedRouting::kMaxTopK) &&
      experts <= ExpectedRouting::kMaxExperts)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a token takes ", top_k, " of ", experts,
                   " experts: give 1 to all of them, of at most ",
                   ExpectedRouting::kMaxExperts, " experts at most ",
                   ExpectedRouting::kMaxTopK));
}

std::vector<int64_t> EvenSlots(int64_t slots, int64_t experts) {
  std::vector<int64_t> result(static_cast<size_t>(experts), slots / experts);
  std::for_each_n(result.begin(), slots % experts, [](int64_t& n) { ++n; });
  return result;
}

}  // namespace

absl::StatusOr<ExpectedRouting> ExpectedRouting::Create(int64_t experts,
                                                        int64_t top_k,
                                                        Popularity popularity) {
  if (absl::Status status = CheckCounts(experts, top_k); !status.ok())
    return status;
  ExpectedRouting routing(experts, top_k);
  if (popularity == Popularity::kEven) return routing;
  std::vector<int64_t> wanted;
  const auto quantiles = static_cast<int64_t>(kLogNormal.size());
  for (int64_t i = 0; i < experts; ++i) {
    wanted.push_back(
        kLogNormal[static_cast<size_t>((2 * i + 1) * quantiles / 2 / experts)]);
  }
  routing.Draw(std::move(wanted));
  return routing;
}

absl::StatusOr<ExpectedRouting> ExpectedRouting::FromHistogram(
    absl::Span<const int64_t> counts, int64_t top_k) {
  const auto experts = static_cast<int64_t>(counts.size());
  if (absl::Status status = CheckCounts(experts, top_k); !status.ok())
    return status;
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  if (*least < 0 || *most == 0) {
    return absl::InvalidArgumentError(
        *least < 0
            ? absl::StrCat("a histogram of experts has a count of ", *least,
                           ": counts are 0 or more")
            : "a histogram of experts has zeros alone: record one while the "
              "engine serves");
  }
  std::vector<int64_t> wanted;
  constexpr int64_t kMost = 65535;  // The sum stays below 2^32.
  const int64_t divisor = *most / kMost + 1;
  // Whom nobody asked for somebody may.
  for (const int64_t count : counts)
    wanted.push_back(std::max<int64_t>(1, count / divisor));
  ExpectedRouting routing(experts, top_k);
  routing.Draw(std::move(wanted));
  return routing;
}

absl::StatusOr<ExpectedRouting> ExpectedRouting::Create(
    int64_t experts, int64_t top_k, const ExpertPopularity& popularity) {
  if (popularity.counts.empty())
    return Create(experts, top_k, popularity.popularity);
  if (static_cast<int64_t>(popularity.counts.size()) == experts)
    return FromHistogram(popularity.counts, top_k);
  return absl::InvalidArgumentError(
      absl::StrCat("the histogram has counts of ", popularity.counts.size(),
                   " experts, the layer has ", experts,
                   ": record the histogram with the model that is served"));
}

void ExpectedRouting::Draw(std::vector<int64_t> wanted) {
  std::sort(wanted.begin(), wanted.end(), std::greater<>());
  const int64_t step = SpreadStep(experts_);
  uint64_t sum = 0;
  for (int64_t i = 0; i < experts_; ++i) {
    sum += static_cast<uint64_t>(
        wanted[static_cast<size_t>((i + 1) * step % experts_)]);
    ends_.push_back(sum);
  }
  for (uint64_t i = 0; i <= kGuides; ++i) {
    guides_.push_back(static_cast<uint32_t>(
        std::upper_bound(ends_.begin(), ends_.end(), i * sum / kGuides) -
        ends_.begin()));
  }
  drawn_.emplace_back(static_cast<size_t>(experts_));
  for (int64_t token = 0; token < kDrawn; token += kStride) {
    drawn_.push_back(drawn_.back());
    AddTokens(token, token + kStride, drawn_.back());
  }
}

void ExpectedRouting::AddTokens(int64_t from, int64_t to,
                                std::vector<int64_t>& slots) const {
  const auto wanted = static_cast<size_t>(top_k_);
  const int64_t tries = 64 + 16 * top_k_;
  std::vector<uint32_t> chosen;
  const auto take = [&](uint32_t expert) {
    if (std::find(chosen.begin(), chosen.end(), expert) != chosen.end()) return;
    chosen.push_back(expert);
    ++slots[expert];
  };
  for (int64_t token = from; token < to; ++token) {
    chosen.clear();
    for (int64_t i = 0; chosen.size() < wanted && i < tries; ++i) {
      // The high bits of the product are a number below the sum.
      const uint64_t number = NumberOf(token, i) >> 32;
      const uint64_t at = number * ends_.back() >> 32;
      uint32_t expert = guides_[number * kGuides >> 32];
      while (ends_[expert] <= at) ++expert;
      take(expert);
    }
    // Few experts are wanted at all: the others in turn.
    for (int64_t i = 0; chosen.size() < wanted; ++i)
      take(static_cast<uint32_t>((token + i) % experts_));
  }
}

std::vector<int64_t> ExpectedRouting::DrawnSlots(int64_t tokens) const {
  if (tokens >= kDrawn) {
    // Sums are rounded, not parts, so that nothing is lost.
    std::vector<int64_t> slots = drawn_.back();
    int64_t before = 0;
    int64_t sum = 0;
    for (int64_t& n : slots) {
      sum += n;
      // In two parts: a product of tokens and all slots may be too large.
      const int64_t end =
          tokens / kDrawn * sum + tokens % kDrawn * sum / kDrawn;
      n = end - std::exchange(before, end);
    }
    return slots;
  }
  std::vector<int64_t> slots = drawn_[static_cast<size_t>(tokens / kStride)];
  AddTokens(tokens / kStride * kStride, tokens, slots);
  return slots;
}

std::vector<int64_t> ExpectedRouting::Slots(int64_t tokens,
                                            int64_t local) const {
  tokens = std::clamp<int64_t>(tokens, 0, kMaxTokens);
  std::vector<int64_t> slots =
      ends_.empty() ? EvenSlots(tokens * top_k_, experts_) : DrawnSlots(tokens);
  slots.resize(static_cast<size_t>(std::clamp<int64_t>(local, 1, experts_)));
  return slots;
}

}  // namespace wavetune
