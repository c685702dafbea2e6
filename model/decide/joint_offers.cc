#include "model/decide/joint_offers.h"

#include <algorithm>

#include "model/decide/compiled_sub_table.h"

namespace wavetune {

JointOffers::JointOffers(const CompiledSubTable& compiled, const SubTable& sub,
                         const ProblemView& problem, uint32_t shared) noexcept
    : sub_(&sub), shared_(shared) {
  std::array<GroupRow, kMaxGroups> rows;
  const size_t row_count = compiled.AnswerEach(problem, rows.data());
  uint16_t order = 0;
  for (size_t i = 0; i < row_count; ++i) {
    answers_[i] = rows[i].answer;
    const auto pick = static_cast<size_t>(rows[i].answer.pick.candidate());
    const auto add = [&](size_t candidate) {
      Add({.rank_us = rows[i].rank_us,
           .row = static_cast<uint8_t>(i),
           .candidate = static_cast<uint8_t>(candidate),
           .order = order++});
    };
    add(pick);
    const CompiledSubTable::Members& members =
        compiled.members(static_cast<size_t>(rows[i].answer.pick.group()));
    for (size_t m = 0; m < sub.portfolio.size(); ++m) {
      if (m != pick && members[m]) add(m);
    }
  }
  KeepBest();
}

void JointOffers::Add(const JointOffer& offer) noexcept {
  JointOffer* const end = offers_.data() + count_;
  JointOffer* const same =
      std::find_if(offers_.data(), end, [&offer](const JointOffer& known) {
        return known.candidate == offer.candidate;
      });
  if (same == end) {
    offers_[count_++] = offer;
  } else if (offer.rank_us < same->rank_us) {
    *same = offer;
  }
}

void JointOffers::KeepBest() noexcept {
  JointOffer* const end = offers_.data() + count_;
  std::sort(offers_.data(), end,
            [this](const JointOffer& a, const JointOffer& b) {
              const int values = Compare(ValuesOf(a), ValuesOf(b));
              if (values != 0) return values < 0;
              if (a.rank_us != b.rank_us) return a.rank_us < b.rank_us;
              return a.order < b.order;
            });
  JointOffer* const last = std::unique(
      offers_.data(), end, [this](const JointOffer& a, const JointOffer& b) {
        return Compare(ValuesOf(a), ValuesOf(b)) == 0;
      });
  count_ = static_cast<size_t>(last - offers_.data());
}

const JointOffer* JointOffers::Find(
    const Configuration& wanted) const noexcept {
  const JointOffer* const end = offers_.data() + count_;
  const JointOffer* const found =
      std::partition_point(offers_.data(), end, [&](const JointOffer& offer) {
        return Compare(ValuesOf(offer), wanted) < 0;
      });
  return found != end && Compare(ValuesOf(*found), wanted) == 0 ? found
                                                                : nullptr;
}

GroupAnswer JointOffers::AnswerOf(const JointOffer& offer) const noexcept {
  GroupAnswer answer = answers_[offer.row];
  const GroupPick& pick = answer.pick;
  answer.pick = GroupPick::Of(static_cast<unsigned>(pick.group()),
                              offer.candidate, pick.extrapolated());
  return answer;
}

int JointOffers::Compare(const Configuration& a,
                         const Configuration& b) const noexcept {
  for (int p = 0; p < a.size(); ++p) {
    if ((shared_ >> p & 1) == 0 || a[p] == b[p]) continue;
    return a[p] < b[p] ? -1 : 1;
  }
  return 0;
}

}  // namespace wavetune
