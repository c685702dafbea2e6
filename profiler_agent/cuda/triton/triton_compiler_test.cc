// Triton kernels compiled by the Python process, good and bad ones. Skipped
// where there is no Triton; needs no GPU.
#include "profiler_agent/cuda/triton/triton_compiler.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/cuda/triton/test_triton.h"
#include "profiler_agent/cuda/triton/triton_installation.h"
#include "profiler_agent/cuda/triton/triton_scripts.h"
#include "profiler_agent/measure/environment_error.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kSource[] = "triton_gelu.py";

// BLOCK_R, BLOCK_C, num_warps.
const Configuration kSmall = {1, 256, 4};

class TritonCompilerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (TestTritonPython().empty()) GTEST_SKIP() << kNoTestTriton;
    options_.python = TestTritonPython();
    options_.capability = 90;
    options_.name = TritonCompilerName(FindTriton(options_.python), 90);
  }

  absl::Status Load(LoadedKernel kernel) {
    kernel_ = std::make_unique<LoadedKernel>(std::move(kernel));
    absl::StatusOr<std::unique_ptr<TritonCompiler>> compiler =
        TritonCompiler::Load(options_, *kernel_,
                             kernel_->spec.implementations[0]);
    if (!compiler.ok()) return compiler.status();
    compiler_ = *std::move(compiler);
    return absl::OkStatus();
  }

  // Loads the kernel with `code` in front of its own.
  absl::Status LoadWith(const std::string& code) {
    return Load(TritonGelu({{kSource, absl::StrCat(code, "\n", own_)}}));
  }

  // Loads it with something in its own code replaced.
  absl::Status LoadReplacing(const std::string& from, const std::string& to) {
    EXPECT_THAT(own_, HasSubstr(from));
    return Load(
        TritonGelu({{kSource, absl::StrReplaceAll(own_, {{from, to}})}}));
  }

  TritonForm FormAt(int64_t rows, int64_t columns) const {
    return compiler_->FormAt(kSmall, {.extents = {rows, columns}});
  }

  const std::string own_ = TritonGelu().files.at(kSource);
  TritonCompilerOptions options_;
  std::unique_ptr<LoadedKernel> kernel_;
  std::unique_ptr<TritonCompiler> compiler_;
};

TEST_F(TritonCompilerTest, CompilesForEachArchitecture) {
  for (const int capability : {80, 90, 100}) {
    options_.capability = capability;
    ASSERT_TRUE(Load(TritonGelu()).ok());
    const absl::StatusOr<TritonKernel> kernel =
        compiler_->Compile(kSmall, FormAt(16, 1024));
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    EXPECT_EQ(kernel->code.substr(1, 3), "ELF");
    EXPECT_EQ(kernel->entry, "gelu");
    EXPECT_EQ(kernel->launch.threads, 128);
    EXPECT_EQ(kernel->spilled_bytes, 0);
    EXPECT_EQ(kernel->serialised, "");
  }
}

TEST_F(TritonCompilerTest, CodeFollowsWhatALaunchSpecialises) {
  ASSERT_TRUE(Load(TritonGelu()).ok());
  EXPECT_EQ(FormAt(16, 1024), "DDDDD");
  EXPECT_EQ(FormAt(1, 1000), "DDD1-");
  const absl::StatusOr<TritonKernel> even = compiler_->Compile(kSmall, "DDDDD");
  const absl::StatusOr<TritonKernel> odd = compiler_->Compile(kSmall, "DDD1-");
  ASSERT_TRUE(even.ok()) << even.status();
  ASSERT_TRUE(odd.ok()) << odd.status();
  EXPECT_NE(even->code, odd->code);
  EXPECT_THAT(even->launch.passed, ElementsAre(true, true, true, true, true));
  EXPECT_THAT(odd->launch.passed, ElementsAre(true, true, true, false, true));
}

TEST_F(TritonCompilerTest, WhatIsNotSpecialisedHasOneCode) {
  ASSERT_TRUE(LoadReplacing("@triton.jit\ndef gelu(",
                            "@triton.jit(do_not_specialize=['rows'], "
                            "do_not_specialize_on_alignment=['columns'])\n"
                            "def gelu(")
                  .ok());
  EXPECT_EQ(FormAt(1, 1), "DDD-1");
  EXPECT_EQ(FormAt(16, 1024), "DDD--");
  EXPECT_TRUE(compiler_->Compile(kSmall, "DDD--").ok());
}

TEST_F(TritonCompilerTest, TakesWhatItHasCompiledFromTheDisk) {
  const fs::path folder =
      fs::path(::testing::TempDir()) / absl::StrCat("triton.", getpid());
  options_.cache_dir = folder.string();
  ASSERT_TRUE(Load(TritonGelu()).ok());
  const absl::StatusOr<TritonKernel> first =
      compiler_->Compile(kSmall, "DDDDD");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(first->from_disk);
  // Not even the interpreter is needed.
  const std::string python = std::exchange(options_.python, "/no/python");
  ASSERT_TRUE(Load(TritonGelu()).ok());
  EXPECT_EQ(FormAt(1, 1000), "DDD1-");
  const absl::StatusOr<TritonKernel> again =
      compiler_->Compile(kSmall, "DDDDD");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->from_disk);
  EXPECT_EQ(again->code, first->code);
  EXPECT_EQ(again->launch, first->launch);
  options_.python = python;
  // An edit of what is called makes it another program.
  LoadedKernel edited = TritonGelu();
  edited.files["activation.py"] += "# Edited.\n";
  ASSERT_TRUE(Load(std::move(edited)).ok());
  EXPECT_FALSE(compiler_->Compile(kSmall, "DDDDD")->from_disk);
  fs::remove_all(folder);
}

TEST_F(TritonCompilerTest, SaysHowMuchSpills) {
  LoadedKernel kernel = TritonGelu();
  kernel.spec.parameters[2] = {.name = "maxnreg", .values = {16}};
  ASSERT_TRUE(Load(std::move(kernel)).ok());
  const absl::StatusOr<TritonKernel> spilling =
      compiler_->Compile({4, 1024, 16}, "DDDDD");
  ASSERT_TRUE(spilling.ok()) << spilling.status();
  EXPECT_GT(spilling->spilled_bytes, 0);
}

TEST_F(TritonCompilerTest, SaysWhatScratchMemoryABlockWants) {
  ASSERT_TRUE(LoadReplacing(
                  "value = tl.load(x + at, mask=inside, other=0.0)",
                  "rows_of_x = tl.make_tensor_descriptor(x, [rows, columns], "
                  "[columns, 1], [BLOCK_R, BLOCK_C])\n"
                  "    value = rows_of_x.load([tl.program_id(0) // blocks_c * "
                  "BLOCK_R, tl.program_id(0) % blocks_c * BLOCK_C])")
                  .ok());
  const absl::StatusOr<TritonKernel> kernel =
      compiler_->Compile(kSmall, "DDDDD");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->launch.scratch_bytes, 128) << "a tensor map";
}

TEST_F(TritonCompilerTest, ADefineIsAConstantOfTheFunction) {
  LoadedKernel kernel = TritonGelu(
      {{kSource, absl::StrReplaceAll(
                     own_, {{"BLOCK_C: tl.constexpr)",
                             "BLOCK_C: tl.constexpr, SHIFT: tl.constexpr, "
                             "MODE: tl.constexpr, ON: tl.constexpr, "
                             "LEFT: tl.constexpr = 3)"},
                            {"inside = (r < rows)",
                             "tl.static_assert(SHIFT == 2.5)\n"
                             "    tl.static_assert(MODE == 'fast')\n"
                             "    tl.static_assert(ON == True)\n"
                             "    tl.static_assert(LEFT == 3)\n"
                             "    inside = (r < rows)"}})}});
  kernel.spec.specialisations = {
      {.name = "a",
       .defines = {{"SHIFT", "2.5"}, {"MODE", "fast"}, {"ON", "true"}}},
      {.name = "b", .defines = {{"SHIFT", "1"}}}};
  kernel.specialisation = "a";
  const absl::Status loaded = Load(std::move(kernel));
  ASSERT_TRUE(loaded.ok()) << loaded;
  const absl::StatusOr<TritonKernel> compiled =
      compiler_->Compile(kSmall, "DDDDD");
  EXPECT_TRUE(compiled.ok()) << compiled.status();
}

TEST_F(TritonCompilerTest, AConfigurationThatDoesNotCompileSaysWhy) {
  ASSERT_TRUE(Load(TritonGelu()).ok());
  const absl::Status status =
      compiler_->Compile({1, 1000, 4}, "DDDDD").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("power of 2"));
  EXPECT_TRUE(compiler_->Compile(kSmall, "DDDDD").ok()) << "goes on";
}

TEST_F(TritonCompilerTest, ACompilationThatTakesTooLongFailsAlone) {
  options_.compile_timeout = std::chrono::milliseconds(1);
  ASSERT_TRUE(Load(TritonGelu()).ok());
  for (int i = 0; i < 2; ++i) {  // The second one in a fresh process.
    const absl::Status status = compiler_->Compile(kSmall, "DDDDD").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("no answer within"));
  }
}

TEST_F(TritonCompilerTest, AProcessThatDiesOverACandidateIsStartedAnew) {
  ASSERT_TRUE(LoadReplacing("@triton.jit\ndef gelu(",
                            "import os\n"
                            "@triton.jit(repr=lambda of: os._exit(7) if "
                            "of.constants['BLOCK_C'] == 1024 else 'gelu')\n"
                            "def gelu(")
                  .ok());
  const absl::Status died = compiler_->Compile({1, 1024, 4}, "DDDDD").status();
  EXPECT_EQ(died.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(died.message()), HasSubstr("exited with code 7"));
  const absl::StatusOr<TritonKernel> next = compiler_->Compile(kSmall, "DDDDD");
  EXPECT_TRUE(next.ok()) << next.status();
}

TEST_F(TritonCompilerTest, AProcessThatSomebodyKillsIsNoFaultOfTheCandidate) {
  ASSERT_TRUE(LoadReplacing("@triton.jit\ndef gelu(",
                            "import os\n"
                            "@triton.jit(repr=lambda of: os.kill(os.getpid(), "
                            "9) if of.constants['BLOCK_C'] == 1024 else "
                            "'gelu')\n"
                            "def gelu(")
                  .ok());
  const absl::Status killed =
      compiler_->Compile({1, 1024, 4}, "DDDDD").status();
  EXPECT_EQ(ExhaustedResource(killed), Resource::kKilled) << killed;
  const absl::StatusOr<TritonKernel> next = compiler_->Compile(kSmall, "DDDDD");
  EXPECT_TRUE(next.ok()) << next.status();
}

TEST_F(TritonCompilerTest, WhatASourceStartsEndsWithItsCompiler) {
  const fs::path pids =
      fs::path(::testing::TempDir()) / absl::StrCat("pids.", getpid());
  ASSERT_TRUE(LoadWith(absl::StrCat("import os, time\n"
                                    "if os.fork() == 0:\n"
                                    "    os.setsid()\n"
                                    "    with open('",
                                    pids.string(),
                                    "', 'w') as file:\n"
                                    "        file.write(str(os.getpid()))\n"
                                    "    time.sleep(600)\n"
                                    "while not os.path.exists('",
                                    pids.string(),
                                    "'):\n"
                                    "    time.sleep(0.01)\n"))
                  .ok());
  EXPECT_TRUE(compiler_->Compile(kSmall, "DDDDD").ok());
  pid_t left = 0;
  std::ifstream(pids) >> left;
  fs::remove(pids);
  ASSERT_GT(left, 0);
  EXPECT_EQ(kill(left, 0), 0);
  compiler_.reset();
  EXPECT_NE(kill(left, 0), 0);
}

TEST_F(TritonCompilerTest, ASourceDoesNotSeeWhatTheAgentWasGiven) {
  setenv("WAVETUNE_TLS_KEY", "a secret", 1);
  setenv("TRITON_INTERPRET", "1", 1);
  const absl::Status loaded =
      LoadWith("import os; assert 'WAVETUNE_TLS_KEY' not in os.environ");
  EXPECT_TRUE(loaded.ok()) << loaded;
  const bool compiled = loaded.ok() && compiler_->Compile(kSmall, "DDDDD").ok();
  EXPECT_TRUE(compiled);
  unsetenv("WAVETUNE_TLS_KEY");
  unsetenv("TRITON_INTERPRET");
}

// What a kernel's Python may do without harm.
class HarmlessPythonTest : public TritonCompilerTest,
                           public ::testing::WithParamInterface<const char*> {};

TEST_P(HarmlessPythonTest, Compiles) {
  const absl::Status loaded = LoadWith(GetParam());
  ASSERT_TRUE(loaded.ok()) << loaded;
  const auto begin = std::chrono::steady_clock::now();
  const absl::StatusOr<TritonKernel> kernel =
      compiler_->Compile(kSmall, "DDDDD");
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  compiler_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(1));
}

INSTANTIATE_TEST_SUITE_P(
    Python, HarmlessPythonTest,
    ::testing::Values(
        // What could get between frames; what is found by the environment; what
        // could outlive its end.
        "print('hello'); import os, sys; sys.stdout.flush()\n"
        "os.write(1, b'hello'); sys.stdin.read()",
        "import os; os.chdir('/'); os.environ.clear()",
        "import signal, threading, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()"));

// What a kernel's Python may not do, and what is said of it.
struct BadPython {
  std::string code;
  std::string message;
};

class BadPythonTest : public TritonCompilerTest,
                      public ::testing::WithParamInterface<BadPython> {};

TEST_P(BadPythonTest, IsTheKernelsFaultAndSaysWhatIsWrong) {
  // Of what never ends: others end by themselves.
  if (absl::StrContains(GetParam().message, "no answer within"))
    options_.load_timeout = std::chrono::seconds(1);
  const absl::Status status = LoadWith(GetParam().code);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Python, BadPythonTest,
    ::testing::Values(
        BadPython{"def f(:\n", "importing triton_gelu.py failed: "},
        BadPython{"nothing_there", "triton_gelu.py:1: NameError"},
        BadPython{"import numpy",
                  "No module named 'numpy' here: a Triton "
                  "source imports triton, the standard"},
        BadPython{"import helper", "what the manifest lists in `sources`"},
        BadPython{"import sys; sys.exit('enough')", "SystemExit: enough"},
        BadPython{"import os; os._exit(3)",
                  "importing triton_gelu.py failed: the Triton compiler exited "
                  "with code 3"},
        BadPython{"import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
                  "ended by SIGSEGV"},
        BadPython{"while True: pass", "no answer within 1 s"},
        BadPython{"import sys; sys.stderr.write('last words\\n'); "
                  "import os; os._exit(1)",
                  "it last said: last words"}));

TEST_F(TritonCompilerTest, OtherArgumentsAreRefusedWithBothLists) {
  const absl::Status status =
      LoadReplacing("rows, columns, BLOCK_R", "rows, BLOCK_R");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("its arguments are others"),
            HasSubstr("The function takes (x, bias, y, rows), constants "
                      "(BLOCK_R, BLOCK_C)"),
            HasSubstr("the manifest passes (x, bias, y, rows, columns), "
                      "parameters (BLOCK_R, BLOCK_C, num_warps)")));
}

// triton_gelu with a parameter that switches on a map over x.
LoadedKernel WithAMap(const std::string& code) {
  LoadedKernel kernel = TritonGelu({{kSource, code}});
  kernel.spec.parameters.push_back({.name = "USE_MAP", .values = {0, 1}});
  kernel.spec.implementations[0].tensor_maps = {
      {.argument = 0,
       .extents = {Expression::OfDimension(1), Expression::OfDimension(0)},
       .box = {Expression::OfParameter(1), Expression::OfParameter(0)},
       .enabled_by = 3}};
  return kernel;
}

TEST_F(TritonCompilerTest, TensorMapsComeFirstAndAreNoneWhereSwitchedOff) {
  const std::string code = absl::StrReplaceAll(
      own_, {{"def gelu(x,", "def gelu(x_map, x,"},
             {"BLOCK_C: tl.constexpr)",
              "BLOCK_C: tl.constexpr, USE_MAP: tl.constexpr)"},
             {"    value = tl.load(x + at, mask=inside, other=0.0)",
              "    if x_map is None:\n"
              "        value = tl.load(x + at, mask=inside, other=0.0)\n"
              "    else:\n"
              "        value = x_map.load([0, 0])\n"
              "    value += 0.0"}});
  const Configuration with = {4, 256, 4, 1};
  ASSERT_TRUE(Load(WithAMap(code)).ok());
  const absl::StatusOr<TritonKernel> without =
      compiler_->Compile({4, 256, 4, 0}, "DDDDD");
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_TRUE(without->launch.maps.empty());
  const absl::StatusOr<TritonKernel> kernel = compiler_->Compile(with, "DDDDD");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_NE(kernel->key, without->key);
  ASSERT_EQ(kernel->launch.maps.size(), 1u);
  // Rows of shared memory have at most 128 bytes with a swizzle.
  EXPECT_EQ(kernel->launch.maps[0].box[1], 4u);
  EXPECT_GT(kernel->launch.maps[0].box[0], 1u);

  options_.capability = 80;
  ASSERT_TRUE(Load(WithAMap(code)).ok());
  EXPECT_TRUE(compiler_->Compile({4, 256, 4, 0}, "DDDDD").ok());
  const absl::Status old = compiler_->Compile(with, "DDDDD").status();
  EXPECT_EQ(old.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(old.message()),
              HasSubstr("exclude the configuration by device_predicates"));
}

TEST_F(TritonCompilerTest, AFunctionWithoutTheMapIsRefused) {
  const absl::Status status = Load(WithAMap(own_));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the manifest passes tensor maps: 1, then (x, bias, y, "
                        "rows, columns)"));
}

TEST_F(TritonCompilerTest, AParameterThatTheFunctionLacksIsRefused) {
  EXPECT_THAT(
      std::string(LoadReplacing(", BLOCK_C: tl.constexpr)", ")").message()),
      HasSubstr("it declares no tl.constexpr named BLOCK_C"));
}

TEST_F(TritonCompilerTest, AConstantThatNobodyGivesIsRefused) {
  EXPECT_THAT(
      std::string(LoadReplacing("BLOCK_C: tl.constexpr)",
                                "BLOCK_C: tl.constexpr, MODE: tl.constexpr)")
                      .message()),
      HasSubstr("the manifest has no parameter, constant or define MODE"));
}

TEST_F(TritonCompilerTest, AnotherTypeThanTheManifestsIsRefused) {
  EXPECT_THAT(std::string(LoadReplacing("rows, columns, BLOCK_R",
                                        "rows: tl.int64, columns, BLOCK_R")
                              .message()),
              HasSubstr("argument 'rows' is annotated as i64, but is i32 in "
                        "the manifest"));
}

TEST_F(TritonCompilerTest, AnEntryThatIsNotThereIsRefusedWithWhatIs) {
  LoadedKernel kernel = TritonGelu();
  kernel.spec.implementations[0].entry = "glue";
  EXPECT_THAT(
      std::string(Load(std::move(kernel)).message()),
      AllOf(HasSubstr("no @triton.jit function 'glue'"), HasSubstr("gelu")));
}

TEST_F(TritonCompilerTest, AutotunedFunctionsAreTunedInItsPlace) {
  ASSERT_TRUE(LoadReplacing("@triton.jit\ndef gelu(",
                            "@triton.autotune(configs=[triton.Config({'BLOCK_R'"
                            ": 1, 'BLOCK_C': 256})], key=['rows'])\n"
                            "@triton.jit\ndef gelu(")
                  .ok());
  EXPECT_TRUE(compiler_->Compile(kSmall, "DDDDD").ok());
}

TEST_F(TritonCompilerTest, ASourceMayHaveTheNameOfAModuleOfPythonsOwn) {
  LoadedKernel kernel = TritonGelu({{"copy.py", own_}});
  kernel.spec.implementations[0].sources[0] = "copy.py";
  ASSERT_TRUE(Load(std::move(kernel)).ok());
  const absl::StatusOr<TritonKernel> compiled =
      compiler_->Compile(kSmall, "DDDDD");
  EXPECT_TRUE(compiled.ok()) << compiled.status();
}

TEST_F(TritonCompilerTest, HeuristicsAreRefused) {
  EXPECT_THAT(
      std::string(LoadReplacing("@triton.jit\ndef gelu(",
                                "@triton.heuristics({'BLOCK_R': lambda a: 1})\n"
                                "@triton.jit\ndef gelu(")
                      .message()),
      HasSubstr("wrapped by @triton.heuristics"));
}

TEST_F(TritonCompilerTest, AnotherTritonThanTheAgentSawAsksForAReload) {
  options_.name = "Triton 3.5.0, ptxas 12.8.93";
  const absl::Status status = Load(TritonGelu());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("has Triton 3.6.0 by now"),
                    HasSubstr("reload the agent")));
}

// Runs code behind the script's own functions, with Python alone; returns how
// it ended.
int RunAfterServer(const std::string& code) {
  std::string script(triton_scripts::kServer);
  EXPECT_TRUE(absl::EndsWith(script, "\nmain()\n"));
  script.resize(script.size() - std::string("main()\n").size());
  const fs::path folder =
      fs::path(::testing::TempDir()) / absl::StrCat("server.", getpid());
  const std::string file = folder.string() + ".py";
  std::ofstream(file) << script << code;
  const int status =
      std::system(absl::StrCat("python3 ", file, " ", folder.string()).c_str());
  fs::remove(file);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(TritonServerTest, ReadsWhatPtxasSays) {
  EXPECT_EQ(RunAfterServer(R"(
log = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'f' for 'sm_90a'
ptxas info    : Function properties for f
    24 bytes stack frame, 20 bytes spill stores, 36 bytes spill loads
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the function 'f'
"""
assert spilled_bytes(log) == 56
assert serialised_wgmma(log).startswith("ptxas info    : (C7510) Potential")
assert spilled_bytes("0 bytes spill stores, 0 bytes spill loads") == 0
assert serialised_wgmma("ptxas info    : Used 32 registers") == ""
assert literal("0x10") == 16 and literal("2.5") == 2.5 and literal("fp8") == "fp8"
assert literal("true") is True and literal("False") is False
)"),
            0);
}

// Also where that has made a session of its own, and forked again.
TEST(TritonServerTest, EndsWhatTheCompilerLeavesRunning) {
  const std::string pids =
      (fs::path(::testing::TempDir()) / absl::StrCat("left.", getpid()))
          .string();
  EXPECT_EQ(RunAfterServer(absl::StrCat("PIDS = '", pids, "'\n", R"(
def left() -> list:
    with open(PIDS, "a+", encoding="ascii") as file:
        file.seek(0)
        return file.read().split()

keep()
if os.fork() == 0:
    os.setsid()
    os.fork()
    if os.fork() == 0:
        os.setsid()
    with open(PIDS, "a", encoding="ascii") as file:
        file.write(f"{os.getpid()} ")
    time.sleep(600)
while len(left()) < 4:
    time.sleep(0.01)
os._exit(3)
)")),
            3);
  std::ifstream left(pids);
  int count = 0;
  for (pid_t pid = 0; left >> pid; ++count) EXPECT_NE(kill(pid, 0), 0) << pid;
  EXPECT_EQ(count, 4);
  fs::remove(pids);
}

TEST_F(TritonCompilerTest, LeavesNoFilesBehind) {
  const auto scratch = [] {
    int count = 0;
    const std::string prefix = absl::StrCat("wavetune-triton-", getpid(), "-");
    for (const fs::directory_entry& entry :
         fs::directory_iterator(fs::temp_directory_path())) {
      count += entry.path().filename().string().starts_with(prefix) ? 1 : 0;
    }
    return count;
  };
  // A worker that was killed could not: no process has this number.
  const fs::path abandoned =
      fs::temp_directory_path() / "wavetune-triton-2147483647-test";
  fs::create_directories(abandoned / "sources");
  ASSERT_TRUE(Load(TritonGelu()).ok());
  EXPECT_EQ(scratch(), 1);
  EXPECT_FALSE(fs::exists(abandoned));
  compiler_.reset();
  EXPECT_EQ(scratch(), 0);
}

}  // namespace
}  // namespace wavetune
