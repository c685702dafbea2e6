// The Python type `wavetune.Decision`: an immutable answer.
//
// Why by hand: an instance of a bound C++ class is entered into a map of all
// instances, which takes longer than the decision. One of these is 64 bytes
// from a free list.
//
// Thread safety: the caller holds the GIL.
#ifndef WAVETUNE_CLIENT_PYTHON_NATIVE_DECISION_OBJECT_H_
#define WAVETUNE_CLIENT_PYTHON_NATIVE_DECISION_OBJECT_H_

#include <Python.h>

#include <cstdint>

#include "nanobind/nanobind.h"
#include "wavetune/decision.h"

namespace wavetune::python {

// Decision::candidate of a default.
inline constexpr uint8_t kNoCandidate = Decision().candidate;

// Makes the type and adds it to the module; once. Throws nb::python_error.
void AddDecisionType(nanobind::module_& module);

// Returns a new decision, or nullptr with a Python exception set.
// `configuration` is the mapping of its values (borrowed).
PyObject* NewDecision(const Decision& decision, PyObject* configuration);

}  // namespace wavetune::python

#endif  // WAVETUNE_CLIENT_PYTHON_NATIVE_DECISION_OBJECT_H_
