// KernelSpec: a tunable kernel as its manifest declares it, with names bound to
// indices.
//
// Why: planning, fitting and deciding work on indices; names matter only where
// people read or write. formats/kernel_spec.h builds this from the
// manifest and reports unknown names; model/kernel/kernel_validation.h checks
// what the fields mean together.
//
// Thread safety: plain values.
#ifndef WAVETUNE_MODEL_KERNEL_KERNEL_SPEC_H_
#define WAVETUNE_MODEL_KERNEL_KERNEL_SPEC_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/kernel/argument.h"
#include "model/kernel/condition.h"
#include "model/kernel/mapping.h"
#include "model/kernel/served_layers.h"
#include "model/kernel/wave_form.h"
#include "model/kernel/weighted_problem.h"
#include "wavetune/configuration.h"
#include "wavetune/dimension.h"

namespace wavetune {

// Most candidates per sub-table where a manifest sets none.
inline constexpr int kDefaultPortfolioSize = 16;

// A named set of compile-time values that are not tuned.
struct Specialisation {
  std::string name;
  std::map<std::string, std::string> defines;  // Macro name to value.
  // Replace the kernel's.
  std::optional<Mapping> mapping;
  std::optional<WaveForm> wave_form = std::nullopt;
};

// Whether a parameter changes the grid or the loop count (macro) or not
// (micro).
enum class ParameterRole { kMacro, kMicro };

// One tuning parameter.
struct Parameter {
  std::string name;
  ParameterRole role = ParameterRole::kMacro;
  std::vector<int64_t> values;
};

// What a device predicate may name beside parameters.
enum class DeviceFact : int32_t { kComputeCapability = 0 };
inline constexpr int kDeviceFacts = 1;

// The name of DeviceFact::kComputeCapability in a manifest.
inline constexpr char kComputeCapabilityName[] = "compute_capability";

// out[m, n] = a[m, k] * b[k, n], row major.
struct MatrixProduct {
  int32_t a = 0;  // Indices into KernelSpec::arguments.
  int32_t b = 0;
  int32_t out = 0;
  int32_t m = 0;  // Indices into KernelSpec::dimensions.
  int32_t n = 0;
  int32_t k = 0;
  bool b_transposed = false;  // b is [n, k].

  friend bool operator==(const MatrixProduct&, const MatrixProduct&) = default;
};

// A vendor library's call that does what the kernel does, on its arguments: for
// comparison only.
struct VendorBaseline {
  std::string library;  // "cublaslt".
  MatrixProduct product;

  friend bool operator==(const VendorBaseline&,
                         const VendorBaseline&) = default;
};

// How one backend compiles and launches the kernel.
struct Implementation {
  std::string backend;  // "opencl", "cuda", "triton" or "replay".
  std::vector<std::string> sources;
  std::string entry;
  std::vector<std::string> compile_options;
  // Both along x, y and z; sides that are not there are 1.
  std::vector<Expression> block_size;             // Work items per block;
                                                  // empty: Triton's.
  std::vector<Expression> blocks;                 // Empty: the mapping's tiles.
  std::optional<Expression> shared_memory_bytes;  // Dynamic.
  std::optional<Expression> cluster_size;  // Blocks per cluster, along x;
                                           // absent: no clusters.
  std::vector<Condition> persistent_if;  // Over parameters. Where all hold, no
                                         // more blocks are launched than are
                                         // resident at once; empty: never.
  std::vector<TensorMap> tensor_maps;    // In the order they are passed in.
  // Over parameters and facts of the device: kDimension holds DeviceFact
  // numbers. model/kernel/device_space.h evaluates them.
  std::vector<Condition> device_predicates;
  std::vector<VendorBaseline> vendor_baselines;
};

// The reference that outputs are compared with.
struct Correctness {
  std::string source;
  std::string entry;
  Expression work_items;
  double relative_tolerance = 0;  // On ||out - reference||_2 / ||reference||_2.
  std::vector<std::string> compile_options;
};

// What planning may construct.
struct ProblemLimits {
  int64_t max_elements = int64_t{1} << 28;  // Any buffer argument's.
  int64_t max_total_iterations = 0;         // The mapping's; 0: no limit.
};

// A kernel.
struct KernelSpec {
  std::string name;
  std::string description;
  std::vector<Dimension> dimensions;
  std::vector<Specialisation> specialisations;  // Empty: one, unnamed.
  std::vector<Parameter> parameters;
  std::vector<Condition> constraints;  // Over parameters.
  // What a problem must fulfil: for any configuration (over dimensions), and
  // for a certain one (over dimensions and parameters).
  std::vector<Condition> preconditions;
  std::vector<Condition> problem_predicates;
  std::vector<Configuration> configurations;  // The space has these alone;
                                              // empty: all combinations.
  Mapping mapping;
  WaveForm wave_form = WaveForm::kSum;
  std::vector<Implementation> implementations;
  std::vector<Argument> arguments;
  std::optional<Correctness> correctness;
  Configuration default_configuration;
  std::vector<WeightedProblem>
      representative_problems;  // Grids multiplied out; empty specialisation:
                                // for all.
  std::vector<WeightedProblem> correctness_problems;
  ProblemLimits limits;
  int portfolio_size = kDefaultPortfolioSize;  // Most candidates per sub-table.
  ServedLayers serves;
  std::vector<std::string> served_types;  // As ServesType.

  // Returns the specialisations' names, or one empty name where there are none.
  // Cannot fail.
  std::vector<std::string> SpecialisationNames() const;

  // The kernel as each specialisation has it, where they have constants: these
  // are numbers in all of its expressions. Empty where no specialisation has
  // any. Their own `own` are empty.
  std::map<std::string, std::shared_ptr<const KernelSpec>> own;

  // Returns the kernel as a specialisation has it: *this where it has no
  // constants, or where the name is unknown. Whatever depends on sizes,
  // conditions or the mapping of a certain specialisation asks this one.
  // Cannot fail.
  const KernelSpec& Of(const std::string& specialisation) const;

  // Returns the mapping of a specialisation (the kernel's own where it declares
  // none, or where the name is unknown). Cannot fail.
  const Mapping& MappingOf(const std::string& specialisation) const;
  // The same of its wave form.
  WaveForm WaveFormOf(const std::string& specialisation) const;

  // Returns the implementation for a backend, or nullptr. Which one a device
  // runs: ImplementationFor (model/kernel/device_implementation.h).
  const Implementation* ImplementationOf(const std::string& backend) const;

  // Returns the index of a dimension, parameter or argument by name, or -1.
  // Case matters.
  int DimensionIndex(const std::string& wanted) const;
  int ParameterIndex(const std::string& wanted) const;
  int ArgumentIndex(const std::string& wanted) const;

  // Returns the repeated dimension whose elements an argument holds: an integer
  // input that is named as it. Else -1.
  int RepeatedDimensionOf(const Argument& argument) const;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_KERNEL_SPEC_H_
