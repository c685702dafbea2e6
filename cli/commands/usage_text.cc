#include "cli/commands/usage_text.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/format.h"
#include "cli/text_table.h"

namespace wavetune::cli {
namespace {

double Total(const v1::SourceCounts& counts) {
  return counts.fitted() + counts.wide_bound() + counts.extrapolated() +
         counts.stale() + counts.default_configuration();
}

std::string Count(double decisions) {
  return absl::StrFormat("%.0f", decisions);
}

void AddCounts(const std::string& kernel, const std::string& device,
               const v1::SourceCounts& counts, const std::string& uncertain,
               const std::string& refined, TextTable* table) {
  const double total = Total(counts);
  const auto share = [total](double decisions) {
    return total > 0 ? FormatPercent(decisions / total) : std::string("-");
  };
  table->AddRow({kernel, device, Count(total), share(counts.fitted()),
                 share(counts.wide_bound()), share(counts.extrapolated()),
                 share(counts.stale()), share(counts.default_configuration()),
                 uncertain, refined});
}

void AddKernel(const v1::KernelUsage& usage, TextTable* table) {
  const std::string device =
      usage.device_label().empty() ? usage.silicon_key() : usage.device_label();
  const std::string uncertain = usage.decisions_with_table() > 0
                                    ? FormatPercent(usage.uncertain_share())
                                    : "-";
  AddCounts(usage.kernel(), device, usage.counts(), uncertain,
            FormatTime(usage.refined_at_us()), table);
  if (usage.specialisations_size() < 2) return;
  for (const v1::SpecialisationUsage& one : usage.specialisations()) {
    AddCounts(absl::StrCat("  ", one.specialisation()), "", one.counts(), "",
              "", table);
  }
}

}  // namespace

void PrintUsage(Output& out, const v1::GetUsageResponse& usage) {
  TextTable counts({"USE OF", "DEVICE", "DECISIONS", "FITTED", "WIDE BOUND",
                    "EXTRAPOLATED", "STALE", "DEFAULT", "UNCERTAIN NOW",
                    "REFINED"});
  TextTable problems({"ASKED FOR", "DECISIONS", "SHARE", "PROBLEM"});
  for (const v1::KernelUsage& kernel : usage.kernels()) {
    AddKernel(kernel, &counts);
    const double total = Total(kernel.counts());
    for (const v1::UsedProblem& used : kernel.problems()) {
      problems.AddRow(
          {kernel.kernel(), Count(used.decisions()),
           total > 0 ? FormatPercent(used.decisions() / total) : "-",
           FormatProblem(used.problem())});
    }
  }
  counts.Print(out, "no use reported yet");
  if (usage.kernels().empty()) return;
  out << "\n";
  problems.Print(out, "no problems reported yet");
}

}  // namespace wavetune::cli
