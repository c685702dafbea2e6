// What reaches the driver: arguments, tensor maps, attributes, the order of a
// burst. A table of fakes stands for the driver.
#include "profiler_agent/cuda/cuda_launch.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/cuda/cuda_kernel.h"
#include "profiler_agent/cuda/cuda_tensor_map.h"
#include "profiler_agent/cuda/cuda_timer.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What a map was encoded from.
struct EncodedMap {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  std::array<cuuint64_t, 2> extents = {1, 1};
  cuuint64_t row_bytes = 0;
  std::array<cuuint32_t, 2> box = {1, 1};
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;

  friend bool operator==(const EncodedMap&, const EncodedMap&) = default;
};

// What the fake driver was called with.
struct Calls {
  std::vector<std::string> log;
  CUlaunchConfig config = {};
  unsigned cluster = 0;
  std::vector<std::string> parameters;  // Bytes, as far as `sizes` says.
  std::vector<size_t> sizes;
  EncodedMap map;
  void* map_address = nullptr;
  CUresult launch_code = CUDA_SUCCESS;
  int blocks = 2;
  int clusters = 30;
  float milliseconds = 0.005f;
  std::array<int, 2> gate = {};  // Mapped host memory.
  std::vector<uint64_t> looks;   // The same.
  int gate_at_wait = -1;
};
Calls calls;

// The timer's own kernels.
const auto kHold = reinterpret_cast<CUfunction>(1);
const auto kLook = reinterpret_cast<CUfunction>(2);

CUresult LaunchOfFake(const CUlaunchConfig* config, CUfunction function,
                      void** parameters, void**) {
  calls.log.push_back(function == kHold   ? "hold"
                      : function == kLook ? "look"
                                          : "launch");
  calls.config = *config;
  calls.cluster =
      config->numAttrs == 1 ? config->attrs[0].value.clusterDim.x : 0;
  calls.parameters.clear();
  for (size_t i = 0; i < calls.sizes.size(); ++i) {
    calls.parameters.emplace_back(static_cast<const char*>(parameters[i]),
                                  calls.sizes[i]);
  }
  return calls.launch_code;
}

CUresult FakeEncode(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                    void* address, const cuuint64_t* extents,
                    const cuuint64_t* strides, const cuuint32_t* box,
                    const cuuint32_t* element_strides, CUtensorMapInterleave,
                    CUtensorMapSwizzle swizzle,
                    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill) {
  EXPECT_EQ(rank, 2u);
  EXPECT_EQ(element_strides[0], 1u);
  EXPECT_EQ(element_strides[1], 1u);
  calls.map = {.type = type,
               .extents = {extents[0], extents[1]},
               .row_bytes = strides[0],
               .box = {box[0], box[1]},
               .swizzle = swizzle,
               .l2_promotion = promotion};
  calls.map_address = address;
  std::memset(map, 0xab, sizeof(*map));
  return CUDA_SUCCESS;
}

CudaDriver FakeDriver() {
  calls = {};
  CudaDriver driver;
  driver.cuLaunchKernelEx = LaunchOfFake;
  driver.cuTensorMapEncodeTiled = FakeEncode;
  driver.cuFuncSetAttribute = [](CUfunction, CUfunction_attribute attribute,
                                 int value) {
    calls.log.push_back(
        absl::StrCat("set ", static_cast<int>(attribute), " ", value));
    return CUDA_SUCCESS;
  };
  driver.cuOccupancyMaxActiveBlocksPerMultiprocessor =
      [](int* blocks, CUfunction, int, size_t) {
        *blocks = calls.blocks;
        return CUDA_SUCCESS;
      };
  driver.cuOccupancyMaxActiveClusters = [](int* clusters, CUfunction,
                                           const CUlaunchConfig* config) {
    calls.config = *config;
    calls.cluster = config->attrs[0].value.clusterDim.x;
    *clusters = calls.clusters;
    return CUDA_SUCCESS;
  };
  driver.cuEventCreate = [](CUevent* event, unsigned) {
    static intptr_t next = 1;
    *event = reinterpret_cast<CUevent>(next++);
    return CUDA_SUCCESS;
  };
  driver.cuEventDestroy = [](CUevent) { return CUDA_SUCCESS; };
  driver.cuEventRecord = [](CUevent, CUstream) {
    calls.log.emplace_back("record");
    return CUDA_SUCCESS;
  };
  driver.cuEventElapsedTime = [](float* milliseconds, CUevent, CUevent) {
    *milliseconds = calls.milliseconds;
    return CUDA_SUCCESS;
  };
  driver.cuStreamSynchronize = [](CUstream) {
    calls.log.emplace_back("wait");
    calls.gate_at_wait = calls.gate[0];
    return CUDA_SUCCESS;
  };
  driver.cuMemHostAlloc = [](void** memory, size_t bytes, unsigned) {
    *memory = &calls.gate;
    if (bytes > sizeof(calls.gate)) {
      calls.looks.resize(bytes / sizeof(uint64_t));
      *memory = calls.looks.data();
    }
    return CUDA_SUCCESS;
  };
  driver.cuMemFreeHost = [](void*) { return CUDA_SUCCESS; };
  driver.cuMemHostGetDevicePointer = [](CUdeviceptr* address, void* memory,
                                        unsigned) {
    *address = reinterpret_cast<CUdeviceptr>(memory);
    return CUDA_SUCCESS;
  };
  driver.cuModuleLoadData = [](CUmodule*, const void*) { return CUDA_SUCCESS; };
  driver.cuModuleUnload = [](CUmodule) { return CUDA_SUCCESS; };
  driver.cuModuleGetFunction = [](CUfunction* function, CUmodule,
                                  const char* entry) {
    *function = std::strcmp(entry, "hold") == 0 ? kHold : kLook;
    return CUDA_SUCCESS;
  };
  driver.cuFuncGetAttribute = [](int* value, CUfunction_attribute, CUfunction) {
    *value = 32;
    return CUDA_SUCCESS;
  };
  return driver;
}

// b[n][k] in bfloat16, a map over it where TMA is 1, then c and n.
class CudaLaunchTest : public ::testing::Test {
 protected:
  CudaLaunchTest() : driver_(FakeDriver()) {
    session_ = {.driver = &driver_, .multiprocessors = 132};
    spec_.name = "k";
    spec_.dimensions = {{.name = "n"}, {.name = "k"}};
    spec_.parameters = {{.name = "BLOCK"}, {.name = "TMA"}};
    const Expression n = Expression::OfDimension(0);
    const Expression k = Expression::OfDimension(1);
    spec_.arguments = {{.name = "b",
                        .type = ElementType::kBfloat16,
                        .size = Expression::Product({n, k})},
                       {.name = "c", .role = ArgumentRole::kOutput, .size = n},
                       {.name = "n",
                        .role = ArgumentRole::kScalar,
                        .type = ElementType::kInt32,
                        .size = n}};
    implementation_.tensor_maps = {
        {.argument = 0,
         .extents = {k, n},
         .box = {Expression::Constant(64), Expression::OfParameter(0)},
         .swizzle = TensorMap::Swizzle::k128Bytes,
         .l2_promotion_bytes = 256,
         .enabled_by = 1}};
  }

  absl::StatusOr<std::optional<TensorMapPlan>> MapAt(
      const Configuration& configuration, int64_t n, int64_t k) {
    return TensorMapPlanOf(spec_, implementation_.tensor_maps[0], configuration,
                           {.extents = {n, k}});
  }
  std::string Refusal(const Configuration& configuration, int64_t n,
                      int64_t k) {
    const absl::Status status = MapAt(configuration, n, k).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    return std::string(status.message());
  }

  CudaDriver driver_;
  CudaSession session_;
  KernelSpec spec_;
  Implementation implementation_;
};

TEST_F(CudaLaunchTest, AMapIsAsTheManifestSays) {
  const auto plan = MapAt({128, 1}, 3584, 4096);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_TRUE(EncodeTensorMap(driver_, **plan, 0x1000).ok());
  EXPECT_EQ(calls.map,
            (EncodedMap{.type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                        .extents = {4096, 3584},
                        .row_bytes = 8192,
                        .box = {64, 128},
                        .swizzle = CU_TENSOR_MAP_SWIZZLE_128B,
                        .l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B}));
}

TEST_F(CudaLaunchTest, AMapThatIsNotEnabledIsNone) {
  EXPECT_EQ(*MapAt({128, 0}, 3, 3), std::nullopt);
}

TEST_F(CudaLaunchTest, SaysWhatAMapCannotBe) {
  EXPECT_THAT(Refusal({128, 1}, 64, 33), HasSubstr("'b' has rows of 66 bytes"));
  EXPECT_THAT(Refusal({257, 1}, 64, 64), HasSubstr("a box of 64 x 257"));
  implementation_.tensor_maps[0].box[0] = Expression::Constant(128);
  EXPECT_THAT(Refusal({128, 1}, 64, 64), HasSubstr("a box 256 bytes wide"));
  implementation_.tensor_maps[0].box[0] = Expression::Constant(4);
  EXPECT_THAT(Refusal({128, 1}, 64, 64), HasSubstr("a box 8 bytes wide"));
}

TEST_F(CudaLaunchTest, PassesMapsBeforeTheArguments) {
  calls.sizes = {sizeof(CUtensorMap), 8, 8, 4};
  auto arguments = CudaArguments::Create(spec_, &implementation_, {128, 1},
                                         {.extents = {3584, 4096}});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  ASSERT_TRUE(arguments->SetBuffer(driver_, 0, 0x1000).ok());
  ASSERT_TRUE(arguments->SetBuffer(driver_, 1, 0x2000).ok());
  const CudaLaunchShape shape = {
      .blocks = 28, .block_size = 384, .shared_bytes = 200000};
  ASSERT_TRUE(Launch(session_, CUfunction(), shape, 28, *arguments).ok());
  EXPECT_EQ(calls.parameters[0], std::string(sizeof(CUtensorMap), '\xab'));
  EXPECT_EQ(calls.parameters[1], std::string("\0\x10\0\0\0\0\0\0", 8));
  EXPECT_EQ(calls.parameters[2], std::string("\0\x20\0\0\0\0\0\0", 8));
  EXPECT_EQ(calls.parameters[3], std::string("\0\x0e\0\0", 4));
  EXPECT_EQ(calls.config.gridDimX, 28u);
  EXPECT_EQ(calls.config.gridDimY, 1u);
  EXPECT_EQ(calls.config.blockDimX, 384u);
  EXPECT_EQ(calls.config.sharedMemBytes, 200000u);
  EXPECT_EQ(calls.config.numAttrs, 0u);
}

TEST_F(CudaLaunchTest, AGridHasItsSides) {
  CudaArguments arguments;
  const CudaLaunchShape shape = {.blocks = {7, 5, 3}, .block_size = {32, 4, 2}};
  ASSERT_TRUE(
      Launch(session_, CUfunction(), shape, shape.blocks, arguments).ok());
  EXPECT_EQ(calls.config.gridDimX, 7u);
  EXPECT_EQ(calls.config.gridDimY, 5u);
  EXPECT_EQ(calls.config.gridDimZ, 3u);
  EXPECT_EQ(calls.config.blockDimX, 32u);
  EXPECT_EQ(calls.config.blockDimY, 4u);
  EXPECT_EQ(calls.config.blockDimZ, 2u);
}

TEST_F(CudaLaunchTest, PassesANumberInTheScalarsType) {
  spec_.arguments[2].type = ElementType::kFloat32;
  spec_.arguments[2].number = 0.125;
  auto arguments =
      CudaArguments::Create(spec_, nullptr, {128, 1}, {.extents = {64, 64}});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(*static_cast<const float*>(arguments->Pointers()[2]), 0.125f);
}

TEST_F(CudaLaunchTest, TritonsFunctionsGetTheRestAndTwoPointersOfTheirOwn) {
  auto arguments =
      CudaArguments::Create(spec_, nullptr, {128, 1}, {.extents = {64, 64}});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  ASSERT_TRUE(arguments->SetBuffer(driver_, 0, 0x1000).ok());
  ASSERT_TRUE(arguments->SetBuffer(driver_, 1, 0x2000).ok());
  arguments->BecomeTritons({.passed = {true, false, true}}, 0x3000);
  const std::vector<void*> pointers = arguments->Pointers();
  ASSERT_EQ(pointers.size(), 4u);
  EXPECT_EQ(*static_cast<const CUdeviceptr*>(pointers[0]), 0x1000u);
  EXPECT_EQ(*static_cast<const int32_t*>(pointers[1]), 64);
  EXPECT_EQ(*static_cast<const CUdeviceptr*>(pointers[2]), 0x3000u);
  EXPECT_EQ(*static_cast<const CUdeviceptr*>(pointers[3]), 0u);
}

TEST_F(CudaLaunchTest, TritonsMapsHaveItsLayoutAndExtentsAndStridesBehind) {
  const TritonLaunch launch = {
      .passed = {true, true, true},
      .maps = {{.box = {32, 128}, .swizzle = TensorMap::Swizzle::k64Bytes}}};
  implementation_.tensor_maps[0].box[0] = Expression::Constant(32);
  implementation_.tensor_maps[0].swizzle = TensorMap::Swizzle::kNone;
  auto arguments = CudaArguments::Create(spec_, &implementation_, {128, 1},
                                         {.extents = {3584, 4096}});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  arguments->BecomeTritons(launch, 0);
  ASSERT_TRUE(arguments->SetBuffer(driver_, 0, 0x1000).ok());
  EXPECT_EQ(calls.map,
            (EncodedMap{.type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                        .extents = {4096, 3584},
                        .row_bytes = 8192,
                        .box = {32, 128},
                        .swizzle = CU_TENSOR_MAP_SWIZZLE_64B,
                        .l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B}));
  const std::vector<void*> pointers = arguments->Pointers();
  ASSERT_EQ(pointers.size(), 5u + 3 + 2);
  EXPECT_EQ(std::memcmp(pointers[0], "\xab\xab", 2), 0);
  EXPECT_EQ(*static_cast<const int32_t*>(pointers[1]), 3584);
  EXPECT_EQ(*static_cast<const int32_t*>(pointers[2]), 4096);
  EXPECT_EQ(*static_cast<const int64_t*>(pointers[3]), 4096);
  EXPECT_EQ(*static_cast<const int64_t*>(pointers[4]), 1);
  EXPECT_EQ(*static_cast<const CUdeviceptr*>(pointers[5]), 0x1000u);
}

TEST_F(CudaLaunchTest, TritonsFunctionsDoNotTakeAMapThatIsNotEnabled) {
  auto arguments = CudaArguments::Create(spec_, &implementation_, {128, 0},
                                         {.extents = {3584, 4096}});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  arguments->BecomeTritons({.passed = {true, true, true}}, 0);
  EXPECT_EQ(arguments->Pointers().size(), 3u + 2);
}

TEST_F(CudaLaunchTest, AMapFollowsItsBuffer) {
  auto arguments = CudaArguments::Create(spec_, &implementation_, {128, 1},
                                         {.extents = {3584, 4096}});
  ASSERT_TRUE(arguments.ok());
  ASSERT_TRUE(arguments->SetBuffer(driver_, 0, 0x1000).ok());
  EXPECT_EQ(calls.map_address, reinterpret_cast<void*>(0x1000));
  ASSERT_TRUE(arguments->SetBuffer(driver_, 0, 0x5000).ok());
  EXPECT_EQ(calls.map_address, reinterpret_cast<void*>(0x5000));
  EXPECT_EQ(calls.map.extents[0], 4096u);
  ASSERT_TRUE(arguments->SetBuffer(driver_, 1, 0x9000).ok());
  EXPECT_EQ(calls.map_address, reinterpret_cast<void*>(0x5000));
}

TEST_F(CudaLaunchTest, PassesZerosForAMapThatIsNotEnabled) {
  calls.sizes = {sizeof(CUtensorMap)};
  auto arguments = CudaArguments::Create(spec_, &implementation_, {128, 0},
                                         {.extents = {3, 3}});
  ASSERT_TRUE(arguments.ok());
  ASSERT_TRUE(arguments->SetBuffer(driver_, 0, 0x1000).ok());
  ASSERT_TRUE(
      Launch(session_, CUfunction(), CudaLaunchShape(), 1, *arguments).ok());
  EXPECT_EQ(calls.parameters[0], std::string(sizeof(CUtensorMap), '\0'));
  EXPECT_EQ(calls.map_address, nullptr);
}

TEST_F(CudaLaunchTest, AReferenceTakesNoMaps) {
  auto arguments =
      CudaArguments::Create(spec_, nullptr, {128, 1}, {.extents = {64, 64}});
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(arguments->Pointers().size(), 3u);
}

TEST_F(CudaLaunchTest, AClusterIsAnAttribute) {
  CudaArguments arguments;
  const CudaLaunchShape shape = {.blocks = 8, .cluster_size = 4};
  ASSERT_TRUE(Launch(session_, CUfunction(), shape, 8, arguments).ok());
  EXPECT_EQ(calls.cluster, 4u);
  calls.launch_code = CUDA_ERROR_INVALID_CLUSTER_SIZE;
  const absl::Status status =
      Launch(session_, CUfunction(), shape, 8, arguments);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("launching 8 blocks of 1 in clusters of 4 failed"));
}

TEST_F(CudaLaunchTest, ResidencyCountsGroupsOrClusters) {
  const CudaKernel kernel;
  absl::StatusOr<CudaResidency> residency =
      AdmitShape(session_, kernel, {.blocks = 8, .shared_bytes = 100000});
  ASSERT_TRUE(residency.ok());
  EXPECT_EQ(residency->tiles_per_wave, 264);
  EXPECT_EQ(residency->blocks_per_multiprocessor, 2);
  EXPECT_THAT(
      calls.log,
      ElementsAre(absl::StrCat(
          "set ",
          static_cast<int>(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
          " 100000")));
  residency = AdmitShape(session_, kernel, {.blocks = 8, .cluster_size = 4});
  ASSERT_TRUE(residency.ok());
  EXPECT_EQ(residency->tiles_per_wave, 120);
  EXPECT_EQ(calls.cluster, 4u);
  EXPECT_EQ(calls.config.gridDimX % 4, 0u);
}

TEST_F(CudaLaunchTest, WhatIsNeverResidentIsRefused) {
  const CudaKernel kernel;
  calls.clusters = 0;
  absl::Status status =
      AdmitShape(session_, kernel, {.blocks = 16, .cluster_size = 16}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cluster of 16"));
  // Beyond the portable size the kernel must be allowed to.
  EXPECT_EQ(
      calls.log.back(),
      absl::StrCat(
          "set ",
          static_cast<int>(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED),
          " 1"));
  calls.blocks = 0;
  status = AdmitShape(session_, kernel, {.blocks = 16}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
}

class CudaTimerTest : public CudaLaunchTest {
 protected:
  void SetUp() override {
    const absl::StatusOr<const Nvrtc*> nvrtc = Nvrtc::Load();
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    absl::StatusOr<CudaTimer> timer = CudaTimer::Create(
        session_, CudaCompiler(**nvrtc, CudaArchitectureOf(80), ""));
    ASSERT_TRUE(timer.ok()) << timer.status();
    timer_.emplace(*std::move(timer));
  }

  absl::Status LaunchOne() {
    calls.log.emplace_back("launch");
    EXPECT_EQ(calls.gate[0], 0);  // Nothing runs yet.
    return absl::OkStatus();
  }

  std::optional<CudaTimer> timer_;
};

TEST_F(CudaTimerTest, ABurstIsEnqueuedWholeBehindTheGate) {
  const auto times = timer_->TimeGroups(
      2, 1, [this] { return LaunchOne(); },
      [] { calls.log.push_back(absl::StrCat("gate ", calls.gate[0])); });
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_THAT(*times, ElementsAre(::testing::DoubleNear(5, 1e-4),
                                  ::testing::DoubleNear(5, 1e-4)));
  EXPECT_THAT(calls.log,
              ElementsAre("hold", "look", "record", "launch", "record",
                          "launch", "record", "look", "gate 1", "wait"));
}

TEST_F(CudaTimerTest, ALongBurstNeverFillsTheStream) {
  int launches = 0;
  const auto times = timer_->TimeGroups(
      300, 1,
      [&] {
        ++launches;
        return LaunchOne();
      },
      [] {});
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(times->size(), 300u);
  EXPECT_EQ(launches, 300);
  EXPECT_EQ(std::count(calls.log.begin(), calls.log.end(), "hold"), 3);
}

TEST_F(CudaTimerTest, AGroupIsTimedAsAWhole) {
  const auto times = timer_->TimeGroups(
      2, 4, [this] { return LaunchOne(); }, [] {});
  ASSERT_TRUE(times.ok()) << times.status();
  // 5 us between two events.
  EXPECT_THAT(*times, ElementsAre(::testing::DoubleNear(1.25, 1e-4),
                                  ::testing::DoubleNear(1.25, 1e-4)));
  EXPECT_EQ(std::count(calls.log.begin(), calls.log.end(), "launch"), 8);
  EXPECT_EQ(std::count(calls.log.begin(), calls.log.end(), "record"), 3);
}

TEST_F(CudaTimerTest, ManyGroupsNeverFillTheStream) {
  const auto times = timer_->TimeGroups(
      40, 16, [this] { return LaunchOne(); }, [] {});
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(times->size(), 40u);
  EXPECT_EQ(std::count(calls.log.begin(), calls.log.end(), "launch"), 640);
  EXPECT_EQ(std::count(calls.log.begin(), calls.log.end(), "hold"), 5);
}

TEST(LaunchesPerGroupTest, ShortLaunchesAreTimedTogether) {
  EXPECT_EQ(LaunchesPerGroup(5), 16);
  EXPECT_EQ(LaunchesPerGroup(20), 10);
  EXPECT_EQ(LaunchesPerGroup(120), 2);
  EXPECT_EQ(LaunchesPerGroup(200), 1);
  EXPECT_EQ(LaunchesPerGroup(1e6), 1);
}

TEST(LaunchesPerGroupTest, NoTimeAtAllIsNotDividedBy) {
  EXPECT_EQ(LaunchesPerGroup(0), 1);
  EXPECT_EQ(LaunchesPerGroup(-1), 1);
}

TEST_F(CudaTimerTest, AFailedLaunchOpensTheGate) {
  const auto times = timer_->TimeGroups(
      2, 1, [] { return absl::FailedPreconditionError("too large"); },
      [] { FAIL() << "nothing runs"; });
  EXPECT_EQ(times.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(calls.gate_at_wait, 1);
}

TEST_F(CudaTimerTest, ATimeOfNothingIsAnError) {
  calls.milliseconds = 0;
  EXPECT_EQ(timer_
                ->TimeGroups(
                    1, 1, [this] { return LaunchOne(); }, [] {})
                .status()
                .code(),
            absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace wavetune
