// What the folders under kernels/ and tests/kernels/ declare, beyond being
// valid (kernel_folder_test.cc).
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "formats/kernel_folder.h"
#include "formats/kernel_spec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/device_space.h"
#include "model/kernel/edge_problems.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping_inverse.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

// What a CUDA worker is given: names bound, 209 configurations for Hopper and
// 24 for every GPU.
TEST(ShippedKernelsTest, GemmBf16HasItsSpaceAndItsLaunch) {
  const absl::StatusOr<KernelFolder> folder =
      LoadKernelFolder(std::string(WAVETUNE_SOURCE_DIR) + "/kernels/gemm_bf16");
  ASSERT_TRUE(folder.ok()) << folder.status();
  const KernelSpec& spec = folder->spec;
  const std::vector<Configuration> space = EnumerateConfigurations(spec);
  EXPECT_EQ(space.size(), 233u);
  const DeviceFacts h200{.backend = "cuda", .architecture = "sm_90"};
  const DeviceFacts a100{.backend = "cuda", .architecture = "sm_80"};
  EXPECT_EQ(CountNotMeantFor(spec, h200), 0);
  EXPECT_EQ(CountNotMeantFor(spec, a100), 209);
  EXPECT_EQ(SpecForDevice(spec, h200)->default_configuration,
            spec.default_configuration);
  const DeviceFacts t4{.backend = "cuda", .architecture = "sm_75"};
  EXPECT_EQ(CountNotMeantFor(spec, t4), 233);
  EXPECT_EQ(SpecForDevice(spec, t4).status().code(),
            absl::StatusCode::kFailedPrecondition);
  const KernelSpec older = SpecForDevice(spec, a100).value();
  EXPECT_TRUE(IsLegalForEveryProblem(older, older.default_configuration));
  EXPECT_EQ(older.default_configuration[spec.ParameterIndex("HOPPER")], 0);

  const Implementation* cuda = spec.ImplementationOf("cuda");
  ASSERT_NE(cuda, nullptr);
  const auto at_default = [&](const Expression& expression) {
    return Evaluate(expression, ProblemView(), spec.default_configuration);
  };
  EXPECT_EQ(at_default(cuda->block_size.at(0)), 128 * 2 + 128);
  EXPECT_EQ(at_default(*cuda->shared_memory_bytes),
            2048 + 2 * 64 * 6 * (128 + 128) + 8192 * 2);
  EXPECT_EQ(at_default(*cuda->cluster_size), 1);
  ASSERT_EQ(cuda->tensor_maps.size(), 3u);
  EXPECT_EQ(
      spec.arguments[static_cast<size_t>(cuda->tensor_maps[1].argument)].name,
      "b");
  EXPECT_EQ(cuda->tensor_maps[1].enabled_by, spec.ParameterIndex("HOPPER"));
  EXPECT_EQ(at_default(cuda->tensor_maps[1].box[1]), 128);
}

// The recording says each condition by itself, and never with `when`.
TEST(ShippedKernelsTest, GemmBf16SaysWhatItsRecordingSays) {
  const std::string root = WAVETUNE_SOURCE_DIR;
  const KernelSpec kernel = LoadKernelFolder(root + "/kernels/gemm_bf16")->spec;
  const KernelSpec recorded =
      KernelSpecFromProto(
          ParseManifest(
              ReadTextFile(root +
                           "/tests/data/h200/gemm_bf16/manifest.textproto")
                  .value())
              .value())
          .value();
  const std::vector<Configuration> space = EnumerateConfigurations(kernel);
  EXPECT_EQ(space, EnumerateConfigurations(recorded));
  EXPECT_EQ(kernel.mapping, recorded.mapping);
  EXPECT_EQ(kernel.default_configuration, recorded.default_configuration);
  for (const Configuration& configuration : space) {
    EXPECT_EQ(ProblemRelations(kernel, configuration),
              ProblemRelations(recorded, configuration));
  }
}

// Every candidate gets problems that land on wanted coordinates: clusters, and
// products of splits, rows and columns, are inverted.
TEST(ShippedKernelsTest, GemmBf16CanBePlanned) {
  const KernelFolder folder =
      LoadKernelFolder(std::string(WAVETUNE_SOURCE_DIR) + "/kernels/gemm_bf16")
          .value();
  const KernelSpec& spec = folder.spec;
  const auto value = [&](const Configuration& configuration, const char* name) {
    return configuration[spec.ParameterIndex(name)];
  };
  for (const Configuration& c : EnumerateConfigurations(spec)) {
    SCOPED_TRACE(FormatConfiguration(spec, c));
    const int64_t step =
        value(c, "CLUSTER_M") * value(c, "CLUSTER_N") * value(c, "SPLIT_K");
    for (const int64_t rows : {0, 1, 2}) {
      const auto problem = InvertMapping(
          spec, "", c, {.tiles = 132, .iterations = 8, .rows = rows});
      ASSERT_TRUE(problem.ok()) << problem.status();
      EXPECT_TRUE(IsLegal(spec, c, problem->View()));
      const Coordinates at = MapProblem(spec.mapping, problem->View(), c);
      EXPECT_GE(at.tiles, 132);
      EXPECT_EQ(at.tiles % step, 0);
      EXPECT_EQ(at.iterations, 8);
      if (rows > 0) {
        EXPECT_EQ(at.rows, rows);
        EXPECT_LT(at.tiles, 132 + step * rows);
      }
    }
  }
}

// Every candidate of every specialisation gets problems to be measured at.
TEST(ShippedKernelsTest, TritonKernelsHaveTheirSpacesAndCanBePlanned) {
  const struct {
    const char* kernel;
    int64_t candidates;  // Of all specialisations.
  } kernels[] = {{"triton_gemm", 212},
                 {"triton_fused_moe", 2 * 153},
                 {"triton_attention", 2 * (35 + 29 + 42)}};
  for (const auto& [kernel, candidates] : kernels) {
    const absl::StatusOr<KernelFolder> folder = LoadKernelFolder(
        std::string(WAVETUNE_SOURCE_DIR) + "/kernels/" + kernel);
    ASSERT_TRUE(folder.ok()) << folder.status();
    int64_t seen = 0;
    for (const std::string& name : folder->spec.SpecialisationNames()) {
      const KernelSpec& spec = folder->spec.Of(name);
      for (const Configuration& c : EnumerateConfigurations(spec)) {
        SCOPED_TRACE(name + " " + FormatConfiguration(spec, c));
        ++seen;
        const auto problem =
            InvertMapping(spec, name, c, {.tiles = 264, .iterations = 8});
        ASSERT_TRUE(problem.ok()) << problem.status();
        EXPECT_TRUE(IsLegal(spec, c, problem->View()));
        EXPECT_FALSE(EdgeProblems(spec, name, c).empty());
      }
    }
    EXPECT_EQ(seen, candidates) << kernel;
  }
}

// Candidates are checked where tiles end within an image and in the next one,
// with filters that have rows and columns.
TEST(ShippedKernelsTest, AConvolutionIsCheckedOnImages) {
  const KernelFolder folder =
      LoadKernelFolder(std::string(WAVETUNE_SOURCE_DIR) +
                       "/tests/kernels/conv2d")
          .value();
  for (const std::string& name : folder.spec.SpecialisationNames()) {
    const KernelSpec& spec = folder.spec.Of(name);
    const auto at = [&](const Problem& problem, const char* dimension) {
      return problem
          .extents[static_cast<size_t>(spec.DimensionIndex(dimension))];
    };
    for (const Configuration& configuration : EnumerateConfigurations(spec)) {
      SCOPED_TRACE(FormatConfiguration(spec, configuration));
      const auto problems = EdgeProblems(spec, name, configuration);
      ASSERT_EQ(problems.size(), 5u);
      const int64_t tile = configuration[spec.ParameterIndex("BLOCK_P")];
      for (const size_t i : {1u, 2u, 4u}) {
        const Problem& problem = problems[i];
        SCOPED_TRACE(FormatProblem(spec, problem));
        EXPECT_GE(at(problem, "out_h"), 3);
        EXPECT_GE(at(problem, "out_w"), 3);
        EXPECT_EQ(at(problem, "kernel_h"), 3);
        EXPECT_EQ(at(problem, "kernel_w"), 3);
        const int64_t pixels =
            at(problem, "batch") * at(problem, "out_h") * at(problem, "out_w");
        EXPECT_NE(pixels % tile, 0);
        EXPECT_EQ(pixels < tile, i == 1);
        EXPECT_EQ(at(problem, "batch") == 1, i == 1);
      }
    }
  }
}

// Their mappings count keys and columns one by one, and name no step.
TEST(ShippedKernelsTest, LoopsThatAreCountedAreCheckedAcrossTheirSteps) {
  const struct {
    const char* kernel;
    const char* dimension;
    const char* step;
  } loops[] = {{"rms_norm", "hidden", "BLOCK_H"},
               {"attention_counted", "seq_kv", "BLOCK_KV"}};
  for (const auto& loop : loops) {
    const KernelFolder folder =
        LoadKernelFolder(std::string(WAVETUNE_SOURCE_DIR) + "/tests/kernels/" +
                         loop.kernel)
            .value();
    const std::string name = folder.spec.SpecialisationNames().front();
    const KernelSpec& spec = folder.spec.Of(name);
    const auto dimension =
        static_cast<size_t>(spec.DimensionIndex(loop.dimension));
    for (const Configuration& configuration : EnumerateConfigurations(spec)) {
      SCOPED_TRACE(FormatConfiguration(spec, configuration));
      const int64_t step = configuration[spec.ParameterIndex(loop.step)];
      std::set<int64_t> extents;
      for (const Problem& problem : EdgeProblems(spec, name, configuration)) {
        extents.insert(problem.extents[dimension]);
      }
      EXPECT_THAT(extents, ::testing::IsSupersetOf(
                               {step - 1, step + 1, 2 * step + step / 2}));
    }
  }
}

}  // namespace
}  // namespace wavetune
