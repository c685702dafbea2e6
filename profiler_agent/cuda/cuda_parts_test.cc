// The parts of the CUDA backend that need neither GPU nor driver nor compiler.
#include <cuda.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/cuda/cuda_architecture.h"
#include "profiler_agent/cuda/cuda_arguments.h"
#include "profiler_agent/cuda/cuda_driver.h"
#include "profiler_agent/cuda/cuda_facts.h"
#include "profiler_agent/cuda/cuda_memory.h"
#include "profiler_agent/cuda/cuda_status.h"
#include "profiler_agent/cuda/cuda_telemetry.h"
#include "profiler_agent/cuda/nvml.h"
#include "profiler_agent/cuda/nvrtc.h"
#include "profiler_agent/cuda/throttle_watch.h"
#include "profiler_agent/measure/candidate_failure.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

TEST(CudaArchitectureTest, TheArchitectureSpecificFormBeginsWithHopper) {
  EXPECT_EQ(CudaArchitectureOf(80).target, "sm_80");
  EXPECT_EQ(CudaArchitectureOf(86).target, "sm_86");
  EXPECT_EQ(CudaArchitectureOf(89).target, "sm_89");
  EXPECT_EQ(CudaArchitectureOf(90).target, "sm_90a");
  EXPECT_EQ(CudaArchitectureOf(100).target, "sm_100a");
  EXPECT_EQ(CudaArchitectureOf(120).target, "sm_120a");
  EXPECT_EQ(CudaArchitectureName(90), "sm_90");
}

TEST(CudaArchitectureTest, ReadsWhatTheCompilerTakes) {
  EXPECT_EQ(*ParseCudaArchitecture("sm_90a"),
            (CudaArchitecture{.capability = 90, .target = "sm_90a"}));
  EXPECT_EQ(*ParseCudaArchitecture("sm_86"),
            (CudaArchitecture{.capability = 86, .target = "sm_86"}));
  EXPECT_EQ(ParseCudaArchitecture("sm_100f")->capability, 100);
  for (const char* wrong : {"", "sm_", "90", "sm_a", "compute_90", "sm_90b",
                            "sm_-90", "sm_99999"}) {
    EXPECT_EQ(ParseCudaArchitecture(wrong).status().code(),
              absl::StatusCode::kInvalidArgument)
        << wrong;
  }
}

TEST(CudaArchitectureTest, NamesWhatTheCompilerKnows) {
  EXPECT_TRUE(CheckArchitecture(CudaArchitectureOf(90), {80, 90}, "x").ok());
  const absl::Status status =
      CheckArchitecture(CudaArchitectureOf(70), {75, 80}, "NVRTC 13.0");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr("NVRTC 13.0 does not compile for "
                                         "sm_70 (it knows: sm_75, sm_80)"));
}

// A buffer, a 4-byte and an 8-byte scalar.
KernelSpec ThreeArguments() {
  KernelSpec spec;
  spec.arguments = {
      {.name = "a", .role = ArgumentRole::kInput},
      {.name = "n", .role = ArgumentRole::kScalar, .type = ElementType::kInt32},
      {.name = "stride",
       .role = ArgumentRole::kScalar,
       .type = ElementType::kInt64}};
  return spec;
}

TEST(CudaArgumentsTest, TheSizesOfWhatIsPassedAreAccepted) {
  EXPECT_TRUE(CheckParameterSizes(ThreeArguments(), 0, "f", {8, 4, 8}).ok());
  EXPECT_TRUE(
      CheckParameterSizes(ThreeArguments(), 1, "f", {128, 8, 4, 8}).ok());
}

TEST(CudaArgumentsTest, AScalarOfAnotherSizeIsNamedWithBothSizes) {
  const absl::Status status =
      CheckParameterSizes(ThreeArguments(), 0, "f", {8, 8, 8});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status),
              HasSubstr("argument 'n' (INT32) has 4 bytes in the manifest, but "
                        "parameter number 2 of kernel function 'f' has 8"));
}

TEST(CudaArgumentsTest, AnArgumentTooFewOrTooManyIsCounted) {
  EXPECT_THAT(
      Message(CheckParameterSizes(ThreeArguments(), 1, "f", {8, 4, 8})),
      HasSubstr("takes 3 parameters, but the manifest passes 4: 1 tensor maps "
                "and 3 arguments"));
  EXPECT_FALSE(
      CheckParameterSizes(ThreeArguments(), 0, "f", {8, 4, 8, 4}).ok());
}

TEST(CudaArgumentsTest, TritonsFunctionsTakeWhatIsPassedAndTwoPointers) {
  TritonLaunch triton = {.passed = {true, false, true}};
  EXPECT_TRUE(
      CheckParameterSizes(ThreeArguments(), 0, "f", {8, 8, 8, 8}, triton).ok());
  EXPECT_THAT(
      Message(CheckParameterSizes(ThreeArguments(), 0, "f", {8, 8}, triton)),
      HasSubstr("those that are part of the code left out, and Triton's own"));
  triton.maps.resize(1);
  EXPECT_TRUE(CheckParameterSizes(ThreeArguments(), 2, "f",
                                  {128, 4, 4, 8, 8, 8, 8, 8, 8}, triton)
                  .ok());
}

TEST(CudaArgumentsTest, AnOlderDriverSaysNothing) {
  CudaDriver driver;
  EXPECT_FALSE(ParameterSizes(driver, nullptr).has_value());
  driver.func_get_param_info = [](CUfunction, size_t index, size_t* offset,
                                  size_t* size) {
    if (index == 2) return CUDA_ERROR_INVALID_VALUE;
    *offset = 8 * index;
    *size = index == 0 ? 8 : 4;
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(ParameterSizes(driver, nullptr), (std::vector<size_t>{8, 4}));
}

TEST(CudaDriverTest, AMachineWithoutADriverIsNotFoundInOneLine) {
  const absl::Status status = LoadCudaDriverFrom("libno-such.so.1").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("no NVIDIA driver"));
  EXPECT_THAT(Message(status), Not(HasSubstr("\n")));
}

TEST(CudaDriverTest, ALibraryThatIsNoDriverIsTooOld) {
  const absl::Status status = LoadCudaDriverFrom("libc.so.6").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("cuDriverGetVersion"));
}

TEST(CudaDriverTest, ADriverOfAnOlderMajorVersionIsRefused) {
  EXPECT_TRUE(CheckDriverVersion(13000, 13000).ok());
  EXPECT_TRUE(CheckDriverVersion(13000, 13010).ok());  // Minor versions mix.
  EXPECT_TRUE(CheckDriverVersion(14000, 13000).ok());
  const absl::Status status = CheckDriverVersion(12040, 13000);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status),
              HasSubstr("CUDA 12.4, older than the CUDA 13.0"));
}

TEST(CudaStatusTest, CodesBecomeTheErrorsOfADevice) {
  EXPECT_TRUE(CudaStatus(CUDA_SUCCESS, "x").ok());
  const std::pair<CUresult, absl::StatusCode> wanted[] = {
      {CUDA_ERROR_OUT_OF_MEMORY, absl::StatusCode::kResourceExhausted},
      {CUDA_ERROR_ILLEGAL_ADDRESS, absl::StatusCode::kAborted},
      {CUDA_ERROR_LAUNCH_TIMEOUT, absl::StatusCode::kAborted},
      {CUDA_ERROR_LAUNCH_FAILED, absl::StatusCode::kAborted},
      {CUDA_ERROR_MISALIGNED_ADDRESS, absl::StatusCode::kAborted},
      {CUDA_ERROR_UNKNOWN, absl::StatusCode::kAborted},
      {CUDA_ERROR_ECC_UNCORRECTABLE, absl::StatusCode::kUnavailable},
      {CUDA_ERROR_DEVICE_UNAVAILABLE, absl::StatusCode::kUnavailable},
      {CUDA_ERROR_NO_DEVICE, absl::StatusCode::kUnavailable},
      {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
       absl::StatusCode::kFailedPrecondition},
      {CUDA_ERROR_INVALID_CLUSTER_SIZE, absl::StatusCode::kFailedPrecondition},
      {CUDA_ERROR_INVALID_VALUE, absl::StatusCode::kFailedPrecondition},
      {CUDA_ERROR_INVALID_HANDLE, absl::StatusCode::kInternal}};
  for (const auto& [code, status] : wanted) {
    EXPECT_EQ(CudaStatus(code, "x").code(), status) << code;
  }
  EXPECT_EQ(CudaStatus(CUDA_ERROR_ILLEGAL_ADDRESS, "launching").message(),
            "launching failed with CUDA_ERROR_ILLEGAL_ADDRESS (700)");
}

TEST(CudaStatusTest, SaysWhatToDoAboutADriverThatIsNotReady) {
  EXPECT_THAT(Message(CudaStatus(CUDA_ERROR_SYSTEM_NOT_READY, "starting")),
              HasSubstr("(802); is the fabric manager up? systemctl status "
                        "nvidia-fabricmanager"));
  EXPECT_THAT(
      Message(CudaStatus(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "starting")),
      HasSubstr("reboot, or unload and load the module"));
  EXPECT_THAT(Message(CudaStatus(CUDA_ERROR_DEVICE_UNAVAILABLE, "opening")),
              HasSubstr("nvidia-smi -q -d COMPUTE"));
}

TEST(CudaStatusTest, AFaultExcludesTheCandidateAndALossTheDevice) {
  EXPECT_TRUE(ExcludesCandidate(CudaStatus(CUDA_ERROR_ILLEGAL_ADDRESS, "x")));
  EXPECT_TRUE(IsDeviceLost(CudaStatus(CUDA_ERROR_ECC_UNCORRECTABLE, "x")));
  EXPECT_FALSE(
      ExcludesCandidate(CudaStatus(CUDA_ERROR_ECC_UNCORRECTABLE, "x")));
}

TEST(CudaStatusTest, WhatFailsWhileLaunchesRunIsAFault) {
  EXPECT_TRUE(CudaRunStatus(CUDA_SUCCESS, "x").ok());
  EXPECT_EQ(CudaRunStatus(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "x").code(),
            absl::StatusCode::kAborted);
  EXPECT_EQ(CudaRunStatus(CUDA_ERROR_UNKNOWN, "x").code(),
            absl::StatusCode::kAborted);
  EXPECT_EQ(CudaRunStatus(CUDA_ERROR_OUT_OF_MEMORY, "x").code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(CudaRunStatus(CUDA_ERROR_ECC_UNCORRECTABLE, "x").code(),
            absl::StatusCode::kUnavailable);
}

TEST(CudaFactsTest, UuidsAreWrittenAsTheDriversToolsDo) {
  const std::array<uint8_t, 16> bytes = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55,
                                         0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb,
                                         0xcc, 0xdd, 0xee, 0xff};
  EXPECT_EQ(CudaUuid(bytes, false), "GPU-00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(CudaUuid(bytes, true), "MIG-00112233-4455-6677-8899-aabbccddeeff");
}

TEST(CudaFactsTest, APartitionsProfileIsInItsName) {
  EXPECT_EQ(PartitionOf("NVIDIA H200"), "");
  EXPECT_EQ(PartitionOf("NVIDIA H100 80GB HBM3 MIG 1g.10gb"), "1g.10gb");
}

TEST(CudaMemoryBudgetTest, AFractionIsOfWhatIsFreeWithoutUs) {
  CudaMemoryBudget budget(0.5);
  EXPECT_EQ(budget.Allocatable(1000), 500u);
  budget.Take(300);
  EXPECT_EQ(budget.Allocatable(700), 200u);
  budget.Take(200);
  EXPECT_EQ(budget.Allocatable(500), 0u);  // All in all, not once more half.
  budget.GiveBack(500);
  EXPECT_EQ(budget.Allocatable(0), 0u);
}

TEST(CudaMemoryBudgetTest, ANumberOfMibIsNeverMoreThanIsFree) {
  CudaMemoryBudget budget(2);
  EXPECT_EQ(budget.Allocatable(size_t{1} << 30), size_t{2} << 20);
  EXPECT_EQ(budget.Allocatable(1000), 1000u);
  budget.Take(size_t{3} << 20);
  EXPECT_EQ(budget.Allocatable(size_t{1} << 30), 0u);
}

TEST(NvrtcTest, SaysWhatToInstallWhereItIsMissing) {
  const absl::Status status = Nvrtc::LoadFrom({"libno-such.so"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("NVRTC, the CUDA compiler, is missing:"
                                         " install it"));
}

TEST(NvrtcTest, KeepsTheErrorsOfALog) {
  EXPECT_EQ(UsefulLines("a.cu(3): warning #177-D: unused\n  int x;\n\n"
                        "a.cu(7): error: identifier \"y\" is undefined\n"
                        "    y = 1;\n    ^\n\n"
                        "1 error detected in the compilation of \"a.cu\".\n"),
            "a.cu(7): error: identifier \"y\" is undefined\n"
            "    y = 1;\n    ^");
  EXPECT_EQ(UsefulLines("  something else\n"), "something else");
  EXPECT_EQ(UsefulLines("ptxas error   : too much shared data\n"),
            "ptxas error   : too much shared data");
  EXPECT_LT(UsefulLines(std::string(100000, 'x')).size(), 4010u);
  EXPECT_THAT(WithAdvice("a.cu(1): catastrophic error: cannot open source file "
                         "\"cuda_bf16.h\""),
              HasSubstr("compile_options: \"-I/usr/local/cuda/include\""));
  EXPECT_EQ(WithAdvice("a.cu(3): error: no"), "a.cu(3): error: no");
}

// A GPU ("GPU-1", handle 1) with one partition ("MIG-1", handle 2).
struct FakeBoard {
  NvmlCode code = 0;
  unsigned long long reasons = 0;
  int asked = 0;
  unsigned utilisation = 0;
  std::vector<unsigned> processes;
};
FakeBoard board;

NvmlHandle Handle(intptr_t number) {
  return reinterpret_cast<NvmlHandle>(number);
}

NvmlFunctions FakeNvml() {
  board = {};
  NvmlFunctions nvml;
  nvml.driver_version = [](char* text, unsigned) {
    std::strcpy(text, "580.159.04");
    return board.code;
  };
  nvml.handle_by_uuid = [](const char* uuid, NvmlHandle* handle) {
    if (std::string(uuid) == "GPU-1") *handle = Handle(1);
    if (std::string(uuid) == "MIG-1") *handle = Handle(2);
    return *handle == nullptr ? 6 : board.code;
  };
  nvml.memory = [](NvmlHandle handle, NvmlMemory* memory) {
    memory->total = handle == Handle(1) ? 1000 : 100;
    memory->used = 40;
    return board.code;
  };
  nvml.power_limit = [](NvmlHandle handle, unsigned* milliwatts) {
    *milliwatts = 699600;
    return handle == Handle(1) ? board.code : 3;
  };
  nvml.throttle_reasons = [](NvmlHandle handle, unsigned long long* reasons) {
    ++board.asked;
    *reasons = board.reasons;
    return handle == Handle(1) ? board.code : 3;
  };
  nvml.clock = [](NvmlHandle, int, unsigned* mhz) {
    *mhz = 1980;
    return board.code;
  };
  nvml.temperature = [](NvmlHandle, int sensor, unsigned* celsius) {
    *celsius = sensor == 0 ? 86 : 0;
    return NvmlCode{0};
  };
  nvml.utilisation = [](NvmlHandle handle, NvmlUtilisation* utilisation) {
    utilisation->gpu = board.utilisation;
    return handle == Handle(1) ? board.code : 3;
  };
  nvml.compute_processes = [](NvmlHandle, unsigned* count,
                              NvmlProcess* processes) {
    const auto room = *count;
    *count = static_cast<unsigned>(board.processes.size());
    if (room < *count) return 7;
    for (unsigned i = 0; i < *count; ++i) {
      processes[i] = {.pid = board.processes[i]};
    }
    return board.code;
  };
  nvml.parent_of_partition = [](NvmlHandle handle, NvmlHandle* parent) {
    *parent = Handle(1);
    return handle == Handle(2) ? 0 : 2;
  };
  return nvml;
}

TEST(NvmlTest, IsNotFoundWhereItIsMissing) {
  EXPECT_EQ(Nvml::LoadFrom("libno-such.so.1").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(NvmlTest, AsksThePartitionForMemoryAndTheBoardForPower) {
  const Nvml nvml(FakeNvml());
  const absl::StatusOr<NvmlFacts> gpu = nvml.FactsOf("GPU-1");
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  EXPECT_EQ(gpu->driver, "580.159.04");
  EXPECT_EQ(gpu->memory_bytes, 1000);
  EXPECT_EQ(gpu->power_limit_w, 700);
  EXPECT_EQ(gpu->device->SmClockMhz(), 1980);
  const absl::StatusOr<NvmlFacts> partition = nvml.FactsOf("MIG-1");
  ASSERT_TRUE(partition.ok()) << partition.status();
  EXPECT_EQ(partition->memory_bytes, 100);
  EXPECT_EQ(partition->power_limit_w, 700);
  EXPECT_EQ(nvml.Find("GPU-2").status().code(), absl::StatusCode::kNotFound);
}

TEST(NvmlTest, WhatItDoesNotSayStaysUnknown) {
  const Nvml nvml(FakeNvml());
  const absl::StatusOr<NvmlDevice> gpu = nvml.Find("GPU-1");
  ASSERT_TRUE(gpu.ok());
  board.code = 3;  // Not supported.
  const absl::StatusOr<NvmlFacts> facts = nvml.FactsOf("GPU-1");
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->driver, "");
  EXPECT_EQ(facts->memory_bytes, std::nullopt);
  EXPECT_EQ(facts->power_limit_w, std::nullopt);
  EXPECT_EQ(gpu->PowerLimitW(), std::nullopt);
  EXPECT_EQ(gpu->ThrottleReasons(), std::nullopt);
  EXPECT_TRUE(gpu->CheckNotLost().ok());
  board.code = 15;  // Lost.
  EXPECT_THAT(Message(gpu->CheckNotLost()), HasSubstr("fell off the bus"));
  board.code = 16;  // Must be reset.
  EXPECT_THAT(Message(gpu->CheckNotLost()), HasSubstr("must be reset"));
}

TEST(NvmlTest, AFailureThatMayPassIsNoAnswer) {
  const Nvml nvml(FakeNvml());
  for (const NvmlCode code : {1, 10, 15, 18, 999}) {
    board.code = code;
    EXPECT_THAT(Message(nvml.FactsOf("GPU-1").status()),
                HasSubstr(absl::StrCat("NVML error ", code)));
  }
  board.code = 0;
  EXPECT_EQ(nvml.FactsOf("GPU-1")->memory_bytes, 1000);
  // A GPU that is none of NVML's stays one.
  EXPECT_FALSE(nvml.FactsOf("GPU-2")->device.has_value());
}

// Which of its questions fails makes no difference.
TEST(NvmlTest, EachOfItsAnswersIsNeeded) {
  NvmlFunctions functions = FakeNvml();
  functions.memory = [](NvmlHandle, NvmlMemory*) { return NvmlCode{999}; };
  EXPECT_THAT(Message(Nvml(functions).FactsOf("GPU-1").status()),
              HasSubstr("memory of a GPU failed with NVML error 999"));
  functions = FakeNvml();
  functions.power_limit = [](NvmlHandle, unsigned*) { return NvmlCode{999}; };
  EXPECT_THAT(Message(Nvml(functions).FactsOf("GPU-1").status()),
              HasSubstr("power limit of a GPU failed with NVML error 999"));
}

TEST(NvmlTest, ALibraryThatIsNotNvmlIsTooOldAndNotMissing) {
  const absl::Status status = Nvml::LoadFrom("libc.so.6").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(Message(status), HasSubstr("nvmlInit_v2"));
}

TEST(CudaLookTest, SaysWhatTheGpuDoes) {
  const Nvml nvml(FakeNvml());
  board.reasons = 0x44;
  board.utilisation = 93;
  for (unsigned pid = 100; pid < 300; ++pid) board.processes.push_back(pid);
  const ProcessView view = {
      .parents = {{100, 10}}, .agent = 10, .own_workers = 1};
  const absl::StatusOr<DeviceState> state =
      ReadTelemetryOf(*nvml.Find("GPU-1"), view);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->sm_clock_mhz, 1980);
  EXPECT_EQ(state->throttle_reasons, 0x44U);
  EXPECT_EQ(state->utilisation_percent, 93);
  EXPECT_EQ(state->other_processes, 199);
  EXPECT_EQ(state->memory_used_bytes, 40);
  EXPECT_EQ(state->memory_total_bytes, 1000);
  EXPECT_EQ(state->own_workers, 1);
  EXPECT_EQ(state->power_limit_w, 700);
  EXPECT_EQ(state->temperature_c, 86);
  EXPECT_GT(state->looked_at_us, 0);
}

TEST(CudaLookTest, APartitionDoesNotSayHowMuchItIsUsed) {
  const Nvml nvml(FakeNvml());
  const absl::StatusOr<DeviceState> state =
      ReadTelemetryOf(*nvml.Find("MIG-1"), {});
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->utilisation_percent, std::nullopt);
  EXPECT_EQ(state->other_processes, 0);
}

TEST(CudaLookTest, AnOldDriverThatListsNoProcessesLeavesThemUnknown) {
  NvmlFunctions functions = FakeNvml();
  functions.compute_processes = nullptr;
  const Nvml nvml(functions);
  EXPECT_EQ(ReadTelemetryOf(*nvml.Find("GPU-1"), {})->other_processes,
            std::nullopt);
}

TEST(CudaLookTest, ALostGpuIsUnavailable) {
  const Nvml nvml(FakeNvml());
  const absl::StatusOr<NvmlDevice> gpu = nvml.Find("GPU-1");
  board.code = 15;
  EXPECT_EQ(ReadTelemetryOf(*gpu, {}).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(nvml.Find("GPU-1").status().code(), absl::StatusCode::kUnavailable);
  board.code = 999;  // Nobody knows.
  EXPECT_EQ(nvml.Find("GPU-1").status().code(), absl::StatusCode::kInternal);
}

TEST(ThrottleWatchTest, LooksAtMostFortyTimesASecond) {
  const Nvml nvml(FakeNvml());
  FakeClock clock;
  ThrottleWatch watch(*nvml.Find("MIG-1"), clock);
  EXPECT_FALSE(watch.throttled());
  watch.Poll();
  EXPECT_FALSE(watch.throttled());
  board.reasons = 0x40;
  watch.Poll();
  EXPECT_FALSE(watch.throttled());
  EXPECT_EQ(board.asked, 1);
  clock.Sleep(std::chrono::milliseconds(30));
  watch.Poll();
  EXPECT_TRUE(watch.throttled());
  EXPECT_EQ(watch.reasons(), 0x40U);
  EXPECT_EQ(watch.sm_clock_mhz(), 1980);
  board.reasons = 0;
  clock.Sleep(std::chrono::milliseconds(30));
  watch.Poll();
  EXPECT_FALSE(watch.throttled());
}

TEST(ThrottleWatchTest, NothingIsThrottledWithoutNvml) {
  FakeClock clock;
  ThrottleWatch watch(std::nullopt, clock);
  watch.Poll();
  EXPECT_FALSE(watch.throttled());
  EXPECT_EQ(watch.sm_clock_mhz(), 0);
  EXPECT_FALSE(watch.IsLost());
}

}  // namespace
}  // namespace wavetune
