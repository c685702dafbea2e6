#include "client/python/native/interpreter_exit.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <system_error>
#include <thread>

namespace wavetune::python {
namespace {

namespace nb = nanobind;

// How often a call of the main thread looks for signals: Ctrl-C is felt at
// once.
constexpr std::chrono::milliseconds kLookForSignals(50);
// Longer than any call takes to be cancelled. Who is inside then is in code of
// the program's own, or in a system call.
constexpr std::chrono::seconds kLongestExit(5);

// Guarded by the GIL, but that `inside` is also read without.
std::atomic<int> inside{0};
bool exiting = false;
unsigned long exiting_thread = 0;  // NOLINT: CPython's type.

std::set<CallScope*>& RunningScopes() {
  static auto* const scopes = new std::set<CallScope*>;
  return *scopes;
}

// A call that runs: the exit handler ends it.
class Running {
 public:
  explicit Running(CallScope* scope) : scope_(scope) {
    RunningScopes().insert(scope_);
  }
  ~Running() { RunningScopes().erase(scope_); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  CallScope* const scope_;
};

// The threads that were inside are not in a forked child.
void AfterForkInChild() {
  inside.store(0, std::memory_order_relaxed);
  RunningScopes().clear();
}

void EndCalls() {
  exiting = true;
  exiting_thread = PyThread_get_thread_ident();
  for (CallScope* const scope : RunningScopes()) scope->Cancel();
  const nb::gil_scoped_release released;
  const auto end = std::chrono::steady_clock::now() + kLongestExit;
  while (inside.load() > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool PythonHasEnded() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

// The one in which Python runs handlers of signals, but where a program starts
// Python in another.
bool InMainThread() { return syscall(SYS_gettid) == getpid(); }

void RunHere(CallScope* scope, const std::function<void()>& call) {
  const GilReleased released;
  const CallScope::Use use(scope);
  call();
}

// Runs a call in a thread of its own, so that this one can look for signals.
class Interruptible {
 public:
  Interruptible(CallScope* scope, const std::function<void()>& call)
      : scope_(scope), thread_([this, &call] {
          const CallScope::Use use(scope_);
          call();
          const std::lock_guard lock(mutex_);
          done_ = true;
          ended_.notify_one();
        }) {}
  ~Interruptible() { thread_.join(); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  // Waits for its end. Throws what a signal's handler raised.
  void Await() {
    bool raised = false;
    while (!EndsSoon()) {
      if (raised || PyErr_CheckSignals() == 0) continue;
      raised = true;
      scope_->Cancel();
    }
    if (raised) throw nb::python_error();
  }

 private:
  bool EndsSoon() {
    const GilReleased released;
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, kLookForSignals, [this] { return done_; });
  }

  CallScope* const scope_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;   // Guarded by mutex_.
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace

void WatchForExit() {
  pthread_atfork(nullptr, nullptr, AfterForkInChild);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(EndCalls));
}

bool OthersExit() {
  return exiting && PyThread_get_thread_ident() != exiting_thread;
}

bool MayEnter() {
  if (!OthersExit()) return true;
  PyErr_SetNone(PyExc_SystemExit);
  return false;
}

Inside::Inside() { inside.fetch_add(1); }
Inside::~Inside() { inside.fetch_sub(1); }

GilReleased::~GilReleased() {
  while (PythonHasEnded() && OthersExit()) pause();
  PyEval_RestoreThread(state_);
}

void RunWithoutGil(const std::function<void()>& call) {
  CallScope scope;
  const Running running(&scope);
  if (OthersExit()) scope.Cancel();
  std::optional<Interruptible> interruptible;
  if (InMainThread()) {
    try {
      interruptible.emplace(&scope, call);
    } catch (const std::system_error&) {
      // No more threads: then it is only the call's own time that ends it.
    }
  }
  if (interruptible) {
    interruptible->Await();
  } else {
    RunHere(&scope, call);
  }
  if (!MayEnter()) throw nb::python_error();  // It was ended, and why.
}

}  // namespace wavetune::python
