// The parts of the OpenCL backend that need no device.
#include <CL/cl.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/opencl/guard_pages.h"
#include "profiler_agent/opencl/opencl_arguments.h"
#include "profiler_agent/opencl/opencl_backend.h"
#include "profiler_agent/opencl/opencl_facts.h"
#include "profiler_agent/opencl/opencl_source.h"
#include "profiler_agent/opencl/opencl_status.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

// Begins without PoCL's variables, and puts back what they were.
class PoclThreadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (auto& [name, value] : before_) {
      if (const char* const set = getenv(name)) value = set;
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (const auto& [name, value] : before_) {
      unsetenv(name);
      if (value.has_value()) setenv(name, value->c_str(), 1);
    }
  }
  static std::string Get(const char* name) {
    const char* const set = getenv(name);
    return set == nullptr ? "(not set)" : set;
  }

 private:
  std::map<const char*, std::optional<std::string>> before_ = {
      {"POCL_MAX_PTHREAD_COUNT", {}}, {"POCL_AFFINITY", {}}};
};

TEST_F(PoclThreadsTest, TakeAllCoresAndStayOnThemWhereNothingForbidsIt) {
  SetPoclThreads({.affinity_cpus = 8}, 8);
  EXPECT_EQ(Get("POCL_MAX_PTHREAD_COUNT"), "(not set)");
  EXPECT_EQ(Get("POCL_AFFINITY"), "1");
}

TEST_F(PoclThreadsTest, AreNoMoreThanTheCgroupsQuotaHasCores) {
  SetPoclThreads({.affinity_cpus = 8, .quota_cpus = 2.5}, 8);
  EXPECT_EQ(Get("POCL_MAX_PTHREAD_COUNT"), "3");
  EXPECT_EQ(Get("POCL_AFFINITY"), "1");
}

TEST_F(PoclThreadsTest, AreNoMoreThanTheAffinityHasCoresAndAreNotPutOnOthers) {
  SetPoclThreads({.affinity_cpus = 4}, 8);
  EXPECT_EQ(Get("POCL_MAX_PTHREAD_COUNT"), "4");
  EXPECT_EQ(Get("POCL_AFFINITY"), "(not set)");
}

TEST_F(PoclThreadsTest, AreWhatTheEnvironmentSays) {
  setenv("POCL_MAX_PTHREAD_COUNT", "6", 1);
  setenv("POCL_AFFINITY", "0", 1);
  SetPoclThreads({.affinity_cpus = 8, .quota_cpus = 2}, 8);
  EXPECT_EQ(Get("POCL_MAX_PTHREAD_COUNT"), "6");
  EXPECT_EQ(Get("POCL_AFFINITY"), "0");
}

TEST(OpenClFactsTest, PoclsArchitectureIsItsLlvmCpu) {
  EXPECT_EQ(OpenClArchitecture(true, "x86_64",
                               "pthread-skylake-avx512-Intel(R) Xeon(R) "
                               "Processor"),
            "cpu-x86_64:skylake-avx512");
  EXPECT_EQ(
      OpenClArchitecture(true, "x86_64",
                         "pthread-znver3-AMD EPYC 7763 64-Core Processor"),
      "cpu-x86_64:znver3");
  EXPECT_EQ(OpenClArchitecture(true, "aarch64", "Some CPU"),
            "cpu-aarch64:Some CPU");
  EXPECT_EQ(OpenClArchitecture(false, "x86_64", "gfx90a"), "gpu:gfx90a");
}

TEST(OpenClFactsTest, NvidiaIsKnownByItsVendorNumber) {
  EXPECT_TRUE(IsNvidia(0x10de));
  EXPECT_FALSE(IsNvidia(0x1002));
  EXPECT_FALSE(IsNvidia(0x6c636f70));  // PoCL.
}

TEST(OpenClFactsTest, TheCompilerIsLlvmWhereThePlatformNamesIt) {
  EXPECT_EQ(OpenClCompilerVersion(
                "OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts, RELOC, SPIR, "
                "LLVM 15.0.6, SLEEF, DISTRO, POCL_DEBUG",
                "OpenCL C 1.2 PoCL"),
            "LLVM 15.0.6");
  EXPECT_EQ(OpenClCompilerVersion("OpenCL 3.0 CUDA 12.2", "OpenCL C 1.2"),
            "OpenCL C 1.2");
}

TEST(OpenClFactsTest, UuidsAreStableAndTellDevicesApart) {
  const std::string uuid = OpenClUuid("host", "PoCL", "cpu", 0);
  EXPECT_EQ(uuid, OpenClUuid("host", "PoCL", "cpu", 0));
  EXPECT_NE(uuid, OpenClUuid("host", "PoCL", "cpu", 1));
  EXPECT_NE(uuid, OpenClUuid("other", "PoCL", "cpu", 0));
  EXPECT_EQ(uuid.size(), 39u);
}

// Whatever the size: whole pages, and nothing between an argument and the page
// but what its alignment needs.
TEST(GuardPageMemoryTest, AnArgumentEndsOrBeginsAtTheForbiddenPage) {
  const OpenClSession session;
  const GuardPageMemory end(session, GuardPageMemory::Side::kEnd);
  const GuardPageMemory begin(session, GuardPageMemory::Side::kBegin);
  for (const int32_t aligned : {0, 16, 128}) {
    const Argument argument{.type = ElementType::kFloat32, .aligned = aligned};
    const size_t alignment = std::max<size_t>(4, aligned);
    for (const size_t bytes : {4, 124, 128, 4092, 4096, 4100, 12288}) {
      const Guards at_end = end.GuardsOf(argument, bytes);
      EXPECT_EQ((at_end.front + bytes + at_end.behind) % 4096, 0u);
      EXPECT_EQ(at_end.front % alignment, 0u);
      EXPECT_LT(at_end.behind, alignment);
      EXPECT_EQ(at_end.behind % 4, 0u);
      const Guards at_begin = begin.GuardsOf(argument, bytes);
      EXPECT_EQ(at_begin.front, 0u);
      EXPECT_EQ((bytes + at_begin.behind) % 4096, 0u);
    }
  }
}

TEST(OpenClStatusTest, CodesBecomeTheErrorsOfADevice) {
  EXPECT_TRUE(OpenClStatus(CL_SUCCESS, "x").ok());
  EXPECT_EQ(OpenClStatus(CL_BUILD_PROGRAM_FAILURE, "x").code(),
            absl::StatusCode::kInvalidArgument);
  // The candidate's fault or the host's: tried again alone.
  EXPECT_EQ(OpenClStatus(CL_OUT_OF_RESOURCES, "x").code(),
            absl::StatusCode::kInternal);
  EXPECT_EQ(OpenClStatus(CL_OUT_OF_HOST_MEMORY, "x").code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(OpenClStatus(CL_MEM_OBJECT_ALLOCATION_FAILURE, "x").code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(OpenClStatus(CL_DEVICE_NOT_AVAILABLE, "x").code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(OpenClStatus(-9999, "x").code(), absl::StatusCode::kInternal);
  EXPECT_EQ(OpenClStatus(CL_OUT_OF_RESOURCES, "launching").message(),
            "launching failed with CL_OUT_OF_RESOURCES (-5)");
}

TEST(OpenClSourceTest, PutsIncludedFilesInOnce) {
  const std::map<std::string, std::string> files = {
      {"a.cl", "#include \"b.h\"\n# include \"b.h\"\n#include <other.h>\nend"},
      {"b.h", "#include \"a.cl\"\nint b;"}};
  const absl::StatusOr<std::string> source = ExpandSource(files, "a.cl");
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(*source,
            "#line 1 \"a.cl\"\n"
            "#line 1 \"b.h\"\n"
            "#line 2 \"b.h\"\n"
            "int b;\n"
            "#line 2 \"a.cl\"\n"
            "#line 3 \"a.cl\"\n"
            "#include <other.h>\n"
            "end\n");
}

TEST(OpenClSourceTest, WhatIsNotTheKernelsOwnIsNotIncluded) {
  for (const char* line :
       {"#include \"/etc/passwd\"", "#include \"../b.h\"", "#include \"b.h\"",
        "# include /* */ \"a.cl\" // Not read as a line."}) {
    const absl::Status status = ExpandSource({{"a.cl", line}}, "a.cl").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line;
  }
}

TEST(OpenClSourceTest, NamesTheFileThatIsMissing) {
  const absl::Status status = ExpandSource({}, "gone.cl").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("gone.cl"));
}

TEST(OpenClArgumentsTest, AScalarIsOfTheManifestsType) {
  const Argument argument{
      .name = "n", .role = ArgumentRole::kScalar, .type = ElementType::kInt32};
  for (const char* type : {"int", "uint", "index_t"})
    EXPECT_TRUE(CheckScalarType(argument, "f", type).ok()) << type;
  for (const char* type : {"long", "float", "short"}) {
    const absl::Status status = CheckScalarType(argument, "f", type);
    EXPECT_EQ(status.message(),
              absl::StrCat("argument 'n' is INT32 in the manifest, but kernel "
                           "function 'f' takes ",
                           type, "; make them the same"));
  }
}

TEST(OpenClSourceTest, OptionsAreMacrosThenTheManifests) {
  KernelSpec spec;
  spec.parameters = {{.name = "BLOCK_M"}, {.name = "UNROLL"}};
  spec.specialisations = {{.name = "causal", .defines = {{"CAUSAL", "1"}}},
                          {.name = "full", .defines = {{"CAUSAL", "0"}}}};
  const Configuration configuration = {64, 4};
  EXPECT_EQ(BuildOptions(spec, &configuration, "causal", {"-cl-mad-enable"}),
            "-cl-kernel-arg-info -DBLOCK_M=64 -DUNROLL=4 -DCAUSAL=1 "
            "-cl-mad-enable");
  EXPECT_EQ(BuildOptions(spec, nullptr, "full", {}),
            "-cl-kernel-arg-info -DCAUSAL=0");
}

}  // namespace
}  // namespace wavetune
