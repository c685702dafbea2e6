#include "profiler_agent/cuda/triton/triton_form.h"

#include "gtest/gtest.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

// a[n], alpha and n.
class TritonFormTest : public ::testing::Test {
 protected:
  TritonFormTest() {
    const Expression n = Expression::OfDimension(0);
    spec_.dimensions = {{.name = "n"}};
    spec_.arguments = {{.name = "a",
                        .role = ArgumentRole::kInput,
                        .type = ElementType::kBfloat16,
                        .size = n},
                       {.name = "alpha",
                        .role = ArgumentRole::kScalar,
                        .type = ElementType::kFloat32,
                        .number = 16.0},
                       {.name = "n",
                        .role = ArgumentRole::kScalar,
                        .type = ElementType::kInt32,
                        .size = n}};
  }

  TritonForm At(int64_t n) const {
    return FormOf(spec_, declared_, {}, {.extents = {n}});
  }

  KernelSpec spec_;
  std::vector<TritonArgument> declared_ = std::vector<TritonArgument>(3);
};

TEST_F(TritonFormTest, IntegersAreOneMultiplesOfSixteenOrNeither) {
  EXPECT_EQ(At(1), "D-1");
  EXPECT_EQ(At(2), "D--");
  EXPECT_EQ(At(16), "D-D");
  EXPECT_EQ(At(700), "D--");
  EXPECT_EQ(At(4096), "D-D");
}

TEST_F(TritonFormTest, WhatTheFunctionDoesNotSpecialiseIsGeneral) {
  declared_[0].specialise = false;
  declared_[2].specialise = false;
  EXPECT_EQ(At(1), "---");
  EXPECT_EQ(At(16), "---");
}

TEST_F(TritonFormTest, WithoutAlignmentOneIsStillPartOfTheCode) {
  declared_[0].align = false;
  declared_[2].align = false;
  EXPECT_EQ(At(1), "--1");
  EXPECT_EQ(At(16), "---");
}

TEST_F(TritonFormTest, AnAnnotatedIntegerIsPassedWhereItIsOne) {
  declared_[2].annotated = "i32";
  EXPECT_EQ(At(1), "D--");
  EXPECT_EQ(At(16), "D-D");
}

TEST_F(TritonFormTest, TypesHaveTritonsNames) {
  EXPECT_EQ(TritonTypeName(spec_.arguments[0]), "*bf16");
  EXPECT_EQ(TritonTypeName(spec_.arguments[1]), "fp32");
  EXPECT_EQ(TritonTypeName(spec_.arguments[2]), "i32");
}

TEST_F(TritonFormTest, AMapsTypeHasItsBoxAndIsEmptyWhereItIsSwitchedOff) {
  const TensorMap map = {
      .argument = 0,
      .extents = {Expression::OfDimension(0), Expression::Constant(1)},
      .box = {Expression::Constant(64), Expression::OfParameter(0)},
      .enabled_by = 1};
  EXPECT_EQ(TritonTypeName(spec_, map, {128, 1}), "tensordesc<bf16[128,64]>");
  EXPECT_EQ(TritonTypeName(spec_, map, {128, 0}), "");
}

}  // namespace
}  // namespace wavetune
