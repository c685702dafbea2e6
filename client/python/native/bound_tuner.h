// BoundTuner: a Tuner as Python sees it (`wavetune.Tuner`).
//
// A nanobind class whose `resolve` and `explain` are methods of Python's own
// calling convention (vectorcall), without nanobind's dispatch.
//
// Thread safety: the caller holds the GIL; the decision itself takes no lock.
#ifndef WAVETUNE_CLIENT_PYTHON_NATIVE_BOUND_TUNER_H_
#define WAVETUNE_CLIENT_PYTHON_NATIVE_BOUND_TUNER_H_

#include <utility>

#include "client/python/native/configuration_cache.h"
#include "client/python/native/keyword_reader.h"
#include "nanobind/nanobind.h"
#include "wavetune/tuner.h"

namespace wavetune::python {

class BoundClient;

class BoundTuner {
 public:
  // `client` stays as long as Python has the tuner.
  BoundTuner(Tuner tuner, const BoundClient* client)
      : tuner_(std::move(tuner)),
        client_(client),
        reader_(tuner_.kernel(), tuner_.dimensions()),
        configurations_(tuner_.parameters()) {}

  const Tuner& tuner() const { return tuner_; }
  Tuner& tuner() { return tuner_; }
  const BoundClient& client() const { return *client_; }  // May be closed.
  const ConfigurationCache& configurations() const { return configurations_; }

  // As Tuner::SetPrepared, of mappings. Throws nb::python_error.
  void SetPrepared(const nanobind::iterable& configurations);

  // As Tuner::ResolveTogether: pairs of a specialisation and a mapping of
  // dimensions, and names of parameters (None: all). Returns a tuple of
  // decisions. Throws nb::python_error.
  nanobind::tuple ResolveTogether(const nanobind::sequence& problems,
                                  const nanobind::object& shared,
                                  const nanobind::object& incumbent);

  // Bodies of the Python methods: arguments as METH_FASTCALL | METH_KEYWORDS
  // gives them. Return a new reference, or nullptr with a Python exception set.
  PyObject* Resolve(PyObject* const* args, Py_ssize_t positional,
                    PyObject* names);
  PyObject* Explain(PyObject* const* args, Py_ssize_t positional,
                    PyObject* names);

 private:
  // Resolve for what KeywordReader::ReadPlain does not understand.
  PyObject* ResolveAny(PyObject* const* args, Py_ssize_t positional,
                       PyObject* names);
  PyObject* Answer(const Decision& decision);
  // Reads the mapping of one problem's dimensions. Throws nb::python_error.
  void ReadMapping(nanobind::handle dimensions, ProblemArguments* out) const;

  Tuner tuner_;
  const BoundClient* client_;
  KeywordReader reader_;
  ConfigurationCache configurations_;
};

// Adds the class `Tuner` to the module.
void AddTunerType(nanobind::module_& module);

}  // namespace wavetune::python

#endif  // WAVETUNE_CLIENT_PYTHON_NATIVE_BOUND_TUNER_H_
