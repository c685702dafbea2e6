// JointOffers: the candidates that one problem offers to a decision that
// several launches share (CompiledTable::ResolveTogether), by the values of the
// parameters that they must agree on.
//
//   JointOffers first(sub_table, table.sub_tables[0], problem, shared);
//   const JointOffer* same = other.Find(first, first.at(0));
//
// On the stack and of fixed size: it allocates nothing.
//
// Thread safety: a value; const methods from any thread.
#ifndef WAVETUNE_MODEL_DECIDE_JOINT_OFFERS_H_
#define WAVETUNE_MODEL_DECIDE_JOINT_OFFERS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/decide/group_answer.h"
#include "model/table/table.h"
#include "model/table/table_check.h"
#include "wavetune/problem.h"

namespace wavetune {

class CompiledSubTable;

// A candidate with what it is predicted to take.
struct JointOffer {
  double rank_us = 0;
  uint8_t row = 0;  // A row of JointOffers.
  uint8_t candidate = 0;
  uint16_t order = 0;  // Where ties are broken: the lower wins.
};

class JointOffers {
 public:
  // `problem`'s extents are in range. Both tables outlive this. Bit p of
  // `shared` stands for parameter p.
  JointOffers(const CompiledSubTable& compiled, const SubTable& sub,
              const ProblemView& problem, uint32_t shared) noexcept;

  // One offer for each combination of the shared values, ascending by these;
  // none where no candidate is legal.
  size_t size() const { return count_; }
  const JointOffer& at(size_t index) const { return offers_[index]; }

  // Returns the offer that agrees with one of another problem's, or with a
  // configuration; nullptr where none does.
  const JointOffer* Find(const JointOffers& others,
                         const JointOffer& other) const noexcept {
    return Find(others.ValuesOf(other));
  }
  const JointOffer* Find(const Configuration& wanted) const noexcept;

  // Returns an offer as the answer of its problem.
  GroupAnswer AnswerOf(const JointOffer& offer) const noexcept;

 private:
  // A candidate that several groups have counts with its lowest rank.
  void Add(const JointOffer& offer) noexcept;
  void KeepBest() noexcept;
  const Configuration& ValuesOf(const JointOffer& offer) const {
    return sub_->portfolio[offer.candidate].configuration;
  }
  // Below, equal or above 0, as the shared values of `a` are to those of `b`.
  int Compare(const Configuration& a, const Configuration& b) const noexcept;

  const SubTable* sub_;
  uint32_t shared_;
  size_t count_ = 0;
  std::array<GroupAnswer, kMaxGroups> answers_;  // The rows' answers.
  std::array<JointOffer, kMaxPortfolio> offers_;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_JOINT_OFFERS_H_
