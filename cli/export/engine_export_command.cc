// wavetune export.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/atomic_file.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/export/decision_grid.h"
#include "cli/export/engine_file_name.h"
#include "cli/export/engine_kernel.h"
#include "cli/export/exported_text.h"
#include "cli/export/layer_decisions.h"
#include "cli/export/layer_options.h"
#include "cli/export/token_keys.h"
#include "cli/json.h"
#include "cli/lookup.h"
#include "cli/number_option.h"
#include "formats/kernel_folder.h"
#include "model/decide/compiled_table.h"
#include "model/table/table_codec.h"

namespace wavetune::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kUsualMostTokens = 16384;
constexpr int64_t kMostTokens = int64_t{1} << 20;
// Engines look through all keys for each layer of a step without a graph.
constexpr size_t kManyKeys = 1024;

struct Options {
  std::string kernel;
  std::string format;
  std::string out;
  std::vector<std::string> problem;

  std::string table;
  std::string digest;
  std::string device;
  std::string fingerprint;
  std::string specialisation;

  LayerOptions layer;
  int64_t max_tokens = kUsualMostTokens;
  std::string device_name;
  bool other_device = false;
  std::string dtype;
  std::string block_shape;
  bool per_channel_quant = false;
  std::string triton_version;
  bool down_file = false;
  bool force = false;

  bool vllm() const { return format == "vllm-moe"; }
  bool sglang() const { return format == "sglang-moe"; }
};

// A table, and what its daemon says of it.
struct ExportedTable {
  std::unique_ptr<const CompiledTable> compiled;
  TableSource source;
  std::string stale_reason;

  const Table& table() const { return compiled->table(); }
};

absl::StatusOr<ExportedTable> ReadTable(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string payload,
                   ReadTextFile(path, kMaxPayloadBytes));
  ExportedTable table;
  absl::StatusOr<std::unique_ptr<const CompiledTable>> compiled =
      CompiledTable::Create(payload);
  if (!compiled.ok()) {
    return absl::Status(
        compiled.status().code(),
        absl::StrCat(path, " is no table: ", compiled.status().message()));
  }
  table.compiled = *std::move(compiled);
  return table;
}

absl::StatusOr<ExportedTable> FetchTable(const CommandContext& context,
                                         const Options& options,
                                         const std::string& kernel) {
  ASSIGN_OR_RETURN(DaemonConnection daemon, context.Connect());
  absl::StatusOr<v1::GetTableResponse> found =
      FindTable(*daemon.tables,
                {.table = options.digest.empty() ? kernel : options.digest,
                 .device = options.device,
                 .fingerprint = options.fingerprint});
  if (absl::IsNotFound(found.status())) {
    return absl::NotFoundError(
        absl::StrCat("there is no table to export (", found.status().message(),
                     "); `wavetune reprofile --kernel ", kernel,
                     " --wait` makes one, --table reads one from a file"));
  }
  RETURN_IF_ERROR(found.status());
  if (!found->info().withdrawn().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the table was withdrawn: ", found->info().withdrawn(),
                     "; profile the kernel again"));
  }
  ExportedTable table;
  ASSIGN_OR_RETURN(table.compiled, CompiledTable::Create(found->payload()));
  table.source = {.device = found->info().device_label(),
                  .stale = found->info().stale()};
  table.stale_reason = found->info().stale_reason();
  return table;
}

bool IsFolder(const std::string& kernel) {
  std::error_code error;
  return fs::is_directory(kernel, error) ||
         kernel.find('/') != std::string::npos;
}

// The manifest says which engines launch a kernel; a table does not.
absl::StatusOr<KernelSpec> FindSpec(const CommandContext& context,
                                    const std::string& kernel) {
  if (IsFolder(kernel)) {
    ASSIGN_OR_RETURN(KernelFolder folder, LoadKernelFolder(kernel));
    return std::move(folder.spec);
  }
  ASSIGN_OR_RETURN(DaemonConnection daemon, context.Connect());
  absl::StatusOr<KnownKernel> known = FindKernel(*daemon.status, kernel);
  if (!known.ok()) {
    return absl::Status(
        known.status().code(),
        absl::StrCat(known.status().message(),
                     ". Without a daemon give the kernel's folder: its "
                     "manifest says which engines launch it"));
  }
  return std::move(known->spec);
}

absl::StatusOr<ExportedTable> GetTable(const CommandContext& context,
                                       const Options& options,
                                       const std::string& kernel) {
  absl::StatusOr<ExportedTable> table =
      options.table.empty() ? FetchTable(context, options, kernel)
                            : ReadTable(options.table);
  RETURN_IF_ERROR(table.status());
  if (table->table().kernel != kernel) {
    return absl::InvalidArgumentError(
        absl::StrCat("the table is of kernel \"", table->table().kernel,
                     "\", not of \"", kernel, "\""));
  }
  if (table->source.stale) {
    *context.err << "wavetune: the table is stale ("
                 << (table->stale_reason.empty() ? "the daemon does not say why"
                                                 : table->stale_reason)
                 << "); its decisions are exported as they are\n";
  }
  return table;
}

// Refuses a name of another device than the one that was measured.
absl::Status CheckDevice(const Options& options, const ExportedTable& table) {
  const std::string& label = table.source.device;
  if (options.other_device || label.empty() ||
      SameDeviceName(label, options.device_name))
    return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the table was measured on \"", label, "\", not on \"",
      options.device_name,
      "\": profile the kernel there, choose another table with --device or "
      "--digest, or say --other-device to export it all the same"));
}

// "80GB" of "NVIDIA H100 80GB HBM3" in MiB; 0 where the name says nothing.
int64_t MemoryOfName(absl::string_view name) {
  for (const absl::string_view word : absl::StrSplit(name, ' ')) {
    absl::string_view number = word;
    int64_t gigabytes = 0;
    if (absl::ConsumeSuffix(&number, "GB") &&
        absl::SimpleAtoi(number, &gigabytes))
      return gigabytes * 1024;
  }
  return 0;
}

int64_t MemoryOfSilicon(absl::string_view silicon_key) {
  for (absl::string_view part : absl::StrSplit(silicon_key, ';')) {
    int64_t mib = 0;
    if (absl::ConsumePrefix(&part, "memory_mib=") &&
        absl::SimpleAtoi(part, &mib))
      return mib;
  }
  return 0;
}

// A file of a table has no label; but its key says how much memory there was,
// and many names do. Decimal and binary gigabytes differ by 7 %.
absl::Status CheckMemory(const Options& options, const ExportedTable& table) {
  const int64_t named = MemoryOfName(options.device_name);
  const int64_t measured = MemoryOfSilicon(table.table().silicon_key);
  if (options.other_device || named == 0 || measured == 0 ||
      (measured * 5 > named * 4 && measured * 5 < named * 6))
    return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the table was measured on another device than \"", options.device_name,
      "\": its silicon is ", table.table().silicon_key,
      ". Choose another table, or say --other-device to export it all the "
      "same"));
}

// Device names of a daemon's table are known; a file's must be given.
absl::Status CompleteDeviceName(const ExportedTable& table, Options& options) {
  if (options.device_name.empty()) options.device_name = table.source.device;
  if (options.device_name.empty()) {
    return absl::InvalidArgumentError(
        "--device-name is missing: the file's name has the device's, as "
        "torch.cuda.get_device_name() says it where the engine runs, and a "
        "table in a file does not know it");
  }
  RETURN_IF_ERROR(CheckDevice(options, table));
  return CheckMemory(options, table);
}

absl::StatusOr<std::vector<int64_t>> ParseBlockShape(const std::string& text) {
  std::vector<int64_t> shape;
  if (text.empty()) return shape;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    int64_t extent = 0;
    if (!absl::SimpleAtoi(part, &extent) || extent < 1) break;
    shape.push_back(extent);
  }
  if (shape.size() == 2 && absl::StrJoin(shape, ",") == text) return shape;
  return absl::InvalidArgumentError(absl::StrCat(
      "--block-shape \"", text, "\" is not two extents, such as 128,128"));
}

// One file and what is in it.
struct EngineFile {
  std::string path;  // Below --out.
  std::string text;
  size_t keys = 0;
  size_t configurations = 0;
};

EngineFile MakeFile(std::string path, const Table& table,
                    const std::vector<Configuration>& choices) {
  return {.path = std::move(path),
          .text = EngineFileText(table.parameters, choices),
          .keys = KeyTokens(choices).size(),
          .configurations =
              std::set<Configuration>(choices.begin(), choices.end()).size()};
}

absl::StatusOr<std::string> PathOf(const Options& options,
                                   const EngineFileKey& key) {
  return options.vllm() ? VllmFileName(key)
                        : SglangFilePath(key, options.triton_version);
}

absl::Status CheckAnswers(CommandContext& context, const MoeLayer& layer,
                          const LayerDecisions& decisions) {
  const std::string reason(ToString(decisions.default_reason()));
  const std::string what =
      absl::StrCat(layer.local_experts, " experts, hidden ", layer.hidden,
                   ", intermediate ", layer.intermediate);
  if (decisions.defaults() == decisions.most()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the table has no answer for this layer (", what, "): ", reason,
        ". `wavetune explain` shows a problem of it"));
  }
  if (decisions.defaults() > 0) {
    *context.err << "wavetune: " << what << ": no answer at "
                 << decisions.defaults() << " of " << decisions.most()
                 << " token counts (" << reason
                 << "); the kernel's default stands there\n";
  }
  if (decisions.extrapolated() > 0) {
    *context.err << "wavetune: " << what << ": " << decisions.extrapolated()
                 << " of " << decisions.most()
                 << " token counts are beyond what was measured; `wavetune "
                    "workload add` has the model's layers measured\n";
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<EngineFile>> FilesOf(CommandContext& context,
                                                const Options& options,
                                                const ExportedTable& table,
                                                const ServedMoe& moe,
                                                const MoeLayer& layer) {
  const LayerDecisions decisions(
      *table.compiled, moe, layer,
      options.down_file ? SharedByProducts::kRowTile : SharedByProducts::kAll,
      options.max_tokens);
  RETURN_IF_ERROR(CheckAnswers(context, layer, decisions));
  EngineFileKey key{.experts = layer.local_experts,
                    .intermediate = layer.intermediate,
                    .device_name = options.device_name,
                    .dtype = options.dtype,
                    .per_channel_quant = options.per_channel_quant};
  ASSIGN_OR_RETURN(key.block_shape, ParseBlockShape(options.block_shape));
  ASSIGN_OR_RETURN(std::string path, PathOf(options, key));
  std::vector<EngineFile> files = {
      MakeFile(std::move(path), table.table(), decisions.GateUp())};
  if (options.down_file) {
    key.down = true;
    ASSIGN_OR_RETURN(std::string down, PathOf(options, key));
    files.push_back(MakeFile(std::move(down), table.table(), decisions.Down()));
  }
  if (options.vllm()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> older,
                     OlderVllmFileNames(key));
    for (const std::string& name : older) {
      *context.err << "wavetune: older versions of vLLM call this device's "
                      "file "
                   << name << "; copy it there for them\n";
    }
  }
  return files;
}

absl::Status WriteFile(const Options& options, const EngineFile& file) {
  const fs::path path = fs::path(options.out) / file.path;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) {
    return FileError("cannot make the folder", path.parent_path().string(),
                     error.value());
  }
  if (fs::exists(path, error) && !options.force) {
    return absl::AlreadyExistsError(
        absl::StrCat(path.string(), " is there already; --force replaces it"));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<StagedFile> staged,
                   StagedFile::Open(path.string()));
  return staged->Commit(file.text);
}

void PrintFiles(CommandContext& context, const Options& options,
                const ExportedTable& table,
                const std::vector<EngineFile>& files) {
  Json list = Json::array();
  for (const EngineFile& file : files) {
    const std::string path = (fs::path(options.out) / file.path).string();
    if (file.keys > kManyKeys) {
      *context.err << "wavetune: " << path << " has " << file.keys
                   << " entries, through all of which the engine looks for "
                      "each layer: fewer --max-tokens make fewer\n";
    }
    list.push_back({{"path", path},
                    {"entries", file.keys},
                    {"configurations", file.configurations}});
    if (!context.json) {
      *context.out << path << ": " << file.keys << " entries, "
                   << file.configurations << " configurations\n";
    }
  }
  if (context.json) {
    PrintJson(*context.out, {{"kernel", table.table().kernel},
                             {"digest", table.compiled->digest()},
                             {"files", list}});
  }
}

absl::Status CheckEngineOptions(const Options& options) {
  if (options.out.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--out is missing: the folder that ",
        options.vllm() ? "VLLM_TUNED_CONFIG_FOLDER" : "SGLANG_MOE_CONFIG_DIR",
        " names"));
  }
  if (options.sglang() && options.triton_version.empty()) {
    return absl::InvalidArgumentError(
        "--triton-version is missing: SGLang has a folder for each, such as "
        "3.6.0");
  }
  if (options.vllm() && (options.down_file || options.per_channel_quant)) {
    return absl::InvalidArgumentError(
        "--down-file and --per-channel-quant are SGLang's: vLLM launches both "
        "products with one configuration, and has one file for them");
  }
  return absl::OkStatus();
}

absl::Status ExportToEngine(CommandContext& context, Options options) {
  RETURN_IF_ERROR(CheckEngineOptions(options));
  ASSIGN_OR_RETURN(const KernelSpec spec, FindSpec(context, options.kernel));
  ASSIGN_OR_RETURN(const ExportedTable table,
                   GetTable(context, options, spec.name));
  ASSIGN_OR_RETURN(
      const ServedMoe moe,
      EngineKernel(spec, table.table(), options.vllm() ? "vllm" : "sglang"));
  ASSIGN_OR_RETURN(const std::vector<MoeLayer> layers,
                   ExpertLayersOf(options.layer));
  RETURN_IF_ERROR(CompleteDeviceName(table, options));
  std::vector<EngineFile> files;
  for (const MoeLayer& layer : layers) {
    ASSIGN_OR_RETURN(std::vector<EngineFile> of_layer,
                     FilesOf(context, options, table, moe, layer));
    std::move(of_layer.begin(), of_layer.end(), std::back_inserter(files));
  }
  for (const EngineFile& file : files)
    RETURN_IF_ERROR(WriteFile(options, file));
  PrintFiles(context, options, table, files);
  return absl::OkStatus();
}

// Returns the sub-tables that are asked for.
absl::StatusOr<std::vector<int>> SubTablesOf(const Options& options,
                                             const Table& table) {
  std::vector<int> indices;
  std::vector<std::string> names;
  for (size_t i = 0; i < table.sub_tables.size(); ++i) {
    names.push_back(table.sub_tables[i].specialisation);
    if (options.specialisation.empty() ||
        names.back() == options.specialisation)
      indices.push_back(static_cast<int>(i));
  }
  if (!indices.empty()) return indices;
  return absl::NotFoundError(
      absl::StrCat("the table has no specialisation \"", options.specialisation,
                   "\"; it has: ", absl::StrJoin(names, ", ")));
}

// Writes to --out, or prints.
absl::Status Deliver(CommandContext& context, const Options& options,
                     const std::string& text) {
  if (options.out.empty()) {
    *context.out << text;
    return absl::OkStatus();
  }
  std::error_code error;
  if (fs::exists(options.out, error) && !options.force) {
    return absl::AlreadyExistsError(
        absl::StrCat(options.out, " is there already; --force replaces it"));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<StagedFile> staged,
                   StagedFile::Open(options.out));
  return staged->Commit(text);
}

absl::StatusOr<std::string> KernelName(const std::string& kernel) {
  if (!IsFolder(kernel)) return kernel;
  ASSIGN_OR_RETURN(const KernelFolder folder, LoadKernelFolder(kernel));
  return folder.spec.name;
}

absl::Status ExportTritonConfigs(CommandContext& context,
                                 const Options& options) {
  ASSIGN_OR_RETURN(const std::string kernel, KernelName(options.kernel));
  ASSIGN_OR_RETURN(const ExportedTable table,
                   GetTable(context, options, kernel));
  ASSIGN_OR_RETURN(const std::vector<int> sub_tables,
                   SubTablesOf(options, table.table()));
  ASSIGN_OR_RETURN(
      const std::string text,
      TritonConfigsText(*table.compiled, sub_tables, table.source));
  return Deliver(context, options, text);
}

// Decisions for the layers of a model, at the token counts of an engine's file.
absl::StatusOr<Json> LayersJson(CommandContext& context, const Options& options,
                                const ExportedTable& table) {
  ASSIGN_OR_RETURN(const KernelSpec spec, FindSpec(context, options.kernel));
  const auto* const moe = std::get_if<ServedMoe>(&spec.serves);
  if (moe == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "kernel \"", spec.name,
        "\" does not say that it computes expert layers (serves { moe { ... } "
        "} in its manifest); name problems instead, such as m=1,16,64 n=4096 "
        "k=4096"));
  }
  ASSIGN_OR_RETURN(const std::vector<MoeLayer> layers,
                   ExpertLayersOf(options.layer));
  Json list = Json::array();
  for (const MoeLayer& layer : layers) {
    const LayerDecisions decisions(*table.compiled, *moe, layer,
                                   SharedByProducts::kAll, options.max_tokens);
    RETURN_IF_ERROR(CheckAnswers(context, layer, decisions));
    Json entries = Json::array();
    for (const int64_t tokens : KeyTokens(decisions.GateUp())) {
      const LayerDecision& at = decisions.At(tokens);
      const std::vector<std::string>& names = table.table().parameters;
      entries.push_back({{"tokens", tokens},
                         {"gate_up", PlainDecisionJson(names, at.gate_up)},
                         {"down", PlainDecisionJson(names, at.down)}});
    }
    list.push_back({{"experts", layer.experts},
                    {"local_experts", layer.local_experts},
                    {"top_k", layer.top_k},
                    {"hidden", layer.hidden},
                    {"intermediate", layer.intermediate},
                    {"decisions", entries}});
  }
  return list;
}

absl::Status ExportJson(CommandContext& context, const Options& options) {
  ASSIGN_OR_RETURN(const std::string kernel, KernelName(options.kernel));
  ASSIGN_OR_RETURN(const ExportedTable table,
                   GetTable(context, options, kernel));
  if (options.layer.given() == !options.problem.empty()) {
    return absl::InvalidArgumentError(
        "name the problems (m=1,16,64 n=4096 k=4096, every combination), or an "
        "expert layer (--config, or --experts and the like)");
  }
  Json json = TableJson(*table.compiled, table.source);
  if (options.layer.given()) {
    ASSIGN_OR_RETURN(json["layers"], LayersJson(context, options, table));
  } else {
    ASSIGN_OR_RETURN(
        const std::vector<Problem> problems,
        GridProblems(table.table(), options.problem, options.specialisation));
    json["decisions"] = Json::array();
    for (const Problem& problem : problems) {
      const int sub = table.compiled->SubTableIndex(problem.specialisation);
      Json entry = {{"problem", ToJson(table.table().dimensions, problem)}};
      entry.update(PlainDecisionJson(
          table.table().parameters,
          table.compiled->Resolve(sub, problem.View(), table.source.stale)));
      json["decisions"].push_back(entry);
    }
  }
  return Deliver(context, options, json.dump(2) + "\n");
}

absl::Status RunExport(CommandContext& context, const Options& options) {
  if (options.format == "triton-autotune")
    return ExportTritonConfigs(context, options);
  if (options.format == "json") return ExportJson(context, options);
  return ExportToEngine(context, options);
}

void AddTableOptions(CLI::App* command, Options& options) {
  CLI::Option* const table = command->add_option(
      "--table", options.table,
      "File with a table's payload; default: the table that serves");
  command
      ->add_option("--digest", options.digest,
                   "Digest (or the first digits of a serving one's) of the "
                   "table")
      ->excludes(table);
  command
      ->add_option("--device", options.device,
                   "Device UUID, where several classes have tables")
      ->excludes(table);
  command
      ->add_option("--fingerprint", options.fingerprint,
                   "Fingerprint or prefix, where several versions serve")
      ->excludes(table);
  command->add_option("--specialisation", options.specialisation,
                      "Of triton-autotune and json: only this one");
}

void AddLayerOptions(CLI::App* command, Options& options) {
  LayerOptions& layer = options.layer;
  command->add_option("--config", layer.config,
                      "The model's config.json (Hugging Face)");
  command->add_option("--experts", layer.experts,
                      "Instead of --config: routed experts of a layer");
  command->add_option("--top-k", layer.top_k, "Experts of a token");
  command->add_option("--hidden", layer.hidden, "Width of the model");
  command->add_option("--intermediate", layer.intermediate,
                      "Width of an expert");
  command->add_option("--tp", layer.tensor, "Devices that share an expert");
  command->add_option("--ep", layer.expert,
                      "Devices that the experts are spread over");
  command
      ->add_option("--max-tokens", options.max_tokens,
                   "Most tokens that enter a layer (16384)")
      ->check(NumberIn(1, kMostTokens));
}

void AddNameOptions(CLI::App* command, Options& options) {
  command->add_option("--device-name", options.device_name,
                      "The device's name where the engine runs, as "
                      "torch.cuda.get_device_name() says it; default: the "
                      "label of the device that was profiled");
  command->add_flag("--other-device", options.other_device,
                    "Export although the table is of another device");
  command
      ->add_option("--dtype", options.dtype,
                   "What the kernel computes with where that is not bf16 or "
                   "fp16: fp8_w8a8, int8_w8a8, int8_w8a16, int4_w4a16, "
                   "float32")
      ->check(CLI::IsMember(
          {"fp8_w8a8", "int8_w8a8", "int8_w8a16", "int4_w4a16", "float32"}));
  command->add_option("--block-shape", options.block_shape,
                      "Of block-quantised weights: n,k");
  command->add_flag("--per-channel-quant", options.per_channel_quant,
                    "SGLang: of weights quantised by channel");
  command->add_option("--triton-version", options.triton_version,
                      "SGLang: the version of Triton that the engine runs");
  command->add_flag("--down-file", options.down_file,
                    "SGLang: decide the second product for itself, with the "
                    "first one's BLOCK_SIZE_M, and write its _down file");
}

}  // namespace

void AddExportCommand(CommandRegistry& registry) {
  auto options = std::make_shared<Options>();
  CLI::App* const command = registry.Add(
      registry.root(), "export",
      "Writes decisions as files that serving engines read (vllm-moe, "
      "sglang-moe), as a list for @triton.autotune, or as JSON "
      "(docs/engines.md).",
      {"wavetune export triton_fused_moe --format vllm-moe --config "
       "config.json --tp 2 --out moe_configs",
       "wavetune export triton_fused_moe --format sglang-moe --experts 128 "
       "--top-k 8 --hidden 2048 --intermediate 768 --triton-version 3.6.0 "
       "--out sglang_moe",
       "wavetune export kernels/triton_fused_moe --format vllm-moe --table "
       "moe.table --device-name 'NVIDIA H200' --config config.json --out "
       "moe_configs",
       "wavetune export triton_gemm --format triton-autotune --out configs.py",
       "wavetune export gemm_bf16 --format json m=1,16,64 n=4096 k=4096"},
      [options](CommandContext& context) {
        return RunExport(context, *options);
      });
  command
      ->add_option("KERNEL", options->kernel,
                   "Kernel folder, or the name of one that the daemon has")
      ->required();
  command->add_option("PROBLEM", options->problem,
                      "Of json: dimension=extent,extent ..., every "
                      "combination; a repeated dimension's list is one");
  command->add_option("--format", options->format, "What to write")
      ->required()
      ->check(
          CLI::IsMember({"vllm-moe", "sglang-moe", "triton-autotune", "json"}));
  command->add_option("--out", options->out,
                      "Of vllm-moe and sglang-moe: the folder that the "
                      "engine's variable names. Else a file; default: print");
  command->add_flag("--force", options->force, "Replace what is there");
  AddTableOptions(command, *options);
  AddLayerOptions(command, *options);
  AddNameOptions(command, *options);
}

}  // namespace wavetune::cli
