// Public tuning spaces, translated: the text says what their authors' code
// says, so the number of configurations is the same.
#include <string>

#include "formats/kernel_folder.h"
#include "formats/kernel_spec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

std::string Manifest(const std::string& name) {
  return ReadTextFile(std::string(WAVETUNE_SOURCE_DIR) + "/tests/data/spaces/" +
                      name + ".textproto")
      .value();
}

KernelSpec Space(const std::string& name) {
  const absl::StatusOr<v1::KernelSpec> proto = ParseManifest(Manifest(name));
  EXPECT_TRUE(proto.ok()) << proto.status();
  return proto.ok() ? KernelSpecFromProto(*proto).value() : KernelSpec();
}

int64_t Count(const std::string& name) {
  return EnumerateSpace(Space(name)).count;
}

TEST(PublicSpacesTest, HaveTheNumberOfConfigurationsThatTheirAuthorsHave) {
  EXPECT_EQ(Count("vllm_fused_moe_cuda"), 1920);
  EXPECT_EQ(Count("vllm_fused_moe_host"), 1920);
  EXPECT_EQ(Count("vllm_fused_moe_rocm"), 25760);  // Brute force.
  EXPECT_EQ(Count("kernel_tuner_convolution"), 4362);
  EXPECT_EQ(Count("clblast_gemm"), 17472);
  EXPECT_EQ(Count("kernel_tuner_expdist"), 33600);
}

TEST(PublicSpacesTest, OfTheLargestTheNumberIsSaidAndWhatToDo) {
  const absl::Status status =
      ParseManifest(Manifest("kernel_tuner_hotspot")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the space has 349853 configurations, of which at most "
                        "100000 can be enumerated; give fewer values"));
}

TEST(PublicSpacesTest, WhatPrunesProblemsIsAPredicateOfEachConfiguration) {
  const KernelSpec rocm = Space("vllm_fused_moe_rocm");
  Configuration configuration = rocm.default_configuration;
  EXPECT_TRUE(IsLegalForEveryProblem(rocm, configuration));
  // BLOCK_SIZE_M = 64 needs m >= 32, with groups of 4 m >= 256.
  EXPECT_FALSE(IsLegal(rocm, {64, 64, 64, 1, 4, 0, 16, 1}, {31, 512, 512}));
  EXPECT_TRUE(IsLegal(rocm, {64, 64, 64, 1, 4, 0, 16, 1}, {32, 512, 512}));
  EXPECT_FALSE(IsLegal(rocm, {64, 64, 64, 4, 4, 0, 16, 1}, {255, 512, 512}));
  EXPECT_TRUE(IsLegal(rocm, {64, 64, 64, 4, 4, 0, 16, 1}, {256, 512, 512}));
}

}  // namespace
}  // namespace wavetune
