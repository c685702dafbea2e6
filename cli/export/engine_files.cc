#include "cli/export/engine_files.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "cli/export/engine_device.h"
#include "cli/export/engine_file_name.h"
#include "cli/export/engine_kernel.h"
#include "cli/export/export_source.h"
#include "cli/export/exported_text.h"
#include "cli/export/layer_decisions.h"
#include "cli/export/layer_options.h"
#include "cli/export/token_keys.h"
#include "cli/export/write_export.h"
#include "cli/json.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

namespace fs = std::filesystem;

// Engines look through all keys for each layer of a step without a graph.
constexpr size_t kManyKeys = 1024;

// One file and what is in it.
struct EngineFile {
  std::string path;
  std::string text;
  size_t keys = 0;
  size_t configurations = 0;
};

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

absl::Status CheckEngineOptions(const ExportOptions& options) {
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

// Which configuration is best moves little between versions of Triton, but
// whether one compiles may.
void WarnOfTriton(Output& err, const ExportOptions& options,
                  const ExportedTable& table) {
  if (!options.sglang() || table.compiler.empty() ||
      absl::StartsWith(table.compiler,
                       absl::StrCat("Triton ", options.triton_version, ",")))
    return;
  err << "wavetune: the table was measured with " << table.compiler
      << ", not with Triton " << options.triton_version
      << ": profile with the engine's Python (wavetune-agent --python), or "
         "look whether all configurations compile there\n";
}

// An engine launches the same function for other types, but other code.
void WarnOfType(Output& err, const ExportOptions& options,
                const KernelSpec& spec) {
  const bool is_bf16 = std::any_of(spec.arguments.begin(), spec.arguments.end(),
                                   [](const Argument& a) {
                                     return a.role == ArgumentRole::kInput &&
                                            a.type == ElementType::kBfloat16;
                                   });
  if (options.dtype.empty() || !is_bf16) return;
  err << "wavetune: kernel " << spec.name
      << " was measured with bfloat16, and the engine reads these files for "
      << options.dtype << ": leave --dtype out, or profile a kernel that "
      << "computes with it\n";
}

// Makes the files of a table's decisions, layer by layer.
class EngineFileMaker {
 public:
  // All outlive the maker; `key` lacks what is the layer's.
  EngineFileMaker(CommandContext& context, const ExportOptions& options,
                  const CompiledTable& table, const ServedMoe& moe,
                  EngineFileKey key)
      : context_(context),
        options_(options),
        table_(table),
        moe_(moe),
        key_(std::move(key)) {}

  absl::Status Add(const MoeLayer& layer) {
    const LayerDecisions decisions(table_, moe_, layer,
                                   options_.down_file
                                       ? SharedByProducts::kRowTile
                                       : SharedByProducts::kAll,
                                   options_.max_tokens);
    RETURN_IF_ERROR(WarnOfGaps(*context_.err, layer, decisions));
    key_.experts = layer.local_experts;
    key_.intermediate = layer.intermediate;
    RETURN_IF_ERROR(AddFile(/*down=*/false, decisions.GateUp()));
    if (options_.down_file)
      RETURN_IF_ERROR(AddFile(/*down=*/true, decisions.Down()));
    return options_.vllm() ? SayOlderNames() : absl::OkStatus();
  }

  const std::vector<EngineFile>& files() const { return files_; }

 private:
  absl::Status AddFile(bool down, const std::vector<Configuration>& choices) {
    key_.down = down;
    ASSIGN_OR_RETURN(const std::string path,
                     options_.vllm()
                         ? VllmFileName(key_)
                         : SglangFilePath(key_, options_.triton_version));
    files_.push_back(
        {.path = (fs::path(options_.out) / path).string(),
         .text = EngineFileText(table_.table().parameters, choices),
         .keys = KeyTokens(choices).size(),
         .configurations =
             std::set<Configuration>(choices.begin(), choices.end()).size()});
    return absl::OkStatus();
  }

  absl::Status SayOlderNames() {
    ASSIGN_OR_RETURN(const std::vector<std::string> older,
                     OlderVllmFileNames(key_));
    for (const std::string& name : older) {
      *context_.err << "wavetune: older versions of vLLM call this device's "
                       "file "
                    << name << "; copy it there for them\n";
    }
    return absl::OkStatus();
  }

  CommandContext& context_;
  const ExportOptions& options_;
  const CompiledTable& table_;
  const ServedMoe& moe_;
  EngineFileKey key_;
  std::vector<EngineFile> files_;
};

void PrintFiles(CommandContext& context, const CompiledTable& table,
                const std::vector<EngineFile>& files) {
  Json list = Json::array();
  for (const EngineFile& file : files) {
    if (file.keys > kManyKeys) {
      *context.err << "wavetune: " << file.path << " has " << file.keys
                   << " entries, through all of which the engine looks for "
                      "each layer: fewer --max-tokens make fewer\n";
    }
    list.push_back({{"path", file.path},
                    {"entries", file.keys},
                    {"configurations", file.configurations}});
    if (!context.json) {
      *context.out << file.path << ": " << file.keys << " entries, "
                   << file.configurations << " configurations\n";
    }
  }
  if (!context.json) return;
  PrintJson(*context.out, {{"kernel", table.table().kernel},
                           {"digest", table.digest()},
                           {"files", list}});
}

}  // namespace

absl::Status ExportEngineFiles(CommandContext& context,
                               const ExportOptions& options) {
  RETURN_IF_ERROR(CheckEngineOptions(options));
  ASSIGN_OR_RETURN(const ExportSource source,
                   ExportSource::Open(context, options));
  ASSIGN_OR_RETURN(const KernelSpec spec, source.Spec());
  ASSIGN_OR_RETURN(const ExportedTable table, source.Table());
  ASSIGN_OR_RETURN(
      const ServedMoe moe,
      EngineKernel(spec, table.table(), options.vllm() ? "vllm" : "sglang"));
  ASSIGN_OR_RETURN(const std::vector<MoeLayer> layers,
                   ExpertLayersOf(options.layer));
  EngineFileKey key{.dtype = options.dtype,
                    .per_channel_quant = options.per_channel_quant};
  ASSIGN_OR_RETURN(key.device_name, EngineDeviceName(options, table));
  ASSIGN_OR_RETURN(key.block_shape, ParseBlockShape(options.block_shape));
  WarnOfTriton(*context.err, options, table);
  WarnOfType(*context.err, options, spec);
  EngineFileMaker maker(context, options, *table.compiled, moe, std::move(key));
  for (const MoeLayer& layer : layers) RETURN_IF_ERROR(maker.Add(layer));
  for (const EngineFile& file : maker.files())
    RETURN_IF_ERROR(WriteExport(file.path, file.text, options.force));
  PrintFiles(context, *table.compiled, maker.files());
  return absl::OkStatus();
}

}  // namespace wavetune::cli
