#include "client/python/native/routing.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "client/python/native/interpreter_exit.h"
#include "client/python/native/status_exception.h"
#include "formats/workload/expert_histogram.h"
#include "model/kernel/engine_rule.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/vector.h"
#include "wavetune/expected_routing.h"

namespace wavetune::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

// Lists, arrays and tensors as a file would have them.
std::string JsonOf(const nb::object& counts) {
  try {
    const nb::object to_list =
        nb::module_::import_("operator").attr("methodcaller")("tolist");
    return nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(
        counts, "default"_a = to_list));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    ThrowStatus(absl::InvalidArgumentError(absl::StrCat(
        "the routing is no list of counts (",
        PrintableText(nb::cast<std::string>(nb::str(error.value()))),
        "): give \"drawn\", \"even\" or recorded counts")));
  }
}

void Construct(ExpectedRouting* self, int64_t experts, int64_t top_k,
               const nb::object& popularity) {
  absl::StatusOr<ExpectedRouting> routing =
      ExpectedRouting::Create(experts, top_k, PopularityOf(popularity));
  if (!routing.ok()) ThrowStatus(routing.status());
  new (self) ExpectedRouting(*std::move(routing));
}

nb::object Rule(const std::string& engine, int64_t tokens, int64_t experts) {
  const std::optional<ExpertsLaunch> launch =
      EngineRule(engine, tokens, experts);
  if (!launch) {
    ThrowStatus(absl::InvalidArgumentError(absl::StrCat(
        "the rule of engine \"", engine, "\" is not known: vllm, sglang")));
  }
  nb::dict result;
  for (size_t i = 0; i < launch->size(); ++i)
    result[std::string(kExpertsParameters[i]).c_str()] = (*launch)[i];
  return result;
}

}  // namespace

ExpertPopularity PopularityOf(const nb::object& given) {
  if (!nb::isinstance<nb::str>(given)) {
    absl::StatusOr<std::vector<int64_t>> counts =
        ParseExpertHistogram(JsonOf(given));
    if (!counts.ok()) ThrowStatus(counts.status());
    return {.counts = *std::move(counts)};
  }
  const auto name = nb::cast<std::string>(given);
  if (name == "drawn") return {};
  if (name == "even") return {.popularity = Popularity::kEven};
  ThrowStatus(absl::InvalidArgumentError(absl::StrCat(
      "\"", PrintableText(name),
      "\" is no routing: give \"drawn\", \"even\" or recorded counts, one for "
      "each expert")));
}

void AddRouting(nb::module_& module) {
  nb::class_<ExpectedRouting>(
      module, "ExpectedRouting", nb::is_final(),
      "How many slots (a token at one of its experts) each expert gets, where "
      "only the number of\ntokens is known: tokens choose their experts at "
      "random, the same way in every process.")
      .def("__init__", Construct, "experts"_a, "top_k"_a,
           "popularity"_a = "drawn", kGuard,
           "experts: of the whole model, of which a token takes top_k. "
           "popularity: how wanted they are:\n\"drawn\" (log-normally, sigma "
           "1), \"even\" (nothing is drawn), or counts that were recorded, "
           "by expert, or by layer and expert.\nRaises InvalidArgumentError.")
      .def(
          "slots",
          [](const ExpectedRouting& self, int64_t tokens,
             std::optional<int64_t> local) {
            return self.Slots(tokens, local.value_or(self.experts()));
          },
          "tokens"_a, "local"_a = nb::none(), kGuard,
          "Returns the slots of each of `local` of the experts (None: all) "
          "for `tokens` of the whole model.");
  module.def("engine_rule", Rule, "engine"_a, "tokens"_a, "experts"_a, kGuard,
             "Returns what the engine (\"vllm\", \"sglang\") launches bf16 "
             "experts with where it has no file for the\nlayer, by parameter; "
             "`experts` are those of this device.");
}

}  // namespace wavetune::python
