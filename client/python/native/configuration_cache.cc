#include "client/python/native/configuration_cache.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/python/native/decision_object.h"
#include "client/python/native/kernel_records.h"
#include "nanobind/stl/string.h"

namespace wavetune::python {
namespace {

namespace nb = nanobind;

}  // namespace

ConfigurationCache::ConfigurationCache(
    const std::vector<std::string>& parameters) {
  for (const std::string& name : parameters) {
    PyObject* const interned = PyUnicode_InternFromString(name.c_str());
    if (interned == nullptr) throw nb::python_error();
    parameters_.push_back(nb::steal(interned));
  }
}

nb::object ConfigurationCache::MappingOf(
    const Configuration& configuration) const {
  nb::dict values;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    values[parameters_[i]] = nb::int_(configuration[static_cast<int>(i)]);
  }
  return Record("Configuration")(values);
}

nb::tuple ConfigurationCache::MappingsOf(
    const std::vector<Configuration>& configurations) const {
  nb::list result;
  for (const Configuration& configuration : configurations)
    result.append(MappingOf(configuration));
  return nb::tuple(result);
}

Configuration ConfigurationCache::ConfigurationOf(nb::handle mapping) const {
  if (!PyMapping_Check(mapping.ptr())) {
    PyErr_Format(PyExc_TypeError, "%R is no configuration: give a mapping",
                 mapping.ptr());
    throw nb::python_error();
  }
  std::vector<int64_t> values;
  for (const nb::object& name : parameters_) {
    if (PyMapping_HasKey(mapping.ptr(), name.ptr()) == 0) break;
    const nb::object number =
        nb::steal(PyNumber_Index(nb::object(mapping[name]).ptr()));
    if (!number.is_valid()) throw nb::python_error();
    values.push_back(nb::cast<int64_t>(number));
  }
  if (values.size() != parameters_.size() ||
      nb::len(mapping) != parameters_.size()) {
    const std::string names = absl::StrJoin(
        parameters_, ", ", [](std::string* out, const nb::object& name) {
          absl::StrAppend(out, "\"", nb::cast<std::string>(name), "\"");
        });
    PyErr_Format(PyExc_ValueError,
                 "%R is no configuration: its parameters are %s", mapping.ptr(),
                 names.c_str());
    throw nb::python_error();
  }
  return Configuration(values);
}

PyObject* ConfigurationCache::Make(const Decision& decision) {
  nb::object mapping;
  try {
    mapping = MappingOf(decision.configuration);
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  }
  if (decision.candidate != kNoCandidate &&
      decision.candidate >= entries_.size())
    entries_.resize(size_t{decision.candidate} + 1);
  Entry& entry = decision.candidate == kNoCandidate
                     ? default_
                     : entries_[decision.candidate];
  entry.digest_prefix = decision.digest_prefix;
  entry.mapping = std::move(mapping);
  return entry.mapping.ptr();
}

}  // namespace wavetune::python
