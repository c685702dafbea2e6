// wavetune export: its options, and which of the exports they ask for.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/export/engine_files.h"
#include "cli/export/export_options.h"
#include "cli/export/plain_exports.h"
#include "cli/number_option.h"

namespace wavetune::cli {
namespace {

absl::Status RunExport(CommandContext& context, const ExportOptions& options) {
  if (options.format == "triton-autotune")
    return ExportTritonConfigs(context, options);
  if (options.format == "json") return ExportJson(context, options);
  return ExportEngineFiles(context, options);
}

std::vector<std::string> ExportExamples() {
  const std::string moe = "wavetune export triton_fused_moe --format ";
  return {
      absl::StrCat(moe, "vllm-moe --config config.json --tp 2 --out moe"),
      absl::StrCat(moe,
                   "sglang-moe --experts 128 --top-k 8 --hidden 2048 "
                   "--intermediate 768 --triton-version 3.6.0 --out moe"),
      absl::StrCat(
          "wavetune export kernels/triton_fused_moe ",
          "--format vllm-moe --table moe.table ",
          "--device-name 'NVIDIA H200' --config config.json --out moe"),
      "wavetune export triton_gemm --format triton-autotune --out configs.py",
      "wavetune export gemm_bf16 --format json m=1,16,64 n=4096 k=4096"};
}

void AddTableOptions(CLI::App* command, ExportOptions& options) {
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

void AddLayerOptions(CLI::App* command, ExportOptions& options) {
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
                   "Most tokens that enter a layer")
      ->check(NumberIn(1, kMostMaxTokens))
      ->capture_default_str();
}

void AddNameOptions(CLI::App* command, ExportOptions& options) {
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
  auto options = std::make_shared<ExportOptions>();
  CLI::App* const command = registry.Add(
      registry.root(), "export",
      "Writes decisions as files that serving engines read (vllm-moe, "
      "sglang-moe), as a list for @triton.autotune, or as JSON "
      "(docs/engines.md).",
      ExportExamples(), [options](CommandContext& context) {
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
