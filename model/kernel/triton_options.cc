#include "model/kernel/triton_options.h"

#include "absl/strings/str_cat.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

constexpr char kNumWarps[] = "num_warps";
constexpr char kNumStages[] = "num_stages";
constexpr char kNumCtas[] = "num_ctas";
constexpr char kMaxRegisters[] = "maxnreg";

// A block of 1,024 threads.
constexpr int64_t kMostWarps = 32;
constexpr int64_t kMostStages = 32;
// Of a thread, in machine code.
constexpr int64_t kFewestRegisters = 16;
constexpr int64_t kMostRegisters = 255;

bool IsPowerOfTwo(int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

// One option: what is taken, for people, and whether a value is.
struct Option {
  absl::string_view name;
  absl::string_view taken;
  bool (*takes)(int64_t value);
};

constexpr Option kOptions[] = {
    {kNumWarps, "powers of two from 1 to 32",
     [](int64_t v) { return IsPowerOfTwo(v) && v <= kMostWarps; }},
    {kNumStages, "1 to 32",
     [](int64_t v) { return v >= 1 && v <= kMostStages; }},
    // A program is a tile, and a tile one block: several of them are no wave.
    {kNumCtas, "1 alone: a tile is one block here",
     [](int64_t v) { return v == 1; }},
    {kMaxRegisters, "0 (no limit), or 16 to 255 registers a thread",
     [](int64_t v) {
       return v == 0 || (v >= kFewestRegisters && v <= kMostRegisters);
     }},
};

const Option* FindTritonOption(absl::string_view name) {
  for (const Option& option : kOptions) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

void SetFrom(const KernelSpec& spec, const Configuration& configuration,
             const char* name, int64_t& value) {
  const int index = spec.ParameterIndex(name);
  if (index >= 0) value = configuration[index];
}

}  // namespace

bool IsTritonOption(absl::string_view parameter) {
  return FindTritonOption(parameter) != nullptr;
}

TritonOptions TritonOptionsOf(const KernelSpec& spec,
                              const Configuration& configuration) {
  TritonOptions options;
  SetFrom(spec, configuration, kNumWarps, options.num_warps);
  SetFrom(spec, configuration, kNumStages, options.num_stages);
  SetFrom(spec, configuration, kMaxRegisters, options.maxnreg);
  return options;
}

std::string TritonOptionFault(const Parameter& parameter) {
  const Option* const option = FindTritonOption(parameter.name);
  if (option == nullptr) return "";
  for (const int64_t value : parameter.values) {
    if (option->takes(value)) continue;
    return absl::StrCat("has value ", value, "; Triton's ", option->name,
                        " takes ", option->taken);
  }
  return "";
}

}  // namespace wavetune
