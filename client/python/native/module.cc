// The extension module wavetune._native: what wavetune/__init__.py exports.
#include "client/python/native/bound_client.h"
#include "client/python/native/bound_tuner.h"
#include "client/python/native/decision_object.h"
#include "client/python/native/empty_function.h"
#include "client/python/native/interpreter_exit.h"
#include "client/python/native/kernel_records.h"
#include "client/python/native/routing.h"
#include "nanobind/nanobind.h"
#include "wavetune/activation.h"
#include "wavetune/client_event.h"
#include "wavetune/client_options.h"
#include "wavetune/decision.h"

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
             "The table does not have it.")
      .value("TABLE_WITHDRAWN", DefaultReason::kTableWithdrawn,
             "The table's choices were shown to compute wrong results.")
      .value("DEFAULT_UNUSABLE", DefaultReason::kDefaultUnusable,
             "The default is known not to work on the device: there is nothing "
             "to launch.")
      .value("PRECONDITION_BROKEN", DefaultReason::kPreconditionBroken,
             "The problem breaks a precondition of the kernel.");
  nb::enum_<TableOrigin>(module, "Origin", "Where a table came from.")
      .value("DEFAULTS", TableOrigin::kDefaults,
             "There is no table: every answer is the default.")
      .value("DAEMON", TableOrigin::kDaemon,
             "Fetched from a daemon by this process.")
      .value("CACHE", TableOrigin::kCache, "The local table cache had it.")
      .value("FILE", TableOrigin::kFile, "A table file that the user named.");
}

void AddPolicies(nb::module_& module) {
  nb::enum_<ClientMode>(module, "Mode", "Where decisions come from.")
      .value("AUTO", ClientMode::kAuto,
             "The daemon, else the local cache, else the table file, else the "
             "kernel's default.")
      .value("OFFLINE", ClientMode::kOffline,
             "Local files only; nothing changes while the process runs.")
      .value("OFF", ClientMode::kOff, "The kernel's default, always.");
  nb::enum_<ActivationPolicy>(module, "Activation",
                              "When a new table takes over.")
      .value("AUTOMATIC", ActivationPolicy::kAutomatic,
             "As soon as all that it can answer is prepared; else when "
             "Tuner.activate() says so.")
      .value("STEP_BOUNDARY", ActivationPolicy::kStepBoundary,
             "When step_boundary() is called.")
      .value("EXPLICIT", ActivationPolicy::kExplicit,
             "Only when Tuner.activate() is called.")
      .value("PINNED", ActivationPolicy::kPinned,
             "Never: the tuner keeps its table.");
  nb::enum_<ClientEvent::Kind>(module, "EventKind",
                               "What happened to a client's tables.")
      .value("STAGED", ClientEvent::Kind::kStaged,
             "A new table waits to take over.")
      .value("ACTIVATED", ClientEvent::Kind::kActivated,
             "A table decides from now on.")
      .value("WITHDRAWN", ClientEvent::Kind::kWithdrawn,
             "A staged table was retired, or replaced by a newer one.")
      .value("REFUSED", ClientEvent::Kind::kRefused,
             "A table was not taken; Event.reason says why.")
      .value("CONNECTED", ClientEvent::Kind::kConnected,
             "The client hears of new tables.")
      .value("DISCONNECTED", ClientEvent::Kind::kDisconnected,
             "It does not; it tries again.")
      .value("STALE", ClientEvent::Kind::kStale,
             "The table that decides is stale; Event.reason says what "
             "differs.")
      .value("CACHE_PROBLEM", ClientEvent::Kind::kCacheProblem,
             "The table cache cannot be used; Event.reason says why.");
}

}  // namespace
}  // namespace wavetune::python

NB_MODULE(_native, module) {
  // A program that ends while a tuner is alive has leaked nothing.
  nanobind::set_leak_warnings(false);
  module.doc() = "The extension behind the package wavetune: use that.";
  wavetune::python::WatchForExit();
  wavetune::python::AddEnumerations(module);
  wavetune::python::AddPolicies(module);
  wavetune::python::AddDecisionType(module);
  wavetune::python::AddTunerType(module);
  wavetune::python::AddClientType(module);
  wavetune::python::AddKernelFunctions(module);
  wavetune::python::AddEmptyFunctions(module);
  wavetune::python::AddRouting(module);
}
