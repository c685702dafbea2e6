// CallScope: ends the calls to daemons that one operation makes, as one that a
// person interrupts; what else its client does goes on.
//
//   CallScope scope;
//   {
//     CallScope::Use use(&scope);  // Of this thread, which makes the calls.
//     client->GetTuner("gemm_f32");
//   }
//   scope.Cancel();  // In another thread, meanwhile.
//
// Thread safety: Cancel from any thread; a scope is used by one thread.
#ifndef WAVETUNE_CLIENT_SRC_CALL_SCOPE_H_
#define WAVETUNE_CLIENT_SRC_CALL_SCOPE_H_

#include <functional>
#include <mutex>

namespace wavetune {

class CallScope {
 public:
  CallScope() = default;
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  // Ends the call that runs, and every later one, as CANCELLED. Cannot fail.
  void Cancel();

  // While it lives the calling thread's calls are of this scope.
  class Use {
   public:
    explicit Use(CallScope* scope);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    CallScope* const outer_;
  };

  // One call of the calling thread; without a scope it does nothing. `cancel`
  // may be called from any thread while this lives, also before the call has
  // begun.
  class Call {
   public:
    explicit Call(std::function<void()> cancel);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    CallScope* const scope_;
  };

 private:
  std::mutex mutex_;
  // Guarded by mutex_.
  bool cancelled_ = false;
  std::function<void()> running_;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_CALL_SCOPE_H_
