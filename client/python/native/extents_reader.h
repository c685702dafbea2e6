// Python integers, lists and arrays as extents of a problem.
//
// On the launch path of Python programs: a small integer costs about a
// nanosecond, an array of int64 is read where it is. A value that is no extent
// raises ValueError (negative, zero, too large, empty) or TypeError (no
// integer), and says which dimension of which kernel.
//
// Thread safety: the caller holds the GIL.
#ifndef WAVETUNE_CLIENT_PYTHON_NATIVE_EXTENTS_READER_H_
#define WAVETUNE_CLIENT_PYTHON_NATIVE_EXTENTS_READER_H_

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/base/optimization.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace wavetune::python {

// What messages and checks need of a dimension.
struct DimensionRule {
  std::string kernel;
  std::string name;
  bool repeated = false;
  int64_t least = 1;  // 0 where the kernel allows an extent of 0 (an expert
                      // without tokens). Other limits of the kernel are the
                      // decision's business: it answers DEFAULT, and why.
};

// Reads a Python integer of one digit above 0: nearly every extent. Returns
// whether it is one; else nothing is set.
inline bool ReadSmallExtent(PyObject* value, int64_t* extent) {
  if (ABSL_PREDICT_FALSE(!PyLong_CheckExact(value))) return false;
  const auto* number = reinterpret_cast<const PyLongObject*>(value);
#if PY_VERSION_HEX >= 0x030C0000
  if (ABSL_PREDICT_FALSE(!PyUnstable_Long_IsCompact(number))) return false;
  *extent = PyUnstable_Long_CompactValue(number);
#else
  if (ABSL_PREDICT_FALSE(Py_SIZE(value) != 1)) return false;
  *extent = number->ob_digit[0];
#endif
  return *extent > 0;
}

// Reads what ReadSmallExtent does not: other integers, and faults.
bool ReadExtentSlowly(PyObject* value, const DimensionRule& rule,
                      int64_t* extent);

// Reads one extent. Returns whether it could; else a Python exception is set.
inline bool ReadExtent(PyObject* value, const DimensionRule& rule,
                       int64_t* extent) {
  return ReadSmallExtent(value, extent) ||
         ReadExtentSlowly(value, rule, extent);
}

// The extents of a repeated dimension for the time of one call: copied, or
// where they are in a caller's array.
class RepeatedExtents {
 public:
  RepeatedExtents() { buffer_.obj = nullptr; }
  ~RepeatedExtents() {
    if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
  }
  RepeatedExtents(const RepeatedExtents&) = delete;
  RepeatedExtents& operator=(const RepeatedExtents&) = delete;

  // Reads a list, tuple or other sequence of integers, or a one-dimensional
  // array (buffer) of any integer type; once per object. Returns whether it
  // could; else a Python exception is set. Cost: O(elements).
  bool Read(PyObject* value, const DimensionRule& rule);

  absl::Span<const int64_t> extents() const { return extents_; }

 private:
  bool ReadSequence(PyObject* sequence, const DimensionRule& rule);
  bool ReadBuffer(PyObject* value, const DimensionRule& rule);
  bool CopyBuffer(const DimensionRule& rule, char kind);
  bool Finish(const DimensionRule& rule);

  Py_buffer buffer_;  // Held while extents_ points into it.
  // Inline for the experts of common models.
  absl::InlinedVector<int64_t, 256> copied_;
  absl::Span<const int64_t> extents_;
};

}  // namespace wavetune::python

#endif  // WAVETUNE_CLIENT_PYTHON_NATIVE_EXTENTS_READER_H_
