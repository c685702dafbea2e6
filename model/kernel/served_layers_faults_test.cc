#include "model/kernel/served_layers_faults.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_faults.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/served_layers.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

KernelSpec WithDimensions(const std::vector<std::string>& names) {
  KernelSpec spec;
  for (const std::string& name : names) {
    spec.dimensions.push_back({.name = name, .repeated = name == "tokens"});
  }
  return spec;
}

std::vector<std::string> FaultsOf(const KernelSpec& spec) {
  KernelFaults faults(spec);
  CheckServedLayers(spec, faults);
  return faults.lines();
}

KernelSpec Attention() {
  KernelSpec spec =
      WithDimensions({"batch", "heads", "kv_heads", "seq_q", "seq_kv"});
  spec.specialisations = {{.name = "causal"}, {.name = "decode"}};
  spec.serves = testing::PrefillAndDecode("causal", "decode");
  return spec;
}

TEST(ServedLayersFaultsTest, AKernelMayServeNothing) {
  EXPECT_THAT(FaultsOf(WithDimensions({"rows"})), IsEmpty());
}

TEST(ServedLayersFaultsTest, EachDimensionHasOneMeaning) {
  KernelSpec spec = WithDimensions({"m", "n", "k"});
  spec.serves = ServedLinear{.m = 0, .n = 1, .k = 2};
  EXPECT_THAT(FaultsOf(spec), IsEmpty());
  spec.serves = ServedLinear{.m = 0, .n = 1, .k = 1};
  EXPECT_THAT(FaultsOf(spec),
              ElementsAre(HasSubstr("dimension 'n' is both n and k"),
                          HasSubstr("dimension 'k' has no meaning")));
}

TEST(ServedLayersFaultsTest, SlotsOfExpertsAreAListAndNothingElseIs) {
  KernelSpec spec = WithDimensions({"tokens", "n", "k"});
  spec.serves = ServedMoe{.tokens = 0, .n = 1, .k = 2};
  EXPECT_THAT(FaultsOf(spec), IsEmpty());
  spec.serves = ServedMoe{.tokens = 1, .n = 0, .k = 2};
  EXPECT_THAT(FaultsOf(spec),
              ElementsAre(HasSubstr("tokens is dimension 'n', which is not "
                                    "repeated; name one that is"),
                          HasSubstr("n is dimension 'tokens', which is "
                                    "repeated; name one that is not")));
}

TEST(ServedLayersFaultsTest, SpecialisationsAreNamedWhereThereAreSome) {
  KernelSpec spec = WithDimensions({"tokens", "n", "k"});
  spec.serves =
      ServedMoe{.tokens = 0, .n = 1, .k = 2, .gate_up = "gate_up", .down = ""};
  EXPECT_THAT(FaultsOf(spec),
              ElementsAre(HasSubstr("gate_up names a specialisation, but there "
                                    "are none; remove it")));
  spec.specialisations = {{.name = "gate_up"}};
  EXPECT_THAT(FaultsOf(spec),
              ElementsAre(HasSubstr("down names no specialisation; name one")));
}

TEST(ServedLayersFaultsTest, EnginesAreKnownOnes) {
  KernelSpec spec = WithDimensions({"tokens", "n", "k"});
  spec.serves = ServedMoe{
      .tokens = 0, .n = 1, .k = 2, .engines = {"vllm", "sglang", "vllm", "x"}};
  EXPECT_THAT(FaultsOf(spec),
              ElementsAre(HasSubstr("engines has 'vllm' twice"),
                          HasSubstr("engines has 'x', which is unknown; give "
                                    "one of vllm, sglang")));
}

TEST(ServedLayersFaultsTest, TypesAreKnownOnes) {
  KernelSpec spec = WithDimensions({"m", "n", "k"});
  spec.serves = ServedLinear{.m = 0, .n = 1, .k = 2};
  spec.served_types = {"fp8", "bf16", "fp8"};
  EXPECT_THAT(FaultsOf(spec),
              ElementsAre(HasSubstr("types has 'bf16', which is unknown; give "
                                    "one of float32, float16, bfloat16, fp8"),
                          HasSubstr("types has 'fp8' twice")));
}

TEST(ServedLayersFaultsTest, VariantsOfAttentionAreDistinctAndInRange) {
  KernelSpec spec = Attention();
  EXPECT_THAT(FaultsOf(spec), IsEmpty());
  auto& variants = std::get<ServedAttention>(spec.serves).variants;
  variants.push_back(variants[0]);
  variants[1].causal = true;
  variants[1].head_dim = 0;
  EXPECT_THAT(
      FaultsOf(spec),
      ElementsAre(HasSubstr("variants[1] has head_dim 0; give 1 to 65536"),
                  HasSubstr("variants[1] is causal, but one query sees all"),
                  HasSubstr("variants[2] computes what variants[0] does")));
  variants.clear();
  EXPECT_THAT(FaultsOf(spec),
              ElementsAre(HasSubstr("attention has no variants; say which")));
}

}  // namespace
}  // namespace wavetune
