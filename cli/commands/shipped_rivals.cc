#include "cli/commands/shipped_rivals.h"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/child_process.h"
#include "cli/daemon.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/scratch_folder.h"
#include "formats/types.h"
#include "model/kernel/configuration_text.h"
#include "model/kernel/engine_rule.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

constexpr char kModule[] = "wavetune.shipped_rivals";

Json RequestOf(const EngineConfigs& configs, const KernelSpec& spec,
               const ServedMoe& moe, const std::vector<Shape>& shapes,
               const std::string& device_name) {
  Json launches = Json::array();
  for (const Shape& shape : shapes) {
    const Problem& problem = shape.problem;
    const bool down = problem.specialisation == moe.down;
    const auto extent = [&](int32_t dimension) {
      return problem.extents[static_cast<size_t>(dimension)];
    };
    launches.push_back(Json::array({problem.repeated.size(),
                                    down ? extent(moe.k) : extent(moe.n) / 2,
                                    down, TokensOf(moe, problem.View())}));
  }
  return {{"parameters", ParameterNames(spec)},
          {"engines", moe.engines},
          {"folders", configs.folders},
          {"device_name", device_name},
          {"launches", std::move(launches)}};
}

// What the device that will measure is called; empty where that is not clear,
// which the job says.
absl::StatusOr<std::string> DeviceName(StatusReader& status,
                                       const std::string& uuid) {
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse known, status.ListDevices());
  std::string name;
  for (const v1::DeviceStatus& device : known.devices()) {
    if (uuid.empty() ? device.attached() : device.facts().uuid() == uuid)
      name = device.facts().label();
  }
  return name;
}

// Returns the module's answer; nothing where it gave none, and said why.
absl::StatusOr<Json> Ask(const std::string& python, const Json& request) {
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
  std::ifstream file(answered);
  Json answer = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (code != 0 || !answer.is_array()) return absl::UnknownError("");
  return answer;
}

std::optional<Configuration> ConfigurationOf(const KernelSpec& spec,
                                             const Json& entry) {
  std::vector<int64_t> values;
  for (const std::string& name : ParameterNames(spec)) {
    if (!entry.contains(name) || !entry[name].is_number_integer())
      return std::nullopt;
    values.push_back(entry[name].get<int64_t>());
  }
  const Configuration configuration(values);
  if (!InSpace(spec, configuration)) return std::nullopt;
  return configuration;
}

// Adds what one engine has; returns at how many problems it is not in the
// kernel's space.
int AddRivals(const KernelSpec& spec, const Json& of_engine,
              v1::MeasureRequest& request) {
  int outside = 0;
  const std::string engine = of_engine.value("engine", std::string());
  const Json launches = of_engine.value("launches", Json::array());
  for (int i = 0; i < request.problems_size(); ++i) {
    if (static_cast<size_t>(i) >= launches.size()) break;
    const Json& entry = launches[static_cast<size_t>(i)];
    if (!entry.is_object()) continue;
    const std::optional<Configuration> configuration =
        ConfigurationOf(spec, entry);
    if (!configuration) {
      ++outside;
      continue;
    }
    v1::Rival& rival = *request.add_rivals();
    rival.set_problem(i);
    rival.set_name(absl::StrCat(engine, "'s file"));
    *rival.mutable_configuration() = ConfigurationToProto(*configuration);
  }
  return outside;
}

}  // namespace

absl::Status AddShippedRivals(const CommandContext& context,
                              StatusReader& status,
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
  ASSIGN_OR_RETURN(const std::string device_name,
                   DeviceName(status, device_uuid));
  const absl::StatusOr<Json> answer =
      Ask(configs.python, RequestOf(configs, spec, *moe, shapes, device_name));
  if (absl::IsInvalidArgument(answer.status())) return answer.status();
  if (!answer.ok()) {
    const std::string why = absl::StrCat(
        "the files that engines ship are not measured: they are read by the "
        "Python package (docs/python.md) of ",
        configs.python, "; name an interpreter that has it with --python",
        answer.status().message().empty() ? "" : ": ",
        answer.status().message());
    if (!configs.folders.empty()) return absl::FailedPreconditionError(why);
    *context.err << Lines(why) << "\n";
    return absl::OkStatus();
  }
  for (const Json& of_engine : *answer) {
    const int outside = AddRivals(spec, of_engine, request);
    if (outside == 0) continue;
    *context.err << "at " << absl::StrCat(outside) << " problems the file of "
                 << of_engine.value("engine", std::string())
                 << " has what is not in the kernel's space: it is not "
                    "measured there\n";
  }
  return absl::OkStatus();
}

}  // namespace wavetune::cli
