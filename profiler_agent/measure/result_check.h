// The correctness check: a candidate and the manifest's reference on the same
// inputs. Backends differ in memory and in how they launch, not in the check.
//
// It finds
// - outputs that are wrong anywhere, in norm or in one element;
// - outputs that are not written, also in launches after the first, and
//   integers that are right only because their place held that value before;
// - writes outside of an output or into an input;
// - workspaces that are zeroed once and not left zero;
// - reads outside of an input, which give NaN; at the end of one also those
//   that are thrown away, where the device has such memory;
// - races, where one of three launches shows them;
// - what is wrong only where inputs are large, or where sums cancel.
//
// Inputs and the reference's results are kept, as many candidates share them.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_RESULT_CHECK_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_RESULT_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/kernel/argument.h"
#include "profiler_agent/measure/argument_guards.h"
#include "profiler_agent/measure/check_inputs.h"
#include "profiler_agent/measure/output_comparison.h"
#include "profiler_agent/measure/reference_use.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Buffers of a checked launch, by argument.
struct CheckedArgument;
using BufferSet = std::map<size_t, CheckedArgument>;

// Memory of one argument with its guards. Errors of all: as Device::Prepare.
class CheckBuffer {
 public:
  virtual ~CheckBuffer() = default;

  // Fills all of it: guard, argument, guard.
  virtual absl::Status Write(absl::string_view whole) = 0;

  // Does the same, with the same content in each call, whatever was written
  // meanwhile: may be faster.
  virtual absl::Status Restore(absl::string_view whole) { return Write(whole); }

  // Returns all of it.
  virtual absl::StatusOr<std::string> Read() = 0;
};

// Where arguments of checked launches lie.
class CheckMemory {
 public:
  virtual ~CheckMemory() = default;

  // Returns the guards that an argument of `bytes` gets.
  virtual Guards GuardsOf(const Argument& /*argument*/,
                          size_t /*bytes*/) const {
    return kUsualGuards;
  }

  // Allocates an argument of `bytes` with its guards. Errors: as
  // Device::Prepare.
  virtual absl::StatusOr<std::unique_ptr<CheckBuffer>> Allocate(
      const Argument& argument, size_t bytes) = 0;
};

// By argument.
using CheckBuffers = std::map<size_t, CheckBuffer*>;

// Launches on buffers and waits. Errors: as Device::Prepare.
using CheckedLaunch = std::function<absl::Status(const CheckBuffers&)>;

// One thing to check. All outlive the check.
struct CheckTask {
  const KernelSpec& spec;
  const Configuration& configuration;
  const Problem& problem;
  CheckedLaunch candidate;
  CheckedLaunch reference;
  // Also on large data, and on data whose partial sums cancel. Not for a
  // vendor's library: it may round partial sums to the output's type.
  bool on_cancelling = true;
};

struct ResultCheckerOptions {
  // A candidate is checked in each of them.
  std::vector<CheckMemory*> candidate_memories;
  // Where its last launch on random or large data is, in place of them; where
  // there is none, that is in each of them, too.
  CheckMemory* last_memory = nullptr;
  CheckMemory* reference_memory = nullptr;
  // Memory of inputs, outputs and expected values, host and device together.
  size_t most_kept_bytes = size_t{96} << 20;
};

// Used by one thread.
class ResultChecker {
 public:
  explicit ResultChecker(ResultCheckerOptions options);
  ~ResultChecker();

  // Drops all kept inputs and results, before another kernel.
  void Forget();

  // Launches the candidate on poisoned outputs, and on in-out buffers and
  // workspaces as they begin, and judges each launch. Three run on random
  // inputs (the second with another poison in integer outputs). Where outputs
  // have up to 2^20 elements, the third of them is on large inputs, and a
  // fourth on cancelling ones. Errors: DATA_LOSS naming the argument and where
  // it is wrong; those of the candidate's launch; those of the reference's
  // launch, as BrokenReference.
  absl::Status Check(const CheckTask& task);

  // Runs the reference on all inputs on which Check runs it, and keeps its
  // results. Before any candidate has run, a crash or a hang of the process is
  // the reference's fault. Errors: as Check's, of the reference alone.
  absl::Status RunReference(const CheckTask& task);

  // Code that runs references or candidates besides the checker reports it
  // here.
  ReferenceWatch& reference_watch() { return reference_watch_; }

 private:
  struct Entry;
  // Returns the result of `attempt`; where something ran out, that of another
  // one without the kept memory.
  template <typename Attempt>
  absl::Status WithRoom(const Attempt& attempt);
  // Problem, sizes of arguments, tolerance, kind of data.
  using Key = std::tuple<Problem, std::vector<int64_t>, double, int>;

  // Launches in a row on one kind of data, in one of the memories.
  struct Pass {
    CheckData data = CheckData::kRandom;
    size_t memory = 0;
    int first = 0;  // Launch, of those on random or large data.
    int launches = 1;
  };

  std::vector<Pass> PassesOf(const CheckTask& task) const;
  absl::Status CheckOnce(const CheckTask& task);
  absl::Status CheckIn(const CheckTask& task, const Pass& pass);
  static Key KeyOf(const CheckTask& task, CheckData data);
  absl::StatusOr<Entry*> Find(const CheckTask& task, CheckData data);
  absl::StatusOr<Entry> Make(const CheckTask& task, CheckData data) const;
  absl::StatusOr<BufferSet*> BuffersIn(const CheckTask& task, CheckData data,
                                       size_t memory, Entry& entry) const;
  void MakeRoom();

  const ResultCheckerOptions options_;
  const std::vector<CheckMemory*> memories_;  // The candidates', the last one.
  std::map<Key, Entry> entries_;
  uint64_t uses_ = 0;
  ReferenceWatch reference_watch_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_RESULT_CHECK_H_
