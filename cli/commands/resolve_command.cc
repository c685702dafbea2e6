// wavetune resolve.
#include <memory>

#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/question.h"

namespace wavetune::cli {
namespace {

absl::Status RunResolve(CommandContext& context,
                        const ProblemOptions& options) {
  ASSIGN_OR_RETURN(Question question, AskTuner(context, options));
  const Tuner& tuner = question.tuner;
  // A caller's program would get this answer too, faults or not.
  Problem asked = question.parsed.problem;
  if (question.parsed.wrong_dimensions) asked.extents.clear();
  const Decision decision = tuner.Resolve(asked.View());
  if (context.json) {
    Json json = DecisionJson(question, decision);
    json["problem"] = ToJson(tuner.dimensions(), question.parsed.problem);
    json["faults"] = question.parsed.faults;
    PrintJson(*context.out, json);
  } else {
    *context.out << DecisionText(question, decision) << "\n";
  }
  RETURN_IF_ERROR(question.parsed.status());
  return CheckStale(options, tuner);
}

}  // namespace

void AddResolveCommand(CommandRegistry& registry) {
  auto options = std::make_shared<ProblemOptions>();
  CLI::App* command = registry.Add(
      registry.root(), "resolve",
      "Decides for one problem, as a program with the client library would.",
      {"wavetune resolve gemm_f32 m=128 n=4096 k=4096",
       "wavetune resolve attention batch=1 heads=32 kv_heads=8 seq_q=512 "
       "seq_kv=512 specialisation=causal",
       "wavetune resolve gemm_f32 m=128 n=4096 k=4096 --fail-stale",
       "wavetune resolve grouped_gemm group_rows=7,12,6 n=4096 k=4096 --json"},
      [options](CommandContext& context) {
        return RunResolve(context, *options);
      });
  AddProblemOptions(command, *options);
}

}  // namespace wavetune::cli
