// wavetune tables diff: two tables of a kernel, as they decide.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "base/input_file.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/lookup.h"
#include "cli/report/report_source.h"
#include "cli/text_table.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/configuration_text.h"
#include "model/table/table_codec.h"

namespace wavetune::cli {
namespace {

struct TablesDiffOptions {
  std::string before;
  std::string after;
  std::string device;
  int limit = 20;
};

using SharedTable = std::shared_ptr<const CompiledTable>;

// A file of `wavetune tables save`, or a table of the daemon.
absl::StatusOr<SharedTable> LoadTable(CommandContext& context,
                                      const std::string& name,
                                      const std::string& device) {
  std::error_code error;
  if (std::filesystem::is_regular_file(name, error)) {
    ASSIGN_OR_RETURN(const std::string payload,
                     ReadInputFile(name, kMaxPayloadBytes));
    ASSIGN_OR_RETURN(SharedTable table, CompiledTable::Create(payload));
    return table;
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  ASSIGN_OR_RETURN(const v1::GetTableResponse response,
                   FindTable(*daemon, {.table = name, .device = device}));
  ASSIGN_OR_RETURN(SharedTable table,
                   CompiledTable::Create(response.payload()));
  return table;
}

// The problems that both are compared at. Errors: as FindKernel.
absl::StatusOr<std::vector<Problem>> ComparedProblems(
    CommandContext& context, const std::string& kernel) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  ASSIGN_OR_RETURN(const KnownKernel known, FindKernel(*daemon, kernel));
  return RepresentativeProblems(known.spec);
}

absl::Status CheckComparable(const Table& before, const Table& after) {
  if (before.kernel != after.kernel) {
    return absl::InvalidArgumentError(
        absl::StrCat("these are tables of two kernels: ", before.kernel,
                     " and ", after.kernel));
  }
  if (before.parameters == after.parameters) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the tables of kernel ", before.kernel,
      " have other parameters: the kernel was edited in between, and their "
      "choices cannot be compared"));
}

std::set<Configuration> PortfolioOf(const Table& table) {
  std::set<Configuration> portfolio;
  for (const SubTable& sub : table.sub_tables) {
    for (const TableCandidate& candidate : sub.portfolio)
      portfolio.insert(candidate.configuration);
  }
  return portfolio;
}

// A problem that both decide otherwise.
struct Difference {
  Problem problem;
  Decision before;
  Decision after;
};

struct Differences {
  size_t problems = 0;
  std::vector<Difference> differing;
};

Differences Compare(const CompiledTable& before, const CompiledTable& after,
                    const std::vector<Problem>& problems) {
  Differences result{.problems = problems.size()};
  for (const Problem& problem : problems) {
    const auto decide = [&](const CompiledTable& table) {
      return table.Resolve(table.SubTableIndex(problem.specialisation),
                           problem.View());
    };
    Difference difference{problem, decide(before), decide(after)};
    if (difference.before.configuration != difference.after.configuration)
      result.differing.push_back(std::move(difference));
  }
  return result;
}

void PrintHeader(Output& out, const char* name, const CompiledTable& table) {
  out << name << "  " << ShortDigest(table.digest()) << "  fingerprint "
      << table.table().fingerprint.substr(0, 12) << ", "
      << table.table().silicon_key << ", " << table.table().environment_key
      << "\n";
}

void PrintOnlyIn(Output& out, const char* name, const Table& table,
                 const std::set<Configuration>& portfolio,
                 const std::set<Configuration>& other) {
  for (const Configuration& configuration : portfolio) {
    if (other.contains(configuration)) continue;
    out << "only in " << name << "  "
        << FormatConfiguration(table.parameters, configuration) << "\n";
  }
}

void PrintDifferences(Output& out, const Table& table,
                      const Differences& differences, size_t limit) {
  out << differences.differing.size() << " of " << differences.problems
      << " representative problems are decided otherwise\n";
  if (differences.differing.empty()) return;
  TextTable rows({"PROBLEM", "BEFORE", "PREDICTED", "AFTER", "PREDICTED"});
  const size_t shown = std::min(limit, differences.differing.size());
  for (size_t i = 0; i < shown; ++i) {
    const Difference& one = differences.differing[i];
    rows.AddRow(
        {FormatProblem(table.dimensions, one.problem),
         FormatConfiguration(table.parameters, one.before.configuration),
         FormatMicroseconds(one.before.latency_us),
         FormatConfiguration(table.parameters, one.after.configuration),
         FormatMicroseconds(one.after.latency_us)});
  }
  rows.Print(out);
  if (shown < differences.differing.size()) {
    out << differences.differing.size() - shown
        << " more: --limit shows them\n";
  }
}

Json DifferencesJson(const Table& table, const Differences& differences) {
  Json list = Json::array();
  for (const Difference& one : differences.differing) {
    list.push_back(
        {{"problem", ToJson(table.dimensions, one.problem)},
         {"before", ToJson(table.parameters, one.before.configuration)},
         {"before_us", one.before.latency_us},
         {"after", ToJson(table.parameters, one.after.configuration)},
         {"after_us", one.after.latency_us}});
  }
  return list;
}

absl::Status RunTablesDiff(CommandContext& context,
                           const TablesDiffOptions& options) {
  ASSIGN_OR_RETURN(const SharedTable before,
                   LoadTable(context, options.before, options.device));
  ASSIGN_OR_RETURN(const SharedTable after,
                   LoadTable(context, options.after, options.device));
  RETURN_IF_ERROR(CheckComparable(before->table(), after->table()));
  ASSIGN_OR_RETURN(const std::vector<Problem> problems,
                   ComparedProblems(context, before->table().kernel));
  const Differences differences = Compare(*before, *after, problems);
  Output& out = *context.out;
  if (context.json) {
    PrintJson(out, Json{{"kernel", before->table().kernel},
                        {"before", before->digest()},
                        {"after", after->digest()},
                        {"problems", differences.problems},
                        {"differing",
                         DifferencesJson(before->table(), differences)}});
    return absl::OkStatus();
  }
  PrintHeader(out, "before", *before);
  PrintHeader(out, "after ", *after);
  const std::set<Configuration> was = PortfolioOf(before->table());
  const std::set<Configuration> is = PortfolioOf(after->table());
  PrintOnlyIn(out, "before", before->table(), was, is);
  PrintOnlyIn(out, "after ", after->table(), is, was);
  PrintDifferences(out, before->table(), differences,
                   static_cast<size_t>(options.limit));
  return absl::OkStatus();
}

}  // namespace

void AddTablesDiffCommand(CommandRegistry& registry, CLI::App* tables) {
  auto options = std::make_shared<TablesDiffOptions>();
  CLI::App* diff = registry.Add(
      tables, "diff",
      "Compares two tables of a kernel: their portfolios, and what they decide "
      "at the representative problems.",
      {"wavetune tables diff 3f9a04c1d2e5 9ecbcebc01f2",
       "wavetune tables diff gemm_bf16 gemm.table --json"},
      [options](CommandContext& context) {
        return RunTablesDiff(context, *options);
      });
  diff->add_option("BEFORE", options->before,
                   "Digest, kernel, or file of `wavetune tables save`")
      ->required();
  diff->add_option("AFTER", options->after, "The same of the other table")
      ->required();
  diff->add_option("--device", options->device,
                   "Device UUID, where a kernel has tables of several kinds");
  diff->add_option("--limit", options->limit, "Most problems to list")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
}

}  // namespace wavetune::cli
