#include "formats/kernel_columns.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {

absl::Status ReadConfiguration(const CsvReader& csv, const KernelSpec& spec,
                               const std::vector<int>& columns,
                               Configuration& configuration) {
  std::vector<int64_t> values(columns.size());
  for (size_t i = 0; i < values.size(); ++i) {
    RETURN_IF_ERROR(csv.ReadInteger(columns[i], values[i]));
  }
  configuration = Configuration(values);
  if (InSpace(spec, configuration)) return absl::OkStatus();
  return csv.Fault(absl::StrCat(
      "configuration '", FormatConfiguration(spec, configuration),
      "' is outside of the space of kernel '", spec.name, "'; drop the line"));
}

void AddDimensionNames(const KernelSpec& spec, CsvWriter& csv) {
  for (const Dimension& dimension : spec.dimensions) csv.Add(dimension.name);
}

void AddParameterNames(const KernelSpec& spec, CsvWriter& csv) {
  for (const Parameter& parameter : spec.parameters) csv.Add(parameter.name);
}

void AddExtents(const KernelSpec& spec, const Problem& problem,
                CsvWriter& csv) {
  for (size_t i = 0; i < spec.dimensions.size(); ++i) {
    if (spec.dimensions[i].repeated) {
      csv.Add(absl::StrJoin(problem.repeated, " "));
    } else {
      csv.Add(problem.extents[i]);
    }
  }
}

}  // namespace wavetune
