#include "profiler_agent/cuda/triton/triton_compiler.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/tensor_map_plan.h"
#include "model/kernel/triton_options.h"
#include "profiler_agent/cuda/triton/triton_process.h"
#include "profiler_agent/measure/backend.h"

namespace wavetune {
namespace {

using Json = nlohmann::ordered_json;

// What a launch must be able to trust in what was kept on disk.
constexpr char kCacheFormat[] = "triton-1";

// The request that imports the function, with what the manifest passes to it.
Json LoadRequest(const LoadedKernel& kernel,
                 const Implementation& implementation) {
  Json sources = Json::object();
  for (const std::string& source : implementation.sources) {
    // Comments may be in any encoding; JSON is UTF-8.
    sources[source] = absl::Base64Escape(kernel.files.at(source));
  }
  Json arguments = Json::array();
  for (const Argument& argument : kernel.spec.arguments) {
    arguments.push_back(argument.name);
  }
  Json parameters = Json::array();
  Json options = Json::array();
  for (const Parameter& parameter : kernel.spec.parameters) {
    (IsTritonOption(parameter.name) ? options : parameters)
        .push_back(parameter.name);
  }
  Json defines = Json::object();
  for (const Specialisation& specialisation : kernel.spec.specialisations) {
    if (specialisation.name != kernel.specialisation) continue;
    for (const auto& [name, value] : specialisation.defines) {
      defines[name] = value;
    }
  }
  return {{"load",
           {{"sources", std::move(sources)},
            {"first", implementation.sources.front()},
            {"entry", implementation.entry},
            {"arguments", std::move(arguments)},
            {"maps", implementation.tensor_maps.size()},
            {"parameters", std::move(parameters)},
            {"options", std::move(options)},
            {"defines", std::move(defines)}}}};
}

// Whatever keeps the function from being imported keeps every candidate from
// being compiled: batches end at once where that is UNIMPLEMENTED.
absl::Status AsKernelsFault(const absl::Status& status,
                            const std::string& source) {
  if (absl::IsUnavailable(status) || absl::IsResourceExhausted(status)) {
    return status;
  }
  if (absl::IsInvalidArgument(status)) {
    return absl::UnimplementedError(status.message());
  }
  return absl::UnimplementedError(
      absl::StrCat("importing ", source, " failed: ", status.message()));
}

// A compiler that died or hung did so over this candidate.
absl::Status AsCandidatesFault(const absl::Status& status) {
  if (!absl::IsAborted(status) && !absl::IsDeadlineExceeded(status) &&
      !absl::IsDataLoss(status)) {
    return status;
  }
  return absl::InvalidArgumentError(status.message());
}

// Returns the answer's maps, of which the request had so many. Triton's numbers
// are the driver's.
absl::StatusOr<std::vector<TritonTensorMap>> MapsOf(const Json& answer,
                                                    size_t wanted) {
  std::vector<TritonTensorMap> maps;
  for (const Json& map : answer.value("maps", Json::array())) {
    const auto box = map.value("box", std::vector<uint32_t>());
    const int swizzle = map.value("swizzle", -1);
    if (box.size() != 2 || swizzle < 0 ||
        swizzle > static_cast<int>(TensorMap::Swizzle::k128Bytes)) {
      return absl::InternalError(
          "the Triton compiler wants a tensor map of a kind that is not known");
    }
    maps.push_back({.box = {box[0], box[1]},
                    .swizzle = static_cast<TensorMap::Swizzle>(swizzle)});
  }
  if (maps.size() == wanted) return maps;
  return absl::InvalidArgumentError(absl::StrCat(
      "Triton makes ", maps.size(), " tensor maps of ", wanted,
      " for this device (there are none before compute capability 9.0): "
      "exclude the configuration by device_predicates"));
}

absl::StatusOr<TritonKernel> KernelOf(const Json& answer,
                                      const TritonForm& form, size_t maps) {
  TritonKernel kernel;
  if (!absl::Base64Unescape(answer.value("cubin", ""), &kernel.code) ||
      kernel.code.empty()) {
    return absl::InternalError("the Triton compiler gave no machine code");
  }
  kernel.entry = answer.value("entry", "");
  kernel.launch = {.threads = answer.value("threads", int64_t{0}),
                   .shared_bytes = answer.value("shared_bytes", int64_t{0}),
                   .scratch_bytes = answer.value("scratch_bytes", int64_t{0})};
  ASSIGN_OR_RETURN(kernel.launch.maps, MapsOf(answer, maps));
  for (const char letter : form) {
    kernel.launch.passed.push_back(letter != kOne);
  }
  kernel.spilled_bytes = answer.value("spilled_bytes", int64_t{0});
  kernel.serialised = answer.value("serialised", "");
  kernel.tensor_memory_excess =
      answer.value("tensor_memory_excess", int64_t{0});
  return kernel;
}

const char* FormText(char letter) {
  switch (letter) {
    case kDivisible:
      return "16";
    case kOne:
      return "1";
    default:
      return "";
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<TritonCompiler>> TritonCompiler::Load(
    const TritonCompilerOptions& options, const LoadedKernel& kernel,
    const Implementation& implementation) {
  std::unique_ptr<TritonCompiler> compiler(
      new TritonCompiler(options, kernel, implementation));
  const std::lock_guard<std::mutex> lock(compiler->mutex_);
  // A kernel is loaded for every batch; most need nothing that is not on disk.
  const std::string key = compiler->KeyOf({{"describe", true}});
  if (const std::optional<Json> known = compiler->FindKept(key)) {
    RETURN_IF_ERROR(compiler->TakeDescription(*known));
    return compiler;
  }
  ASSIGN_OR_RETURN(const Json described, compiler->Start());
  RETURN_IF_ERROR(compiler->TakeDescription(described));
  compiler->Keep(key, described);
  return compiler;
}

TritonCompiler::TritonCompiler(TritonCompilerOptions options,
                               const LoadedKernel& kernel,
                               const Implementation& implementation)
    : options_(std::move(options)),
      kernel_(kernel),
      maps_(implementation.tensor_maps),
      source_(implementation.sources.front()),
      load_(LoadRequest(kernel, implementation)),
      cache_(options_.cache_dir.empty()
                 ? ""
                 : absl::StrCat(options_.cache_dir, "/programs")) {}

TritonCompiler::~TritonCompiler() = default;

absl::StatusOr<Json> TritonCompiler::Start() {
  ASSIGN_OR_RETURN(process_, TritonProcess::Start(options_.python));
  absl::StatusOr<Json> described = process_->Call(load_, options_.load_timeout);
  if (!described.ok()) return AsKernelsFault(described.status(), source_);
  const std::string version = described->value("version", "");
  if (absl::StartsWith(options_.name, absl::StrCat("Triton ", version, ","))) {
    return described;
  }
  return absl::UnavailableError(absl::StrCat(
      options_.python, " has Triton ", version, " by now, and had ",
      options_.name, " when the agent looked: reload the agent (SIGHUP)"));
}

std::optional<Json> TritonCompiler::FindKept(const std::string& key) const {
  const std::optional<std::string> found = cache_.Find(key);
  if (!found.has_value()) return std::nullopt;
  Json kept = Json::parse(*found, nullptr, /*allow_exceptions=*/false);
  if (!kept.is_object()) return std::nullopt;
  return kept;
}

void TritonCompiler::Keep(const std::string& key, const Json& answer) const {
  const absl::Status stored = cache_.Store(key, answer.dump());
  if (!stored.ok()) LogOnce(LogLevel::kWarning, "triton", stored.message());
}

absl::Status TritonCompiler::TakeDescription(const Json& described) {
  std::vector<TritonArgument> arguments;
  for (const Json& argument : described.value("arguments", Json::array())) {
    arguments.push_back({.specialise = argument.value("specialise", true),
                         .align = argument.value("align", true),
                         .annotated = argument.value("annotated", "")});
  }
  const std::vector<Argument>& declared = kernel_.spec.arguments;
  if (arguments.size() != declared.size()) {
    return absl::InternalError("the Triton compiler describes other arguments");
  }
  for (size_t i = 0; i < declared.size(); ++i) {
    const std::string type = TritonTypeName(declared[i]);
    if (arguments[i].annotated.empty() || arguments[i].annotated == type) {
      continue;
    }
    return absl::UnimplementedError(absl::StrCat(
        source_, ": argument '", declared[i].name, "' is annotated as ",
        arguments[i].annotated, ", but is ", type,
        " in the manifest; make them the same, or remove the annotation"));
  }
  arguments_ = std::move(arguments);
  return absl::OkStatus();
}

TritonForm TritonCompiler::FormAt(const Configuration& configuration,
                                  const Problem& problem) const {
  return FormOf(kernel_.spec, arguments_, configuration, problem);
}

absl::StatusOr<TritonKernel> TritonCompiler::Compile(
    const Configuration& configuration, const TritonForm& form) {
  const Json request = RequestFor(configuration, form);
  const std::string key = KeyOf(request);
  const std::optional<Json> kept = FindKept(key);
  const auto maps = static_cast<size_t>(
      std::count_if(maps_.begin(), maps_.end(), [&](const TensorMap& map) {
        return DescribeTensorMap(map, configuration).enabled;
      }));
  if (kept.has_value()) {
    ASSIGN_OR_RETURN(TritonKernel kernel, KernelOf(*kept, form, maps));
    kernel.key = key;
    kernel.from_disk = true;
    return kernel;
  }
  ASSIGN_OR_RETURN(const Json answer, CompileAnew(request));
  Keep(key, answer);
  ASSIGN_OR_RETURN(TritonKernel kernel, KernelOf(answer, form, maps));
  kernel.key = key;
  return kernel;
}

absl::StatusOr<Json> TritonCompiler::CompileAnew(const Json& request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (process_ == nullptr || !process_->running()) {
    RETURN_IF_ERROR(Start().status());
  }
  absl::StatusOr<Json> answer =
      process_->Call(request, options_.compile_timeout);
  if (!answer.ok()) return AsCandidatesFault(answer.status());
  return answer;
}

Json TritonCompiler::RequestFor(const Configuration& configuration,
                                const TritonForm& form) const {
  const KernelSpec& spec = kernel_.spec;
  Json constants = Json::object();
  for (int i = 0; i < configuration.size(); ++i) {
    constants[spec.parameters[static_cast<size_t>(i)].name] = configuration[i];
  }
  const TritonOptions chosen = TritonOptionsOf(spec, configuration);
  Json options = {{"num_warps", chosen.num_warps},
                  {"num_stages", chosen.num_stages}};
  if (chosen.maxnreg > 0) options["maxnreg"] = chosen.maxnreg;
  Json maps = Json::array();
  for (const TensorMap& map : maps_) {
    const std::string type = TritonTypeName(spec, map, configuration);
    maps.push_back(type.empty() ? Json() : Json(type));
  }
  Json arguments = Json::array();
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    arguments.push_back({{"name", spec.arguments[i].name},
                         {"type", TritonTypeName(spec.arguments[i])},
                         {"form", FormText(form[i])}});
  }
  return {{"compile",
           {{"capability", options_.capability},
            {"constants", std::move(constants)},
            {"options", std::move(options)},
            {"maps", std::move(maps)},
            {"arguments", std::move(arguments)}}}};
}

std::string TritonCompiler::KeyOf(const Json& request) const {
  return ProgramCache::Key(
      {kCacheFormat, options_.name, load_.dump(), request.dump()});
}

}  // namespace wavetune
