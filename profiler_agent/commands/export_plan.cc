#include "profiler_agent/commands/export_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "model/kernel/device.h"
#include "model/kernel/device_implementation.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/kernel_match.h"
#include "profiler_agent/measure/kernel_checks.h"

namespace wavetune {
namespace {

constexpr char kBackend[] = "cuda";

absl::Status CheckTableIsOf(const KernelSpec& spec, const Table& table) {
  if (table.kernel != spec.name) {
    return absl::FailedPreconditionError(
        absl::StrCat("the table is for kernel \"", table.kernel,
                     "\", the folder has \"", spec.name, "\""));
  }
  std::vector<std::string> names;
  for (const Parameter& parameter : spec.parameters) {
    names.push_back(parameter.name);
  }
  if (names != table.parameters || table.dimensions != spec.dimensions) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the table of kernel \"", table.kernel, "\" has parameters ",
        absl::StrJoin(table.parameters, ", "), ", its manifest ",
        absl::StrJoin(names, ", "),
        ", or their dimensions differ: the table is of another version of the "
        "kernel; reprofile it"));
  }
  const absl::Status legal = CheckChoices(spec, table);
  return legal.ok() ? legal : absl::FailedPreconditionError(legal.message());
}

std::string CubinName(const std::string& specialisation, int portfolio_index) {
  return absl::StrCat(specialisation, specialisation.empty() ? "" : ".",
                      portfolio_index < 0
                          ? "default"
                          : absl::StrFormat("%02d", portfolio_index),
                      ".cubin");
}

// One cubin per configuration is what an export holds.
absl::Status CheckExportable(const KernelSpec& spec) {
  if (LacksCompiler(spec, {.backend = kBackend})) {
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel \"", spec.name,
        "\" runs through Triton, which compiles it anew for what divides a "
        "problem's extents: launch it through Triton with the decided "
        "configuration (wavetune.triton), or export it for an engine"));
  }
  return FindImplementation(spec, {.backend = kBackend}).status();
}

class ExportPlanner {
 public:
  // The spec has an implementation for kBackend.
  ExportPlanner(const KernelSpec& spec, const Table& table)
      : spec_(spec), table_(table) {}

  void AddAll(const SubTable& sub, LaunchFile& file) const {
    bool has_default = false;
    for (size_t i = 0; i < sub.portfolio.size(); ++i) {
      const Configuration& configuration = sub.portfolio[i].configuration;
      has_default |= configuration == table_.default_configuration;
      Add(sub, configuration, static_cast<int>(i), file);
    }
    if (!has_default) Add(sub, table_.default_configuration, -1, file);
  }

 private:
  void Add(const SubTable& sub, const Configuration& configuration,
           int portfolio_index, LaunchFile& file) const {
    const KernelSpec& spec = spec_.Of(sub.specialisation);
    file.candidates.push_back(
        {.specialisation = sub.specialisation,
         .configuration = configuration,
         .portfolio_index = portfolio_index,
         .is_default = configuration == table_.default_configuration,
         .cubin = CubinName(sub.specialisation, portfolio_index),
         .launch = DescribeLaunch(spec, *spec.ImplementationOf(kBackend),
                                  sub.specialisation, configuration)});
  }

  const KernelSpec& spec_;
  const Table& table_;
};

}  // namespace

absl::StatusOr<int> CapabilityOf(const Table& table) {
  constexpr absl::string_view kArchitecture = "arch=";
  DeviceFacts facts;
  for (const absl::string_view part : absl::StrSplit(table.silicon_key, ';')) {
    if (absl::StartsWith(part, kArchitecture)) {
      facts.architecture = std::string(part.substr(kArchitecture.size()));
    }
  }
  const int capability = ComputeCapability(facts);
  if (capability > 0) return capability;
  return absl::FailedPreconditionError(
      absl::StrCat("the table is for ", table.silicon_key,
                   "; only tables of NVIDIA GPUs can be exported"));
}

absl::StatusOr<LaunchFile> PlanExport(const KernelSpec& spec,
                                      const Table& table,
                                      const std::string& specialisation) {
  RETURN_IF_ERROR(CheckExportable(spec));
  RETURN_IF_ERROR(CheckTableIsOf(spec, table));
  LaunchFile file{.kernel = spec.name,
                  .table_fingerprint = table.fingerprint,
                  .silicon_key = table.silicon_key,
                  .environment_key = table.environment_key,
                  .dimensions = spec.dimensions,
                  .parameters = table.parameters};
  const ExportPlanner planner(spec, table);
  std::vector<std::string> known;
  for (const SubTable& sub : table.sub_tables) {
    known.push_back(absl::StrCat("\"", sub.specialisation, "\""));
    if (!specialisation.empty() && sub.specialisation != specialisation) {
      continue;
    }
    planner.AddAll(sub, file);
  }
  if (!file.candidates.empty()) return file;
  return absl::InvalidArgumentError(
      absl::StrCat("the table has no specialisation \"", specialisation,
                   "\"; it has: ", absl::StrJoin(known, ", ")));
}

}  // namespace wavetune
