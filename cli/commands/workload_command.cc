// wavetune workload ...
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/input_file.h"
#include "base/option_checks.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/shipped_rivals.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/text_table.h"
#include "cli/workloads.h"
#include "formats/config_text.h"
#include "formats/expert_routing.h"
#include "formats/kernel_spec.h"
#include "formats/workload/expert_histogram.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

struct WorkloadCommandOptions {
  std::string name;
  std::vector<std::string> configs;  // One for `add`.
  int64_t tensor = 1;
  int64_t expert = 1;
  int64_t max_tokens = kDefaultMaxTokens;
  std::string routing = "drawn";
  EngineConfigs engine_configs;
};

// A word, or the file that has a recorded histogram.
absl::StatusOr<ExpertPopularity> RoutingOf(const std::string& given) {
  if (given == "drawn") return ExpertPopularity{};
  if (given == "even") return ExpertPopularity{Popularity::kEven, {}};
  ExpertPopularity routing;
  const absl::StatusOr<std::string> text =
      ReadInputFile(given, kMaxHistogramBytes, InputKind::kFileOrPipe);
  if (!text.ok()) {
    return absl::Status(
        text.status().code(),
        absl::StrCat("--routing: ", text.status().message(),
                     "; give drawn, even, or the file of a histogram that an "
                     "engine recorded (docs/workloads.md)"));
  }
  absl::StatusOr<std::vector<int64_t>> counts = ParseExpertHistogram(*text);
  if (!counts.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--routing ", given, ": ", counts.status().message()));
  }
  routing.counts = *std::move(counts);
  return routing;
}

std::string RoutingText(const v1::ExpertRouting& routing) {
  switch (routing.popularity()) {
    case v1::ExpertRouting::EVEN:
      return "even";
    case v1::ExpertRouting::RECORDED: {
      const auto& counts = routing.counts();
      const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
      const double most = counts.empty() ? 0 : static_cast<double>(counts[0]);
      return absl::StrFormat(
          "recorded, an expert has up to %.1f times the mean",
          most * static_cast<double>(counts.size()) / sum);
    }
    default:
      return "drawn";
  }
}

constexpr size_t kMaxCommitBytes = 128;
constexpr char kConfigFile[] = "config.json";
// ModelOpt writes what it quantised into a file of its own.
constexpr char kQuantizationFile[] = "hf_quant_config.json";

absl::StatusOr<std::string> ReadConfigFile(const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadInputFile(file.string(), kMaxConfigFileBytes,
                                 InputKind::kFileOrPipe));
  return CompactConfig(text);
}

// Returns the folder of the files where `folder` is a model's in a cache of
// Hugging Face (".../models--X"), which refs/main names; else `folder`.
std::filesystem::path SnapshotOf(const std::filesystem::path& folder) {
  const absl::StatusOr<std::string> commit =
      ReadInputFile((folder / "refs" / "main").string(), kMaxCommitBytes);
  if (!commit.ok()) return folder;
  return folder / "snapshots" /
         std::string(absl::StripAsciiWhitespace(*commit));
}

// Returns the text of a config.json, or of the one in the folder that holds the
// model, without what no layer follows from. Where it says nothing of types,
// and ModelOpt's file lies beside it, that is a field of it.
absl::StatusOr<std::string> ReadConfig(const std::string& given) {
  std::error_code error;
  std::filesystem::path file = given;
  if (std::filesystem::is_directory(file, error)) {
    file = SnapshotOf(file) / kConfigFile;
  }
  ASSIGN_OR_RETURN(std::string config, ReadConfigFile(file));
  const std::filesystem::path beside = file.parent_path() / kQuantizationFile;
  if (file.filename() != kConfigFile || !absl::EndsWith(config, "}") ||
      config.size() < 3 || absl::StrContains(config, "quantization_config") ||
      !std::filesystem::exists(beside, error)) {
    return config;
  }
  ASSIGN_OR_RETURN(const std::string quantization, ReadConfigFile(beside));
  config.pop_back();
  return absl::StrCat(config, ",\"hf_quant_config\":", quantization, "}");
}

absl::StatusOr<Workload> WorkloadOf(const WorkloadCommandOptions& options,
                                    const std::string& name,
                                    const std::string& config) {
  ASSIGN_OR_RETURN(std::string text, ReadConfig(config));
  return Workload{
      .name = name,
      .config = std::move(text),
      .parallelism = {.tensor = options.tensor, .expert = options.expert},
      .max_tokens = options.max_tokens};
}

std::string KernelsText(const v1::WorkloadInfo& info) {
  if (!info.problem().empty())
    return absl::StrCat("not read: ", info.problem());
  if (info.kernels().empty()) return "no kernel serves it";
  return absl::StrJoin(info.kernels(), ", ",
                       [](std::string* out, const v1::WorkloadKernel& kernel) {
                         absl::StrAppend(out, kernel.kernel(), " ",
                                         kernel.problems());
                       });
}

void PrintNotes(Output& out, const v1::WorkloadInfo& info) {
  for (const std::string& note : info.notes()) out << "note: " << note << "\n";
}

absl::Status RunAdd(CommandContext& context,
                    const WorkloadCommandOptions& options) {
  ASSIGN_OR_RETURN(Workload workload,
                   WorkloadOf(options, options.name, options.configs.front()));
  ASSIGN_OR_RETURN(workload.routing, RoutingOf(options.routing));
  // Says what is wrong also where no daemon runs.
  ASSIGN_OR_RETURN(const ModelLayers layers, LayersOf(workload));
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  RETURN_IF_ERROR(AddEngineFiles(context, *daemon, options.engine_configs,
                                 layers, options.max_tokens, workload.config));
  v1::AddWorkloadRequest request;
  request.set_name(workload.name);
  request.set_config(std::move(workload.config));
  request.set_tensor_parallel(options.tensor);
  request.set_expert_parallel(options.expert);
  request.set_max_tokens(options.max_tokens);
  *request.mutable_routing() = ExpertRoutingToProto(workload.routing);
  ASSIGN_OR_RETURN(v1::AddWorkloadResponse response,
                   daemon->Ask<v1::AddWorkloadResponse>(request));
  NoteIgnoredRouting(request, response);
  if (context.json) {
    PrintJson(*context.out, ToJson(response));
    return absl::OkStatus();
  }
  const v1::WorkloadInfo& info = response.workload();
  *context.out << "workload " << info.name() << " (" << info.architecture()
               << ") "
               << (response.unchanged()  ? "is there already"
                   : response.replaced() ? "is replaced"
                                         : "is added")
               << ": " << KernelsText(info) << "\n";
  PrintNotes(*context.out, info);
  if (!info.kernels().empty() && !response.unchanged()) {
    *context.out << "profile what serves it: wavetune reprofile --workload "
                 << info.name() << "\n";
  }
  return absl::OkStatus();
}

absl::Status RunWorkloadList(CommandContext& context) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  ASSIGN_OR_RETURN(
      const v1::ListWorkloadsResponse list,
      daemon->Ask<v1::ListWorkloadsResponse>(v1::ListWorkloadsRequest()));
  if (context.json) {
    PrintJson(*context.out, ToJson(list));
    return absl::OkStatus();
  }
  TextTable table({"WORKLOAD", "ARCHITECTURE", "TP", "EP", "MAX TOKENS",
                   "ROUTING", "ADDED", "USER", "PROBLEMS"});
  for (const v1::WorkloadInfo& info : list.workloads()) {
    table.AddRow(
        {info.name(), info.architecture(), absl::StrCat(info.tensor_parallel()),
         absl::StrCat(info.expert_parallel()), absl::StrCat(info.max_tokens()),
         RoutingText(info.routing()), FormatTime(info.added_at_us()),
         info.user(), KernelsText(info)});
  }
  table.Print(*context.out, "no workloads: add one with wavetune workload add");
  return absl::OkStatus();
}

// What a workload is for one kernel.
struct OfKernel {
  std::string kernel;
  std::vector<LayerProblems> layers;
};

absl::StatusOr<std::vector<OfKernel>> LayersOfKernels(
    Daemon& daemon, const KnownWorkload& workload) {
  ASSIGN_OR_RETURN(
      const v1::ListKernelsResponse kernels,
      daemon.Ask<v1::ListKernelsResponse>(v1::ListKernelsRequest()));
  std::vector<OfKernel> result;
  for (const v1::KernelStatus& kernel : kernels.kernels()) {
    if (!kernel.problem().empty()) continue;
    ASSIGN_OR_RETURN(const KernelSpec spec, KernelSpecFromProto(kernel.spec()));
    std::vector<LayerProblems> layers =
        ProblemsOf(workload.layers, workload.workload.max_tokens, spec,
                   TokenCounts::kProfiled);
    if (!layers.empty()) result.push_back({spec.name, std::move(layers)});
  }
  return result;
}

// The layers as engines launch them.
void PrintLayers(Output& out, const ModelLayers& layers) {
  TextTable table({"LAYER", "TIMES", "N", "K", "TYPE", "MORE"});
  for (const LinearLayer& layer : layers.linear) {
    table.AddRow({layer.name, absl::StrCat(layer.layers), absl::StrCat(layer.n),
                  absl::StrCat(layer.k), layer.type,
                  layer.of_sequences ? "the last token of each sequence" : ""});
  }
  for (const MoeLayer& layer : layers.moe) {
    const std::string more =
        absl::StrCat(layer.local_experts, " experts of ", layer.experts, ", ",
                     layer.top_k, " for a token");
    const int64_t width = (layer.gated ? 2 : 1) * layer.intermediate;
    table.AddRow({"experts, first product", absl::StrCat(layer.layers),
                  absl::StrCat(width), absl::StrCat(layer.hidden), layer.type,
                  more});
    table.AddRow({"experts, second product", absl::StrCat(layer.layers),
                  absl::StrCat(layer.hidden), absl::StrCat(layer.intermediate),
                  layer.type, more});
  }
  for (const AttentionLayer& layer : layers.attention) {
    std::string more = absl::StrCat(layer.heads, " heads of ", layer.head_dim,
                                    ", ", layer.kv_heads, " of keys");
    if (layer.window > 0) absl::StrAppend(&more, ", window ", layer.window);
    table.AddRow({layer.name, absl::StrCat(layer.layers), "", "", "", more});
  }
  table.Print(out);
}

// At how many problems engines' files are rivals.
int64_t InFiles(const LayerProblems& layer) {
  return std::count_if(
      layer.problems.begin(), layer.problems.end(),
      [](const WeightedProblem& one) { return !one.rivals.empty(); });
}

std::string FilesText(const LayerProblems& layer) {
  if (layer.files_left_out > 0) {
    return absl::StrCat(InFiles(layer), "; ", layer.files_left_out,
                        " that the kernel cannot launch");
  }
  return InFiles(layer) > 0 ? absl::StrCat(InFiles(layer)) : "";
}

void PrintKernels(Output& out, const std::vector<OfKernel>& kernels) {
  TextTable table({"KERNEL", "LAYER", "TIMES", "PROBLEMS", "LEFT OUT",
                   "IN ENGINES' FILES"});
  for (const OfKernel& kernel : kernels) {
    for (const LayerProblems& layer : kernel.layers) {
      std::string left_out;
      if (!layer.why_left_out.empty()) {
        left_out = layer.left_out > 0
                       ? absl::StrCat(layer.left_out, ": ", layer.why_left_out)
                       : layer.why_left_out;
      }
      table.AddRow({kernel.kernel, layer.layer, absl::StrCat(layer.layers),
                    absl::StrCat(layer.problems.size()), left_out,
                    FilesText(layer)});
    }
  }
  table.Print(out, "no kernel of the daemon serves it");
}

Json LayersJson(const ModelLayers& layers) {
  Json list = Json::array();
  for (const LinearLayer& layer : layers.linear) {
    list.push_back({{"layer", layer.name},
                    {"kind", "linear"},
                    {"times", layer.layers},
                    {"n", layer.n},
                    {"k", layer.k},
                    {"type", layer.type},
                    {"of_sequences", layer.of_sequences}});
  }
  for (const MoeLayer& layer : layers.moe) {
    list.push_back({{"layer", "experts"},
                    {"kind", "moe"},
                    {"times", layer.layers},
                    {"experts", layer.experts},
                    {"local_experts", layer.local_experts},
                    {"top_k", layer.top_k},
                    {"hidden", layer.hidden},
                    {"intermediate", layer.intermediate},
                    {"gated", layer.gated},
                    {"type", layer.type}});
  }
  for (const AttentionLayer& layer : layers.attention) {
    list.push_back({{"layer", layer.name},
                    {"kind", "attention"},
                    {"times", layer.layers},
                    {"heads", layer.heads},
                    {"kv_heads", layer.kv_heads},
                    {"head_dim", layer.head_dim},
                    {"value_head_dim", layer.value_head_dim},
                    {"window", layer.window},
                    {"prefill", layer.prefill},
                    {"decode", layer.decode}});
  }
  return list;
}

Json KernelsJson(const std::vector<OfKernel>& kernels) {
  Json list = Json::array();
  for (const OfKernel& kernel : kernels) {
    for (const LayerProblems& layer : kernel.layers) {
      list.push_back({{"kernel", kernel.kernel},
                      {"layer", layer.layer},
                      {"times", layer.layers},
                      {"problems", layer.problems.size()},
                      {"left_out", layer.left_out},
                      {"in_engine_files", InFiles(layer)},
                      {"engine_files_left_out", layer.files_left_out},
                      {"why_left_out", layer.why_left_out}});
    }
  }
  return list;
}

// What a file gives: "5 widths, 1 of experts; fp8", or why it gives nothing.
std::string SummaryOf(const absl::StatusOr<ModelLayers>& layers) {
  if (!layers.ok()) return absl::StrCat("refused: ", layers.status().message());
  std::set<std::string> types;
  for (const LinearLayer& layer : layers->linear) types.insert(layer.type);
  for (const MoeLayer& layer : layers->moe) types.insert(layer.type);
  types.erase("");
  std::string text = absl::StrCat(layers->linear.size(), " linear");
  if (!layers->moe.empty()) {
    absl::StrAppend(&text, ", ", layers->moe.size(), " of experts");
  }
  absl::StrAppend(&text, ", ", layers->attention.size(), " of attention");
  if (!types.empty()) absl::StrAppend(&text, "; ", absl::StrJoin(types, ", "));
  return text;
}

// Several files, a line each.
void PrintFiles(Output& out, const std::vector<std::string>& files,
                const std::vector<absl::StatusOr<ModelLayers>>& layers) {
  TextTable table({"FILE", "ARCHITECTURE", "LAYERS", "NOTES"});
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& of_file = layers[i];
    table.AddRow({files[i], of_file.ok() ? of_file->architecture : "",
                  SummaryOf(of_file),
                  of_file.ok() ? absl::StrJoin(of_file->notes, "; ") : ""});
  }
  table.Print(out);
}

// Layers of files, without a daemon.
absl::Status ShowFiles(CommandContext& context,
                       const WorkloadCommandOptions& options) {
  std::vector<absl::StatusOr<ModelLayers>> layers;
  for (const std::string& file : options.configs) {
    const auto workload = WorkloadOf(options, "file", file);
    layers.push_back(workload.ok()
                         ? LayersOf(*workload)
                         : absl::StatusOr<ModelLayers>(workload.status()));
  }
  if (context.json) {
    Json list = Json::array();
    for (size_t i = 0; i < layers.size(); ++i) {
      Json of_file{{"file", options.configs[i]}};
      if (layers[i].ok()) {
        of_file.update({{"architecture", layers[i]->architecture},
                        {"layers", LayersJson(*layers[i])},
                        {"notes", layers[i]->notes}});
      } else {
        of_file["problem"] = std::string(layers[i].status().message());
      }
      list.push_back(std::move(of_file));
    }
    PrintJson(*context.out, list);
    return absl::OkStatus();
  }
  if (layers.size() > 1) {
    PrintFiles(*context.out, options.configs, layers);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(layers.front().status());
  *context.out << "architecture  " << layers.front()->architecture << "\n";
  for (const std::string& note : layers.front()->notes) {
    *context.out << "note: " << note << "\n";
  }
  *context.out << "\n";
  PrintLayers(*context.out, *layers.front());
  return absl::OkStatus();
}

absl::Status RunWorkloadShow(CommandContext& context,
                             const WorkloadCommandOptions& options) {
  if (options.name.empty() == options.configs.empty()) {
    return absl::InvalidArgumentError(
        "give the name of a workload that was added, or files with --config");
  }
  if (!options.configs.empty()) return ShowFiles(context, options);
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  ASSIGN_OR_RETURN(const KnownWorkload known,
                   FindWorkload(*daemon, options.name));
  ASSIGN_OR_RETURN(const std::vector<OfKernel> kernels,
                   LayersOfKernels(*daemon, known));
  if (context.json) {
    PrintJson(*context.out, Json{{"workload", ToJson(known.info)},
                                 {"layers", LayersJson(known.layers)},
                                 {"problems", KernelsJson(kernels)}});
    return absl::OkStatus();
  }
  Output& out = *context.out;
  out << "workload      " << known.info.name() << "\n"
      << "architecture  " << known.info.architecture() << "\n"
      << "tensor        " << known.info.tensor_parallel() << "\n"
      << "experts       " << known.info.expert_parallel() << "\n"
      << "max tokens    " << known.info.max_tokens() << "\n"
      << "routing       " << RoutingText(known.info.routing()) << "\n"
      << "added         " << FormatTime(known.info.added_at_us()) << " by user "
      << known.info.user() << "\n";
  PrintNotes(out, known.info);
  out << "\n";
  PrintLayers(out, known.layers);
  out << "\n";
  PrintKernels(out, kernels);
  return absl::OkStatus();
}

absl::Status RunRemove(CommandContext& context,
                       const WorkloadCommandOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  v1::RemoveWorkloadRequest request;
  request.set_name(options.name);
  RETURN_IF_ERROR(daemon->Ask<v1::RemoveWorkloadResponse>(request).status());
  if (context.json) {
    PrintJson(*context.out, Json{{"removed", options.name}});
  } else {
    *context.out << "workload " << options.name
                 << " is removed; tables stay as they are, the next profile "
                    "does without its problems\n";
  }
  return absl::OkStatus();
}

CLI::Option* AddConfigOptions(CLI::App* command,
                              WorkloadCommandOptions* options) {
  command
      ->add_option("--tp", options->tensor,
                   "Devices that share each layer (tensor parallelism)")
      ->capture_default_str();
  command
      ->add_option("--ep", options->expert,
                   "Devices that share the experts (expert parallelism)")
      ->capture_default_str();
  return command->add_option(
      "--config", options->configs,
      "The model's config.json, as Hugging Face has it, or the folder that "
      "holds it");
}

void AddAddCommand(CommandRegistry& registry, CLI::App* group,
                   const std::shared_ptr<WorkloadCommandOptions>& options) {
  CLI::App* command = registry.Add(
      group, "add",
      "Declares a model that is served: its layers' problems are "
      "representative ones of every kernel that serves such layers, from the "
      "next profile on. What engines have for its experts in files of their "
      "own is measured when a table is verified.",
      {"wavetune workload add llama --config config.json",
       "wavetune workload add qwen3 --config Qwen3-30B-A3B/ --tp 2 --ep 2 "
       "--max-tokens 8192 --routing counts.json",
       "wavetune workload add qwen3 --config Qwen3-30B-A3B/ --engine-configs "
       "vllm/model_executor/layers/fused_moe/configs"},
      [options](CommandContext& context) { return RunAdd(context, *options); });
  command->add_option("NAME", options->name, "Name for it")->required();
  AddConfigOptions(command, options.get())->required()->expected(1);
  command
      ->add_option("--max-tokens", options->max_tokens,
                   "Tokens that enter a layer at once at most: what the engine "
                   "batches")
      ->capture_default_str();
  command
      ->add_option("--routing", options->routing,
                   "How tokens are spread over experts: drawn (some are wanted "
                   "several times as much as others), even, or the file of a "
                   "histogram that an engine recorded")
      ->capture_default_str();
  AddEngineConfigOptions(command, &options->engine_configs);
}

}  // namespace

void AddWorkloadCommands(CommandRegistry& registry) {
  auto options = std::make_shared<WorkloadCommandOptions>();
  CLI::App* group = registry.AddGroup(
      "workload", "Declares the models that are served (docs/workloads.md).");
  AddAddCommand(registry, group, options);
  registry.Add(
      group, "list", "Lists the workloads that were declared.",
      {"wavetune workload list", "wavetune workload list --json"},
      [](CommandContext& context) { return RunWorkloadList(context); });
  CLI::App* show = registry.Add(
      group, "show",
      "Shows a workload: its layers as engines launch them, and the problems "
      "that they are for each kernel. With --config, the layers of files, "
      "without a daemon: of several a line each.",
      {"wavetune workload show llama",
       "wavetune workload show --config Qwen3-30B-A3B/ --tp 2"},
      [options](CommandContext& context) {
        return RunWorkloadShow(context, *options);
      });
  show->add_option("NAME", options->name, "The workload");
  AddConfigOptions(show, options.get());
  CLI::App* remove = registry.Add(
      group, "remove",
      "Removes a workload; operators alone may (the admin socket). Tables stay "
      "as they are.",
      {"wavetune workload remove llama"}, [options](CommandContext& context) {
        return RunRemove(context, *options);
      });
  remove->add_option("NAME", options->name, "The workload")->required();
}

}  // namespace wavetune::cli
