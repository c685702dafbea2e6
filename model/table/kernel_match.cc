#include "model/table/kernel_match.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/kernel/configuration_text.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {

bool IsComparable(const KernelSpec& spec, const Table& table) {
  if (table.parameters != ParameterNames(spec)) return false;
  return std::equal(table.dimensions.begin(), table.dimensions.end(),
                    spec.dimensions.begin(), spec.dimensions.end(),
                    [](const Dimension& a, const Dimension& b) {
                      return a.name == b.name && a.repeated == b.repeated;
                    });
}

absl::Status CheckChoices(const KernelSpec& spec, const Table& table) {
  if (!IsComparable(spec, table)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the table is of another version of kernel ", spec.name,
        ": its parameters or dimensions are not those of the manifest here"));
  }
  for (const SubTable& sub : table.sub_tables) {
    for (const TableCandidate& candidate : sub.portfolio) {
      if (HasDeclaredValues(spec, candidate.configuration)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the table chooses ",
                       FormatConfiguration(spec, candidate.configuration),
                       ", which the manifest of kernel ", spec.name,
                       " does not declare here"));
    }
  }
  return absl::OkStatus();
}

}  // namespace wavetune
