#include "profiler_agent/testing/injected_facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/input_file.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/throttling.h"

namespace wavetune {
namespace {

constexpr size_t kMaxBytes = size_t{64} << 10;
constexpr double kMostSlower = 1000;

absl::Status NotOfRange(absl::string_view value, absl::string_view range) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", value, "\" is not ", range));
}

template <typename Number>
absl::Status TakeNumber(absl::string_view value, int64_t most,
                        std::optional<Number>& into) {
  int64_t number = 0;
  const bool hex = absl::StartsWith(value, "0x");
  const bool ok = hex ? absl::SimpleHexAtoi(value, &number)
                      : absl::SimpleAtoi(value, &number);
  if (!ok || number < 0 || number > most) {
    return NotOfRange(value, absl::StrCat("a whole number from 0 to ", most));
  }
  into = static_cast<Number>(number);
  return absl::OkStatus();
}

absl::Status TakeText(absl::string_view value,
                      std::optional<std::string>& into) {
  if (value.empty()) return absl::InvalidArgumentError("no text after the =");
  into = std::string(value);
  return absl::OkStatus();
}

// "BM = 64"
absl::StatusOr<InjectedDeviceFacts::Condition> ParseCondition(
    absl::string_view text) {
  const size_t begin = text.find_first_of("<>=");
  if (begin == absl::string_view::npos) {
    return NotOfRange(text, "a condition like m <= 16 or BM = 64");
  }
  const size_t end = text.find_first_not_of("<>=", begin);
  InjectedDeviceFacts::Condition condition;
  condition.name =
      std::string(absl::StripAsciiWhitespace(text.substr(0, begin)));
  condition.comparison = std::string(text.substr(begin, end - begin));
  constexpr std::array<absl::string_view, 5> kComparisons = {"=", "<",
                                                             "<=", ">", ">="};
  const bool known = std::find(kComparisons.begin(), kComparisons.end(),
                               condition.comparison) != kComparisons.end();
  if (condition.name.empty() || !known || end == absl::string_view::npos ||
      !absl::SimpleAtoi(text.substr(end), &condition.value)) {
    return NotOfRange(text, "a condition like m <= 16 or BM = 64");
  }
  return condition;
}

// "1.3 where m <= 16, BM = 64"
absl::Status TakeSlower(absl::string_view value,
                        std::vector<InjectedDeviceFacts::Slower>& into) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(value, absl::MaxSplits(" where ", 1));
  InjectedDeviceFacts::Slower slower;
  if (!absl::SimpleAtod(parts[0], &slower.factor) ||
      !(slower.factor >= 1 / kMostSlower && slower.factor <= kMostSlower)) {
    return NotOfRange(parts[0], "a factor from 0.001 to 1000");
  }
  if (parts.size() > 1) {
    for (const absl::string_view text : absl::StrSplit(parts[1], ',')) {
      ASSIGN_OR_RETURN(slower.where.emplace_back(),
                       ParseCondition(absl::StripAsciiWhitespace(text)));
    }
  }
  into.push_back(std::move(slower));
  return absl::OkStatus();
}

absl::Status TakeKey(absl::string_view key, absl::string_view value,
                     InjectedDeviceFacts& facts) {
  if (key == "driver") return TakeText(value, facts.driver);
  if (key == "runtime") return TakeText(value, facts.runtime);
  if (key == "power_limit_w") {
    return TakeNumber(value, 100'000, facts.power_limit_w);
  }
  if (key == "throttle_reasons") {
    return TakeNumber(value, 0xffff'ffff, facts.throttle_reasons);
  }
  if (key == "utilisation_percent") {
    return TakeNumber(value, 100, facts.utilisation_percent);
  }
  if (key == "other_processes") {
    return TakeNumber(value, 1'000'000, facts.other_processes);
  }
  if (key == "slower") return TakeSlower(value, facts.slower);
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown key \"", key,
      "\"; known are driver, runtime, power_limit_w, throttle_reasons, "
      "utilisation_percent, other_processes, slower"));
}

template <typename T>
void Replace(const std::optional<T>& with, std::optional<T>& value) {
  if (with.has_value()) value = with;
}

// Returns what the condition's name is, or nothing where the kernel has it not
// or a vendor's library has no parameters.
std::optional<int64_t> ValueOf(const std::string& name, const KernelSpec& spec,
                               const Configuration* configuration,
                               const Problem& problem) {
  for (size_t i = 0; i < spec.dimensions.size(); ++i) {
    const Dimension& dimension = spec.dimensions[i];
    if (dimension.name == name && !dimension.repeated &&
        i < problem.extents.size()) {
      return problem.extents[i];
    }
  }
  for (size_t i = 0; configuration != nullptr && i < spec.parameters.size();
       ++i) {
    if (spec.parameters[i].name == name) {
      return (*configuration)[static_cast<int>(i)];
    }
  }
  return std::nullopt;
}

bool IsKnown(const std::string& name, const KernelSpec& spec) {
  const auto named = [&name](const auto& each) { return each.name == name; };
  return std::any_of(spec.dimensions.begin(), spec.dimensions.end(), named) ||
         std::any_of(spec.parameters.begin(), spec.parameters.end(), named);
}

bool Compare(int64_t left, absl::string_view comparison, int64_t right) {
  if (comparison == "=") return left == right;
  if (comparison == "<") return left < right;
  if (comparison == "<=") return left <= right;
  if (comparison == ">") return left > right;
  return left >= right;
}

bool Holds(const InjectedDeviceFacts::Condition& condition,
           const KernelSpec& spec, const Configuration* configuration,
           const Problem& problem) {
  const std::optional<int64_t> value =
      ValueOf(condition.name, spec, configuration, problem);
  if (value.has_value()) {
    return Compare(*value, condition.comparison, condition.value);
  }
  if (!IsKnown(condition.name, spec)) {
    LogOnce(
        LogLevel::kWarning, "inject",
        absl::StrCat("a line of injected facts never applies to ", spec.name,
                     ", which has neither parameter nor "
                     "dimension ",
                     condition.name));
  }
  return false;
}

}  // namespace

void InjectedDeviceFacts::ApplyTo(DeviceFacts& facts) const {
  facts.driver = driver.value_or(facts.driver);
  facts.runtime = runtime.value_or(facts.runtime);
  facts.power_limit_w = power_limit_w.value_or(facts.power_limit_w);
}

void InjectedDeviceFacts::ApplyTo(DeviceState& state) const {
  state.power_limit_w = power_limit_w.value_or(state.power_limit_w);
  state.throttle_reasons = throttle_reasons.value_or(state.throttle_reasons);
  Replace(utilisation_percent, state.utilisation_percent);
  Replace(other_processes, state.other_processes);
}

void InjectedDeviceFacts::ApplyTo(LaunchTimes& times, double factor) const {
  for (double& one_us : times.launch_us) one_us *= factor;
  times.warmup_us *= factor;
  if (!throttle_reasons.has_value()) return;
  times.throttle_reasons = *throttle_reasons;
  times.throttled = IsThrottled(*throttle_reasons);
}

double InjectedDeviceFacts::SlowerBy(const KernelSpec& spec,
                                     const Configuration* configuration,
                                     const Problem& problem) const {
  double factor = 1;
  for (const Slower& each : slower) {
    const bool applies = std::all_of(
        each.where.begin(), each.where.end(), [&](const Condition& condition) {
          return Holds(condition, spec, configuration, problem);
        });
    if (applies) factor *= each.factor;
  }
  return factor;
}

absl::StatusOr<InjectedFacts> InjectedFacts::Parse(absl::string_view text) {
  InjectedFacts facts;
  std::string device;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    if (absl::ConsumePrefix(&line, "[") && absl::ConsumeSuffix(&line, "]")) {
      device = std::string(absl::StripAsciiWhitespace(line));
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    const absl::Status taken = TakeKey(absl::StripAsciiWhitespace(parts.first),
                                       absl::StripAsciiWhitespace(parts.second),
                                       facts.devices_[device]);
    if (!taken.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", taken.message()));
    }
  }
  return facts;
}

absl::StatusOr<InjectedFacts> InjectedFacts::Read(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadInputFile(path, kMaxBytes, InputKind::kOwnFile));
  absl::StatusOr<InjectedFacts> facts = Parse(text);
  if (!facts.ok()) return AtPath(facts.status(), path);
  return facts;
}

InjectedDeviceFacts InjectedFacts::Of(const std::string& uuid) const {
  InjectedDeviceFacts all;
  if (const auto it = devices_.find(""); it != devices_.end()) all = it->second;
  const auto it = devices_.find(uuid);
  if (uuid.empty() || it == devices_.end()) return all;
  const InjectedDeviceFacts& own = it->second;
  Replace(own.driver, all.driver);
  Replace(own.runtime, all.runtime);
  Replace(own.power_limit_w, all.power_limit_w);
  Replace(own.throttle_reasons, all.throttle_reasons);
  Replace(own.utilisation_percent, all.utilisation_percent);
  Replace(own.other_processes, all.other_processes);
  all.slower.insert(all.slower.end(), own.slower.begin(), own.slower.end());
  return all;
}

}  // namespace wavetune
