#include "cli/commands/shipped_rivals.h"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <set>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/input_file.h"
#include "base/status_macros.h"
#include "cli/child_process.h"
#include "cli/daemon.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/scratch_folder.h"
#include "formats/config_text.h"
#include "formats/types.h"
#include "formats/workload/layer_problems.h"
#include "formats/workload/model_config.h"
#include "formats/workload/token_counts.h"
#include "model/kernel/engine_rule.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

constexpr char kModule[] = "wavetune.shipped_rivals";
constexpr absl::string_view kNothing = "{}";

// Returns what the module prints, which ReadEngineLaunches reads. Errors:
// INVALID_ARGUMENT where it refused the folders, and said why.
absl::StatusOr<std::string> RunModule(const std::string& python,
                                      const Json& request) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> folder,
                   ScratchFolder::Create());
  const std::string asked = folder->path() + "/request.json";
  const std::string answered = folder->path() + "/answer.json";
  std::ofstream(asked) << JsonText(request);
  ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child,
                   ChildProcess::Start({python, "-m", kModule, asked},
                                       {.output_path = answered}));
  ASSIGN_OR_RETURN(const int code, child->Wait());
  if (code == kExitUsage) return absl::InvalidArgumentError("");
  ASSIGN_OR_RETURN(std::string answer,
                   ReadInputFile(answered, kMaxConfigFileBytes));
  if (code != 0 || !ReadEngineLaunches(answer).ok())
    return absl::UnknownError("");
  return answer;
}

// Asks for products' launches on a device, or on all that are attached. Where
// no folders are named, and no device is there or nobody to ask, there are
// none.
absl::StatusOr<std::string> Ask(const CommandContext& context, Daemon& daemon,
                                const std::string& uuid,
                                const EngineConfigs& configs,
                                const std::vector<std::string>& engines,
                                Json products) {
  const bool named = !configs.folders.empty();
  ASSIGN_OR_RETURN(
      const v1::ListDevicesResponse known,
      daemon.Ask<v1::ListDevicesResponse>(v1::ListDevicesRequest()));
  std::set<std::string> devices;
  for (const v1::DeviceStatus& device : known.devices()) {
    if (uuid.empty() ? device.attached() : device.facts().uuid() == uuid)
      devices.insert(device.facts().label());
  }
  if (devices.empty()) {
    if (!named) return std::string(kNothing);
    return absl::FailedPreconditionError(
        "no device is attached, so that nobody knows which files of "
        "--engine-configs are meant: start wavetune-agent, then try again");
  }
  absl::StatusOr<std::string> answer =
      RunModule(configs.python, {{"engines", engines},
                                 {"folders", configs.folders},
                                 {"devices", devices},
                                 {"launches", std::move(products)}});
  if (answer.ok() || absl::IsInvalidArgument(answer.status())) return answer;
  const std::string why = absl::StrCat(
      "the files that engines ship are not measured: they are read by the "
      "Python package (docs/python.md) of ",
      configs.python, "; name an interpreter that has it with --python",
      answer.status().message().empty() ? "" : ": ", answer.status().message());
  if (named) return absl::FailedPreconditionError(why);
  *context.err << Lines(why) << "\n";
  return std::string(kNothing);
}

}  // namespace

absl::Status AddShippedRivals(const CommandContext& context, Daemon& daemon,
                              const EngineConfigs& configs,
                              const KernelSpec& spec,
                              const std::vector<Shape>& shapes,
                              const std::string& device_uuid,
                              v1::MeasureRequest& request) {
  const auto* const moe = std::get_if<ServedMoe>(&spec.serves);
  if (moe == nullptr || moe->engines.empty()) {
    if (configs.folders.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("--engine-configs is for kernels that engines launch "
                     "(serves { moe { engines: ... } }); ",
                     spec.name, " is none"));
  }
  Json products = Json::array();
  std::vector<std::string> keys;
  for (const Shape& shape : shapes) {
    const Problem& problem = shape.problem;
    const bool down = problem.specialisation == moe->down;
    const int64_t width =
        down ? problem.extents[static_cast<size_t>(moe->k)]
             : problem.extents[static_cast<size_t>(moe->n)] / 2;
    const auto experts = static_cast<int64_t>(problem.repeated.size());
    const int64_t tokens = TokensOf(*moe, problem.View());
    products.push_back(Json::array({experts, width, down, tokens}));
    keys.push_back(LaunchKey("", experts, width, down, tokens));
  }
  ASSIGN_OR_RETURN(const std::string answer,
                   Ask(context, daemon, device_uuid, configs, moe->engines,
                       std::move(products)));
  ASSIGN_OR_RETURN(const EngineLaunches launches, ReadEngineLaunches(answer));
  int64_t left_out = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (const wavetune::Rival& own :
         RivalsOf(spec, launches, keys[i], shapes[i].problem, left_out)) {
      v1::Rival& rival = *request.add_rivals();
      rival.set_problem(static_cast<int32_t>(i));
      rival.set_name(own.name);
      *rival.mutable_configuration() = ConfigurationToProto(own.configuration);
    }
  }
  if (left_out > 0) {
    *context.err << "at " << absl::StrCat(left_out)
                 << " problems an engine's file has what the kernel cannot "
                    "launch: it is not measured there\n";
  }
  return absl::OkStatus();
}

absl::Status AddEngineFiles(const CommandContext& context, Daemon& daemon,
                            const EngineConfigs& configs,
                            const ModelLayers& layers, int64_t max_tokens,
                            std::string& config) {
  Json products = Json::array();
  for (const MoeLayer& layer : layers.moe) {
    for (const int64_t tokens :
         TokenLadder(TokenCounts::kProfiled, max_tokens)) {
      for (const bool down : {false, true})
        products.push_back(Json::array(
            {layer.local_experts, layer.intermediate, down, tokens}));
    }
  }
  if (products.empty()) {
    if (configs.folders.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "--engine-configs is for models with experts, which this one has none "
        "of: leave it out");
  }
  ASSIGN_OR_RETURN(const std::string answer,
                   Ask(context, daemon, /*uuid=*/"", configs,
                       {"vllm", "sglang"}, std::move(products)));
  if (answer == kNothing) return absl::OkStatus();
  config.pop_back();
  absl::StrAppend(&config, ",\"", kEngineFiles, "\":", answer, "}");
  return absl::OkStatus();
}

void AddEngineConfigOptions(CLI::App* command, EngineConfigs* configs) {
  command
      ->add_option(
          "--engine-configs", configs->folders,
          "For experts: a folder of the files that an engine ships, to measure "
          "what they have for the layers; may be repeated. Those of engines "
          "that are installed beside the Python package unless given")
      ->allow_extra_args(false);
  command
      ->add_option("--python", configs->python,
                   "Python interpreter with the package wavetune, which reads "
                   "these files")
      ->envname("WAVETUNE_PYTHON");
}

}  // namespace wavetune::cli
