#include "model/kernel/implementation_faults.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/kernel_validation.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using testing::Dim;
using ::testing::HasSubstr;
using testing::Par;
using ::wavetune::testing::GemmSpec;
using ::wavetune::testing::HopperGemmSpec;

// Parameters of HopperGemmSpec.
constexpr int kBlockM = 0;
constexpr int kHopperArchitecture = 5;

Expression ConstantOf(int64_t value) { return Expression::Constant(value); }

// One way to break an implementation, and what the message must say of it.
struct Fault {
  std::string name;
  std::function<void(Implementation&)> apply;
  std::string message;
};

class ImplementationFaultTest : public ::testing::TestWithParam<Fault> {};

TEST_P(ImplementationFaultTest, IsReportedWithItsFieldAndAsTheOnlyOne) {
  KernelSpec spec = HopperGemmSpec();
  GetParam().apply(spec.implementations[0]);
  const absl::Status status = ValidateKernelSpec(spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("\nimplementations: 'cuda': " + GetParam().message));
  EXPECT_EQ(std::count(status.message().begin(), status.message().end(), '\n'),
            1)
      << status.message();
}

std::vector<Fault> SizeFaults() {
  return {
      {"GroupSizeZeroSomewhere",
       [](Implementation& i) { i.block_size = {Par(kHopperArchitecture)}; },
       "block_size: is 0 with 'BLOCK_M=16 BLOCK_N=32 BLOCK_K=16 NUM_STAGES=1 "
       "VECTOR=1 HOPPER=0 CLUSTER_M=1'"},
      {"SumOfZeros",
       [](Implementation& i) {
         i.block_size = {Expression::Sum(
             {Par(kHopperArchitecture),
              Expression::Product(
                  {ConstantOf(32), Par(kHopperArchitecture)})})};
       },
       "block_size: is 0 with"},
      {"ZeroDivisor",
       [](Implementation& i) {
         i.block_size = {Expression::Sum(
             {ConstantOf(1), Expression::CeilDiv({ConstantOf(8)},
                                                 {Par(kHopperArchitecture)})})};
       },
       "block_size: parameter 'HOPPER' can be 0 there"},
      {"GroupSizeOfADimension",
       [](Implementation& i) {
         i.block_size = {Expression::Sum({ConstantOf(32), Dim(0)})};
       },
       "block_size: names a dimension"},
      {"ClusterOfADimension",
       [](Implementation& i) { i.cluster_size = Dim(0); },
       "cluster_size: names a dimension; use parameters and constants"},
      {"ClusterZeroSomewhere",
       [](Implementation& i) { i.cluster_size = Par(kHopperArchitecture); },
       "cluster_size: is 0 with"},
      {"ClusterOfAnUnknownParameter",
       [](Implementation& i) { i.cluster_size = Par(9); },
       "cluster_size: parameter number 9 does not exist"},
      {"GroupsThatCanBeZero",
       [](Implementation& i) {
         i.blocks = {Expression::Product({Dim(0), Par(kHopperArchitecture)})};
       },
       "blocks: parameter 'HOPPER' can be 0 there"},
      {"GroupsWithADivisorThatCanBeZero",
       [](Implementation& i) {
         i.blocks = {Expression::Sum(
             {Dim(0),
              Expression::CeilDiv({Dim(1)}, {Par(kHopperArchitecture)})})};
       },
       "blocks: parameter 'HOPPER' can be 0 there"},
      {"AnotherSideOfBlocksThatCanBeZero",
       [](Implementation& i) {
         i.cluster_size.reset();
         i.persistent_if.clear();
         i.blocks = {Dim(0), Par(kHopperArchitecture)};
       },
       "blocks[1]: parameter 'HOPPER' can be 0 there"},
      {"AnotherSideOfABlockZeroSomewhere",
       [](Implementation& i) {
         i.block_size = {ConstantOf(32), Par(kHopperArchitecture)};
       },
       "block_size[1]: is 0 with"},
      {"FourSidesOfBlocks",
       [](Implementation& i) {
         i.cluster_size.reset();
         i.persistent_if.clear();
         i.blocks = {Dim(0), ConstantOf(1), ConstantOf(1), ConstantOf(1)};
       },
       "blocks: there are 4; give at most 3, along x, y and z"},
      {"FourSidesOfABlock",
       [](Implementation& i) {
         i.block_size = {ConstantOf(32), ConstantOf(1), ConstantOf(1),
                         ConstantOf(1)};
       },
       "block_size: there are 4; give at most 3, along x, y and z"},
      {"ClustersInAGridOfTwoSides",
       [](Implementation& i) {
         i.persistent_if.clear();
         i.blocks = {Dim(0), Dim(1)};
       },
       "cluster_size: is for blocks along x alone, but there are 2 sides of "
       "blocks; give one, or remove cluster_size"},
      {"PersistentInAGridOfThreeSides",
       [](Implementation& i) {
         i.cluster_size.reset();
         i.blocks = {Dim(0), Dim(1), ConstantOf(2)};
       },
       "persistent_if: is for blocks along x alone, but there are 3 sides of "
       "blocks; give one, or remove persistent_if"},
  };
}

std::vector<Fault> RelationFaults() {
  return {
      {"PersistentIfOfADimension",
       [](Implementation& i) { i.persistent_if[0].sides[0] = Dim(0); },
       "persistent_if[0]: names a dimension"},
      {"PersistentIfOfADimensionInAnOr",
       [](Implementation& i) {
         i.persistent_if[0] = Condition::Any(
             {i.persistent_if[0],
              {Dim(0), Relation::Operator::kEqual, ConstantOf(1)}});
       },
       "persistent_if[0]: names a dimension"},
      {"PersistentIfOfAnUnknownParameter",
       [](Implementation& i) { i.persistent_if[0].sides[0] = Par(7); },
       "persistent_if[0]: parameter number 7 does not exist"},
      {"UnknownDeviceFact",
       [](Implementation& i) { i.device_predicates[0].sides[0] = Dim(1); },
       "device_predicates[0]: device fact number 1 does not exist; use "
       "parameters and compute_capability"},
      {"DevicePredicateOfAnUnknownParameter",
       [](Implementation& i) { i.device_predicates[0].sides[0] = Par(7); },
       "device_predicates[0]: parameter number 7 does not exist"},
      {"DevicePredicateWithoutAnOperator",
       [](Implementation& i) {
         i.device_predicates[0].op = static_cast<Relation::Operator>(0);
       },
       "device_predicates[0]: the operator is unknown"},
  };
}

std::vector<Fault> TensorMapFaults() {
  return {
      {"UnknownArgument",
       [](Implementation& i) { i.tensor_maps[0].argument = 6; },
       "tensor_maps[0].argument: argument number 6 does not exist"},
      {"MapOfAScalar", [](Implementation& i) { i.tensor_maps[0].argument = 3; },
       "tensor_maps[0].argument: 'm' is a scalar; name the buffer"},
      {"ThreeExtents",
       [](Implementation& i) {
         i.tensor_maps[0].extents = {Dim(2), Dim(0), Dim(1)};
       },
       "tensor_maps[0].extents: there are 3; give 2"},
      {"FlatBox",
       [](Implementation& i) { i.tensor_maps[0].box = {ConstantOf(64)}; },
       "tensor_maps[0].box: there are 1; give 2"},
      {"ExtentOfAnUnknownDimension",
       [](Implementation& i) { i.tensor_maps[0].extents[1] = Dim(3); },
       "tensor_maps[0].extents: dimension number 3 does not exist"},
      {"BoxOfADimension",
       [](Implementation& i) { i.tensor_maps[0].box[1] = Dim(0); },
       "tensor_maps[0].box: names a dimension"},
      {"BoxTooLarge",
       [](Implementation& i) {
         i.tensor_maps[0].box[1] =
             Expression::Product({ConstantOf(8), Par(kBlockM)});
       },
       "tensor_maps[0].box: a side has 512 elements with 'BLOCK_M=64"},
      {"EmptyBoxOfAMapThatIsAlwaysEncoded",
       [](Implementation& i) {
         i.tensor_maps[0].box[1] = Par(kHopperArchitecture);
         i.tensor_maps[0].enabled_by.reset();
       },
       "tensor_maps[0].box: a side has 0 elements with"},
      {"UnknownPromotion",
       [](Implementation& i) { i.tensor_maps[0].l2_promotion_bytes = 512; },
       "tensor_maps[0].l2_promotion_bytes: is 512; give 0, 64, 128 or 256"},
      {"EnabledByNothing",
       [](Implementation& i) { i.tensor_maps[0].enabled_by = 7; },
       "tensor_maps[0].enabled_by: parameter number 7 does not exist"},
  };
}

std::vector<Fault> PeerFaults() {
  const VendorBaseline sound{
      .library = "cublaslt",
      .product = {.a = 0, .b = 1, .out = 2, .m = 0, .n = 1, .k = 2}};
  const auto with =
      [sound](const std::function<void(VendorBaseline&)>& change) {
        return [=](Implementation& i) {
          i.vendor_baselines = {sound};
          change(i.vendor_baselines[0]);
        };
      };
  return {
      {"NoLibrary", with([](VendorBaseline& p) { p.library.clear(); }),
       "vendor_baselines[0].library: is empty; name it"},
      {"ProductOfAnOutput", with([](VendorBaseline& p) { p.product.b = 2; }),
       "vendor_baselines[0].b: argument number 2 is no input"},
      {"ProductIntoAnInput", with([](VendorBaseline& p) { p.product.out = 1; }),
       "vendor_baselines[0].out: argument number 1 is no output"},
      {"ProductOfAnUnknownArgument",
       with([](VendorBaseline& p) { p.product.a = 9; }),
       "vendor_baselines[0].a: argument number 9 is no input"},
      {"UnknownDimension", with([](VendorBaseline& p) { p.product.k = 5; }),
       "vendor_baselines[0].k: dimension number 5 does not exist or is "
       "repeated"},
  };
}

std::string FaultName(const ::testing::TestParamInfo<Fault>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Sizes, ImplementationFaultTest,
                         ::testing::ValuesIn(SizeFaults()), FaultName);
INSTANTIATE_TEST_SUITE_P(Relations, ImplementationFaultTest,
                         ::testing::ValuesIn(RelationFaults()), FaultName);
INSTANTIATE_TEST_SUITE_P(TensorMaps, ImplementationFaultTest,
                         ::testing::ValuesIn(TensorMapFaults()), FaultName);

INSTANTIATE_TEST_SUITE_P(VendorBaselines, ImplementationFaultTest,
                         ::testing::ValuesIn(PeerFaults()), FaultName);

TEST(ImplementationFaultsTest, WhatOnlyCudaHasIsRefusedOnOtherBackends) {
  for (const std::string backend : {"opencl", "replay"}) {
    KernelSpec spec = HopperGemmSpec();
    spec.implementations[0].backend = backend;
    spec.implementations[0].vendor_baselines = {
        {.library = "cublaslt",
         .product = {.a = 0, .b = 1, .out = 2, .m = 0, .n = 1, .k = 2}}};
    const std::string message(ValidateKernelSpec(spec).message());
    // A recording keeps the predicates of what was recorded.
    std::vector<std::string> fields = {"cluster_size", "persistent_if",
                                       "tensor_maps", "vendor_baselines"};
    if (backend != "replay") fields.emplace_back("device_predicates");
    EXPECT_THAT(message,
                HasSubstr(absl::StrCat("has ", fields.size(), " faults")));
    for (const std::string& field : fields) {
      EXPECT_THAT(message, HasSubstr(absl::StrCat(
                               "implementations: '", backend, "': ", field,
                               ": the backend '", backend,
                               "' does not support it; remove it")));
    }
  }
}

// GemmSpec through Triton; its parameters are arguments of the function.
KernelSpec TritonGemmSpec() {
  KernelSpec spec = GemmSpec();
  spec.parameters.push_back(
      {.name = "num_warps", .role = ParameterRole::kMicro, .values = {4, 8}});
  std::vector<int64_t> values(spec.default_configuration.values().begin(),
                              spec.default_configuration.values().end());
  values.push_back(4);
  spec.default_configuration = Configuration(values);
  spec.implementations = {
      {.backend = "triton", .sources = {"gemm.py"}, .entry = "gemm"}};
  return spec;
}

TEST(ImplementationFaultsTest, ATritonImplementationNeedsSourcesAndEntryAlone) {
  EXPECT_TRUE(ValidateKernelSpec(TritonGemmSpec()).ok())
      << ValidateKernelSpec(TritonGemmSpec());
}

std::vector<Fault> TritonFaults() {
  return {
      {"BlockSize", [](Implementation& i) { i.block_size = {ConstantOf(128)}; },
       "block_size: is 32 * num_warps with Triton; remove it"},
      {"SharedMemory",
       [](Implementation& i) { i.shared_memory_bytes = ConstantOf(128); },
       "shared_memory_bytes: Triton says what it needs; remove it"},
      {"CompileOptions", [](Implementation& i) { i.compile_options = {"-O3"}; },
       "compile_options: Triton's are the parameters num_warps, num_stages "
       "and maxnreg; remove it"},
      {"Clusters", [](Implementation& i) { i.cluster_size = ConstantOf(2); },
       "cluster_size: a tile of a Triton kernel is one block; remove it"},
      {"MapWithASwizzle",
       [](Implementation& i) {
         i.tensor_maps = {{.argument = 0,
                           .extents = {Dim(2), Dim(0)},
                           .box = {ConstantOf(64), ConstantOf(64)},
                           .swizzle = TensorMap::Swizzle::k128Bytes}};
       },
       "tensor_maps: swizzle: Triton lays out what its descriptors load; "
       "remove it"},
      {"MapWithAPromotion",
       [](Implementation& i) {
         i.tensor_maps = {{.argument = 0,
                           .extents = {Dim(2), Dim(0)},
                           .box = {ConstantOf(64), ConstantOf(64)},
                           .l2_promotion_bytes = 256}};
       },
       "tensor_maps: l2_promotion_bytes: is 128 with Triton; remove it"},
      {"NoModule", [](Implementation& i) { i.sources = {"gemm.cu"}; },
       "sources: 'gemm.cu' is no Python module; name it"},
      {"NoModuleName", [](Implementation& i) { i.sources = {"my-gemm.py"}; },
       "sources: 'my-gemm.py' is no Python module; name it"},
      {"NoSources", [](Implementation& i) { i.sources = {}; },
       "sources: there are none; name the file to compile"},
      {"NoEntry", [](Implementation& i) { i.entry = ""; },
       "entry: '' is no function name; name the kernel function"},
  };
}

class TritonFaultTest : public ::testing::TestWithParam<Fault> {};

TEST_P(TritonFaultTest, IsReportedWithItsFieldAndAsTheOnlyOne) {
  KernelSpec spec = TritonGemmSpec();
  GetParam().apply(spec.implementations[0]);
  const std::string message(ValidateKernelSpec(spec).message());
  EXPECT_THAT(message,
              HasSubstr("\nimplementations: 'triton': " + GetParam().message));
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1) << message;
}

INSTANTIATE_TEST_SUITE_P(Triton, TritonFaultTest,
                         ::testing::ValuesIn(TritonFaults()), FaultName);

TEST(ImplementationFaultsTest, ValuesThatTritonsCompilerDoesNotTakeAreRefused) {
  const std::pair<const char*, int64_t> refused[] = {
      {"num_warps", 3}, {"num_warps", 64}, {"num_stages", 0},
      {"num_ctas", 2},  {"maxnreg", 256},  {"maxnreg", 8}};
  for (const auto& [name, value] : refused) {
    KernelSpec spec = TritonGemmSpec();
    spec.parameters.back().name = name;
    spec.parameters.back().values = {value};
    EXPECT_THAT(
        std::string(ValidateKernelSpec(spec).message()),
        HasSubstr(absl::StrCat("'triton': parameter '", name, "' has value ",
                               value, "; Triton's ", name, " takes ")));
  }
}

TEST(ImplementationFaultsTest, AnArgumentOfATritonFunctionIsNoParameterToo) {
  KernelSpec spec = TritonGemmSpec();
  spec.parameters.front().name = spec.arguments.front().name;
  EXPECT_THAT(std::string(ValidateKernelSpec(spec).message()),
              HasSubstr(absl::StrCat("'triton': argument '",
                                     spec.arguments.front().name,
                                     "' has the name of a parameter")));
}

TEST(ImplementationFaultsTest, ASumMayHaveTermsThatAreZero) {
  KernelSpec spec = HopperGemmSpec();
  const auto extra =
      Expression::Product({ConstantOf(64), Par(kHopperArchitecture)});
  spec.implementations[0].blocks = {Expression::Sum({Dim(0), extra})};
  spec.implementations[0].shared_memory_bytes = Expression::Sum({extra});
  spec.arguments[0].size =
      Expression::Sum({Expression::Product({Dim(0), Dim(2)}), extra});
  EXPECT_TRUE(ValidateKernelSpec(spec).ok()) << ValidateKernelSpec(spec);
}

TEST(ImplementationFaultsTest, AConstraintCanRuleOutASizeOfZero) {
  KernelSpec spec = HopperGemmSpec();
  spec.implementations[0].block_size = {Par(kHopperArchitecture)};
  spec.constraints.push_back(
      {Par(kHopperArchitecture), Relation::Operator::kEqual, ConstantOf(1)});
  // HOPPER needs VECTOR = 4, which is legal for every problem only where every
  // k is a multiple of it.
  spec.dimensions[2].min = spec.dimensions[2].max = 64;
  spec.representative_problems = {{.problem = {.extents = {1, 64, 64}}}};
  EXPECT_TRUE(ValidateKernelSpec(spec).ok()) << ValidateKernelSpec(spec);
}

TEST(ImplementationFaultsTest, AnUnusedTensorMapMayHaveAnEmptyBox) {
  KernelSpec spec = HopperGemmSpec();
  spec.implementations[0].tensor_maps[0].box[1] = Par(kHopperArchitecture);
  EXPECT_TRUE(ValidateKernelSpec(spec).ok()) << ValidateKernelSpec(spec);
}

}  // namespace
}  // namespace wavetune
