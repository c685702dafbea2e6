#include "model/table/group_predicates.h"

#include <algorithm>

#include "model/kernel/relation_proof.h"

namespace wavetune {

std::vector<uint8_t> AddPredicates(const std::vector<Relation>& relations,
                                   const std::vector<Dimension>& dimensions,
                                   SubTable& sub) {
  std::vector<uint8_t> indices;
  for (const Relation& relation : relations) {
    if (AlwaysHolds(relation, dimensions)) continue;
    auto known =
        std::find(sub.predicates.begin(), sub.predicates.end(), relation);
    if (known == sub.predicates.end()) {
      known = sub.predicates.insert(known, relation);
    }
    indices.push_back(static_cast<uint8_t>(known - sub.predicates.begin()));
  }
  std::sort(indices.begin(), indices.end());
  return indices;
}

std::bitset<256> GroupMembers(const MacroGroup& group) {
  std::bitset<256> members;
  members.set(group.lead);
  for (const GroupModel& model : group.models) {
    for (const WaveSegment& segment : model.segments) {
      for (const uint8_t member : segment.micro) members.set(member);
    }
  }
  return members;
}

}  // namespace wavetune
