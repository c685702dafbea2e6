// What reaches the driver. A table of fakes stands for it: no GPU is needed.
#include "wavetune/exported_kernel.h"

#include <stdlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launch/launch_driver.h"
#include "launch/launch_file.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What the fake driver was called with, and answers.
struct Calls {
  int loaded = 0;
  int unloaded = 0;
  int made_ready = 0;  // cuFuncLoad.
  int launches = 0;
  int shared_limit = 0;
  CUlaunchConfig config = {};
  unsigned cluster = 0;
  CUfunction function = nullptr;
  std::vector<std::string> parameters;
  std::vector<size_t> sizes;  // Of the parameters to keep.
  std::vector<uint64_t> extents;
  const void* map_address = nullptr;
  bool has_context = true;
  CUresult load_code = CUDA_SUCCESS;
  CUresult launch_code = CUDA_SUCCESS;
  int blocks = 1;
  std::vector<std::string> order;  // Of what was enqueued.
};
Calls calls;

CUresult FakeEncode(CUtensorMap* map, CUtensorMapDataType, cuuint32_t,
                    void* address, const cuuint64_t* extents,
                    const cuuint64_t* strides, const cuuint32_t* box,
                    const cuuint32_t*, CUtensorMapInterleave,
                    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                    CUtensorMapFloatOOBfill) {
  EXPECT_EQ(swizzle, CU_TENSOR_MAP_SWIZZLE_128B);
  calls.extents = {extents[0], extents[1], strides[0], box[0], box[1]};
  calls.map_address = address;
  std::memset(map, 0xab, sizeof(*map));
  return CUDA_SUCCESS;
}

CUresult FakeLaunch(const CUlaunchConfig* config, CUfunction function,
                    void** parameters, void**) {
  if (calls.launch_code != CUDA_SUCCESS) return calls.launch_code;
  ++calls.launches;
  calls.order.emplace_back("launch");
  calls.config = *config;
  calls.cluster =
      config->numAttrs == 1 ? config->attrs[0].value.clusterDim.x : 0;
  calls.function = function;
  calls.parameters.clear();
  for (size_t i = 0; i < calls.sizes.size(); ++i) {
    calls.parameters.emplace_back(static_cast<const char*>(parameters[i]),
                                  calls.sizes[i]);
  }
  return CUDA_SUCCESS;
}

// A handle or address that nobody follows.
template <typename T>
T Handle(uintptr_t value) {
  return reinterpret_cast<T>(value);
}

void BindCode(LaunchDriver& driver) {
  driver.cuModuleLoadData = [](CUmodule* module, const void* code) {
    if (calls.load_code != CUDA_SUCCESS) return calls.load_code;
    ++calls.loaded;
    // The code's first letter tells functions apart.
    *module = Handle<CUmodule>(
        static_cast<uintptr_t>(*static_cast<const char*>(code)));
    return CUDA_SUCCESS;
  };
  driver.cuModuleUnload = [](CUmodule) {
    ++calls.unloaded;
    return CUDA_SUCCESS;
  };
  driver.cuModuleGetFunction = [](CUfunction* function, CUmodule module,
                                  const char* name) {
    EXPECT_STREQ(name, "gemm");
    *function = reinterpret_cast<CUfunction>(module);
    return CUDA_SUCCESS;
  };
  driver.cuFuncLoad = [](CUfunction) {
    ++calls.made_ready;
    return CUDA_SUCCESS;
  };
  driver.cuFuncGetAttribute = [](int* value, CUfunction_attribute, CUfunction) {
    *value = 1000;
    return CUDA_SUCCESS;
  };
  driver.cuFuncSetAttribute = [](CUfunction, CUfunction_attribute attribute,
                                 int value) {
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
      calls.shared_limit = value;
    return CUDA_SUCCESS;
  };
}

LaunchDriver FakeDriver() {
  calls = {};
  LaunchDriver driver;
  driver.cuGetErrorName = [](CUresult code, const char** name) {
    *name = code == CUDA_ERROR_NO_BINARY_FOR_GPU ? "NO_BINARY" : "ERROR";
    return CUDA_SUCCESS;
  };
  driver.cuGetErrorString = [](CUresult, const char** text) {
    *text = "because";
    return CUDA_SUCCESS;
  };
  driver.cuCtxGetCurrent = [](CUcontext* context) {
    *context = calls.has_context ? Handle<CUcontext>(1) : nullptr;
    return CUDA_SUCCESS;
  };
  driver.cuCtxGetDevice = [](CUdevice* device) {
    *device = 0;
    return CUDA_SUCCESS;
  };
  driver.cuDeviceGetAttribute = [](int* value, CUdevice_attribute attribute,
                                   CUdevice) {
    *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 4 : 200000;
    return CUDA_SUCCESS;
  };
  driver.cuOccupancyMaxActiveBlocksPerMultiprocessor =
      [](int* blocks, CUfunction, int, size_t) {
        *blocks = calls.blocks;
        return CUDA_SUCCESS;
      };
  driver.cuOccupancyMaxActiveClusters = [](int* clusters, CUfunction,
                                           const CUlaunchConfig*) {
    *clusters = 1;
    return CUDA_SUCCESS;
  };
  driver.cuTensorMapEncodeTiled = FakeEncode;
  driver.cuLaunchKernelEx = FakeLaunch;
  driver.cuMemsetD8Async = [](CUdeviceptr address, unsigned char value,
                              size_t bytes, CUstream stream) {
    calls.order.push_back(absl::StrCat("set ", bytes, " bytes at ", address,
                                       " to ", value, " on ",
                                       reinterpret_cast<uintptr_t>(stream)));
    return CUDA_SUCCESS;
  };
  BindCode(driver);
  return driver;
}

// c[m] = ... of a[m][k]: BLOCK rows a block; number 0 persistent with a map and
// k % 8 == 0, number 1 in clusters of two.
class ExportedKernelTest : public ::testing::Test {
 protected:
  ExportedKernelTest() : dir_(::testing::TempDir() + "exported_XXXXXX") {
    if (mkdtemp(dir_.data()) == nullptr) std::abort();
    const Expression m = Expression::OfDimension(0);
    const Expression k = Expression::OfDimension(1);
    file_ = {.kernel = "gemm",
             .table_digest = std::string(64, 'd'),
             .architecture = "sm_90a",
             .dimensions = {{.name = "m", .max = 5000}, {.name = "k"}},
             .parameters = {"BLOCK"}};
    LaunchDescriptor launch;
    launch.entry = "gemm";
    launch.blocks = {Expression::CeilDiv({m}, {Expression::Constant(64)})};
    launch.block_size = 384;
    launch.shared_bytes = Expression::Constant(100000);
    launch.persistent = true;
    launch.tensor_maps = {{.argument = 0,
                           .extents = {k, m},
                           .box = {64, 64},
                           .swizzle = TensorMap::Swizzle::k128Bytes}};
    launch.arguments = {{.name = "a",
                         .type = ElementType::kBfloat16,
                         .size = Expression::Product({m, k})},
                        {.name = "c", .role = ArgumentRole::kOutput, .size = m},
                        {.name = "k",
                         .role = ArgumentRole::kScalar,
                         .type = ElementType::kInt32,
                         .size = k}};
    launch.problem_predicates = {{.left = {{.dimensions = {1}}},
                                  .op = Relation::Operator::kMultipleOf,
                                  .right = {{.coefficient = 8}}}};
    Add({64}, "A", launch);
    launch.blocks = {Expression::Product(
        {Expression::CeilDiv({m}, {Expression::Constant(64)}),
         Expression::Constant(2)})};
    launch.persistent = false;
    launch.cluster_size = 2;
    launch.tensor_maps[0].enabled = false;
    launch.problem_predicates.clear();
    Add({32}, "B", launch);
  }
  ~ExportedKernelTest() override { fs::remove_all(dir_); }

  void Add(const Configuration& configuration, const std::string& code,
           const LaunchDescriptor& launch) {
    const std::string name = code + ".cubin";
    std::ofstream(dir_ + "/" + name) << code;
    file_.candidates.push_back(
        {.configuration = configuration,
         .portfolio_index = static_cast<int32_t>(file_.candidates.size()),
         .cubin = name,
         .sha256 = Sha256Hex(code),
         .launch = launch});
  }

  absl::StatusOr<std::unique_ptr<ExportedKernel>> Load(
      const std::string& specialisation = "") {
    std::ofstream(dir_ + "/launch.json") << FormatLaunchFile(file_);
    return ExportedKernel::LoadWith(driver_, dir_, specialisation);
  }
  absl::Status LoadRefusal(const std::string& specialisation = "") {
    absl::Status status = Load(specialisation).status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(calls.loaded, calls.unloaded);
    return status;
  }

  static void* At(uintptr_t address) { return Handle<void*>(address); }

  LaunchDriver driver_ = FakeDriver();
  std::string dir_;
  LaunchFile file_;
};

TEST_F(ExportedKernelTest, LaunchesWhatWasDecided) {
  const auto kernel = Load();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(calls.made_ready, 2);
  EXPECT_EQ(calls.shared_limit, 100000);
  EXPECT_EQ((*kernel)->kernel(), "gemm");
  EXPECT_THAT((*kernel)->configurations(),
              ElementsAre(Configuration({64}), Configuration({32})));
  calls.sizes = {sizeof(CUtensorMap), 8, 8, 4};
  Decision decision;
  decision.configuration = {64};
  decision.candidate = 0;
  const auto stream = Handle<CUstream>(77);
  const absl::Status status =
      (*kernel)->Launch(stream, decision, {200, 512}, {At(0x1000), At(0x2000)});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(calls.function, Handle<CUfunction>('A'));
  EXPECT_EQ(calls.config.gridDimX, 4u);
  EXPECT_EQ(calls.config.blockDimX, 384u);
  EXPECT_EQ(calls.config.sharedMemBytes, 100000u);
  EXPECT_EQ(calls.config.hStream, stream);
  EXPECT_EQ(calls.cluster, 0u);
  EXPECT_THAT(calls.parameters,
              ElementsAre(std::string(sizeof(CUtensorMap), '\xab'),
                          std::string("\0\x10\0\0\0\0\0\0", 8),
                          std::string("\0\x20\0\0\0\0\0\0", 8),
                          std::string("\0\x02\0\0", 4)));
  EXPECT_THAT(calls.extents, ElementsAre(512, 200, 1024, 64, 64));
  EXPECT_EQ(calls.map_address, At(0x1000));
}

TEST_F(ExportedKernelTest, APersistentKernelLaunchesNoMoreThanFit) {
  const auto kernel = Load();
  ASSERT_TRUE(kernel.ok());
  ASSERT_TRUE((*kernel)
                  ->Launch(nullptr, Configuration{64}, {5000, 8},
                           {At(0x1000), At(0x2000)})
                  .ok());
  EXPECT_EQ(calls.config.gridDimX, 4u);  // One on each multiprocessor.
}

TEST_F(ExportedKernelTest, ClustersAreAnAttributeAndDisabledMapsAreZeros) {
  const auto kernel = Load();
  ASSERT_TRUE(kernel.ok());
  calls.sizes = {sizeof(CUtensorMap)};
  // The hint of the decision is wrong: another table's portfolio.
  Decision decision;
  decision.configuration = {32};
  decision.candidate = 0;
  ASSERT_TRUE((*kernel)
                  ->Launch(nullptr, decision, {65, 7}, {At(0x1000), At(0x2000)})
                  .ok());
  EXPECT_EQ(calls.function, Handle<CUfunction>('B'));
  EXPECT_EQ(calls.config.gridDimX, 4u);
  EXPECT_EQ(calls.cluster, 2u);
  EXPECT_THAT(calls.parameters,
              ElementsAre(std::string(sizeof(CUtensorMap), '\0')));
}

TEST_F(ExportedKernelTest, ZeroesWhatEachLaunchFindsZeroed) {
  std::vector<Argument>& arguments = file_.candidates[0].launch.arguments;
  for (const Zeroed zeroed :
       {Zeroed::kOnce, Zeroed::kEveryLaunch, Zeroed::kNever}) {
    arguments.push_back({.name = absl::StrCat("w", arguments.size()),
                         .role = ArgumentRole::kWorkspace,
                         .type = ElementType::kInt32,
                         .size = Expression::OfDimension(0),
                         .zeroed = zeroed});
  }
  const auto kernel = Load();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const absl::Status status = (*kernel)->Launch(
      Handle<CUstream>(77), Configuration{64}, {640, 8},
      {At(0x1000), At(0x2000), At(0x3000), At(0x4000), At(0x5000)});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(calls.order,
              ElementsAre("set 2560 bytes at 16384 to 0 on 77", "launch"));
}

TEST_F(ExportedKernelTest, PassesANumberInAGridOfThreeSides) {
  LaunchDescriptor& launch = file_.candidates[0].launch;
  launch.persistent = false;
  launch.blocks = {Expression::OfDimension(1), Expression::OfDimension(0),
                   Expression::Constant(2)};
  launch.block_size = {32, 4, 2};
  launch.arguments[2].type = ElementType::kFloat32;
  launch.arguments[2].number = -0.125;
  const auto kernel = Load();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  calls.sizes = {sizeof(CUtensorMap), 8, 8, 4};
  const auto launched = [&](int64_t m) {
    return (*kernel)->Launch(nullptr, Configuration{64}, {m, 8},
                             {At(0x1000), At(0x2000)});
  };
  ASSERT_TRUE(launched(640).ok()) << launched(640);
  EXPECT_EQ(calls.config.gridDimX, 8u);
  EXPECT_EQ(calls.config.gridDimY, 640u);
  EXPECT_EQ(calls.config.gridDimZ, 2u);
  EXPECT_EQ(calls.config.blockDimX, 32u);
  EXPECT_EQ(calls.config.blockDimY, 4u);
  EXPECT_EQ(calls.config.blockDimZ, 2u);
  EXPECT_EQ(calls.parameters[3], std::string("\0\0\0\xbe", 4));
}

TEST_F(ExportedKernelTest, SharedMemoryMayDependOnTheProblem) {
  file_.candidates[0].launch.shared_bytes = Expression::OfDimension(0);
  const auto kernel = Load();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ASSERT_TRUE((*kernel)
                  ->Launch(nullptr, Configuration{64}, {640, 8},
                           {At(0x1000), At(0x2000)})
                  .ok());
  EXPECT_EQ(calls.config.sharedMemBytes, 640u);
  EXPECT_EQ(calls.config.gridDimX, 4u);
}

TEST_F(ExportedKernelTest, RefusesWhatIsWrongBeforeAnythingIsEnqueued) {
  const auto loaded = Load();
  ASSERT_TRUE(loaded.ok());
  const ExportedKernel& kernel = **loaded;
  const Configuration config{64};
  void* const a = At(0x1000);
  void* const c = At(0x2000);
  const auto expect = [](const absl::Status& status, absl::StatusCode code,
                         const char* text) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  expect(kernel.Launch(nullptr, Configuration{16}, {64, 64}, {a, c}),
         absl::StatusCode::kNotFound, "export the table that decides");
  expect(kernel.Launch(nullptr, config, {64}, {a, c}), kInvalid,
         "2 dimensions, not 1");
  expect(kernel.Launch(nullptr, config, {0, 64}, {a, c}), kInvalid,
         "dimension m of kernel gemm takes 1 to 5000");
  expect(kernel.Launch(nullptr, config, {64, 12}, {a, c}), kInvalid,
         "legal_if");
  expect(kernel.Launch(nullptr, config, {64, 64}, {a}), kInvalid,
         "takes 2 buffers, not 1");
  expect(kernel.Launch(nullptr, config, {64, 64}, {a, c, a}), kInvalid,
         "takes 2 buffers, not 3");
  expect(kernel.Launch(nullptr, config, {64, 64}, {a, nullptr}), kInvalid,
         "'c' is null");
  expect(kernel.Launch(nullptr, config, {64, 64}, {At(0x1008), c}), kInvalid,
         "'a' is at 0x1008");
  EXPECT_EQ(calls.launches, 0);
  calls.launch_code = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  expect(kernel.Launch(nullptr, config, {64, 64}, {a, c}),
         absl::StatusCode::kFailedPrecondition, "because");
}

TEST_F(ExportedKernelTest, UnloadsWithItsOwner) {
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(calls.loaded, 2);
  EXPECT_EQ(calls.unloaded, 2);
}

TEST_F(ExportedKernelTest, SaysWhatIsWrongWithAnExport) {
  EXPECT_THAT(std::string(LoadRefusal("causal").message()),
              HasSubstr("no specialisation \"causal\"; it has: \"\""));
  std::ofstream(dir_ + "/B.cubin") << "C";
  absl::Status status = LoadRefusal();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("B.cubin"));
  fs::remove(dir_ + "/B.cubin");
  EXPECT_EQ(LoadRefusal().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(
      ExportedKernel::LoadWith(driver_, dir_ + "/none", "").status().code(),
      absl::StatusCode::kNotFound);
}

TEST_F(ExportedKernelTest, SaysThatTheDeviceIsAnother) {
  calls.load_code = CUDA_ERROR_NO_BINARY_FOR_GPU;
  absl::Status status = LoadRefusal();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("made for sm_90a"));
  calls.load_code = CUDA_SUCCESS;
  calls.blocks = 0;
  EXPECT_THAT(std::string(LoadRefusal().message()),
              HasSubstr("not one block of A.cubin fits"));
  calls.blocks = 1;
  file_.candidates[0].launch.shared_bytes = Expression::Constant(199001);
  EXPECT_THAT(std::string(LoadRefusal().message()),
              HasSubstr("this device allows 200000"));
  calls.has_context = false;
  EXPECT_THAT(std::string(LoadRefusal().message()),
              HasSubstr("no CUDA context is current"));
}

}  // namespace
}  // namespace wavetune
