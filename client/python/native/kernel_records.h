// What a manifest and a config.json say, as records of wavetune/records.py.
#ifndef WAVETUNE_CLIENT_PYTHON_NATIVE_KERNEL_RECORDS_H_
#define WAVETUNE_CLIENT_PYTHON_NATIVE_KERNEL_RECORDS_H_

#include <string>
#include <vector>

#include "model/kernel/kernel_spec.h"
#include "nanobind/nanobind.h"
#include "wavetune/kernel_argument.h"

namespace wavetune::python {

// The class of named tuples of that name in wavetune/records.py.
nanobind::object Record(const char* name);

nanobind::tuple ToTuple(const std::vector<std::string>& texts);
nanobind::tuple ToTuple(const std::vector<Dimension>& dimensions);

nanobind::tuple ToTuple(const std::vector<KernelArgument>& arguments);

// Returns a Kernel, with the records of its arguments. Throws nb::python_error.
nanobind::object KernelRecord(const KernelSpec& spec,
                              const nanobind::tuple& arguments);

// Returns the text of a config.json: as it is given, or what a mapping is in
// JSON. Throws nb::python_error.
std::string ConfigText(const nanobind::object& config);

// Adds expert_layers and expert_histogram to the module.
void AddKernelFunctions(nanobind::module_& module);

}  // namespace wavetune::python

#endif  // WAVETUNE_CLIENT_PYTHON_NATIVE_KERNEL_RECORDS_H_
