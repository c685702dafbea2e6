#include "cli/export/plain_exports.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "cli/export/decision_grid.h"
#include "cli/export/engine_kernel.h"
#include "cli/export/export_source.h"
#include "cli/export/exported_text.h"
#include "cli/export/layer_decisions.h"
#include "cli/export/layer_options.h"
#include "cli/export/token_keys.h"
#include "cli/export/write_export.h"
#include "cli/json.h"

namespace wavetune::cli {
namespace {

absl::Status Deliver(CommandContext& context, const ExportOptions& options,
                     const std::string& text) {
  if (!options.out.empty())
    return WriteExport(options.out, text, options.force);
  *context.out << Lines(text);
  return absl::OkStatus();
}

Json LayerJson(const std::vector<std::string>& parameters,
               const MoeLayer& layer, const LayerDecisions& decisions) {
  Json entries = Json::array();
  for (const int64_t tokens : KeyTokens(decisions.GateUp())) {
    const LayerDecision& at = decisions.At(tokens);
    entries.push_back({{"tokens", tokens},
                       {"gate_up", PlainDecisionJson(parameters, at.gate_up)},
                       {"down", PlainDecisionJson(parameters, at.down)}});
  }
  return {{"experts", layer.experts},
          {"local_experts", layer.local_experts},
          {"top_k", layer.top_k},
          {"hidden", layer.hidden},
          {"intermediate", layer.intermediate},
          {"decisions", entries}};
}

absl::StatusOr<Json> ExpertLayersJson(CommandContext& context,
                                      const ExportOptions& options,
                                      const ExportSource& source,
                                      const ExportedTable& table) {
  ASSIGN_OR_RETURN(const KernelSpec spec, source.Spec());
  ASSIGN_OR_RETURN(const ServedMoe moe, ExpertProducts(spec, table.table()));
  ASSIGN_OR_RETURN(const std::vector<MoeLayer> layers,
                   ExpertLayersOf(options.layer));
  Json list = Json::array();
  for (const MoeLayer& layer : layers) {
    const LayerDecisions decisions(*table.compiled, moe, layer,
                                   SharedByProducts::kAll, options.max_tokens);
    RETURN_IF_ERROR(WarnOfGaps(*context.err, layer, decisions));
    list.push_back(LayerJson(table.table().parameters, layer, decisions));
  }
  return list;
}

absl::StatusOr<Json> GridJson(const ExportOptions& options,
                              const ExportedTable& table) {
  ASSIGN_OR_RETURN(
      const std::vector<Problem> problems,
      GridProblems(table.table(), options.problem, options.specialisation));
  const CompiledTable& compiled = *table.compiled;
  Json list = Json::array();
  for (const Problem& problem : problems) {
    const int sub = compiled.SubTableIndex(problem.specialisation);
    Json entry = {{"problem", ToJson(table.table().dimensions, problem)}};
    entry.update(PlainDecisionJson(
        table.table().parameters,
        compiled.Resolve(sub, problem.View(), table.source.stale)));
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

absl::Status ExportTritonConfigs(CommandContext& context,
                                 const ExportOptions& options) {
  ASSIGN_OR_RETURN(const ExportSource source,
                   ExportSource::Open(context, options));
  ASSIGN_OR_RETURN(const ExportedTable table, source.Table());
  ASSIGN_OR_RETURN(const std::vector<int> sub_tables,
                   SubTablesOf(table.table(), options.specialisation));
  ASSIGN_OR_RETURN(
      const std::string text,
      TritonConfigsText(*table.compiled, sub_tables, table.source));
  return Deliver(context, options, text);
}

absl::Status ExportJson(CommandContext& context, const ExportOptions& options) {
  if (options.layer.given() == !options.problem.empty()) {
    return absl::InvalidArgumentError(
        "name the problems (m=1,16,64 n=4096 k=4096, every combination), or an "
        "expert layer (--config, or --experts and the like)");
  }
  ASSIGN_OR_RETURN(const ExportSource source,
                   ExportSource::Open(context, options));
  ASSIGN_OR_RETURN(const ExportedTable table, source.Table());
  Json json = TableJson(*table.compiled, table.source);
  if (options.layer.given()) {
    ASSIGN_OR_RETURN(json["layers"],
                     ExpertLayersJson(context, options, source, table));
  } else {
    ASSIGN_OR_RETURN(json["decisions"], GridJson(options, table));
  }
  return Deliver(context, options, JsonText(json));
}

}  // namespace wavetune::cli
