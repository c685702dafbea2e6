#include "client/python/native/decision_object.h"

// After Python.h, which it needs.
#include <structmember.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/base/optimization.h"
#include "absl/strings/str_format.h"
#include "client/python/native/kernel_records.h"

namespace wavetune::python {
namespace {

namespace nb = nanobind;

// No cycle can go through it (a configuration holds texts and integers), so the
// garbage collector need not know it.
struct DecisionObject {
  PyObject_HEAD PyObject* configuration;
  double latency_us;
  double relative_bound;
  uint64_t digest_prefix;
  DecisionSource source;
  DefaultReason reason;
  uint8_t candidate;
  TableOrigin origin;
};

PyTypeObject* decision_type = nullptr;

// A program has few decisions at a time, usually one. Those that wait here keep
// their reference to the type, as every instance of a heap type has one.
constexpr size_t kMostKept = 32;
std::array<PyObject*, kMostKept> kept;
size_t kept_count = 0;

DecisionObject* Cast(PyObject* self) {
  return reinterpret_cast<DecisionObject*>(self);
}

void Deallocate(PyObject* self) {
  Py_DECREF(Cast(self)->configuration);
  if (ABSL_PREDICT_TRUE(kept_count < kMostKept)) {
    kept[kept_count++] = self;
    return;
  }
  PyObject_Free(self);
  Py_DECREF(decision_type);
}

PyObject* Allocate() {
  if (ABSL_PREDICT_TRUE(kept_count > 0)) {
    PyObject* const self = kept[--kept_count];
    _Py_NewReference(self);
    return self;
  }
  return reinterpret_cast<PyObject*>(
      PyObject_New(DecisionObject, decision_type));
}

// A member of a bound enumeration.
template <typename Enum>
PyObject* Member(Enum value) noexcept {
  try {
    return nb::cast(value).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_SystemError, error.what());
  }
  return nullptr;
}

PyObject* GetSource(PyObject* self, void*) {
  return Member(Cast(self)->source);
}
PyObject* GetReason(PyObject* self, void*) {
  return Member(Cast(self)->reason);
}
PyObject* GetOrigin(PyObject* self, void*) {
  return Member(Cast(self)->origin);
}

PyObject* GetCandidate(PyObject* self, void*) {
  if (Cast(self)->candidate == kNoCandidate) Py_RETURN_NONE;
  return PyLong_FromLong(Cast(self)->candidate);
}

PyObject* GetDigestPrefix(PyObject* self, void*) {
  const uint64_t prefix = Cast(self)->digest_prefix;
  const std::string text =
      prefix == 0 ? std::string() : absl::StrFormat("%016x", prefix);
  return PyUnicode_FromStringAndSize(text.data(),
                                     static_cast<Py_ssize_t>(text.size()));
}

PyObject* RepresentDecision(PyObject* self) {
  const DecisionObject& decision = *Cast(self);
  const auto word = [](absl::string_view text) { return std::string(text); };
  if (decision.source == DecisionSource::kDefault) {
    return PyUnicode_FromFormat("Decision(%R, source=%s, reason=%s)",
                                decision.configuration,
                                word(ToString(decision.source)).c_str(),
                                word(ToString(decision.reason)).c_str());
  }
  const std::string numbers =
      absl::StrFormat("latency_us=%.6g, relative_bound=%.3g",
                      decision.latency_us, decision.relative_bound);
  return PyUnicode_FromFormat("Decision(%R, %s, source=%s)",
                              decision.configuration, numbers.c_str(),
                              word(ToString(decision.source)).c_str());
}

PyObject* Compare(PyObject* self, PyObject* other, int operation) {
  if (Py_TYPE(other) != decision_type ||
      (operation != Py_EQ && operation != Py_NE))
    Py_RETURN_NOTIMPLEMENTED;
  const DecisionObject& a = *Cast(self);
  const DecisionObject& b = *Cast(other);
  bool equal = a.latency_us == b.latency_us &&
               a.relative_bound == b.relative_bound &&
               a.digest_prefix == b.digest_prefix && a.source == b.source &&
               a.reason == b.reason && a.candidate == b.candidate &&
               a.origin == b.origin;
  if (equal && a.configuration != b.configuration) {
    const int same =
        PyObject_RichCompareBool(a.configuration, b.configuration, Py_EQ);
    if (same < 0) return nullptr;
    equal = same == 1;
  }
  return PyBool_FromLong(equal == (operation == Py_EQ) ? 1 : 0);
}

// Of what Compare looks at.
Py_hash_t Hash(PyObject* self) {
  const DecisionObject& decision = *Cast(self);
  PyObject* const fields = Py_BuildValue(
      "(OddKiiii)", decision.configuration, decision.latency_us,
      decision.relative_bound, decision.digest_prefix,
      static_cast<int>(decision.source), static_cast<int>(decision.reason),
      static_cast<int>(decision.candidate), static_cast<int>(decision.origin));
  if (fields == nullptr) return -1;
  const Py_hash_t hash = PyObject_Hash(fields);
  Py_DECREF(fields);
  return hash;
}

// What pickle and copy make it again with: its attributes.
PyObject* Reduce(PyObject* self, PyObject*) {
  const DecisionObject& decision = *Cast(self);
  try {
    const nb::object restored =
        nb::module_::import_("wavetune.records").attr("restored_decision");
    return nb::make_tuple(
               restored,
               nb::make_tuple(nb::borrow(decision.configuration),
                              decision.latency_us, decision.relative_bound,
                              decision.digest_prefix, decision.source,
                              decision.reason, decision.candidate,
                              decision.origin))
        .release()
        .ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_SystemError, error.what());
  }
  return nullptr;
}

nb::object Restore(const nb::dict& configuration, double latency_us,
                   double relative_bound, uint64_t digest_prefix,
                   DecisionSource source, DefaultReason reason,
                   uint8_t candidate, TableOrigin origin) {
  const nb::object own = Record("Configuration")(configuration);
  const Decision decision = {.latency_us = latency_us,
                             .relative_bound = relative_bound,
                             .digest_prefix = digest_prefix,
                             .source = source,
                             .reason = reason,
                             .candidate = candidate,
                             .origin = origin};
  const nb::object result = nb::steal(NewDecision(decision, own.ptr()));
  if (!result.is_valid()) throw nb::python_error();
  return result;
}

PyMethodDef methods_of_decision[] = {
    {"__reduce__", Reduce, METH_NOARGS, "For pickle and copy."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"configuration", T_OBJECT_EX, offsetof(DecisionObject, configuration),
     READONLY,
     "The values of all tuning parameters by name (Configuration): the same "
     "object for every decision of a tuner that chose it."},
    {"latency_us", T_DOUBLE, offsetof(DecisionObject, latency_us), READONLY,
     "Predicted device time of one launch in microseconds; 0.0 with "
     "Source.DEFAULT."},
    {"relative_bound", T_DOUBLE, offsetof(DecisionObject, relative_bound),
     READONLY,
     "Half-width of the error bound, relative to latency_us; 0.0 with "
     "Source.DEFAULT."},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef getters[] = {
    {"source", GetSource, nullptr, "How good the answer is (Source).", nullptr},
    {"reason", GetReason, nullptr,
     "Why the answer is the default (Reason); NONE where it is not.", nullptr},
    {"candidate", GetCandidate, nullptr,
     "Index of the configuration in the table's portfolio; None with "
     "Source.DEFAULT.",
     nullptr},
    {"digest_prefix", GetDigestPrefix, nullptr,
     "First 16 hex digits of the table's digest; empty with no table.",
     nullptr},
    {"origin", GetOrigin, nullptr, "Where the table came from (Origin).",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

constexpr char kDoc[] =
    "The answer of Tuner.resolve: a configuration, and how good it is. "
    "Immutable; it outlives its tuner.";

PyType_Slot decision_slots[] = {
    {Py_tp_doc, const_cast<char*>(kDoc)},
    {Py_tp_dealloc, reinterpret_cast<void*>(Deallocate)},
    {Py_tp_repr, reinterpret_cast<void*>(RepresentDecision)},
    {Py_tp_richcompare, reinterpret_cast<void*>(Compare)},
    {Py_tp_hash, reinterpret_cast<void*>(Hash)},
    {Py_tp_methods, methods_of_decision},
    {Py_tp_members, members},
    {Py_tp_getset, getters},
    {0, nullptr}};

PyType_Spec decision_spec = {"wavetune.Decision", sizeof(DecisionObject), 0,
                             Py_TPFLAGS_DEFAULT |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION |
                                 Py_TPFLAGS_IMMUTABLETYPE,
                             decision_slots};

}  // namespace

void AddDecisionType(nb::module_& module) {
  PyObject* const type = PyType_FromSpec(&decision_spec);
  if (type == nullptr) throw nb::python_error();
  decision_type = reinterpret_cast<PyTypeObject*>(type);
  module.attr("Decision") = nb::borrow(type);
  module.def("_restored_decision", Restore);
}

PyObject* NewDecision(const Decision& decision, PyObject* configuration) {
  PyObject* const self = Allocate();
  if (self == nullptr) return nullptr;
  DecisionObject& object = *Cast(self);
  object.configuration = Py_NewRef(configuration);
  object.latency_us = decision.latency_us;
  object.relative_bound = decision.relative_bound;
  object.digest_prefix = decision.digest_prefix;
  object.source = decision.source;
  object.reason = decision.reason;
  object.candidate = decision.candidate;
  object.origin = decision.origin;
  return self;
}

}  // namespace wavetune::python
