#include "model/kernel/load_level.h"

#include <algorithm>
#include <cmath>

#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"

namespace wavetune {

int LoadLevel(const KernelSpec& spec, const Problem& problem) {
  double bytes = 0;
  for (const Argument& argument : spec.arguments) {
    if (argument.role == ArgumentRole::kScalar) continue;
    bytes += static_cast<double>(Evaluate(argument.size, problem.View(),
                                          spec.default_configuration)) *
             static_cast<double>(ElementBytes(argument.type));
  }
  const Coordinates coordinates =
      MapProblem(spec.MappingOf(problem.specialisation), problem.View(),
                 spec.default_configuration);
  const double iterations =
      std::max<double>(1, static_cast<double>(coordinates.total_iterations));
  return std::ilogb(iterations * (iterations / std::max<double>(1, bytes)));
}

}  // namespace wavetune
