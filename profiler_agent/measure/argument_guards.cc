#include "profiler_agent/measure/argument_guards.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_space.h"
#include "profiler_agent/measure/output_comparison.h"
#include "profiler_agent/measure/poison.h"

namespace wavetune {
namespace {

// Elements that differ.
struct Changes {
  size_t count = 0;
  size_t first = 0;
  size_t last = 0;
};

Changes FindChanges(size_t element, absl::string_view before,
                    absl::string_view after) {
  Changes changes;
  if (before == after) return changes;
  for (size_t i = 0; i < before.size() / element; ++i) {
    if (before.substr(i * element, element) ==
        after.substr(i * element, element)) {
      continue;
    }
    if (changes.count++ == 0) changes.first = i;
    changes.last = i;
  }
  return changes;
}

// "output 'c' at m=1 n=2".
std::string NameOf(const KernelSpec& spec, const Argument& argument,
                   const Problem& problem) {
  return absl::StrCat(RoleName(argument.role), " '", argument.name, "' at ",
                      FormatProblem(spec, problem));
}

std::string Elements(size_t count) {
  return absl::StrCat(count, count == 1 ? " element" : " elements");
}

}  // namespace

std::string Guarded(ElementType type, const Guards& guards,
                    absl::string_view content) {
  const size_t element = ElementBytes(type);
  return absl::StrCat(PoisonValues(type, guards.front / element), content,
                      PoisonValues(type, guards.behind / element));
}

absl::string_view WithoutGuards(const Guards& guards, absl::string_view whole) {
  return whole.substr(guards.front,
                      whole.size() - guards.front - guards.behind);
}

absl::Status CheckGuards(const KernelSpec& spec, const Argument& argument,
                         const Problem& problem, const Guards& guards,
                         absl::string_view initial, absl::string_view whole) {
  const size_t element = ElementBytes(argument.type);
  const size_t end = whole.size() - guards.behind;
  const Changes behind =
      FindChanges(element, initial.substr(end), whole.substr(end));
  if (behind.count > 0) {
    return absl::DataLossError(
        absl::StrCat("writes past the end of ", NameOf(spec, argument, problem),
                     ": ", Elements(behind.count), ", the first ",
                     Elements(behind.first + 1), " past its last one"));
  }
  const Changes front = FindChanges(element, initial.substr(0, guards.front),
                                    whole.substr(0, guards.front));
  if (front.count > 0) {
    return absl::DataLossError(absl::StrCat(
        "writes before the beginning of ", NameOf(spec, argument, problem),
        ": ", Elements(front.count), ", the last ",
        Elements(guards.front / element - front.last),
        " before its first one"));
  }
  return absl::OkStatus();
}

absl::Status CheckInputUnchanged(const KernelSpec& spec,
                                 const Argument& argument,
                                 const Problem& problem, const Guards& guards,
                                 absl::string_view initial,
                                 absl::string_view whole) {
  if (initial == whole) return absl::OkStatus();
  const Changes changes =
      FindChanges(ElementBytes(argument.type), WithoutGuards(guards, initial),
                  WithoutGuards(guards, whole));
  if (changes.count == 0) {
    return CheckGuards(spec, argument, problem, guards, initial, whole);
  }
  return absl::DataLossError(
      absl::StrCat("writes into ", NameOf(spec, argument, problem), ": ",
                   Elements(changes.count), ", the first at ",
                   PlaceOf(argument, problem, changes.first)));
}

absl::Status CheckLeftZero(const KernelSpec& spec, const Argument& argument,
                           const Problem& problem, const Guards& guards,
                           absl::string_view initial, absl::string_view whole) {
  const Changes changes =
      FindChanges(ElementBytes(argument.type), WithoutGuards(guards, initial),
                  WithoutGuards(guards, whole));
  if (changes.count == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "leaves ", NameOf(spec, argument, problem),
      " not zero: ", Elements(changes.count), ", the first at ",
      PlaceOf(argument, problem, changes.first),
      "; it is zeroed once: put zeros back, or declare zeroed: EVERY_LAUNCH"));
}

}  // namespace wavetune
