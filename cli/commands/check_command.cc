// wavetune kernels check.
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/option_checks.h"
#include "cli/commands/commands.h"
#include "cli/commands/compile_cost.h"
#include "cli/commands/first_problems.h"
#include "cli/commands/kernel_summary.h"
#include "cli/json.h"
#include "formats/kernel_folder.h"
#include "formats/shipped_files.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/specialisation_spaces.h"

namespace wavetune::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kManifest[] = "manifest.textproto";

struct CheckOptions {
  std::vector<std::string> folders;
  bool cost = false;
  bool plan = false;
  int tiles_per_wave = 0;  // 0: the usual.
};

// A folder of kernels stands for the kernels in it.
std::vector<std::string> KernelFolders(const std::string& path) {
  std::error_code error;
  std::set<std::string> found;
  if (!fs::exists(fs::path(path) / kManifest, error)) {
    for (fs::directory_iterator it(path, error), end; !error && it != end;
         it.increment(error)) {
      if (fs::exists(it->path() / kManifest)) found.insert(it->path().string());
    }
  }
  // Whatever is wrong with it, LoadKernelFolder says it better.
  if (found.empty()) return {path};
  return std::vector<std::string>(found.begin(), found.end());
}

// Replaces the estimate by what is measured here; says where it cannot.
void MeasureCosts(CommandContext& context, const std::string& path,
                  KernelSummary& summary) {
  ConfigurationCounts configurations;
  for (const SpaceSummary& space : summary.spaces) {
    for (const std::string& name : space.specialisations)
      configurations[name] = space.configurations;
  }
  absl::StatusOr<CompileCost> measured =
      MeasureCompileCost(path, configurations);
  if (measured.ok()) {
    summary.compiling = {*std::move(measured)};
  } else {
    *context.err << path << ": compiling was not measured: "
                 << Lines(measured.status().message(), "  ") << "\n";
  }
}

std::optional<FirstProblems> Plan(
    const KernelSpec& spec, const std::vector<SpecialisationSpace>& spaces,
    const CheckOptions& options) {
  if (!options.plan) return std::nullopt;
  return PlanFirstProblems(spec, spaces,
                           options.tiles_per_wave > 0
                               ? options.tiles_per_wave
                               : UsualTilesPerWave(spec));
}

// Prints the tables that lie beside a kernel; returns them for JSON.
Json DescribeShipped(CommandContext& context, const ShippedFiles& shipped) {
  Json tables = Json::array();
  for (const ShippedTable& table : shipped.tables) {
    const std::string& silicon = table.table->table().silicon_key;
    tables.push_back({{"file", table.file}, {"silicon_key", silicon}});
    if (context.json) continue;
    *context.out << "  ships            " << table.file << ": " << silicon
                 << "\n";
  }
  for (const std::string& problem : shipped.problems) {
    if (!context.json) *context.out << "  REFUSED " << problem << "\n";
  }
  return {{"tables", tables}, {"refused", shipped.problems}};
}

// Prints what a valid kernel is; returns it for JSON.
Json DescribeKernel(CommandContext& context, const CheckOptions& options,
                    const std::string& path, const KernelFolder& folder) {
  const std::vector<SpecialisationSpace> spaces = EnumerateSpaces(folder.spec);
  KernelSummary summary = Summarise(folder.spec, spaces);
  if (options.cost) MeasureCosts(context, path, summary);
  const std::optional<FirstProblems> plan = Plan(folder.spec, spaces, options);
  if (!context.json) {
    PrintSummary(*context.out, path, summary);
    if (plan.has_value()) PrintFirstProblems(*context.out, *plan);
  }
  Json json = ToJson(summary);
  json["ships"] = DescribeShipped(context, ReadShippedTables(folder));
  json["path"] = path;
  json["valid"] = true;
  if (plan.has_value()) json["plan"] = ToJson(*plan);
  return json;
}

Json DescribeFaults(CommandContext& context, const std::string& path,
                    const absl::Status& status) {
  if (!context.json)
    *context.out << path << ": REFUSED\n" << Lines(status.message()) << "\n";
  return {{"path", path},
          {"valid", false},
          {"faults", std::string(status.message())}};
}

absl::Status RunCheck(CommandContext& context, const CheckOptions& options) {
  Json results = Json::array();
  size_t refused = 0;
  size_t tables_refused = 0;
  for (const std::string& given : options.folders) {
    for (const std::string& path : KernelFolders(given)) {
      const absl::StatusOr<KernelFolder> folder = LoadKernelFolder(path);
      refused += folder.ok() ? 0 : 1;
      results.push_back(folder.ok()
                            ? DescribeKernel(context, options, path, *folder)
                            : DescribeFaults(context, path, folder.status()));
      if (folder.ok())
        tables_refused += results.back()["ships"]["refused"].size();
    }
  }
  const size_t checked = results.size();
  if (context.json) PrintJson(*context.out, Json{{"kernels", results}});
  if (refused == 0 && tables_refused == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      refused == 0
          ? absl::StrCat(tables_refused,
                         " tables that lie beside kernels refused")
          : absl::StrCat(refused, " of ", checked, " kernels refused"));
}

}  // namespace

void AddKernelsCheckCommand(CommandRegistry& registry, CLI::App* kernels) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* check = registry.Add(
      kernels, "check",
      "Checks manifests and sources, without daemon or device; prints every "
      "fault, or what the kernel is, which constraint excludes how much, and "
      "what profiling costs.",
      {"wavetune kernels check kernels/gemm_f32",
       "wavetune kernels check kernels --json",
       "wavetune kernels check kernels/gemm_f32 --cost",
       "wavetune kernels check kernels/gemm_bf16 --plan --tiles-per-wave 264"},
      [options](CommandContext& context) {
        return RunCheck(context, *options);
      },
      /*needs_daemon=*/false);
  check
      ->add_option("DIR", options->folders,
                   "Kernel folders, or folders of kernel folders")
      ->required();
  check->add_flag("--cost", options->cost,
                  "Compile some candidates on a device of this machine, and "
                  "say how long all take");
  CLI::Option* plan = check->add_flag("--plan", options->plan,
                                      "Say at which problems profiling begins");
  check
      ->add_option("--tiles-per-wave", options->tiles_per_wave,
                   "With --plan: work tiles that the device runs at once; "
                   "default: this machine's cores, for CUDA an H100's "
                   "multiprocessors")
      ->check(NumberIn(1, 1e6))
      ->needs(plan);
}

}  // namespace wavetune::cli
