#include "client/python/native/kernel_records.h"

#include <algorithm>
#include <cstdint>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/python/native/status_exception.h"
#include "formats/config_text.h"
#include "formats/workload/expert_histogram.h"
#include "formats/workload/model_config.h"
#include "formats/workload/model_layers.h"
#include "model/kernel/served_layers.h"
#include "nanobind/stl/string.h"

namespace wavetune::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

constexpr int64_t kMostExperts = 65536;
constexpr int64_t kMostWidth = int64_t{1} << 24;

nb::object ExpertsRecord(const KernelSpec& spec) {
  const auto* const moe = std::get_if<ServedMoe>(&spec.serves);
  if (moe == nullptr) return nb::none();
  const auto name = [&spec](int32_t dimension) -> nb::object {
    if (dimension < 0) return nb::none();
    return nb::cast(spec.dimensions[static_cast<size_t>(dimension)].name);
  };
  return Record("ServedExperts")(name(moe->tokens), name(moe->n), name(moe->k),
                                 name(moe->top_k), moe->gate_up, moe->down,
                                 ToTuple(moe->engines));
}

// The numbers of one layer, of the whole model.
struct LayerNumbers {
  int64_t experts = 0;
  int64_t top_k = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
};

// What the layer's numbers would be in a config.json.
absl::StatusOr<ModelConfig> ModelOf(const LayerNumbers& layer) {
  struct Number {
    const char* option;
    int64_t value;
    int64_t most;
  };
  std::vector<std::string> faults;
  for (const Number& number :
       {Number{"--experts", layer.experts, kMostExperts},
        Number{"--top-k", layer.top_k, layer.experts},
        Number{"--hidden", layer.hidden, kMostWidth},
        Number{"--intermediate", layer.intermediate, kMostWidth}}) {
    if (number.value >= 1 && number.value <= number.most) continue;
    faults.push_back(number.value == 0
                         ? absl::StrCat(number.option, " is missing")
                         : absl::StrCat(number.option, " ", number.value,
                                        " is not in [1, ", number.most, "]"));
  }
  if (!faults.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("an expert layer needs its numbers, or the model's "
                     "--config: ",
                     absl::StrJoin(faults, ", ")));
  }
  ModelConfig model;
  model.experts = {{.count = layer.experts,
                    .per_token = layer.top_k,
                    .hidden = layer.hidden,
                    .intermediate = layer.intermediate,
                    .layers = 1}};
  return model;
}

nb::tuple ExpertLayers(const nb::object& config, int64_t experts, int64_t top_k,
                       int64_t hidden, int64_t intermediate,
                       int64_t tensor_parallel, int64_t expert_parallel) {
  const Parallelism parallelism = {.tensor = tensor_parallel,
                                   .expert = expert_parallel};
  const absl::StatusOr<ModelConfig> model =
      config.is_none() ? ModelOf({experts, top_k, hidden, intermediate})
                       : ParseModelConfig(CompactConfig(ConfigText(config)));
  if (!model.ok()) ThrowStatus(model.status());
  const absl::StatusOr<ModelLayers> layers = SplitLayers(*model, parallelism);
  if (!layers.ok()) ThrowStatus(layers.status());
  std::vector<MoeLayer> distinct;
  for (MoeLayer layer : layers->moe) {
    layer.layers = 0;  // How many there are changes no launch.
    if (std::find(distinct.begin(), distinct.end(), layer) == distinct.end())
      distinct.push_back(layer);
  }
  nb::list records;
  for (const MoeLayer& layer : distinct) {
    records.append(Record("ExpertLayer")(
        layer.experts, layer.local_experts, layer.top_k, layer.hidden,
        layer.intermediate, layer.gated, layer.type));
  }
  return nb::tuple(records);
}

nb::list ExpertHistogram(const nb::bytes& text) {
  const absl::StatusOr<std::vector<int64_t>> counts =
      ParseExpertHistogram(absl::string_view(text.c_str(), text.size()));
  if (!counts.ok()) ThrowStatus(counts.status());
  nb::list result;
  for (const int64_t count : *counts) result.append(count);
  return result;
}

}  // namespace

nb::object Record(const char* name) {
  return nb::module_::import_("wavetune.records").attr(name);
}

nb::tuple ToTuple(const std::vector<std::string>& texts) {
  nb::list result;
  for (const std::string& text : texts) result.append(text);
  return nb::tuple(result);
}

nb::tuple ToTuple(const std::vector<Dimension>& dimensions) {
  const nb::object record = Record("Dimension");
  nb::list result;
  for (const Dimension& dimension : dimensions) {
    result.append(record(dimension.name, dimension.min, dimension.max,
                         dimension.repeated));
  }
  return nb::tuple(result);
}

nb::tuple ToTuple(const std::vector<KernelArgument>& arguments) {
  const nb::object record = Record("Argument");
  nb::list result;
  for (const KernelArgument& argument : arguments)
    result.append(record(argument.name, argument.role, argument.type));
  return nb::tuple(result);
}

nb::object KernelRecord(const KernelSpec& spec, const nb::tuple& arguments) {
  std::vector<std::string> parameters;
  for (const Parameter& parameter : spec.parameters)
    parameters.push_back(parameter.name);
  return Record("Kernel")(
      spec.name, ToTuple(spec.dimensions), ToTuple(parameters),
      ToTuple(spec.SpecialisationNames()), arguments, ExpertsRecord(spec));
}

std::string ConfigText(const nb::object& config) {
  if (nb::isinstance<nb::str>(config)) return nb::cast<std::string>(config);
  if (nb::isinstance<nb::bytes>(config)) {
    const auto bytes = nb::cast<nb::bytes>(config);
    return std::string(bytes.c_str(), bytes.size());
  }
  const nb::object json = nb::module_::import_("json");
  // Numbers of numpy and torch are numbers; their types are names.
  const nb::object others = nb::cpp_function([](const nb::object& value) {
    return nb::hasattr(value, "tolist") ? nb::object(value.attr("tolist")())
                                        : nb::object(nb::str(value));
  });
  return nb::cast<std::string>(
      json.attr("dumps")(config, "default"_a = others));
}

void AddKernelFunctions(nb::module_& module) {
  module.def("expert_layers", ExpertLayers, "config"_a = nb::none(),
             nb::kw_only(), "experts"_a = 0, "top_k"_a = 0, "hidden"_a = 0,
             "intermediate"_a = 0, "tensor_parallel"_a = 1,
             "expert_parallel"_a = 1,
             "Returns the different expert layers of a model on one device "
             "(ExpertLayer): from its config.json,\nor from the numbers of one "
             "layer.");
  module.def(
      "expert_histogram", ExpertHistogram, "text"_a,
      "Returns the counts of a layer's experts that a recorded file has, "
      "the most wanted first.");
}

}  // namespace wavetune::python
