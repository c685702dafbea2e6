#include "client/python/native/configuration_cache.h"

namespace wavetune::python {
namespace {

namespace nb = nanobind;

constexpr uint8_t kNoCandidate = 0xff;  // Decision::candidate of a default.

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
  PyObject* const proxy = PyDictProxy_New(values.ptr());
  if (proxy == nullptr) throw nb::python_error();
  return nb::steal(proxy);
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
