#include "client/python/native/bound_tuner.h"

#include <array>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "client/python/native/bound_client.h"
#include "client/python/native/decision_object.h"
#include "client/python/native/interpreter_exit.h"
#include "client/python/native/kernel_records.h"
#include "client/python/native/status_exception.h"
#include "nanobind/stl/string.h"

namespace wavetune::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

nb::object RowRecord(const nb::object& record, const ExplainedGroup& row,
                     const ConfigurationCache& configurations) {
  return record(configurations.MappingOf(row.configuration),
                row.coordinates.tiles, row.coordinates.iterations, row.waves,
                row.tiles_per_wave, row.latency_us, row.rank_us,
                row.relative_bound, row.legal, row.chosen, row.extrapolated,
                row.of_layer, row.kept_default);
}

nb::tuple Configurations(const BoundTuner& self) {
  return self.configurations().MappingsOf(self.tuner().configurations());
}

nb::object Staged(const BoundTuner& self) {
  const std::optional<StagedTable> staged = self.tuner().staged();
  if (!staged) return nb::none();
  return Record("StagedTable")(
      staged->digest, staged->origin, staged->stale,
      self.configurations().MappingsOf(staged->configurations),
      self.configurations().MappingsOf(staged->unprepared));
}

void Activate(BoundTuner& self, const std::string& digest) {
  const absl::Status status = self.tuner().Activate(digest);
  if (!status.ok()) ThrowStatus(status);
}

// Returns the indices of parameters that are given by name; none for None.
std::vector<int> ParametersOf(const Tuner& tuner, const nb::object& names) {
  std::vector<int> parameters;
  if (names.is_none()) return parameters;
  for (const nb::handle name : names) {
    const auto text = nb::cast<std::string>(name);
    parameters.push_back(tuner.ParameterIndex(text));
    if (parameters.back() >= 0) continue;
    throw nb::value_error(
        absl::StrCat("kernel \"", tuner.kernel(), "\" has no parameter \"",
                     text,
                     "\"; it has: ", absl::StrJoin(tuner.parameters(), ", "))
            .c_str());
  }
  if (parameters.empty())
    throw nb::value_error(
        "launches that share no parameter are decided each by resolve()");
  return parameters;
}

std::string Represent(const BoundTuner& self) {
  const std::string digest = self.tuner().digest();
  return absl::StrCat(
      "<wavetune.Tuner of \"", self.tuner().kernel(), "\", ",
      digest.empty() ? "no table" : absl::StrCat("table ", ShortDigest(digest)),
      ">");
}

// Returns the tuner, or nullptr with a Python exception set for one that
// Tuner.__new__ made: it holds nothing.
BoundTuner* TunerOf(PyObject* self) {
  if (ABSL_PREDICT_TRUE(nb::inst_ready(self)))
    return nb::inst_ptr<BoundTuner>(self);
  PyErr_SetString(PyExc_TypeError, "not a tuner: use Client.tuner()");
  return nullptr;
}

PyObject* ResolveMethod(PyObject* self, PyObject* const* args,
                        Py_ssize_t positional, PyObject* names) {
  BoundTuner* const tuner = TunerOf(self);
  return tuner == nullptr ? nullptr : tuner->Resolve(args, positional, names);
}

PyObject* ExplainMethod(PyObject* self, PyObject* const* args,
                        Py_ssize_t positional, PyObject* names) {
  BoundTuner* const tuner = TunerOf(self);
  return tuner == nullptr ? nullptr : tuner->Explain(args, positional, names);
}

template <typename Function>
PyCFunction AsMethod(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"resolve", AsMethod(ResolveMethod), METH_FASTCALL | METH_KEYWORDS,
     "resolve($self, /, **dimensions)\n--\n\n"
     "Returns the configuration with the lowest predicted latency for a "
     "problem.\n\n"
     "Dimensions are given by name, all of them: integers, and for a repeated "
     "dimension a\nsequence of integers (an array of int64 is not copied). No "
     "RPC, no lock.\n\n"
     "ValueError: a dimension is unknown, missing, negative, zero (but for "
     "elements of a repeated\ndimension) or beyond 64 bits.\nAn extent that "
     "the kernel was not declared for is no error: the "
     "decision is the\ndefault, and Decision.reason says so."},
    {"explain", AsMethod(ExplainMethod), METH_FASTCALL | METH_KEYWORDS,
     "explain($self, /, **dimensions)\n--\n\n"
     "Returns what each macro configuration was predicted to take "
     "(ExplainedGroup), the best\nfirst; empty where resolve() answers the "
     "default. For people: slow."},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot tuner_slots[] = {{Py_tp_methods, methods}, {0, nullptr}};

}  // namespace

inline PyObject* BoundTuner::Answer(const Decision& decision) {
  PyObject* const configuration = configurations_.Get(decision);
  if (configuration == nullptr) return nullptr;
  return NewDecision(decision, configuration);
}

PyObject* BoundTuner::Resolve(PyObject* const* args, Py_ssize_t positional,
                              PyObject* names) {
  PlainProblem problem;
  if (ABSL_PREDICT_FALSE(!reader_.ReadPlain(args, positional, names, &problem)))
    return ResolveAny(args, positional, names);
  return Answer(tuner_.Resolve(problem.View()));
}

// Not inline: its arguments take two kilobytes of the stack, and a destructor.
ABSL_ATTRIBUTE_NOINLINE PyObject* BoundTuner::ResolveAny(PyObject* const* args,
                                                         Py_ssize_t positional,
                                                         PyObject* names) {
  // Extents may be objects of Python's, whose code is run.
  if (!MayEnter()) return nullptr;
  const Inside inside;
  ProblemArguments problem;
  if (!reader_.Read(args, positional, names, &problem)) return nullptr;
  return Answer(tuner_.Resolve(problem.View()));
}

PyObject* BoundTuner::Explain(PyObject* const* args, Py_ssize_t positional,
                              PyObject* names) {
  if (!MayEnter()) return nullptr;
  const Inside inside;
  ProblemArguments problem;
  if (!reader_.Read(args, positional, names, &problem)) return nullptr;
  try {
    const nb::object record = Record("ExplainedGroup");
    nb::list rows;
    for (const ExplainedGroup& row : tuner_.Explain(problem.View()))
      rows.append(RowRecord(record, row, configurations_));
    return rows.release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

void BoundTuner::ReadMapping(nb::handle dimensions,
                             ProblemArguments* out) const {
  nb::dict mapping;  // A copy: any mapping will do.
  if (PyDict_Update(mapping.ptr(), dimensions.ptr()) != 0)
    throw nb::python_error();
  nb::object names =
      nb::steal(PyTuple_New(static_cast<Py_ssize_t>(nb::len(mapping))));
  if (!names.is_valid()) throw nb::python_error();
  std::vector<PyObject*> values;
  Py_ssize_t count = 0;
  for (const auto& [name, value] : mapping) {
    if (!nb::isinstance<nb::str>(name))
      throw nb::type_error("names of dimensions are texts");
    PyTuple_SET_ITEM(names.ptr(), count++, name.inc_ref().ptr());
    values.push_back(value.ptr());  // The mapping holds it.
  }
  if (!reader_.Read(values.data(), 0, names.ptr(), out))
    throw nb::python_error();
}

nb::tuple BoundTuner::ResolveTogether(const nb::sequence& problems,
                                      const nb::object& shared,
                                      const nb::object& incumbent) {
  const size_t count = nb::len(problems);
  if (count == 0 || count > static_cast<size_t>(kMaxJointProblems))
    throw nb::value_error(absl::StrCat("1 to ", kMaxJointProblems,
                                       " problems are decided together, not ",
                                       count)
                              .c_str());
  std::array<ProblemArguments, kMaxJointProblems> arguments;
  std::array<std::string, kMaxJointProblems> names;
  std::array<JointProblem, kMaxJointProblems> asked;
  for (size_t i = 0; i < count; ++i) {
    const nb::sequence pair = nb::cast<nb::sequence>(problems[i]);
    if (nb::len(pair) != 2)
      throw nb::value_error(
          "a problem is a pair: its specialisation, and its dimensions by "
          "name");
    names[i] = nb::cast<std::string>(pair[0]);
    ReadMapping(pair[1], &arguments[i]);
    asked[i] = {names[i], arguments[i].View()};
  }
  const std::vector<int> parameters = ParametersOf(tuner_, shared);
  std::optional<Configuration> otherwise;
  if (!incumbent.is_none())
    otherwise = configurations_.ConfigurationOf(incumbent);
  std::array<Decision, kMaxJointProblems> decisions;
  tuner_.ResolveTogether(absl::MakeConstSpan(asked.data(), count), parameters,
                         absl::MakeSpan(decisions.data(), count),
                         otherwise ? &*otherwise : nullptr);
  nb::list result;
  for (size_t i = 0; i < count; ++i) {
    // Of its own: a candidate of another specialisation may have the same index
    // as one that the cache knows.
    const nb::object configuration =
        configurations_.MappingOf(decisions[i].configuration);
    result.append(nb::steal(NewDecision(decisions[i], configuration.ptr())));
  }
  return nb::tuple(result);
}

void BoundTuner::SetPrepared(const nb::iterable& configurations) {
  std::vector<Configuration> prepared;
  for (const nb::handle configuration : configurations)
    prepared.push_back(configurations_.ConfigurationOf(configuration));
  tuner_.SetPrepared(prepared);
}

void AddTunerType(nb::module_& module) {
  nb::class_<BoundTuner>(
      module, "Tuner", nb::type_slots(tuner_slots), nb::is_final(),
      "Decides for one kernel on one device; from Client.tuner(). May be used "
      "from any thread.")
      .def_prop_ro(
          "kernel",
          [](const BoundTuner& self) { return self.tuner().kernel(); }, kGuard,
          "Name of the kernel.")
      .def_prop_ro(
          "dimensions",
          [](const BoundTuner& self) {
            return ToTuple(self.tuner().dimensions());
          },
          kGuard, "The dimensions of a problem, in the order of the manifest.")
      .def_prop_ro(
          "parameters",
          [](const BoundTuner& self) {
            return ToTuple(self.tuner().parameters());
          },
          kGuard,
          "Names of the tuning parameters, in the order of the "
          "manifest.")
      .def_prop_ro("configurations", Configurations, kGuard,
                   "All configurations that resolve() can answer, the default "
                   "included: what to\ncompile ahead of time.")
      .def_prop_ro(
          "default_configuration",
          [](const BoundTuner& self) {
            return self.configurations().MappingOf(
                self.tuner().default_configuration());
          },
          kGuard, "The configuration that the kernel's author declared.")
      .def_prop_ro(
          "digest",
          [](const BoundTuner& self) { return self.tuner().digest(); }, kGuard,
          "SHA-256 of the table, its identity: equal digests decide equally on "
          "every rank.\nEmpty with no table.")
      .def_prop_ro(
          "origin",
          [](const BoundTuner& self) { return self.tuner().origin(); }, kGuard,
          "Where the table came from.")
      .def_prop_ro(
          "stale", [](const BoundTuner& self) { return self.tuner().stale(); },
          kGuard,
          "Whether the table was measured in another environment (driver, "
          "runtime, power limit),\nor for another version of the kernel or "
          "compiler, than what is there now.")
      .def_prop_ro(
          "stale_reason",
          [](const BoundTuner& self) { return self.tuner().stale_reason(); },
          kGuard,
          "What differs where the table is stale; empty where it is not.")
      .def_prop_ro(
          "silicon_key",
          [](const BoundTuner& self) { return self.tuner().silicon_key(); },
          kGuard,
          "The class of devices that the table is for, as\n"
          "\"backend=cuda;arch=sm_90a;mp=132\"; empty with no table.")
      .def_prop_ro(
          "compiler",
          [](const BoundTuner& self) { return self.tuner().compiler(); },
          kGuard,
          "The compiler that the table was measured with; empty where nobody "
          "says, as of a\ntable file.")
      .def_prop_ro(
          "arguments",
          [](const BoundTuner& self) {
            return self.client().GetArguments(self.tuner().kernel());
          },
          kGuard,
          "What the kernel's launches were measured with (Argument), in order. "
          "Asks the daemon.\nNotFoundError where nobody says, as of a table "
          "file without its manifest.")
      .def_prop_ro(
          "specialisation",
          [](const BoundTuner& self) { return self.tuner().specialisation(); },
          kGuard,
          "Name of the specialisation; empty where the kernel has none.")
      .def_prop_ro(
          "activation",
          [](const BoundTuner& self) { return self.tuner().activation(); },
          kGuard, "When a new table takes over.")
      .def_prop_ro("staged", Staged, kGuard,
                   "The table that waits to take over (StagedTable), or None.")
      .def("resolve_together", &BoundTuner::ResolveTogether, "problems"_a,
           nb::kw_only(), "shared"_a = nb::none(), "incumbent"_a = nb::none(),
           kGuard,
           "Returns a decision for each of the problems, pairs of a "
           "specialisation and its dimensions\nby name, whose configurations "
           "agree on the parameters `shared` (None: on all): those with\nthe "
           "lowest sum of predictions. All are the default where one of them "
           "would be.\nThe configuration `incumbent`, which would be launched "
           "otherwise, stays where the predicted\ngain over it is too small to "
           "be sure of; it is not looked at unless it is among "
           "configurations.")
      .def("set_prepared", &BoundTuner::SetPrepared, "configurations"_a, kGuard,
           "Declares which configurations the program can launch, in place of "
           "what was declared\nbefore: with Activation.AUTOMATIC a table that "
           "answers no other takes over at once.")
      .def("activate", Activate, "digest"_a, kGuard,
           "Lets the staged table of that digest take over, for all threads.")
      .def(
          "step_boundary",
          [](BoundTuner& self) { return self.tuner().StepBoundary(); }, kGuard,
          "With Activation.STEP_BOUNDARY, lets a staged table take over; "
          "returns whether one did.")
      .def("__repr__", Represent, kGuard);
}

}  // namespace wavetune::python
