#include "client/python/native/extents_reader.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace wavetune::python {
namespace {

bool Fail(PyObject* type, const DimensionRule& rule, absl::string_view fault) {
  PyErr_SetString(type,
                  absl::StrCat("kernel \"", rule.kernel, "\": dimension \"",
                               rule.name, "\" ", fault)
                      .c_str());
  return false;
}

bool FailForType(const DimensionRule& rule, absl::string_view wanted,
                 PyObject* value) {
  return Fail(PyExc_TypeError, rule,
              absl::StrCat(wanted, ", not ", Py_TYPE(value)->tp_name));
}

bool CheckExtent(int64_t extent, const DimensionRule& rule) {
  if (extent >= rule.least) return true;
  return Fail(PyExc_ValueError, rule,
              absl::StrCat("is ", extent, "; give ",
                           rule.least == 0 ? "0 or more" : "1 or more"));
}

// Whether a buffer holds integers: the type character of a struct format in
// this machine's byte order; 0 for anything else.
char IntegerKind(const char* format) {
  if (format == nullptr) return 'B';
  absl::string_view text(format);
  if (!text.empty() && (text[0] == '@' || text[0] == '=' || text[0] == '<'))
    text.remove_prefix(1);
  const bool integer =
      text.size() == 1 && std::strchr("bBhHiIlLqQnN", text[0]) != nullptr;
  return integer ? text[0] : '\0';
}

bool IsSigned(char kind) { return kind >= 'a'; }

template <typename T>
T Load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// A negative number where it does not fit, too: checked by the caller.
int64_t LoadInteger(const char* from, Py_ssize_t size, bool is_signed) {
  switch (size) {
    case 1:
      return is_signed ? Load<int8_t>(from) : Load<uint8_t>(from);
    case 2:
      return is_signed ? Load<int16_t>(from) : Load<uint16_t>(from);
    case 4:
      return is_signed ? Load<int32_t>(from) : Load<uint32_t>(from);
    default:
      return Load<int64_t>(from);
  }
}

}  // namespace

bool ReadExtentSlowly(PyObject* value, const DimensionRule& rule,
                      int64_t* extent) {
  if (PyBool_Check(value) || !PyIndex_Check(value)) {
    return FailForType(
        rule, rule.repeated ? "takes integers" : "takes one integer", value);
  }
  PyObject* const number = PyNumber_Index(value);
  if (number == nullptr) return false;
  int overflow = 0;
  const long long read = PyLong_AsLongLongAndOverflow(number, &overflow);
  Py_DECREF(number);
  if (overflow > 0) {
    return Fail(PyExc_ValueError, rule, "is too large: 64 bits do not hold it");
  }
  if (overflow < 0) return Fail(PyExc_ValueError, rule, "is negative");
  *extent = read;
  return CheckExtent(*extent, rule);
}

bool RepeatedExtents::Read(PyObject* value, const DimensionRule& rule) {
  constexpr absl::string_view kWanted =
      "is repeated: it takes a sequence of integers";
  if (PyList_CheckExact(value) || PyTuple_CheckExact(value))
    return ReadSequence(value, rule);
  // Their elements are integers to Python, but no extents to anybody.
  if (PyUnicode_Check(value) || PyBytes_Check(value) ||
      PyByteArray_Check(value))
    return FailForType(rule, kWanted, value);
  if (PyObject_CheckBuffer(value)) return ReadBuffer(value, rule);
  if (!PySequence_Check(value)) return FailForType(rule, kWanted, value);
  PyObject* const sequence = PySequence_Fast(value, "not a sequence");
  if (sequence == nullptr) return false;
  const bool read = ReadSequence(sequence, rule);
  Py_DECREF(sequence);
  return read;
}

bool RepeatedExtents::ReadSequence(PyObject* sequence,
                                   const DimensionRule& rule) {
  copied_.reserve(static_cast<size_t>(PySequence_Fast_GET_SIZE(sequence)));
  // The size is read again and the item held: an element's __index__ is
  // Python code that may change the list.
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(sequence, i);
    int64_t extent = 0;
    Py_INCREF(item);
    const bool read = ReadExtent(item, rule, &extent);
    Py_DECREF(item);
    if (!read) return false;
    copied_.push_back(extent);
  }
  extents_ = copied_;
  return Finish(rule);
}

bool RepeatedExtents::ReadBuffer(PyObject* value, const DimensionRule& rule) {
  if (PyObject_GetBuffer(value, &buffer_, PyBUF_RECORDS_RO) != 0) {
    buffer_.obj = nullptr;
    return false;
  }
  const char kind = IntegerKind(buffer_.format);
  if (buffer_.ndim != 1) {
    return Fail(
        PyExc_ValueError, rule,
        absl::StrCat("takes an array of one dimension, not ", buffer_.ndim));
  }
  if (kind == '\0') {
    return Fail(PyExc_TypeError, rule,
                absl::StrCat("takes an array of integers, not of format \"",
                             buffer_.format, "\""));
  }
  const bool in_place =
      buffer_.itemsize == sizeof(int64_t) && IsSigned(kind) &&
      buffer_.strides[0] == sizeof(int64_t) &&
      reinterpret_cast<uintptr_t>(buffer_.buf) % alignof(int64_t) == 0;
  if (!in_place) return CopyBuffer(rule, kind);
  extents_ = absl::MakeConstSpan(static_cast<const int64_t*>(buffer_.buf),
                                 static_cast<size_t>(buffer_.shape[0]));
  for (const int64_t extent : extents_) {
    if (!CheckExtent(extent, rule)) return false;
  }
  return Finish(rule);
}

bool RepeatedExtents::CopyBuffer(const DimensionRule& rule, char kind) {
  copied_.reserve(static_cast<size_t>(buffer_.shape[0]));
  const auto* from = static_cast<const char*>(buffer_.buf);
  for (Py_ssize_t i = 0; i < buffer_.shape[0]; ++i) {
    const int64_t extent = LoadInteger(from, buffer_.itemsize, IsSigned(kind));
    if (extent < 0 && !IsSigned(kind)) {
      return Fail(PyExc_ValueError, rule,
                  "has an element that is too large: 63 bits do not hold it");
    }
    if (!CheckExtent(extent, rule)) return false;
    copied_.push_back(extent);
    from += buffer_.strides[0];
  }
  extents_ = copied_;
  return Finish(rule);
}

bool RepeatedExtents::Finish(const DimensionRule& rule) {
  if (!extents_.empty()) return true;
  return Fail(PyExc_ValueError, rule, "is empty: give at least one extent");
}

}  // namespace wavetune::python
