// ExpectedRouting: how many slots (a token at one of its experts) each expert
// gets, where only the number of tokens is known.
//
//   auto routing = ExpectedRouting::Create(/*experts=*/128, /*top_k=*/8);
//   tuner.Resolve({{0, n, k, 8}, routing->Slots(tokens, /*local=*/128)});
//
// Why not evenly: at 4,096 tokens each of 128 experts would have 256 slots, so
// that a tile of 256 rows looks free. With any routing that occurs half of the
// experts need two.
//
// Tokens choose their experts one after the other, each `top_k` different ones,
// by how wanted these are. Integers alone, and the same numbers at random
// everywhere: equal arguments give equal slots on every rank, compiler and
// processor. Slots do not fall where tokens are added (beyond 4,096 tokens by
// one, where shares are rounded).
//
// Thread safety: immutable.
#ifndef WAVETUNE_EXPECTED_ROUTING_H_
#define WAVETUNE_EXPECTED_ROUTING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace wavetune {

// How wanted experts are.
enum class Popularity {
  kDrawn,  // Log-normally, sigma 1: some several times as much as others.
  kEven,   // No expert has two slots more than another; nothing is drawn.
};

// How wanted a model's experts are: assumed, or as recorded.
struct ExpertPopularity {
  Popularity popularity = Popularity::kDrawn;
  // Where not empty, instead: as recorded (ExpectedRouting::FromHistogram).
  std::vector<int64_t> counts = {};

  friend bool operator==(const ExpertPopularity&,
                         const ExpertPopularity&) = default;
};

class ExpectedRouting {
 public:
  static constexpr int64_t kMaxExperts = 65536;
  static constexpr int64_t kMaxTopK = 64;  // So that drawing stays quick.
  static constexpr int64_t kMaxTokens = int64_t{1} << 40;

  // `experts` of the whole model, of which a token takes `top_k`. Errors:
  // INVALID_ARGUMENT for 1 <= top_k <= experts not being so, and beyond
  // kMaxExperts and kMaxTopK.
  // Cost: some 4,096 * top_k steps; tens of microseconds to tens of
  // milliseconds.
  static absl::StatusOr<ExpectedRouting> Create(
      int64_t experts, int64_t top_k,
      Popularity popularity = Popularity::kDrawn);

  // Experts are wanted as a recorded histogram has it: `counts` of slots or
  // tokens, one for each expert, in any order. Errors: also for counts below 0,
  // and where all are 0.
  static absl::StatusOr<ExpectedRouting> FromHistogram(
      absl::Span<const int64_t> counts, int64_t top_k);

  // One of the two, as `popularity` says. Errors: as both; INVALID_ARGUMENT for
  // counts of others than `experts`.
  static absl::StatusOr<ExpectedRouting> Create(
      int64_t experts, int64_t top_k, const ExpertPopularity& popularity);

  // Returns the slots of `local` of the experts (1 to all of them) for `tokens`
  // (0 to kMaxTokens) of the whole model. They add up to tokens * top_k over
  // all experts; a part has its share of wanted and unwanted ones. Out of range
  // is taken as the nearest. Cost: at most 64 * top_k steps and one for each
  // expert; allocates the result.
  std::vector<int64_t> Slots(int64_t tokens, int64_t local) const;

  int64_t experts() const { return experts_; }
  int64_t top_k() const { return top_k_; }

 private:
  ExpectedRouting(int64_t experts, int64_t top_k)
      : experts_(experts), top_k_(top_k) {}

  void Draw(std::vector<int64_t> wanted);
  // Adds the slots of tokens `from` to `to` - 1.
  void AddTokens(int64_t from, int64_t to, std::vector<int64_t>& slots) const;
  std::vector<int64_t> DrawnSlots(int64_t tokens) const;

  int64_t experts_;
  int64_t top_k_;
  std::vector<uint64_t> ends_;  // Sums of how wanted the first experts are;
                                // empty: evenly.
  std::vector<uint32_t> guides_;
  std::vector<std::vector<int64_t>> drawn_;  // After each kStride tokens.
};

}  // namespace wavetune

#endif  // WAVETUNE_EXPECTED_ROUTING_H_
