#include "cli/question.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "cli/exit_code.h"
#include "cli/format.h"
#include "cli/no_table.h"
#include "model/kernel/configuration_text.h"
#include "wavetune/client.h"

namespace wavetune::cli {
namespace {

// Returns why a kernel without a table has none. The daemon may be out of
// reach, or older than what is asked.
std::string WhyNoTable(const CommandContext& context,
                       const ProblemOptions& options) {
  absl::StatusOr<std::shared_ptr<Daemon>> daemon = context.Connect();
  if (!daemon.ok()) return "";
  const absl::StatusOr<v1::ListJobsResponse> jobs =
      ListJobs(**daemon, kJobsLookedAt);
  if (!jobs.ok()) return "";
  return NoTableText(options.kernel,
                     LastProfile(*jobs, options.kernel, options.device));
}

std::string Explanation(const Question& question, const Decision& decision) {
  const Tuner& tuner = question.tuner;
  switch (decision.source) {
    case DecisionSource::kFitted:
      return "inside the measured range";
    case DecisionSource::kExtrapolated:
      return "beyond the measured range";
    case DecisionSource::kStale:
      return absl::StrCat(
          tuner.stale_reason().empty()
              ? "measured in another environment or for another version of the "
                "kernel"
              : tuner.stale_reason(),
          "; reprofile");
    case DecisionSource::kDefault:
      break;
  }
  switch (decision.reason) {
    case DefaultReason::kNoTable:
      return question.no_table.empty() ? "no table; run `wavetune reprofile`"
                                       : question.no_table;
    case DefaultReason::kWrongDimensionCount:
    case DefaultReason::kExtentOutOfRange:
      return "not a problem of this kernel";
    case DefaultReason::kNoLegalCandidate:
      return "predicates exclude every candidate of the table";
    case DefaultReason::kPreconditionBroken:
      return "the problem breaks a precondition of the kernel; `wavetune "
             "explain` says which";
    case DefaultReason::kUnknownSpecialisation:
      return "unknown specialisation";
    case DefaultReason::kTableWithdrawn:
      return "the table was withdrawn: its choices compute wrong results; "
             "`wavetune tables list` says which";
    case DefaultReason::kDefaultUnusable:
      return "the default does not work on this device, do not launch it; "
             "`wavetune kernels list` says why";
    case DefaultReason::kNone:
      break;
  }
  return "";
}

}  // namespace

void AddProblemOptions(CLI::App* command, ProblemOptions& options) {
  command->add_option("KERNEL", options.kernel, "Kernel")->required();
  command
      ->add_option("PROBLEM", options.problem,
                   "dimension=extent ..., a repeated dimension as "
                   "group_rows=5,0,7 (or with spaces or semicolons, as in "
                   "files); specialisation=NAME where the kernel has several")
      ->required();
  command->add_option("--specialisation", options.specialisation,
                      "As specialisation=NAME");
  command->add_option("--device", options.device,
                      "Device UUID, where several classes have tables");
  command->add_option("--fingerprint", options.fingerprint,
                      "Fingerprint or prefix, where several versions serve");
  command->add_option("--digest", options.digest,
                      "Decide with this table, serving or not");
  command->add_flag("--fail-stale", options.fail_stale,
                    "Exit with 4 where the table is stale: measured in another "
                    "environment, or for another version of the kernel");
}

absl::Status CheckStale(const ProblemOptions& options, const Tuner& tuner) {
  if (!options.fail_stale || !tuner.stale()) return absl::OkStatus();
  return StaleStatus(absl::StrCat(
      "the table of kernel \"", tuner.kernel(), "\" is stale: ",
      tuner.stale_reason().empty() ? "the daemon does not say why"
                                   : tuner.stale_reason(),
      ". Profile it: wavetune reprofile --kernel ", tuner.kernel()));
}

absl::StatusOr<Question> AskTuner(const CommandContext& context,
                                  const ProblemOptions& options) {
  std::vector<std::string> problem = options.problem;
  if (!options.specialisation.empty())
    problem.push_back(absl::StrCat("specialisation=", options.specialisation));
  ASSIGN_OR_RETURN(ProblemArguments arguments, SplitProblemArguments(problem));
  ASSIGN_OR_RETURN(std::unique_ptr<Client> client,
                   Client::Connect({.endpoint = context.endpoint,
                                    .watch = false,
                                    // A person's question is no use.
                                    .usage_feedback = false}));
  ASSIGN_OR_RETURN(Tuner tuner,
                   client->GetTuner(options.kernel,
                                    {.device = options.device,
                                     .fingerprint = options.fingerprint,
                                     .specialisation = arguments.specialisation,
                                     .digest = options.digest}));
  ParsedProblem parsed = ParseProblem(tuner.dimensions(), arguments);
  std::string no_table =
      tuner.digest().empty() ? WhyNoTable(context, options) : "";
  return Question{.tuner = std::move(tuner),
                  .parsed = std::move(parsed),
                  .no_table = std::move(no_table)};
}

std::string OriginText(TableOrigin origin) {
  switch (origin) {
    case TableOrigin::kDaemon:
      return "from the daemon";
    case TableOrigin::kCache:
      return "from the local cache";
    case TableOrigin::kFile:
      return "from a table file";
    case TableOrigin::kDefaults:
      return "none";
  }
  return "";
}

Json DecisionJson(const Question& question, const Decision& decision) {
  const Tuner& tuner = question.tuner;
  return Json{
      {"kernel", tuner.kernel()},
      {"configuration", ToJson(tuner.parameters(), decision.configuration)},
      {"latency_us", decision.latency_us},
      {"relative_bound", decision.relative_bound},
      {"source", std::string(ToString(decision.source))},
      {"reason", std::string(ToString(decision.reason))},
      {"explanation", Explanation(question, decision)},
      {"digest", tuner.digest()},
      {"stale", tuner.stale()},
      {"stale_reason", tuner.stale_reason()},
      {"origin", OriginText(tuner.origin())}};
}

std::string DecisionText(const Question& question, const Decision& decision) {
  const Tuner& tuner = question.tuner;
  std::string line =
      FormatConfiguration(tuner.parameters(), decision.configuration);
  if (decision.source != DecisionSource::kDefault)
    absl::StrAppend(&line, "  ", FormatMicroseconds(decision.latency_us),
                    " +- ", FormatPercent(decision.relative_bound));
  absl::StrAppend(&line, "  ", std::string(ToString(decision.source)));
  if (decision.source != DecisionSource::kFitted)
    absl::StrAppend(&line, " (", Explanation(question, decision), ")");
  if (!tuner.digest().empty())
    absl::StrAppend(&line, "  table ", ShortDigest(tuner.digest()));
  if (tuner.origin() == TableOrigin::kCache)
    absl::StrAppend(&line, ", ", OriginText(tuner.origin()));
  return line;
}

void PrintDecision(Output& out, const Question& question,
                   const Decision& decision) {
  const Tuner& tuner = question.tuner;
  out << "configuration  "
      << FormatConfiguration(tuner.parameters(), decision.configuration)
      << "\n";
  if (decision.source != DecisionSource::kDefault)
    out << "predicted      " << FormatMicroseconds(decision.latency_us)
        << " +- " << FormatPercent(decision.relative_bound) << "\n";
  out << "source         " << ToString(decision.source) << ": "
      << Explanation(question, decision) << "\n"
      << "table          ";
  if (tuner.digest().empty()) {
    out << "none\n";
  } else {
    out << ShortDigest(tuner.digest()) << ", " << OriginText(tuner.origin())
        << "\n";
  }
}

}  // namespace wavetune::cli
