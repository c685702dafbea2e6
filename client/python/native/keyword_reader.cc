#include "client/python/native/keyword_reader.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace wavetune::python {
namespace {

namespace nb = nanobind;

std::string Quoted(PyObject* text) {
  const char* const utf8 = PyUnicode_AsUTF8(text);
  if (utf8 != nullptr) return absl::StrCat("\"", utf8, "\"");
  PyErr_Clear();  // A name that UTF-8 cannot hold: a lone surrogate.
  return "one that is no text";
}

}  // namespace

KeywordReader::KeywordReader(const std::string& kernel,
                             const std::vector<Dimension>& dimensions)
    : kernel_(kernel) {
  for (const Dimension& dimension : dimensions) {
    PyObject* const name = PyUnicode_InternFromString(dimension.name.c_str());
    if (name == nullptr) throw nb::python_error();
    names_.push_back(nb::steal(name));
    rules_.push_back({.kernel = kernel,
                      .name = dimension.name,
                      .repeated = dimension.repeated,
                      .least = dimension.min <= 0 ? 0 : 1});
  }
  if (std::any_of(rules_.begin(), rules_.end(),
                  [](const DimensionRule& rule) { return rule.repeated; }))
    return;
  std::transform(names_.begin(), names_.end(), plain_names_.begin(),
                 [](const nb::object& name) { return name.ptr(); });
  plain_dimensions_ = static_cast<Py_ssize_t>(names_.size());
}

int KeywordReader::Find(PyObject* name) const {
  const auto size = static_cast<int>(names_.size());
  for (int i = 0; i < size; ++i) {
    if (names_[static_cast<size_t>(i)].ptr() == name) return i;
  }
  // Made at run time (**{...}): not interned.
  for (int i = 0; i < size; ++i) {
    if (PyUnicode_Compare(names_[static_cast<size_t>(i)].ptr(), name) == 0)
      return i;
  }
  return -1;
}

bool KeywordReader::Read(PyObject* const* args, Py_ssize_t positional,
                         PyObject* names, ProblemArguments* out) const {
  if (ABSL_PREDICT_FALSE(positional != 0)) return RaisePositional();
  const size_t given =
      names == nullptr ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(names));
  if (ABSL_PREDICT_FALSE(given != names_.size())) return RaiseWrongNames(names);
  uint32_t seen = 0;
  for (size_t i = 0; i < given; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i));
    size_t index = i;
    if (ABSL_PREDICT_FALSE(names_[i].ptr() != name)) {
      const int found = Find(name);
      if (found < 0) return RaiseWrongNames(names);
      index = static_cast<size_t>(found);
    }
    seen |= uint32_t{1} << index;
    const DimensionRule& rule = rules_[index];
    if (ABSL_PREDICT_FALSE(rule.repeated)) {
      out->extents[index] = 0;
      if (!out->repeated.Read(args[i], rule)) return false;
    } else if (!ReadExtent(args[i], rule, &out->extents[index])) {
      return false;
    }
  }
  // As many names as dimensions, all known: a missing one means that another
  // came twice, which only a caller in C can do.
  if (ABSL_PREDICT_FALSE(seen != (uint32_t{1} << given) - 1))
    return RaiseWrongNames(names);
  out->dimensions = given;
  return true;
}

bool KeywordReader::RaiseWrongNames(PyObject* names) const {
  std::vector<std::string> unknown;
  std::vector<std::string> repeated;
  std::vector<int> times(names_.size(), 0);
  const Py_ssize_t given = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < given; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    const int index = Find(name);
    if (index < 0) {
      unknown.push_back(Quoted(name));
    } else if (++times[static_cast<size_t>(index)] == 2) {
      repeated.push_back(Quoted(name));
    }
  }
  std::vector<std::string> missing;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (times[i] == 0) missing.push_back(Quoted(names_[i].ptr()));
  }
  std::vector<std::string> faults;
  const auto add = [&faults](absl::string_view what,
                             const std::vector<std::string>& which) {
    if (which.empty()) return;
    faults.push_back(
        absl::StrCat(what, which.size() == 1 ? " dimension " : " dimensions ",
                     absl::StrJoin(which, ", ")));
  };
  add("unknown", unknown);
  add("missing", missing);
  add("repeated", repeated);
  PyErr_SetString(
      PyExc_ValueError,
      absl::StrCat("kernel \"", kernel_, "\": ", absl::StrJoin(faults, ", "),
                   "; its dimensions are ", KnownNames())
          .c_str());
  return false;
}

bool KeywordReader::RaisePositional() const {
  PyErr_SetString(
      PyExc_TypeError,
      absl::StrCat("kernel \"", kernel_,
                   "\": dimensions are given by name; they are ", KnownNames())
          .c_str());
  return false;
}

std::string KeywordReader::KnownNames() const {
  return absl::StrJoin(rules_, ", ",
                       [](std::string* out, const DimensionRule& rule) {
                         absl::StrAppend(out, "\"", rule.name, "\"");
                       });
}

}  // namespace wavetune::python
