// ConfigurationCache: one wavetune.Configuration, a dict that cannot be
// changed, per configuration that a tuner has answered, shared by all decisions
// that chose it.
//
// Why: a mapping of five entries takes longer to make than the decision, and a
// program can compare shared ones by identity.
//
// Thread safety: the caller holds the GIL.
#ifndef WAVETUNE_CLIENT_PYTHON_NATIVE_CONFIGURATION_CACHE_H_
#define WAVETUNE_CLIENT_PYTHON_NATIVE_CONFIGURATION_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/optimization.h"
#include "client/python/native/decision_object.h"
#include "nanobind/nanobind.h"
#include "wavetune/configuration.h"
#include "wavetune/decision.h"

namespace wavetune::python {

class ConfigurationCache {
 public:
  // `parameters`: names of a configuration's values, in order.
  explicit ConfigurationCache(const std::vector<std::string>& parameters);

  // Returns the mapping of a decision's configuration (borrowed; lives until
  // the next call), made the first time. nullptr with a Python exception set
  // where memory is short.
  PyObject* Get(const Decision& decision) {
    // A candidate that was not seen yet has no entry; the default's is not its.
    if (ABSL_PREDICT_FALSE(decision.candidate >= entries_.size() &&
                           decision.candidate != kNoCandidate))
      return Make(decision);
    Entry& entry = decision.candidate == kNoCandidate
                       ? default_
                       : entries_[decision.candidate];
    // The table may have changed: the same index is then another candidate.
    if (ABSL_PREDICT_TRUE(entry.digest_prefix == decision.digest_prefix &&
                          entry.mapping.is_valid()))
      return entry.mapping.ptr();
    return Make(decision);
  }

  // Returns a mapping of its own. Throws nb::python_error.
  nanobind::object MappingOf(const Configuration& configuration) const;
  // Returns a tuple of them. Throws nb::python_error.
  nanobind::tuple MappingsOf(
      const std::vector<Configuration>& configurations) const;

  // Reads a mapping of every parameter's name to its value. Throws a Python
  // ValueError where a parameter is unknown or missing (names them), and
  // TypeError where a value is no integer.
  Configuration ConfigurationOf(nanobind::handle mapping) const;

 private:
  struct Entry {
    uint64_t digest_prefix = 0;
    nanobind::object mapping;
  };
  PyObject* Make(const Decision& decision);

  std::vector<nanobind::object> parameters_;
  std::vector<Entry> entries_;  // By candidate, as far as seen.
  Entry default_;               // For decisions without a candidate.
};

}  // namespace wavetune::python

#endif  // WAVETUNE_CLIENT_PYTHON_NATIVE_CONFIGURATION_CACHE_H_
