#include "model/kernel/implementation_faults.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "model/kernel/backend_traits.h"
#include "model/kernel/expression_faults.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/triton_options.h"

namespace wavetune {
namespace {

// A tensor map describes a matrix.
constexpr size_t kTensorMapRank = 2;

// CUDA driver API, cuTensorMapEncodeTiled: boxDim[i] <= 256.
constexpr int64_t kMaxBoxExtent = 256;

std::string PrefixOf(const Implementation& implementation) {
  return absl::StrCat("implementations: '", implementation.backend, "': ");
}

// Along x, y and z.
constexpr size_t kMaxSides = 3;

// The name of one side where there are several.
std::string SideField(const std::string& field,
                      const std::vector<Expression>& sides, size_t side) {
  return sides.size() == 1 ? field : absl::StrCat(field, "[", side, "]");
}

std::string TensorMapField(const std::string& prefix, size_t index) {
  return absl::StrCat(prefix, "tensor_maps[", index, "].");
}

class ImplementationChecker {
 public:
  ImplementationChecker(const KernelSpec& spec,
                        const Implementation& implementation,
                        KernelFaults& faults)
      : spec_(spec),
        implementation_(implementation),
        traits_(TraitsOf(implementation.backend)),
        prefix_(PrefixOf(implementation)),
        faults_(faults) {}

  // Returns whether the sizes can be evaluated.
  bool Run() {
    for (const std::string& source : implementation_.sources) {
      faults_.CheckSource(prefix_ + "sources", source);
    }
    CheckBlocks();
    faults_.CheckExpression(prefix_ + "shared_memory_bytes",
                            implementation_.shared_memory_bytes,
                            /*positive=*/false);
    CheckBlockSize();
    if (implementation_.cluster_size.has_value()) {
      sound_ &= faults_.CheckParameterExpression(prefix_ + "cluster_size",
                                                 *implementation_.cluster_size);
    }
    CheckConditions("persistent_if", implementation_.persistent_if,
                    KernelFaults::Scope::kParameters);
    CheckConditions("device_predicates", implementation_.device_predicates,
                    KernelFaults::Scope::kDevice);
    for (size_t i = 0; i < implementation_.tensor_maps.size(); ++i) {
      CheckTensorMap(TensorMapField(prefix_, i),
                     implementation_.tensor_maps[i]);
    }
    for (size_t i = 0; i < implementation_.vendor_baselines.size(); ++i) {
      CheckVendorBaseline(absl::StrCat(prefix_, "vendor_baselines[", i, "]."),
                          implementation_.vendor_baselines[i]);
    }
    CheckSupport();
    if (IsTriton()) CheckTriton();
    if (traits_.language != KernelLanguage::kRecording) CheckPresence();
    return sound_;
  }

 private:
  void CheckBlocks() {
    const std::vector<Expression>& blocks = implementation_.blocks;
    for (size_t i = 0; i < blocks.size(); ++i) {
      faults_.CheckExpression(SideField(prefix_ + "blocks", blocks, i),
                              blocks[i]);
    }
    CheckNumberOfSides("blocks", blocks);
    if (blocks.size() < 2) return;
    const auto refuse = [this](bool given, const char* name) {
      if (!given) return;
      faults_.Add(prefix_, name,
                  ": is for blocks along x alone, but there are ",
                  implementation_.blocks.size(),
                  " sides of blocks; give one, or remove ", name);
    };
    refuse(implementation_.cluster_size.has_value(), "cluster_size");
    refuse(!implementation_.persistent_if.empty(), "persistent_if");
  }

  void CheckBlockSize() {
    const std::vector<Expression>& block_size = implementation_.block_size;
    for (size_t i = 0; i < block_size.size(); ++i) {
      sound_ &= faults_.CheckParameterExpression(
          SideField(prefix_ + "block_size", block_size, i), block_size[i]);
    }
    CheckNumberOfSides("block_size", block_size);
  }

  void CheckNumberOfSides(const char* name,
                          const std::vector<Expression>& sides) {
    if (sides.size() <= kMaxSides) return;
    faults_.Add(prefix_, name, ": there are ", sides.size(), "; give at most ",
                kMaxSides, ", along x, y and z");
  }

  void CheckConditions(const char* name,
                       const std::vector<Condition>& conditions,
                       KernelFaults::Scope scope) {
    for (size_t i = 0; i < conditions.size(); ++i) {
      faults_.CheckCondition(absl::StrCat(prefix_, name, "[", i, "]"),
                             conditions[i], scope);
    }
  }

  void CheckTensorMap(const std::string& field, const TensorMap& map) {
    CheckArgument(field + "argument", map.argument);
    CheckRank(field + "extents", map.extents);
    CheckRank(field + "box", map.box);
    for (const Expression& extent : map.extents) {
      sound_ &= faults_.CheckExpression(field + "extents", extent);
    }
    for (const Expression& extent : map.box) {
      sound_ &= faults_.CheckParameterExpression(field + "box", extent);
    }
    const auto& promotions = {0, 64, 128, 256};
    if (std::find(promotions.begin(), promotions.end(),
                  map.l2_promotion_bytes) == promotions.end()) {
      faults_.Add(field, "l2_promotion_bytes: is ", map.l2_promotion_bytes,
                  "; give 0, 64, 128 or 256");
    }
    if (map.enabled_by.has_value() &&
        (*map.enabled_by < 0 ||
         *map.enabled_by >= static_cast<int32_t>(spec_.parameters.size()))) {
      faults_.Add(field, "enabled_by: parameter number ", *map.enabled_by,
                  " does not exist; declare it");
      sound_ = false;
    }
  }

  void CheckArgument(const std::string& field, int32_t index) {
    if (index < 0 || index >= static_cast<int32_t>(spec_.arguments.size())) {
      faults_.Add(field, ": argument number ", index,
                  " does not exist; declare it");
      return;
    }
    const Argument& argument = spec_.arguments[static_cast<size_t>(index)];
    if (argument.role == ArgumentRole::kScalar) {
      faults_.Add(field, ": '", argument.name,
                  "' is a scalar; name the buffer that the map describes");
    }
  }

  void CheckVendorBaseline(const std::string& field,
                           const VendorBaseline& baseline) {
    if (baseline.library.empty()) {
      faults_.Add(field, "library: is empty; name it, for example 'cublaslt'");
    }
    CheckRole(field + "a", baseline.product.a, ArgumentRole::kInput);
    CheckRole(field + "b", baseline.product.b, ArgumentRole::kInput);
    CheckRole(field + "out", baseline.product.out, ArgumentRole::kOutput);
    const std::pair<const char*, int32_t> dimensions[] = {
        {"m", baseline.product.m},
        {"n", baseline.product.n},
        {"k", baseline.product.k}};
    for (const auto& [name, index] : dimensions) {
      if (index >= 0 && index < static_cast<int32_t>(spec_.dimensions.size()) &&
          !spec_.dimensions[static_cast<size_t>(index)].repeated) {
        continue;
      }
      faults_.Add(field, name, ": dimension number ", index,
                  " does not exist or is repeated; name one that has a size");
    }
  }

  void CheckRole(const std::string& field, int32_t index, ArgumentRole role) {
    if (index >= 0 && index < static_cast<int32_t>(spec_.arguments.size()) &&
        spec_.arguments[static_cast<size_t>(index)].role == role) {
      return;
    }
    faults_.Add(field, ": argument number ", index, " is no ", RoleName(role),
                "; name one that is");
  }

  void CheckRank(const std::string& field,
                 const std::vector<Expression>& extents) {
    if (extents.size() == kTensorMapRank) return;
    faults_.Add(field, ": there are ", extents.size(), "; give ",
                kTensorMapRank, ", the contiguous one first");
    sound_ = false;
  }

  bool IsTriton() const { return traits_.language == KernelLanguage::kTriton; }

  // What Triton decides by itself, and what it takes.
  void CheckTriton() {
    const auto refuse = [this](bool given, const char* name, const char* why) {
      if (given) faults_.Add(prefix_, name, ": ", why, "; remove it");
    };
    refuse(!implementation_.block_size.empty(), "block_size",
           "is 32 * num_warps with Triton");
    refuse(implementation_.shared_memory_bytes.has_value(),
           "shared_memory_bytes", "Triton says what it needs");
    refuse(!implementation_.compile_options.empty(), "compile_options",
           "Triton's are the parameters num_warps, num_stages and maxnreg");
    refuse(implementation_.cluster_size.has_value(), "cluster_size",
           "a tile of a Triton kernel is one block");
    for (const TensorMap& map : implementation_.tensor_maps) {
      refuse(map.swizzle != TensorMap::Swizzle::kNone, "tensor_maps: swizzle",
             "Triton lays out what its descriptors load");
      refuse(map.l2_promotion_bytes != 0, "tensor_maps: l2_promotion_bytes",
             "is 128 with Triton");
    }
    for (const std::string& source : implementation_.sources) {
      CheckModule(source);
    }
    for (const Parameter& parameter : spec_.parameters) {
      const std::string fault = TritonOptionFault(parameter);
      if (fault.empty()) continue;
      faults_.Add(prefix_, "parameter '", parameter.name, "' ", fault);
    }
    for (const Argument& argument : spec_.arguments) CheckApart(argument.name);
  }

  // Sources are imported by name.
  void CheckModule(const std::string& source) {
    absl::string_view module = source;
    bool is_module = absl::ConsumeSuffix(&module, ".py");
    for (const absl::string_view part : absl::StrSplit(module, '/')) {
      is_module &= IsIdentifier(part, /*underscore=*/true);
    }
    if (is_module) return;
    faults_.Add(prefix_, "sources: '", source,
                "' is no Python module; name it [A-Za-z_][A-Za-z0-9_]*.py");
  }

  // A function has each name once.
  void CheckApart(const std::string& argument) {
    bool taken = spec_.ParameterIndex(argument) >= 0;
    for (const Specialisation& specialisation : spec_.specialisations) {
      taken |= specialisation.defines.contains(argument);
    }
    if (!taken) return;
    faults_.Add(prefix_, "argument '", argument,
                "' has the name of a parameter, constant or define, which is "
                "an argument of the Triton function, too; rename one");
  }

  // What not every backend has.
  void CheckSupport() {
    const auto refuse = [this](bool supported, bool given, const char* name) {
      if (supported || !given) return;
      faults_.Add(prefix_, name, ": the backend '", implementation_.backend,
                  "' does not support it; remove it, or move it to the "
                  "implementation for cuda");
    };
    const bool launches = traits_.has_cuda_launches;
    refuse(launches, implementation_.cluster_size.has_value(), "cluster_size");
    refuse(launches, !implementation_.persistent_if.empty(), "persistent_if");
    refuse(launches, !implementation_.tensor_maps.empty(), "tensor_maps");
    refuse(launches, !implementation_.vendor_baselines.empty(),
           "vendor_baselines");
    refuse(traits_.has_device_predicates,
           !implementation_.device_predicates.empty(), "device_predicates");
  }

  void CheckPresence() {
    if (implementation_.sources.empty()) {
      faults_.Add(prefix_, "sources: there are none; name the file to compile");
    }
    if (!IsIdentifier(implementation_.entry, /*underscore=*/true)) {
      faults_.Add(prefix_, "entry: '", implementation_.entry,
                  "' is no function name; name the kernel function");
    }
    if (implementation_.block_size.empty() && !IsTriton()) {
      faults_.Add(prefix_,
                  "block_size: is missing; give the work items of a block");
    }
  }

  const KernelSpec& spec_;
  const Implementation& implementation_;
  const BackendTraits& traits_;
  const std::string prefix_;
  KernelFaults& faults_;
  bool sound_ = true;
};

// Looks for a configuration that makes a size impossible; names the first.
class SizeChecker {
 public:
  SizeChecker(const std::vector<Configuration>& space, const KernelSpec& spec,
              KernelFaults& faults)
      : space_(space), spec_(spec), faults_(faults) {}

  void CheckPositive(const std::string& field, const Expression& size) {
    for (const Configuration& configuration : space_) {
      if (Evaluate(size, ProblemView(), configuration) >= 1) continue;
      faults_.Add(field, ": is 0 with '",
                  FormatConfiguration(spec_, configuration),
                  "'; make it at least 1 in every configuration, or exclude "
                  "this one by a constraint");
      return;
    }
  }

  void CheckBox(const std::string& field, const TensorMap& map) {
    for (const Configuration& configuration : space_) {
      if (map.enabled_by.has_value() && configuration[*map.enabled_by] == 0) {
        continue;
      }
      for (const Expression& side : map.box) {
        const int64_t extent = Evaluate(side, ProblemView(), configuration);
        if (extent >= 1 && extent <= kMaxBoxExtent) continue;
        faults_.Add(field, ": a side has ", extent, " elements with '",
                    FormatConfiguration(spec_, configuration),
                    "'; a copy moves 1 to ", kMaxBoxExtent);
        return;
      }
    }
  }

 private:
  const std::vector<Configuration>& space_;
  const KernelSpec& spec_;
  KernelFaults& faults_;
};

}  // namespace

bool CheckImplementations(const KernelSpec& spec, KernelFaults& faults) {
  if (spec.implementations.empty()) {
    faults.Add("implementations: there are none; give one per backend");
  }
  std::set<std::string> seen;
  bool sound = true;
  for (const Implementation& implementation : spec.implementations) {
    if (!IsLowerName(implementation.backend)) {
      faults.Add("implementations: backend '", implementation.backend,
                 "' is malformed; use opencl, cuda, triton or replay");
    }
    faults.CheckUnique("implementations", implementation.backend, seen);
    sound &= ImplementationChecker(spec, implementation, faults).Run();
  }
  return sound;
}

void CheckImplementationsIn(const std::vector<Configuration>& space,
                            const KernelSpec& spec, KernelFaults& faults) {
  SizeChecker checker(space, spec, faults);
  for (const Implementation& implementation : spec.implementations) {
    const std::string prefix = PrefixOf(implementation);
    const std::vector<Expression>& block_size = implementation.block_size;
    for (size_t i = 0; i < block_size.size(); ++i) {
      checker.CheckPositive(SideField(prefix + "block_size", block_size, i),
                            block_size[i]);
    }
    if (implementation.cluster_size.has_value()) {
      checker.CheckPositive(prefix + "cluster_size",
                            *implementation.cluster_size);
    }
    for (size_t i = 0; i < implementation.tensor_maps.size(); ++i) {
      checker.CheckBox(TensorMapField(prefix, i) + "box",
                       implementation.tensor_maps[i]);
    }
  }
}

}  // namespace wavetune
