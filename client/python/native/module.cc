// The extension module wavetune._native: what wavetune/__init__.py exports.
#include "client/python/native/bound_client.h"
#include "client/python/native/bound_tuner.h"
#include "client/python/native/decision_object.h"
#include "client/python/native/empty_function.h"
#include "client/tuner.h"
#include "model/decision.h"
#include "nanobind/nanobind.h"

namespace wavetune::python {
namespace {

namespace nb = nanobind;

void AddEnumerations(nb::module_& module) {
  nb::enum_<DecisionSource>(module, "Source", "How good an answer is.")
      .value("FITTED", DecisionSource::kFitted,
             "Inside the measured range of a fitted model.")
      .value("EXTRAPOLATED", DecisionSource::kExtrapolated, "Beyond it.")
      .value("STALE", DecisionSource::kStale,
             "Fitted under another driver, runtime or power limit.")
      .value("DEFAULT", DecisionSource::kDefault,
             "No model, or no legal problem; Decision.reason says which.");
  nb::enum_<DefaultReason>(module, "Reason", "Why an answer is the default.")
      .value("NONE", DefaultReason::kNone, "It is not.")
      .value("NO_TABLE", DefaultReason::kNoTable, "No table is loaded.")
      .value("WRONG_DIMENSION_COUNT", DefaultReason::kWrongDimensionCount,
             "Too few or too many extents.")
      .value("EXTENT_OUT_OF_RANGE", DefaultReason::kExtentOutOfRange,
             "An extent outside of what the kernel declares.")
      .value("NO_LEGAL_CANDIDATE", DefaultReason::kNoLegalCandidate,
             "No candidate of the table can run the problem.")
      .value("UNKNOWN_SPECIALISATION", DefaultReason::kUnknownSpecialisation,
             "The table does not have it.");
  nb::enum_<TableOrigin>(module, "Origin", "Where a table came from.")
      .value("DAEMON", TableOrigin::kDaemon, "Fetched from the daemon.")
      .value("CACHE", TableOrigin::kCache,
             "The daemon could not be reached; the local cache had it.")
      .value("DEFAULTS", TableOrigin::kDefaults,
             "There is no table: every answer is the default.");
}

}  // namespace
}  // namespace wavetune::python

NB_MODULE(_native, module) {
  // A program that ends while a tuner is alive has leaked nothing.
  nanobind::set_leak_warnings(false);
  module.doc() = "The extension behind the package wavetune: use that.";
  wavetune::python::AddEnumerations(module);
  wavetune::python::AddDecisionType(module);
  wavetune::python::AddTunerType(module);
  wavetune::python::AddClientType(module);
  wavetune::python::AddEmptyFunctions(module);
}
