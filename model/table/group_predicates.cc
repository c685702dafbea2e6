#include "model/table/group_predicates.h"

#include <algorithm>
#include <cstdint>

#include "model/kernel/relation_proof.h"

namespace wavetune {

void SetPredicates(const std::vector<Relation>& relations,
                   const std::vector<Dimension>& dimensions, SubTable& sub,
                   MacroGroup& group) {
  group.predicates.clear();
  for (const Relation& relation : relations) {
    if (AlwaysHolds(relation, dimensions)) continue;
    auto known =
        std::find(sub.predicates.begin(), sub.predicates.end(), relation);
    if (known == sub.predicates.end()) {
      known = sub.predicates.insert(known, relation);
    }
    group.predicates.push_back(
        static_cast<uint8_t>(known - sub.predicates.begin()));
  }
  std::sort(group.predicates.begin(), group.predicates.end());
}

}  // namespace wavetune
