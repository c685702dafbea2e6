// KeywordReader: the keyword arguments of resolve(m=..., n=..., k=...) as a
// problem.
//
//   KeywordReader reader(tuner.kernel(), tuner.dimensions());
//   PlainProblem plain;
//   if (reader.ReadPlain(args, nargs, names, &plain))
//     return tuner.Resolve(plain.View());
//   ProblemArguments problem;
//   if (!reader.Read(args, nargs, names, &problem)) return nullptr;
//   return tuner.Resolve(problem.View());
//
// Why by hand: a caller's keywords are interned by Python's compiler, so that
// comparing pointers finds the dimension; a generic binding compares texts and
// takes longer than the decision.
//
// Thread safety: immutable; the caller holds the GIL.
#ifndef WAVETUNE_CLIENT_PYTHON_NATIVE_KEYWORD_READER_H_
#define WAVETUNE_CLIENT_PYTHON_NATIVE_KEYWORD_READER_H_

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "client/python/native/extents_reader.h"
#include "model/kernel/mapping.h"
#include "nanobind/nanobind.h"
#include "wavetune/dimension.h"
#include "wavetune/problem.h"

namespace wavetune::python {

// The arguments of a call that ReadPlain understood.
struct PlainProblem {
  // Not initialised: ReadPlain writes what View shows.
  std::array<int64_t, kMaxDimensions> extents;
  size_t dimensions = 0;

  ProblemView View() const {
    return absl::MakeConstSpan(extents.data(), dimensions);
  }
};

// The arguments of any call, for its time.
struct ProblemArguments {
  // Not initialised: Read writes what View shows.
  std::array<int64_t, kMaxDimensions> extents;
  size_t dimensions = 0;
  RepeatedExtents repeated;

  ProblemView View() const {
    return ProblemView(absl::MakeConstSpan(extents.data(), dimensions),
                       repeated.extents());
  }
};

class KeywordReader {
 public:
  KeywordReader(const std::string& kernel,
                const std::vector<Dimension>& dimensions);

  // Reads small integers that are given in the dimensions' order by names that
  // a program spells out: nearly every call. Returns whether they are that;
  // else no exception is set, and it is for Read. Cost: a nanosecond a
  // dimension.
  bool ReadPlain(PyObject* const* args, Py_ssize_t positional, PyObject* names,
                 PlainProblem* out) const {
    if (ABSL_PREDICT_FALSE(positional != 0 || names == nullptr ||
                           PyTuple_GET_SIZE(names) != plain_dimensions_))
      return false;
    const auto count = static_cast<size_t>(plain_dimensions_);
    for (size_t i = 0; i < count; ++i) {
      PyObject* const name =
          PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i));
      if (ABSL_PREDICT_FALSE(name != plain_names_[i] ||
                             !ReadSmallExtent(args[i], &out->extents[i])))
        return false;
    }
    out->dimensions = count;
    return true;
  }

  // Reads the arguments of any METH_FASTCALL | METH_KEYWORDS call. Returns
  // whether it could; else a Python exception is set: TypeError for positional
  // arguments, ValueError for dimensions that are unknown or missing (names
  // both, and the right ones), else as ReadExtent. Cost: O(dimensions), and
  // O(elements) of a repeated one.
  bool Read(PyObject* const* args, Py_ssize_t positional, PyObject* names,
            ProblemArguments* out) const;

 private:
  // Returns the index of a dimension, or -1.
  int Find(PyObject* name) const;
  bool RaiseWrongNames(PyObject* names) const;
  bool RaisePositional() const;
  std::string KnownNames() const;

  std::string kernel_;
  std::vector<nanobind::object> names_;  // Interned.
  std::vector<DimensionRule> rules_;
  // What ReadPlain looks at: names_, side by side; -1 where a dimension is
  // repeated.
  std::array<PyObject*, kMaxDimensions> plain_names_{};
  Py_ssize_t plain_dimensions_ = -1;
};

}  // namespace wavetune::python

#endif  // WAVETUNE_CLIENT_PYTHON_NATIVE_KEYWORD_READER_H_
