// Terms of relations, for tests.
#ifndef WAVETUNE_MODEL_TESTING_RELATION_TERMS_H_
#define WAVETUNE_MODEL_TESTING_RELATION_TERMS_H_

#include <cstdint>

#include "model/kernel/relation.h"

namespace wavetune::testing {

// Dimensions of the relations.
inline constexpr int32_t kM = 0;
inline constexpr int32_t kN = 1;

inline Relation::Term ConstantTerm(int64_t value) {
  return {.coefficient = value};
}

inline Relation::Term DimTerm(int32_t index, int64_t coefficient = 1) {
  return {.coefficient = coefficient, .dimensions = {index}};
}

}  // namespace wavetune::testing

#endif  // WAVETUNE_MODEL_TESTING_RELATION_TERMS_H_
