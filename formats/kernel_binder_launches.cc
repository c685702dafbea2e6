// KernelBinder: how backends launch the kernel, and what with.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/kernel_binder.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {

Implementation KernelBinder::BindImplementation(
    const v1::Implementation& implementation, const std::string& path) {
  Implementation result;
  result.backend = implementation.backend();
  result.sources.assign(implementation.sources().begin(),
                        implementation.sources().end());
  result.entry = implementation.entry();
  result.compile_options.assign(implementation.compile_options().begin(),
                                implementation.compile_options().end());
  result.block_size =
      BindSides(implementation.block_size(), path + ".block_size");
  result.blocks = BindSides(implementation.blocks(), path + ".blocks");
  result.shared_memory_bytes = BindOptional(
      implementation.has_shared_memory_bytes(),
      implementation.shared_memory_bytes(), path + ".shared_memory_bytes");
  result.cluster_size =
      BindOptional(implementation.has_cluster_size(),
                   implementation.cluster_size(), path + ".cluster_size");
  result.persistent_if =
      BindRelations(implementation.persistent_if(), path + ".persistent_if",
                    Scope::kParameters);
  for (int i = 0; i < implementation.tensor_maps_size(); ++i) {
    result.tensor_maps.push_back(
        BindTensorMap(implementation.tensor_maps(i),
                      absl::StrCat(path, ".tensor_maps[", i, "]")));
  }
  result.device_predicates =
      BindRelations(implementation.device_predicates(),
                    path + ".device_predicates", Scope::kDevice);
  for (int i = 0; i < implementation.vendor_baselines_size(); ++i) {
    result.vendor_baselines.push_back(
        BindVendorBaseline(implementation.vendor_baselines(i),
                           absl::StrCat(path, ".vendor_baselines[", i, "]")));
  }
  return result;
}

VendorBaseline KernelBinder::BindVendorBaseline(
    const v1::VendorBaseline& baseline, const std::string& path) {
  VendorBaseline result{.library = baseline.library()};
  if (!baseline.has_matrix_product()) {
    Fault(path, "says no operation; give matrix_product");
    return result;
  }
  const v1::MatrixProduct& product = baseline.matrix_product();
  const std::string prefix = path + ".matrix_product.";
  const auto argument = [&](const std::string& name, const char* field) {
    return Find(arguments_, name, prefix + field, "argument");
  };
  result.product = {.a = argument(product.a(), "a"),
                    .b = argument(product.b(), "b"),
                    .out = argument(product.out(), "out"),
                    .m = DimensionOf(product.m(), prefix + "m"),
                    .n = DimensionOf(product.n(), prefix + "n"),
                    .k = DimensionOf(product.k(), prefix + "k"),
                    .b_transposed = product.b_transposed()};
  return result;
}

TensorMap KernelBinder::BindTensorMap(const v1::TensorMap& map,
                                      const std::string& path) {
  TensorMap result;
  result.argument =
      Find(arguments_, map.argument(), path + ".argument", "argument");
  result.extents = BindExpressions(map.extents(), path + ".extents");
  result.box = BindExpressions(map.box(), path + ".box");
  if (v1::TensorMap::Swizzle_IsValid(map.swizzle())) {
    // Equal numbers, see the static_asserts below.
    result.swizzle = static_cast<TensorMap::Swizzle>(map.swizzle());
  } else {
    Fault(path + ".swizzle", "is unknown; give one that kernel.proto lists");
  }
  result.l2_promotion_bytes = map.l2_promotion_bytes();
  if (!map.enabled_by().empty()) {
    result.enabled_by = ParameterOf(map.enabled_by(), path + ".enabled_by");
  }
  return result;
}
static_assert(static_cast<int>(TensorMap::Swizzle::kNone) ==
              v1::TensorMap::SWIZZLE_UNSPECIFIED);
static_assert(static_cast<int>(TensorMap::Swizzle::k32Bytes) ==
              v1::TensorMap::SWIZZLE_32B);
static_assert(static_cast<int>(TensorMap::Swizzle::k64Bytes) ==
              v1::TensorMap::SWIZZLE_64B);
static_assert(static_cast<int>(TensorMap::Swizzle::k128Bytes) ==
              v1::TensorMap::SWIZZLE_128B);

Argument KernelBinder::BindArgument(const v1::Argument& argument,
                                    const std::string& path) {
  Argument result;
  result.name = argument.name();
  result.cold = argument.cold();
  switch (argument.type()) {
    case v1::Argument::FLOAT32:
      result.type = ElementType::kFloat32;
      break;
    case v1::Argument::INT32:
      result.type = ElementType::kInt32;
      break;
    case v1::Argument::INT64:
      result.type = ElementType::kInt64;
      break;
    case v1::Argument::BFLOAT16:
      result.type = ElementType::kBfloat16;
      break;
    default:
      Fault(path + ".type",
            "is missing; give FLOAT32, INT32, INT64 or BFLOAT16");
  }
  switch (argument.role()) {
    case v1::Argument::INPUT:
      result.role = ArgumentRole::kInput;
      break;
    case v1::Argument::OUTPUT:
      result.role = ArgumentRole::kOutput;
      break;
    case v1::Argument::SCALAR:
      result.role = ArgumentRole::kScalar;
      break;
    case v1::Argument::INOUT:
      result.role = ArgumentRole::kInOut;
      break;
    case v1::Argument::WORKSPACE:
      result.role = ArgumentRole::kWorkspace;
      break;
    default:
      Fault(path + ".role",
            "is missing; give INPUT, OUTPUT, INOUT, WORKSPACE or SCALAR");
      return result;
  }
  if (result.role == ArgumentRole::kScalar) {
    BindScalar(argument, path, &result);
  } else {
    BindBuffer(argument, path, &result);
  }
  return result;
}

void KernelBinder::BindScalar(const v1::Argument& argument,
                              const std::string& path, Argument* result) {
  if (argument.has_number()) {
    result->number = argument.number();
    if (argument.has_value()) {
      Fault(path, "gives value and number; remove one");
    }
  } else if (argument.has_value()) {
    result->size = BindExpression(argument.value(), path + ".value");
  } else {
    Fault(path,
          "has no value; give value (an expression), or number for FLOAT32 and "
          "BFLOAT16");
  }
  const auto refuse = [&](bool given, const char* name) {
    if (given) Fault(path, absl::StrCat("a scalar has a value, not ", name));
  };
  refuse(argument.has_elements(), "elements");
  refuse(argument.has_below(), "below");
  refuse(argument.has_uniform(), "uniform");
  refuse(argument.has_normal(), "normal");
  refuse(argument.aligned() != 0, "aligned");
  refuse(argument.has_padded_order(), "padded_order");
  refuse(argument.has_block_element(), "block_element");
  refuse(argument.has_padded_total(), "padded_total");
  refuse(argument.zeroed() != v1::Argument::ZEROED_UNSPECIFIED, "zeroed");
}

void KernelBinder::BindBlocks(const v1::Argument& argument,
                              const std::string& path, Argument* result) {
  const auto bind = [&](bool given, ElementBlocks::Kind kind,
                        const v1::ElementBlocks& blocks) {
    if (!given) return;
    const std::string where = absl::StrCat(path, ".", ElementBlocksName(kind));
    if (result->blocks.has_value()) {
      Fault(where,
            absl::StrCat("there is ", ElementBlocksName(result->blocks->kind),
                         ", too; remove one of them"));
      return;
    }
    result->blocks = ElementBlocks{
        .kind = kind,
        .dimension = DimensionOf(blocks.dimension(), where + ".dimension"),
        .block = BindExpression(blocks.block(), where + ".block")};
  };
  bind(argument.has_padded_order(), ElementBlocks::Kind::kPaddedOrder,
       argument.padded_order());
  bind(argument.has_block_element(), ElementBlocks::Kind::kBlockElement,
       argument.block_element());
  bind(argument.has_padded_total(), ElementBlocks::Kind::kPaddedTotal,
       argument.padded_total());
}

void KernelBinder::BindBuffer(const v1::Argument& argument,
                              const std::string& path, Argument* result) {
  result->size = BindExpression(argument.elements(), path + ".elements");
  result->below =
      BindOptional(argument.has_below(), argument.below(), path + ".below");
  if (argument.has_uniform()) {
    result->values = FloatValues{.kind = FloatValues::Kind::kUniform,
                                 .first = argument.uniform().low(),
                                 .second = argument.uniform().high()};
  }
  if (argument.has_normal()) {
    if (result->values.has_value()) {
      Fault(path, "gives uniform and normal; remove one");
    }
    result->values = FloatValues{.kind = FloatValues::Kind::kNormal,
                                 .first = argument.normal().mean(),
                                 .second = argument.normal().deviation()};
  }
  result->aligned = argument.aligned();
  BindBlocks(argument, path, result);
  const auto refuse = [&](bool given, const char* name) {
    if (given) Fault(path, absl::StrCat("a buffer has elements, not a ", name));
  };
  refuse(argument.has_value(), "value");
  refuse(argument.has_number(), "number");
  switch (argument.zeroed()) {
    case v1::Argument::ZEROED_UNSPECIFIED:
      return;
    case v1::Argument::EVERY_LAUNCH:
      break;
    case v1::Argument::ONCE:
      result->zeroed = Zeroed::kOnce;
      break;
    case v1::Argument::NEVER:
      result->zeroed = Zeroed::kNever;
      break;
    default:
      Fault(path + ".zeroed", "is unknown; give EVERY_LAUNCH, ONCE or NEVER");
  }
  if (result->role != ArgumentRole::kWorkspace) {
    Fault(path + ".zeroed",
          absl::StrCat("is for workspaces, but the role is ",
                       v1::Argument::Role_Name(argument.role()),
                       "; remove it, or declare the role WORKSPACE"));
  }
}

}  // namespace wavetune
