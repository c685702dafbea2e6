// Expressions and relations of launch.json: numbers, names of dimensions, and
// lists that begin with an operation.
//
//   ["*", ["ceil_div", "m", 128], 2]        ceil(m / 128) * 2
//   ["multiple_of", [[1, "n"]], [[8]]]      n % 8 == 0
//
// Thread safety: pure functions.
#ifndef WAVETUNE_LAUNCH_LAUNCH_EXPRESSION_H_
#define WAVETUNE_LAUNCH_LAUNCH_EXPRESSION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "model/kernel/mapping.h"
#include "model/kernel/relation.h"
#include "nlohmann/json.hpp"
#include "wavetune/dimension.h"

namespace wavetune {

// Name no parameter. Cannot fail.
nlohmann::ordered_json ExpressionToJson(
    const Expression& expression, const std::vector<Dimension>& dimensions);
nlohmann::ordered_json RelationToJson(const Relation& relation,
                                      const std::vector<Dimension>& dimensions);

// Errors: INVALID_ARGUMENT showing what cannot be read.
absl::StatusOr<Expression> ExpressionFromJson(
    const nlohmann::ordered_json& json,
    const std::vector<Dimension>& dimensions);
absl::StatusOr<Relation> RelationFromJson(
    const nlohmann::ordered_json& json,
    const std::vector<Dimension>& dimensions);

}  // namespace wavetune

#endif  // WAVETUNE_LAUNCH_LAUNCH_EXPRESSION_H_
