#include "profiler_agent/measure/result_check.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "profiler_agent/measure/buffer_values.h"
#include "profiler_agent/measure/poison.h"

namespace wavetune {

// One argument: where it lies, and what it held at first, guards included.
struct CheckedArgument {
  std::unique_ptr<CheckBuffer> buffer;
  Guards guards;
  std::string initial;
};

// What is alike for all candidates with these sizes.
struct ResultChecker::Entry {
  // By argument; empty where the reference says nothing of such data.
  std::map<size_t, ExpectedOutput> expected;
  std::vector<BufferSet> buffers;  // By memory.
  bool was_used = false;           // A candidate ran on it.
  size_t bytes = 0;
  uint64_t last_use = 0;
};

namespace {

// Outputs left alone after the first launch, or a race, show in three.
constexpr int kLaunches = 3;
// On the other poison: an integer that is left alone may be right on the usual
// one.
constexpr int kLaunchOnOtherPoison = 1;

// Outputs with more elements are checked on random data alone: references are
// slow, and neither how sums are split nor what overflows depends on the number
// of outputs.
constexpr int64_t kMostElementsOnOtherData = int64_t{1} << 20;

// What sums in fp32 lose, relative to the sum of the magnitudes of the terms.
// Of random terms two epsilons: seven standard deviations of a sum one after
// another, however long. Where partial sums are as large as those of
// cancelling data, rounding grows with the root of the length; this is enough
// for 60,000 terms, and a hundredth of what partial sums in bf16 lose.
constexpr double kSumErrorOnRandom = 0x1p-22;
constexpr double kSumErrorOnCancelling = 0x1p-17;

double SumError(CheckData data) {
  return data == CheckData::kCancelling ? kSumErrorOnCancelling
                                        : kSumErrorOnRandom;
}

bool IsInput(const KernelSpec& spec, size_t argument) {
  return spec.arguments[argument].role == ArgumentRole::kInput;
}

CheckBuffers Addresses(const BufferSet& buffers) {
  CheckBuffers addresses;
  for (const auto& [argument, checked] : buffers) {
    addresses[argument] = checked.buffer.get();
  }
  return addresses;
}

// A seed of its own for each argument of each problem.
uint64_t SeedOf(const Problem& problem, size_t argument) {
  uint64_t seed = argument + 1;
  for (const int64_t extent : problem.extents) {
    seed = seed * 0x100000001b3u + static_cast<uint64_t>(extent);
  }
  for (const int64_t extent : problem.repeated) {
    seed = seed * 0x100000001b3u + static_cast<uint64_t>(extent);
  }
  return seed;
}

// What an argument holds when a launch begins.
std::string ContentOf(const CheckTask& task, CheckData data, size_t argument,
                      size_t bytes) {
  const Argument& declared = task.spec.arguments[argument];
  const size_t elements = bytes / ElementBytes(declared.type);
  if (HoldsValues(declared)) {
    return CheckInput(task.spec, argument, task.problem, task.configuration,
                      elements, data, SeedOf(task.problem, argument));
  }
  const bool zero = declared.role == ArgumentRole::kWorkspace &&
                    declared.zeroed != Zeroed::kNever;
  return zero ? std::string(bytes, '\0')
              : PoisonValues(declared.type, elements);
}

absl::StatusOr<BufferSet> MakeBuffers(const CheckTask& task, CheckData data,
                                      CheckMemory& memory) {
  BufferSet buffers;
  for (size_t i = 0; i < task.spec.arguments.size(); ++i) {
    const Argument& argument = task.spec.arguments[i];
    if (argument.role == ArgumentRole::kScalar) continue;
    ASSIGN_OR_RETURN(const size_t bytes,
                     BufferBytes(argument, task.problem, task.configuration));
    CheckedArgument checked{.guards = memory.GuardsOf(argument, bytes)};
    checked.initial =
        Guarded(argument.type, checked.guards, ContentOf(task, data, i, bytes));
    ASSIGN_OR_RETURN(checked.buffer, memory.Allocate(argument, bytes));
    RETURN_IF_ERROR(checked.buffer->Write(checked.initial));
    buffers.emplace(i, std::move(checked));
  }
  return buffers;
}

bool IsIntegerOutput(const Argument& argument) {
  return argument.role == ArgumentRole::kOutput && IsInteger(argument.type);
}

bool HasIntegerOutput(const KernelSpec& spec) {
  return std::any_of(spec.arguments.begin(), spec.arguments.end(),
                     IsIntegerOutput);
}

// Whether the argument begins with poison that a kernel could compute.
bool BeginsWithIntegerPoison(const Argument& argument) {
  return IsIntegerOutput(argument) ||
         (IsZeroedBy(argument, Zeroed::kNever) && IsInteger(argument.type));
}

// What integers of outputs, and of workspaces that are never zeroed, begin
// with.
enum class IntegerPoison { kUsual, kOther };

// What an argument holds on the other poison. Guards are as ever.
std::string OnOtherPoison(ElementType type, const CheckedArgument& checked) {
  const size_t bytes = WithoutGuards(checked.guards, checked.initial).size();
  return Guarded(type, checked.guards,
                 OtherPoison(type, bytes / ElementBytes(type)));
}

// Puts back what a launch may write: outputs are poisoned, in-out buffers hold
// their values again, workspaces what they begin with.
absl::Status PutBack(const KernelSpec& spec, const BufferSet& buffers,
                     IntegerPoison poison) {
  for (const auto& [i, checked] : buffers) {
    if (IsInput(spec, i)) continue;
    const Argument& argument = spec.arguments[i];
    RETURN_IF_ERROR(
        poison == IntegerPoison::kOther && BeginsWithIntegerPoison(argument)
            ? checked.buffer->Write(OnOtherPoison(argument.type, checked))
            : checked.buffer->Restore(checked.initial));
  }
  return absl::OkStatus();
}

// Errors: DATA_LOSS where an input was written.
absl::Status CheckInputs(const CheckTask& task, const BufferSet& buffers) {
  for (const auto& [i, checked] : buffers) {
    if (!IsInput(task.spec, i)) continue;
    ASSIGN_OR_RETURN(const std::string whole, checked.buffer->Read());
    RETURN_IF_ERROR(CheckInputUnchanged(task.spec, task.spec.arguments[i],
                                        task.problem, checked.guards,
                                        checked.initial, whole));
  }
  return absl::OkStatus();
}

// Launches the reference; returns the results by argument.
absl::StatusOr<std::map<size_t, std::string>> LaunchReference(
    const CheckTask& task, const BufferSet& buffers) {
  RETURN_IF_ERROR(task.reference(Addresses(buffers)));
  std::map<size_t, std::string> outputs;
  for (const auto& [i, checked] : buffers) {
    if (IsInput(task.spec, i)) continue;
    ASSIGN_OR_RETURN(const std::string whole, checked.buffer->Read());
    RETURN_IF_ERROR(CheckGuards(task.spec, task.spec.arguments[i], task.problem,
                                checked.guards, checked.initial, whole));
    if (HoldsResults(task.spec.arguments[i])) {
      outputs[i] = std::string(WithoutGuards(checked.guards, whole));
    }
  }
  return outputs;
}

// Runs the reference once; returns the results by argument.
absl::StatusOr<std::map<size_t, std::string>> RunReference(
    const CheckTask& task, const BufferSet& buffers) {
  RETURN_IF_ERROR(PutBack(task.spec, buffers, IntegerPoison::kUsual));
  return LaunchReference(task, buffers);
}

// Returns what the reference computes from inputs that `change` was made to,
// which are put back.
template <typename Change>
absl::StatusOr<std::map<size_t, std::string>> RunOnChanged(
    const CheckTask& task, const BufferSet& buffers, Change change) {
  RETURN_IF_ERROR(PutBack(task.spec, buffers, IntegerPoison::kUsual));
  for (const auto& [i, checked] : buffers) {
    if (!HoldsValues(task.spec.arguments[i])) continue;
    const ElementType type = task.spec.arguments[i].type;
    RETURN_IF_ERROR(checked.buffer->Write(Guarded(
        type, checked.guards,
        change(i, type,
               std::string(WithoutGuards(checked.guards, checked.initial))))));
  }
  ASSIGN_OR_RETURN(auto outputs, LaunchReference(task, buffers));
  for (const auto& [i, checked] : buffers) {
    if (!IsInput(task.spec, i)) continue;
    RETURN_IF_ERROR(checked.buffer->Write(checked.initial));
  }
  return outputs;
}

// Returns the argument and the index of the first output of the reference that
// is not finite.
std::optional<std::pair<size_t, size_t>> NotFinite(
    const KernelSpec& spec, const std::map<size_t, std::string>& outputs) {
  for (const auto& [i, content] : outputs) {
    const int64_t at = FirstNotFinite(spec.arguments[i].type, content);
    if (at >= 0) return std::make_pair(i, static_cast<size_t>(at));
  }
  return std::nullopt;
}

// Runs the reference a second time where an output has integers, which say of
// no value that it was left unwritten; `outputs` are those of the first time.
// Errors: DATA_LOSS where one depends on what its place held.
absl::Status CheckIntegersWritten(
    const CheckTask& task, const BufferSet& buffers,
    const std::map<size_t, std::string>& outputs) {
  if (!HasIntegerOutput(task.spec)) return absl::OkStatus();
  RETURN_IF_ERROR(PutBack(task.spec, buffers, IntegerPoison::kOther));
  RETURN_IF_ERROR(task.reference(Addresses(buffers)));
  for (const auto& [i, content] : outputs) {
    const Argument& argument = task.spec.arguments[i];
    if (!IsIntegerOutput(argument)) continue;
    const CheckedArgument& checked = buffers.at(i);
    ASSIGN_OR_RETURN(const std::string whole, checked.buffer->Read());
    const int64_t at = FirstThatFollowsPoison(
        argument.type, content, WithoutGuards(checked.guards, whole));
    if (at < 0) continue;
    return absl::DataLossError(
        absl::StrCat("its output '", argument.name, "' is as it was before at ",
                     PlaceOf(argument, task.problem, static_cast<size_t>(at)),
                     " of ", FormatProblem(task.spec, task.problem),
                     ": it leaves it unwritten, or adds to what is there"));
  }
  return absl::OkStatus();
}

// No sum has more terms than an input has elements, none larger than a product
// of squares of the inputs' largest values.
double MostMagnitudeOf(const CheckTask& task, const BufferSet& buffers) {
  size_t most = 1;
  double largest = 1;
  for (const auto& [i, checked] : buffers) {
    const Argument& argument = task.spec.arguments[i];
    if (!HoldsValues(argument)) continue;
    most =
        std::max(most, WithoutGuards(checked.guards, checked.initial).size() /
                           ElementBytes(argument.type));
    const double own = MostMagnitude(
        argument, BelowOf(argument, task.problem, task.configuration));
    largest *= own * own;
  }
  return static_cast<double>(most) * largest;
}

// Integers of integers alone: no kernel rounds.
bool IsExact(const KernelSpec& spec, const Argument& output) {
  return IsInteger(output.type) &&
         std::all_of(spec.arguments.begin(), spec.arguments.end(),
                     [](const Argument& argument) {
                       return argument.role == ArgumentRole::kOutput ||
                              argument.role == ArgumentRole::kWorkspace ||
                              IsInteger(argument.type);
                     });
}

// Returns what an in-out buffer of integers begins with; nothing of others.
absl::string_view BeganWith(const KernelSpec& spec, const BufferSet& buffers,
                            size_t argument) {
  const Argument& declared = spec.arguments[argument];
  if (declared.role != ArgumentRole::kInOut || !IsInteger(declared.type)) {
    return "";
  }
  const CheckedArgument& checked = buffers.at(argument);
  return WithoutGuards(checked.guards, checked.initial);
}

// Whether candidates are also checked on data that is not random.
bool TakesData(const CheckTask& task, CheckData data) {
  if (!task.on_cancelling || !HasDataOf(task.spec, data)) return false;
  for (const Argument& argument : task.spec.arguments) {
    if (!HoldsResults(argument)) continue;
    const int64_t elements =
        Evaluate(argument.size, task.problem.View(), task.configuration);
    if (elements > kMostElementsOnOtherData) return false;
  }
  return true;
}

// Returns what to compare candidates with; nothing where the reference says
// nothing of such data. Errors: as BrokenReference.
absl::StatusOr<std::map<size_t, ExpectedOutput>> Expect(
    const CheckTask& task, CheckData data, const BufferSet& buffers) {
  ASSIGN_OR_RETURN(auto outputs, RunReference(task, buffers));
  RETURN_IF_ERROR(CheckInputs(task, buffers));
  std::map<size_t, ExpectedOutput> expected;
  if (const auto found = NotFinite(task.spec, outputs)) {
    // It may well overflow where all terms are large.
    if (data != CheckData::kRandom) return expected;
    const Argument& argument = task.spec.arguments[found->first];
    return absl::DataLossError(
        absl::StrCat("its output '", argument.name, "' is not finite at ",
                     PlaceOf(argument, task.problem, found->second), " of ",
                     FormatProblem(task.spec, task.problem),
                     ": it leaves it unwritten, or reads outside of an input"));
  }
  if (data == CheckData::kRandom) {
    RETURN_IF_ERROR(CheckIntegersWritten(task, buffers, outputs));
  }
  const double tolerance = task.spec.correctness->relative_tolerance;
  if (data == CheckData::kLarge) {
    ASSIGN_OR_RETURN(
        auto nudged,
        RunOnChanged(task, buffers,
                     [&](size_t i, ElementType type, std::string content) {
                       return Nudged(type, std::move(content), tolerance, i);
                     }));
    if (NotFinite(task.spec, nudged).has_value()) return expected;
    for (auto& [i, content] : outputs) {
      expected[i] =
          ExpectedNear(task.spec.arguments[i].type, std::move(content),
                       nudged[i], tolerance, BeganWith(task.spec, buffers, i));
    }
    return expected;
  }
  ASSIGN_OR_RETURN(
      auto magnitudes,
      RunOnChanged(task, buffers,
                   [](size_t, ElementType type, std::string content) {
                     return Magnitudes(type, std::move(content));
                   }));
  for (auto& [i, content] : outputs) {
    const Argument& output = task.spec.arguments[i];
    expected[i] = ExpectedFrom(
        output.type, std::move(content), magnitudes[i],
        {.relative_tolerance = IsExact(task.spec, output) ? 0 : tolerance,
         .sum_error = SumError(data),
         .most_magnitude = MostMagnitudeOf(task, buffers),
         .before = BeganWith(task.spec, buffers, i)});
  }
  return expected;
}

// "In which launch", where that is not clear.
std::string LaunchName(const KernelSpec& spec, CheckData data, int launch) {
  if (data == CheckData::kCancelling) {
    return " (on inputs whose partial sums cancel)";
  }
  if (data == CheckData::kLarge) {
    return absl::StrCat(" (on floats from -", kLargeScale, " to ", kLargeScale,
                        "; launches on floats from -1 to 1 were right: where "
                        "the kernel need not take these, say what an input "
                        "holds, as in \"float32 in [-1, 1]\")");
  }
  if (launch == 0) return "";
  return absl::StrCat(" (in launch ", launch + 1,
                      " of the same; launches before it were right",
                      launch == kLaunchOnOtherPoison && HasIntegerOutput(spec)
                          ? ", and found other values in integer outputs)"
                          : ")");
}

absl::Status Annotated(const absl::Status& status, const std::string& note) {
  return absl::Status(status.code(), absl::StrCat(status.message(), note));
}

// Judges an argument that a launch may have written.
absl::Status JudgeWritten(const CheckTask& task, const Argument& argument,
                          const CheckedArgument& checked,
                          const ExpectedOutput* expected,
                          absl::string_view whole) {
  RETURN_IF_ERROR(CheckGuards(task.spec, argument, task.problem, checked.guards,
                              checked.initial, whole));
  if (IsZeroedBy(argument, Zeroed::kOnce)) {
    RETURN_IF_ERROR(CheckLeftZero(task.spec, argument, task.problem,
                                  checked.guards, checked.initial, whole));
  }
  if (expected == nullptr) return absl::OkStatus();
  return CompareOutput(task.spec, argument, task.problem, *expected,
                       WithoutGuards(checked.guards, whole));
}

// Judges what one launch has written. `first` has those of the first one: the
// same bytes need no other look.
absl::Status JudgeOutputs(const CheckTask& task,
                          const std::map<size_t, ExpectedOutput>& expected,
                          const BufferSet& buffers,
                          std::map<size_t, std::string>& first) {
  for (const auto& [i, checked] : buffers) {
    if (IsInput(task.spec, i)) continue;
    const Argument& argument = task.spec.arguments[i];
    ASSIGN_OR_RETURN(std::string whole, checked.buffer->Read());
    if (const auto seen = first.find(i);
        seen != first.end() && seen->second == whole) {
      continue;
    }
    RETURN_IF_ERROR(JudgeWritten(
        task, argument, checked,
        HoldsResults(argument) ? &expected.at(i) : nullptr, whole));
    first.emplace(i, std::move(whole));
  }
  return absl::OkStatus();
}

// Runs and judges the candidate's launches on one kind of data: `launches`, of
// which the first one has number `begin`.
absl::Status LaunchCandidate(const CheckTask& task, CheckData data, int begin,
                             int launches,
                             const std::map<size_t, ExpectedOutput>& expected,
                             const BufferSet& buffers) {
  std::map<size_t, std::string> first;
  for (int launch = begin; launch < begin + launches; ++launch) {
    RETURN_IF_ERROR(PutBack(task.spec, buffers,
                            launch == kLaunchOnOtherPoison
                                ? IntegerPoison::kOther
                                : IntegerPoison::kUsual));
    RETURN_IF_ERROR(task.candidate(Addresses(buffers)));
    absl::Status judged = JudgeOutputs(task, expected, buffers, first);
    if (judged.ok()) continue;
    return absl::IsDataLoss(judged)
               ? Annotated(judged, LaunchName(task.spec, data, launch))
               : judged;
  }
  return absl::OkStatus();
}

size_t BytesOf(const BufferSet& buffers) {
  size_t bytes = 0;
  for (const auto& [i, checked] : buffers) bytes += 2 * checked.initial.size();
  return bytes;
}

}  // namespace

ResultChecker::ResultChecker(ResultCheckerOptions options)
    : options_(std::move(options)), memories_([this] {
        std::vector<CheckMemory*> memories = options_.candidate_memories;
        if (options_.last_memory != nullptr) {
          memories.push_back(options_.last_memory);
        }
        return memories;
      }()) {}

ResultChecker::~ResultChecker() = default;

void ResultChecker::Forget() { entries_.clear(); }

template <typename Attempt>
absl::Status ResultChecker::WithRoom(const Attempt& attempt) {
  absl::Status status = attempt();
  if (!absl::IsResourceExhausted(status) || entries_.empty()) return status;
  Forget();  // What is kept may be what is in the way.
  return attempt();
}

absl::Status ResultChecker::Check(const CheckTask& task) {
  return WithRoom([&] { return CheckOnce(task); });
}

// The last of the launches on random data is where a stray read ends the
// process, and on large data: what else is wrong was found before, and is
// better told.
std::vector<ResultChecker::Pass> ResultChecker::PassesOf(
    const CheckTask& task) const {
  const size_t usual = options_.candidate_memories.size();
  const bool large = TakesData(task, CheckData::kLarge);
  const bool apart = large || options_.last_memory != nullptr;
  std::vector<Pass> passes;
  for (size_t i = 0; i < usual; ++i) {
    passes.push_back(
        {.memory = i, .launches = apart ? kLaunches - 1 : kLaunches});
  }
  if (TakesData(task, CheckData::kCancelling)) {
    for (size_t i = 0; i < usual; ++i) {
      passes.push_back({.data = CheckData::kCancelling, .memory = i});
    }
  }
  if (!apart) return passes;
  const size_t first = options_.last_memory != nullptr ? usual : 0;
  for (size_t i = first; i < memories_.size(); ++i) {
    passes.push_back({.data = large ? CheckData::kLarge : CheckData::kRandom,
                      .memory = i,
                      .first = kLaunches - 1});
  }
  return passes;
}

absl::Status ResultChecker::RunReference(const CheckTask& task) {
  return WithRoom([&]() -> absl::Status {
    for (const Pass& pass : PassesOf(task)) {
      RETURN_IF_ERROR(Find(task, pass.data).status());
    }
    return absl::OkStatus();
  });
}

absl::Status ResultChecker::CheckOnce(const CheckTask& task) {
  for (const Pass& pass : PassesOf(task)) RETURN_IF_ERROR(CheckIn(task, pass));
  return absl::OkStatus();
}

absl::Status ResultChecker::CheckIn(const CheckTask& task, const Pass& pass) {
  for (;;) {
    ASSIGN_OR_RETURN(Entry* const entry, Find(task, pass.data));
    if (entry->expected.empty()) {
      if (pass.data == CheckData::kCancelling) return absl::OkStatus();
      Pass random = pass;
      random.data = CheckData::kRandom;
      return CheckIn(task, random);
    }
    ASSIGN_OR_RETURN(BufferSet* const buffers,
                     BuffersIn(task, pass.data, pass.memory, *entry));
    const bool was_used = std::exchange(entry->was_used, true);
    reference_watch_.CandidateRuns();
    absl::Status wrong = LaunchCandidate(
        task, pass.data, pass.first, pass.launches, entry->expected, *buffers);
    absl::Status written = wrong.ok() || absl::IsDataLoss(wrong)
                               ? CheckInputs(task, *buffers)
                               : absl::OkStatus();
    if (wrong.ok() && written.ok()) return absl::OkStatus();
    // Whoever fails may have written anywhere.
    Forget();
    if (written.ok()) return wrong;
    if (!was_used || !absl::IsDataLoss(written)) return written;
    // A candidate before it may have written into what was kept: once more.
  }
}

ResultChecker::Key ResultChecker::KeyOf(const CheckTask& task, CheckData data) {
  std::vector<int64_t> values;
  for (const Argument& argument : task.spec.arguments) {
    values.push_back(
        Evaluate(argument.size, task.problem.View(), task.configuration));
    values.push_back(
        BelowOf(argument, task.problem, task.configuration).value_or(0));
    values.push_back(BlockOf(argument, task.configuration).value_or(0));
  }
  values.push_back(Evaluate(task.spec.correctness->work_items,
                            task.problem.View(), task.configuration));
  return {task.problem, std::move(values),
          task.spec.correctness->relative_tolerance, static_cast<int>(data)};
}

absl::StatusOr<ResultChecker::Entry*> ResultChecker::Find(const CheckTask& task,
                                                          CheckData data) {
  const Key key = KeyOf(task, data);
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    ASSIGN_OR_RETURN(Entry made, Make(task, data));
    found = entries_.emplace(key, std::move(made)).first;
    found->second.last_use = ++uses_;
    MakeRoom();
  }
  found->second.last_use = ++uses_;
  return &found->second;
}

absl::StatusOr<ResultChecker::Entry> ResultChecker::Make(const CheckTask& task,
                                                         CheckData data) const {
  CheckMemory* const memory = options_.reference_memory;
  ASSIGN_OR_RETURN(BufferSet buffers, MakeBuffers(task, data, *memory));
  absl::StatusOr<std::map<size_t, ExpectedOutput>> expected = [&] {
    const ReferenceWatch::Scope running(reference_watch_);
    return Expect(task, data, buffers);
  }();
  if (!expected.ok()) return BrokenReference(expected.status());
  Entry entry;
  entry.buffers.resize(memories_.size());
  const std::vector<Pass> passes = PassesOf(task);
  entry.bytes = BytesOf(buffers) *
                static_cast<size_t>(std::count_if(
                    passes.begin(), passes.end(),
                    [data](const Pass& pass) { return pass.data == data; }));
  for (const auto& [argument, output] : *expected) {
    entry.bytes += output.content.size() + 4 * output.limits.size();
  }
  entry.expected = *std::move(expected);
  for (size_t i = 0; i < entry.buffers.size(); ++i) {
    if (memories_[i] != memory) continue;
    entry.buffers[i] = std::move(buffers);
    break;
  }
  return entry;
}

absl::StatusOr<BufferSet*> ResultChecker::BuffersIn(const CheckTask& task,
                                                    CheckData data,
                                                    size_t memory,
                                                    Entry& entry) const {
  BufferSet& buffers = entry.buffers[memory];
  if (buffers.empty()) {
    ASSIGN_OR_RETURN(buffers, MakeBuffers(task, data, *memories_[memory]));
  }
  return &buffers;
}

void ResultChecker::MakeRoom() {
  size_t bytes = 0;
  for (const auto& [key, entry] : entries_) bytes += entry.bytes;
  while (bytes > options_.most_kept_bytes && entries_.size() > 1) {
    const auto oldest = std::min_element(
        entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
          return a.second.last_use < b.second.last_use;
        });
    bytes -= oldest->second.bytes;
    entries_.erase(oldest);
  }
}

}  // namespace wavetune
