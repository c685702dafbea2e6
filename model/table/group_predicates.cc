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

}  // namespace wavetune
