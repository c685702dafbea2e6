// What a call from Python costs at least: functions that do nothing with the
// keywords of a GEMM. benchmarks/resolve_benchmark.py compares resolve() with
// them.
#ifndef WAVETUNE_CLIENT_PYTHON_NATIVE_EMPTY_FUNCTION_H_
#define WAVETUNE_CLIENT_PYTHON_NATIVE_EMPTY_FUNCTION_H_

#include "nanobind/nanobind.h"

namespace wavetune::python {

// Adds to the module: `empty`, in Python's own calling convention, which looks
// at nothing; `empty_typed`, made by nanobind, which converts m, n and k.
void AddEmptyFunctions(nanobind::module_& module);

}  // namespace wavetune::python

#endif  // WAVETUNE_CLIENT_PYTHON_NATIVE_EMPTY_FUNCTION_H_
