// What native code heeds of the interpreter around it: that it may end, and
// that a signal may interrupt a call.
//
// Why: while Python ends, CPython before 3.14 ends other threads where they
// take the GIL, by unwinding their stack. In a C++ frame that is an abort, or a
// destructor that uses Python without the GIL. So no thread may be in such a
// frame then. An exit handler (before anything is torn down) ends the calls
// that run and waits for who is inside, and from then on nobody comes in. Other
// threads get SystemExit, which ends a thread without a word.
//
// Thread safety: the caller holds the GIL, but in functions passed to
// WithoutGil.
#ifndef WAVETUNE_CLIENT_PYTHON_NATIVE_INTERPRETER_EXIT_H_
#define WAVETUNE_CLIENT_PYTHON_NATIVE_INTERPRETER_EXIT_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "client/src/call_scope.h"
#include "nanobind/nanobind.h"

namespace wavetune::python {

// Registers the exit handler; once, when the module is made. Throws
// nb::python_error.
void WatchForExit();

// Whether the calling thread may come in. Where not: SystemExit is set.
bool MayEnter();

// Whether the exit handler has run, and in another thread than this.
bool OthersExit();

// Whoever waits for the GIL, or runs Python code, in a C++ frame has one.
class Inside {
 public:
  Inside();
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

// Around each method that nanobind binds: throws nb::python_error where the
// thread may not come in.
class Entered {
 public:
  Entered() {
    if (!MayEnter()) throw nanobind::python_error();
  }

 private:
  Inside inside_;
};

inline constexpr nanobind::call_guard<Entered> kGuard{};

// The GIL is another thread's while this lives. As nb::gil_scoped_release, but
// a thread that comes back when Python has ended stands still, for ever.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased();
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* const state_;
};

// Runs `call` without the GIL. Its calls to daemons end as CANCELLED when
// Python ends and, in the main thread, when a signal's handler raises: then
// this throws that, nb::python_error. WithoutGil ends what `call` holds, too.
void RunWithoutGil(const std::function<void()>& call);

template <typename Call>
auto WithoutGil(Call call) {
  std::optional<decltype(call())> result;
  RunWithoutGil([&] { result.emplace(Call(std::move(call))()); });
  return *std::move(result);
}

}  // namespace wavetune::python

#endif  // WAVETUNE_CLIENT_PYTHON_NATIVE_INTERPRETER_EXIT_H_
