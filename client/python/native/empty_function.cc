#include "client/python/native/empty_function.h"

#include <cstdint>

namespace wavetune::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

PyObject* Empty(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) {
  Py_RETURN_NONE;
}

PyMethodDef method = {
    "empty", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(Empty)),
    METH_FASTCALL | METH_KEYWORDS,
    "empty($module, /, **dimensions)\n--\n\nDoes nothing: what a call costs."};

}  // namespace

void AddEmptyFunctions(nb::module_& module) {
  PyObject* const function =
      PyCFunction_NewEx(&method, module.ptr(), module.attr("__name__").ptr());
  if (function == nullptr) throw nb::python_error();
  module.attr("empty") = nb::steal(function);
  module.def(
      "empty_typed", [](int64_t, int64_t, int64_t) {}, nb::kw_only(), "m"_a,
      "n"_a, "k"_a, "Converts its arguments and does nothing.");
}

}  // namespace wavetune::python
