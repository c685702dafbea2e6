// wavetune tables list|show|save|export.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/atomic_file.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/job_text.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/lookup.h"
#include "cli/text_table.h"
#include "model/kernel/configuration_text.h"
#include "model/table/coefficient_list.h"
#include "model/table/table_codec.h"

namespace wavetune::cli {
namespace {

struct TablesOptions {
  std::string kernel;
  std::string device;
  std::string fingerprint;
  std::string table;
  std::string out;
  bool fail_stale = false;
};

absl::Status RunTablesList(CommandContext& context,
                           const TablesOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  v1::ListTablesRequest request;
  request.set_kernel(options.kernel);
  request.set_device_uuid(options.device);
  ASSIGN_OR_RETURN(v1::ListTablesResponse tables,
                   daemon->Ask<v1::ListTablesResponse>(request));
  if (context.json) {
    PrintJson(*context.out, ToJson(tables));
  } else {
    PrintTableList(*context.out, tables);
  }
  return options.fail_stale ? CheckStale(tables) : absl::OkStatus();
}

std::string RegimeText(const SubTable& sub, size_t row, size_t wave) {
  std::string text = FormatRowRegime(sub.row_regimes[row]);
  if (sub.max_waves[wave] == std::numeric_limits<int64_t>::max()) {
    text += ", more waves";
  } else {
    absl::StrAppend(&text, ", waves<=", sub.max_waves[wave]);
  }
  return text;
}

std::string Number(double value) { return absl::StrFormat("%.4g", value); }

std::string MicroText(const WaveSegment& segment) {
  return absl::StrJoin(segment.micro, ",", [](std::string* out, uint8_t index) {
    absl::StrAppend(out, index);
  });
}

// "1-16: 9, 17-32: 14": rows' extents and the row that serves them.
std::string SpansText(const LayerChoices& layer) {
  int64_t first = layer.first;
  return absl::StrJoin(
      layer.spans, ", ", [&first](std::string* out, const LayerSpan& span) {
        absl::StrAppend(out, first, "-", span.last, ": ", span.group);
        first = span.last + 1;
      });
}

void PrintTableLayers(Output& out, const Table& table, const SubTable& sub) {
  if (sub.layers.empty()) return;
  const auto row = static_cast<size_t>(sub.mapping.rows->dimension);
  const std::string& rows = table.dimensions[row].name;
  out << "\nlayers that were measured: the row that serves each range of "
      << rows << "\n";
  TextTable layers({"LAYER", absl::StrCat("ROW BY ", rows)});
  for (const LayerChoices& layer : sub.layers) {
    std::vector<std::string> extents;
    for (size_t d = 0; d < layer.extents.size(); ++d) {
      if (d == row) continue;
      extents.push_back(
          absl::StrCat(table.dimensions[d].name, "=", layer.extents[d]));
    }
    layers.AddRow({absl::StrJoin(extents, " "), SpansText(layer)});
  }
  layers.Print(out);
}

void PrintPredicates(Output& out, const Table& table, const SubTable& sub) {
  for (size_t i = 0; i < sub.predicates.size(); ++i) {
    const auto rows = std::count_if(
        sub.groups.begin(), sub.groups.end(), [i](const MacroGroup& group) {
          return std::binary_search(group.predicates.begin(),
                                    group.predicates.end(), i);
        });
    const bool all = static_cast<int32_t>(i) < sub.preconditions;
    out << (i == 0 ? "\n" : "") << (all ? "precondition   " : "predicate      ")
        << FormatRelation(sub.predicates[i], table.dimensions);
    if (!all) out << " (of " << rows << " of " << sub.groups.size() << " rows)";
    out << "\n";
  }
}

// All but those whose factor the mapping does not have.
std::vector<const CoefficientField*> ShownCoefficients(const SubTable& sub) {
  std::vector<const CoefficientField*> shown;
  for (const CoefficientField& field : kCoefficients) {
    if (HasFactor(sub.mapping, field)) shown.push_back(&field);
  }
  return shown;
}

std::string FormulaText(const SubTable& sub) {
  std::string text = FormulaOf(sub.form);
  for (const CoefficientField* field : ShownCoefficients(sub)) {
    if (field->factor == nullptr) continue;
    absl::StrAppend(&text, " + ", field->name, " ", field->factor_name);
  }
  return text;
}

std::string UnitsText(const SubTable& sub) {
  std::vector<std::string> units;
  for (const CoefficientField* field : ShownCoefficients(sub)) {
    if (!Reads(sub.form, *field)) continue;
    units.push_back(absl::StrCat(field->name, " in ", field->unit));
  }
  return absl::StrJoin(units, ", ");
}

std::vector<std::string> RowHeader(const SubTable& sub) {
  std::vector<std::string> header = {"ROW", "CAPACITY", "REGIME"};
  for (const CoefficientField* field : ShownCoefficients(sub)) {
    header.push_back(absl::AsciiStrToUpper(field->name));
  }
  header.insert(header.end(), {"BOUND", "BEYOND", "MEASURED", "MICRO"});
  return header;
}

std::vector<std::string> RowText(const SubTable& sub, size_t group, size_t row,
                                 size_t wave) {
  const MacroGroup& macro = sub.groups[group];
  const WaveSegment& segment = macro.models[row].segments[wave];
  std::vector<std::string> cells = {absl::StrCat(group),
                                    absl::StrCat(macro.tiles_per_wave),
                                    RegimeText(sub, row, wave)};
  for (const CoefficientField* field : ShownCoefficients(sub)) {
    cells.push_back(Number(segment.coefficients.*field->value));
  }
  cells.insert(cells.end(),
               {FormatPercent(segment.relative_bound),
                FormatPercent(segment.extrapolated_bound),
                absl::StrFormat("w %d-%d, L %.4g-%.4g", segment.min_wave,
                                segment.max_wave, segment.min_iterations,
                                segment.max_iterations),
                MicroText(segment)});
  return cells;
}

// One line for each segment.
void PrintTableRows(Output& out, const SubTable& sub) {
  TextTable rows(RowHeader(sub));
  for (size_t g = 0; g < sub.groups.size(); ++g) {
    for (size_t r = 0; r < sub.groups[g].models.size(); ++r) {
      for (size_t w = 0; w < sub.groups[g].models[r].segments.size(); ++w) {
        rows.AddRow(RowText(sub, g, r, w));
      }
    }
  }
  rows.Print(out);
}

void PrintSubTable(Output& out, const Table& table, const SubTable& sub) {
  if (!sub.specialisation.empty())
    out << "\nspecialisation " << sub.specialisation << "\n";
  out << "\nportfolio (" << sub.portfolio.size() << " candidates)\n";
  TextTable portfolio(
      {"#", "CONFIGURATION", "CAPACITY", "REGISTERS", "LOCAL MEMORY"});
  for (size_t i = 0; i < sub.portfolio.size(); ++i) {
    const TableCandidate& candidate = sub.portfolio[i];
    portfolio.AddRow(
        {absl::StrCat(i),
         FormatConfiguration(table.parameters, candidate.configuration) +
             (candidate.configuration == table.default_configuration
                  ? " (default)"
                  : ""),
         absl::StrCat(candidate.tiles_per_wave),
         absl::StrCat(candidate.registers),
         FormatBytes(candidate.shared_memory_bytes)});
  }
  portfolio.Print(out);
  PrintPredicates(out, table, sub);
  out << "\ncoefficient table: T = " << FormulaText(sub)
      << ", in us; micro: candidate per loop anchor ("
      << absl::StrJoin(sub.loop_anchors, ", ") << " iterations)\n"
      << UnitsText(sub) << "\n";
  if (sub.power_limit.slowdown > 0) {
    out << absl::StrFormat(
               "of a launch what is beyond %.4g us of T takes %.4g times as "
               "long",
               sub.power_limit.from_us, 1 + sub.power_limit.slowdown)
        << "\n";
  }
  if (sub.wary)
    out << "beyond what was measured the default answers, unless a row is "
           "faster by more than its bound\n";
  PrintTableRows(out, sub);
  PrintTableLayers(out, table, sub);
}

// Whether a table is among those that serve.
bool Serves(const v1::TableInfo& info, const v1::ListTablesResponse& tables) {
  return std::any_of(tables.tables().begin(), tables.tables().end(),
                     [&](const v1::TableInfo& serving) {
                       return serving.digest() == info.digest();
                     });
}

std::string StateText(const v1::TableInfo& info, bool serves) {
  if (!info.withdrawn().empty()) return "WITHDRAWN, serves no longer";
  if (serves) return StaleText(info);
  return info.epoch() > 0 ? "replaced, serves no longer"
                          : "was never promoted: wavetune tables rejected";
}

void PrintTable(Output& out, const v1::TableInfo& info, bool serves,
                const Table& table, size_t size_bytes) {
  out << "kernel         " << table.kernel << "\n"
      << "digest         " << info.digest() << "\n"
      << "fingerprint    " << table.fingerprint << "\n"
      << "silicon        " << table.silicon_key << "\n"
      << "environment    " << table.environment_key << "\n"
      << "compiler       "
      << (info.compiler().empty() ? "not recorded" : info.compiler()) << "\n"
      << "profiled on    " << info.device_label() << " " << info.device_uuid()
      << "\n"
      << "promoted       " << FormatTime(info.promoted_at_us()) << ", epoch "
      << info.epoch() << "\n"
      << "state          " << StateText(info, serves) << "\n";
  if (!info.by().empty())
    out << "by             " << UserText(info.by()) << "\n";
  if (!info.why().empty()) out << "why            " << info.why() << "\n";
  if (!info.pinned().empty()) out << "pinned         " << info.pinned() << "\n";
  if (!info.withdrawn().empty())
    out << "WITHDRAWN      " << info.withdrawn() << "\n";
  for (const std::string& note : info.notes())
    out << "note           " << note << "\n";
  out << "size           " << FormatBytes(static_cast<int64_t>(size_bytes))
      << "\n"
      << "near tie       " << FormatPercent(table.near_tie) << "\n"
      << "default        "
      << FormatConfiguration(table.parameters, table.default_configuration)
      << "\n";
  for (const SubTable& sub : table.sub_tables) PrintSubTable(out, table, sub);
}

Json SegmentJson(const Table& table, const SubTable& sub, size_t group,
                 size_t row, size_t wave) {
  const MacroGroup& macro = sub.groups[group];
  const WaveSegment& segment = macro.models[row].segments[wave];
  Json coefficients = Json::object();
  for (const CoefficientField& field : kCoefficients) {
    coefficients[field.name] = segment.coefficients.*field.value;
  }
  return Json{
      {"row", group},
      {"lead",
       ToJson(table.parameters, sub.portfolio[macro.lead].configuration)},
      {"capacity", macro.tiles_per_wave},
      {"form", sub.form == WaveForm::kSum ? "sum" : "overlap"},
      {"max_rows", sub.row_regimes[row].max_rows},
      {"max_fill", sub.row_regimes[row].max_fill},
      {"max_waves", sub.max_waves[wave]},
      {"coefficients", std::move(coefficients)},
      {"floor_us", segment.floor_us},
      {"relative_bound", segment.relative_bound},
      {"extrapolated_bound", segment.extrapolated_bound},
      {"measured_waves", {segment.min_wave, segment.max_wave}},
      {"measured_iterations", {segment.min_iterations, segment.max_iterations}},
      {"micro", segment.micro}};
}

Json SubTableJson(const Table& table, const SubTable& sub) {
  Json portfolio = Json::array();
  for (const TableCandidate& candidate : sub.portfolio)
    portfolio.push_back(
        {{"configuration", ToJson(table.parameters, candidate.configuration)},
         {"capacity", candidate.tiles_per_wave},
         {"registers", candidate.registers},
         {"shared_memory_bytes", candidate.shared_memory_bytes}});
  Json rows = Json::array();
  for (size_t g = 0; g < sub.groups.size(); ++g) {
    for (size_t r = 0; r < sub.groups[g].models.size(); ++r) {
      for (size_t w = 0; w < sub.groups[g].models[r].segments.size(); ++w)
        rows.push_back(SegmentJson(table, sub, g, r, w));
    }
  }
  Json layers = Json::array();
  for (const LayerChoices& layer : sub.layers) {
    Json spans = Json::array();
    for (const LayerSpan& span : layer.spans)
      spans.push_back({{"last", span.last}, {"row", span.group}});
    layers.push_back({{"extents", layer.extents},
                      {"first", layer.first},
                      {"spans", std::move(spans)}});
  }
  return Json{{"specialisation", sub.specialisation},
              {"portfolio", std::move(portfolio)},
              {"loop_anchors", sub.loop_anchors},
              {"sustained",
               {{"from_us", sub.power_limit.from_us},
                {"slowdown", sub.power_limit.slowdown}}},
              {"wary", sub.wary},
              {"layers", std::move(layers)},
              {"rows", std::move(rows)}};
}

absl::Status RunTablesShow(CommandContext& context,
                           const TablesOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  ASSIGN_OR_RETURN(v1::GetTableResponse response,
                   FindTable(*daemon, {.table = options.table,
                                       .device = options.device,
                                       .fingerprint = options.fingerprint}));
  ASSIGN_OR_RETURN(Table table, DecodeTable(response.payload()));
  // A digest also names what served once.
  v1::ListTablesRequest alike;
  alike.set_kernel(response.info().kernel());
  ASSIGN_OR_RETURN(const v1::ListTablesResponse tables,
                   daemon->Ask<v1::ListTablesResponse>(alike));
  const bool serves =
      response.info().withdrawn().empty() && Serves(response.info(), tables);
  if (!context.json) {
    PrintTable(*context.out, response.info(), serves, table,
               response.payload().size());
    return absl::OkStatus();
  }
  Json json = ToJson(response.info());
  json["serving"] = serves;
  json["size_bytes"] = response.payload().size();
  json["near_tie"] = table.near_tie;
  json["default_configuration"] =
      ToJson(table.parameters, table.default_configuration);
  json["sub_tables"] = Json::array();
  for (const SubTable& sub : table.sub_tables)
    json["sub_tables"].push_back(SubTableJson(table, sub));
  PrintJson(*context.out, json);
  return absl::OkStatus();
}

absl::Status RunSave(CommandContext& context, const TablesOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<StagedFile> file,
                   StagedFile::Open(options.out));
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  ASSIGN_OR_RETURN(v1::GetTableResponse response,
                   FindTable(*daemon, {.table = options.table,
                                       .device = options.device,
                                       .fingerprint = options.fingerprint}));
  // A file outlives whoever knows that.
  if (!response.info().withdrawn().empty())
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", response.info().digest(),
        " was withdrawn, and is not saved: ", response.info().withdrawn()));
  RETURN_IF_ERROR(file->Commit(response.payload()));
  if (context.json) {
    Json json = ToJson(response.info());
    json["out"] = options.out;
    PrintJson(*context.out, json);
  } else {
    *context.out << response.info().digest() << " of "
                 << response.info().kernel() << " in " << options.out << "\n";
  }
  return absl::OkStatus();
}

// Which table; for commands that take one.
void AddWhichTable(CLI::App* command,
                   const std::shared_ptr<TablesOptions>& options) {
  command
      ->add_option("TABLE", options->table,
                   "Digest (or the first digits of a serving one's), or kernel")
      ->required();
  command->add_option("--device", options->device,
                      "Device UUID, where several classes have tables");
  command->add_option("--fingerprint", options->fingerprint,
                      "Fingerprint or prefix, where several versions serve");
}

}  // namespace

void AddTablesCommands(CommandRegistry& registry) {
  auto options = std::make_shared<TablesOptions>();
  CLI::App* tables = registry.AddGroup(
      "tables", "Lists, shows and saves tables, and says which one serves.");
  CLI::App* list = registry.Add(
      tables, "list", "Lists the serving tables.",
      {"wavetune tables list", "wavetune tables list --kernel gemm_f32",
       "wavetune tables list --fail-stale"},
      [options](CommandContext& context) {
        return RunTablesList(context, *options);
      });
  list->add_option("--kernel", options->kernel, "Only this kernel's");
  list->add_flag("--fail-stale", options->fail_stale,
                 "Exit with 4 where a table is stale, or cannot be read");
  list->add_option("--device", options->device,
                   "Only those of this device's class (UUID)");
  CLI::App* show = registry.Add(
      tables, "show",
      "Shows a table: portfolio, rows, regimes, coefficients, size.",
      {"wavetune tables show gemm_f32", "wavetune tables show 3f9a04c1d2e5",
       "wavetune tables show gemm_f32 --device GPU-1 --json"},
      [options](CommandContext& context) {
        return RunTablesShow(context, *options);
      });
  AddWhichTable(show, options);
  // Two names of one command: scripts know the first.
  for (const std::string name : {"save", "export"}) {
    CLI::App* save = registry.Add(
        tables, name,
        "Writes a table's payload to a file, for `wavetune tables import` on "
        "another node, `wavetune export --table` and clients without a daemon.",
        {absl::StrCat("wavetune tables ", name, " gemm_bf16 --out gemm.table"),
         absl::StrCat("wavetune tables ", name,
                      " 3f9a04c1d2e5 --out gemm.table")},
        [options](CommandContext& context) {
          return RunSave(context, *options);
        });
    AddWhichTable(save, options);
    save->add_option("--out", options->out,
                     "File to write; replaced as a whole")
        ->required();
  }
  AddTablesAdminCommands(registry, tables);
  AddTablesImportCommands(registry, tables);
  AddTablesVerifyCommand(registry, tables);
  AddTablesDiffCommand(registry, tables);
}

}  // namespace wavetune::cli
