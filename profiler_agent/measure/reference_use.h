// ReferenceUse: whether a reference or a candidate is at fault where a process
// dies or hangs just now.
//
// A reference that ends its process looks from outside like a candidate that
// does. So code that runs a reference says so before and after.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_REFERENCE_USE_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_REFERENCE_USE_H_

#include <cstdint>
#include <functional>
#include <utility>

namespace wavetune {

enum class ReferenceUse : uint8_t {
  kNone,
  // No candidate has run in this process: a fault is the reference's.
  kBeforeCandidates,
  // A fault may be that of a candidate, which may have written anywhere.
  kAfterCandidates,
};

// Called with the use that begins, and with kNone when it ends.
using ReferenceObserver = std::function<void(ReferenceUse)>;

// What a process does with references. Tells an observer, where there is one.
class ReferenceWatch {
 public:
  void Observe(ReferenceObserver observer) { observer_ = std::move(observer); }

  // A candidate is about to run.
  void CandidateRuns() { candidate_ran_ = true; }
  bool candidate_ran() const { return candidate_ran_; }

  // While it lives a reference is compiled or run. Not nested.
  class Scope {
   public:
    explicit Scope(const ReferenceWatch& watch) : watch_(watch) {
      watch_.Notify(watch_.candidate_ran_ ? ReferenceUse::kAfterCandidates
                                          : ReferenceUse::kBeforeCandidates);
    }
    ~Scope() { watch_.Notify(ReferenceUse::kNone); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const ReferenceWatch& watch_;
  };

 private:
  void Notify(ReferenceUse use) const {
    if (observer_) observer_(use);
  }

  ReferenceObserver observer_;
  bool candidate_ran_ = false;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_REFERENCE_USE_H_
