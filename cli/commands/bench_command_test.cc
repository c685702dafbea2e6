// wavetune bench on a fake daemon.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/commands/bench_command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class BenchCommandTest : public BenchCommandFixture {};

TEST_F(BenchCommandTest, PrintsRegretAndSpeedUp) {
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_, "--exhaustive"}),
            kExitOk)
      << err_.str();
  EXPECT_TRUE(daemon_->measure_request.exhaustive());
  EXPECT_TRUE(daemon_->measure_request.chosen());
  EXPECT_EQ(daemon_->measure_request.problems_size(), 2);
  EXPECT_THAT(out_.str(), HasSubstr("llama"));
  EXPECT_THAT(out_.str(), HasSubstr("25.0%"));  // Regret of the second.
  EXPECT_THAT(out_.str(), HasSubstr("2.00x"));
  EXPECT_THAT(out_.str(), HasSubstr("of the exhaustive best"));
}

TEST_F(BenchCommandTest, PrintsTheSameAsJson) {
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_, "--json"}), kExitOk);
  const Json json = Output();
  EXPECT_EQ(json["shapes"][1]["label"], "qwen");
  EXPECT_DOUBLE_EQ(json["shapes"][1]["regret"].get<double>(), 0.25);
  EXPECT_DOUBLE_EQ(json["summary"]["oracle_fraction_min"].get<double>(), 0.8);
  EXPECT_NEAR(json["summary"]["speed_up_over_default_geomean"].get<double>(),
              1.41421, 1e-5);
}

TEST_F(BenchCommandTest, SaysWhatToDoWhereTheDefaultIsFaster) {
  ASSERT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("slower than the default")));
  for (v1::MeasureResponse& measured : daemon_->measured) {
    if (!measured.has_result()) continue;
    v1::MeasuredProblem& result = *measured.mutable_result();
    result.mutable_default_configuration()->set_latency_us(
        0.9 * result.chosen().latency_us());
  }
  out_.str("");
  ASSERT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("slower than the default at 2 of 2: name "
                                    "such problems in the manifest"));
  EXPECT_THAT(out_.str(), HasSubstr("wavetune tables retire"));
  out_.str("");
  ASSERT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_, "--json"}), kExitOk);
  EXPECT_EQ(Output()["summary"]["slower_than_default"], 2);
}

TEST_F(BenchCommandTest, SaysWhatABestIsWorthThatOtherRoundsPicked) {
  ASSERT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_, "--exhaustive"}),
            kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("did not pick it")));
  daemon_->measured[0].mutable_result()->set_held_out_fraction(1.02);
  daemon_->measured[1].mutable_result()->set_held_out_fraction(0.9);
  out_.str("");
  ASSERT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_, "--exhaustive"}),
            kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("95.8% of a best judged in rounds that did "
                                    "not pick it"));
  out_.str("");
  ASSERT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_, "--json"}), kExitOk);
  const Json json = Output();
  EXPECT_DOUBLE_EQ(json["shapes"][1]["held_out_fraction"].get<double>(), 0.9);
  EXPECT_DOUBLE_EQ(json["summary"]["held_out_fraction_min"].get<double>(), 0.9);
}

TEST_F(BenchCommandTest, SaysWhichPairsAreMissingAndWhere) {
  v1::MeasuredProblem& second = *daemon_->measured[1].mutable_result();
  for (const int64_t value : {1, 2}) {
    v1::FailedConfiguration& failed = *second.add_failed();
    *failed.mutable_configuration() = Measured(value, 1).configuration();
    failed.set_reason("crashed: the worker was ended by SIGSEGV");
  }
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_, "--exhaustive"}),
            kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("MISSING"));
  EXPECT_THAT(out_.str(),
              HasSubstr("2 pairs of candidate and shape could not be measured, "
                        "at 1 shape: the best there is the best of the others; "
                        "the first: "));
  EXPECT_THAT(out_.str(), HasSubstr("at m=4 n=5 k=6: crashed: the worker was "
                                    "ended by SIGSEGV"));
  out_.str("");
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_, "--json"}), kExitOk);
  const Json json = Output();
  EXPECT_EQ(json["summary"]["missing_pairs"], 2);
  EXPECT_EQ(json["summary"]["shapes_with_missing_pairs"], 1);
  EXPECT_EQ(json["shapes"][0]["candidates_missing"], 0);
  EXPECT_EQ(json["shapes"][1]["candidates_missing"], 2);
}

TEST_F(BenchCommandTest, ComparesWithVendorLibraries) {
  v1::MeasuredVendorBaseline& fast =
      *daemon_->measured[0].mutable_result()->add_vendor_baselines();
  fast.set_library("cublaslt");
  fast.set_latency_us(20);
  v1::MeasuredVendorBaseline& failed =
      *daemon_->measured[1].mutable_result()->add_vendor_baselines();
  failed.set_library("cublaslt");
  failed.set_failure("no algorithm");
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_, "--peers"}), kExitOk)
      << err_.str();
  EXPECT_TRUE(daemon_->measure_request.vendor_baselines());
  EXPECT_THAT(out_.str(), HasSubstr("cublaslt us"));
  EXPECT_THAT(out_.str(), HasSubstr("cublaslt at 1 shape: the best is 2.000x"));
  EXPECT_THAT(out_.str(), HasSubstr("failed at 1: no algorithm"));
  out_.str("");
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_, "--json"}), kExitOk);
  const Json json = Output();
  EXPECT_DOUBLE_EQ(
      json["summary"]["peers"][0]["best_speed_up_geomean"].get<double>(), 2);
  EXPECT_EQ(json["shapes"][1]["peers"][0]["failure"], "no algorithm");
}

TEST_F(BenchCommandTest, ShowsClocksAndThatTheDeviceWasThrottled) {
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("throttled")));
  v1::MeasuredProblem& result = *daemon_->measured[1].mutable_result();
  result.mutable_chosen()->set_sm_clock_mhz(1980);
  result.mutable_default_configuration()->set_sm_clock_mhz(1200);
  result.mutable_default_configuration()->set_throttled(true);
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("1200 throttled"));
  EXPECT_THAT(out_.str(), HasSubstr("throttled at 1 of the shapes"));
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_, "--json"}), kExitOk);
  EXPECT_EQ(Output()["shapes"][1]["throttled"], true);
}

TEST_F(BenchCommandTest, SaysNothingOfABestThatWasNotMeasured) {
  daemon_->measured.clear();
  AddResult({1, 2, 3}, 10, 20, 0);
  AddResult({4, 5, 6}, 10, 20, 0);
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("exhaustive best")));
  EXPECT_THAT(out_.str(), HasSubstr("2.000x as fast as the default"));
}

TEST_F(BenchCommandTest, AFailedJobOrAMissingShapeIsAFailure) {
  *daemon_->measured.back().mutable_job() = Job(9, v1::FAILED);
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("because"));
  daemon_->measured = {daemon_->measured[0]};
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("1 of 2 shapes were not measured"));
}

TEST_F(BenchCommandTest, ATableThatWasRefusedIsAFailureThatSaysWhy) {
  for (int i = 0; i < 2; ++i) {
    daemon_->measured[i].mutable_result()->clear_chosen();
    daemon_->measured[i].mutable_result()->set_source(v1::DEFAULT);
  }
  daemon_->jobs = {Job(8, v1::SUCCEEDED)};
  daemon_->jobs[0].clear_digest();
  daemon_->jobs[0].set_message("not promoted, the default serves on: slower");
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_}), kExitFailed);
  EXPECT_THAT(err_.str(),
              HasSubstr("refused: job 8: not promoted, the default serves on: "
                        "slower; see `wavetune tables rejected gemm_f32`"));
  EXPECT_THAT(out_.str(), HasSubstr("2 shapes"));
  // Nobody asked for one.
  daemon_->jobs.clear();
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("never profiled"));
}

TEST_F(BenchCommandTest, WrongShapesAreWrongUsage) {
  std::ofstream(shapes_) << "m,n,k\n1,2,0\n";
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("line 2"));
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", "/no/such/file"}),
            kExitFailed);
  EXPECT_EQ(Run({"bench", "nothing", "--shapes", shapes_}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("gemm_f32"));
}

// Bench of the kernel that engines launch, with a program in place of the
// interpreter that reads their files.
class EngineConfigsTest : public BenchCommandFixture {
 protected:
  EngineConfigsTest() {
    *daemon_->kernels.add_kernels()->mutable_spec() =
        LoadKernelFolder(WAVETUNE_SOURCE_DIR "/kernels/triton_fused_moe")
            .value()
            .proto;
    v1::DeviceStatus& device = *daemon_->devices.add_devices();
    device.mutable_facts()->set_uuid("GPU-1");
    device.mutable_facts()->set_label("NVIDIA H200");
    device.set_attached(true);
    std::ofstream(shapes_)
        << "specialisation,tokens,n,k,top_k\n"
           "gate_up,3 0 2 0,1536,2048,2\ndown,1 1 0 0,2048,768,2\n";
  }

  int Bench(const std::string& script,
            const std::vector<std::string>& more = {}) {
    const std::string program = folder_.path() + "/python";
    std::ofstream(program) << "#!/bin/sh\ncp \"$3\" " << folder_.path()
                           << "/asked\n"
                           << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    std::vector<std::string> arguments = {
        "bench", "triton_fused_moe", "--shapes", shapes_, "--python", program};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
};

TEST_F(EngineConfigsTest, WhatEnginesShipIsMeasuredUnderItsName) {
  Bench(R"(cat << END
{"NVIDIA H200": {
   "vllm E=4,N=768 M=3":
     {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 128,
      "GROUP_SIZE_M": 1, "num_warps": 4, "num_stages": 3, "USE_TMA": 0},
   "sglang E=4,N=768,down M=1":
     {"BLOCK_SIZE_M": 7, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 128,
      "GROUP_SIZE_M": 1, "num_warps": 4, "num_stages": 3}}}
END)",
        {"--engine-configs", "/here"});
  std::ifstream asked(folder_.path() + "/asked");
  const Json request = Json::parse(asked);
  EXPECT_EQ(request["engines"], Json::array({"vllm", "sglang"}));
  EXPECT_EQ(request["folders"], Json::array({"/here"}));
  EXPECT_EQ(request["devices"], Json::array({"NVIDIA H200"}));
  // Experts, width, whether it is the second product, tokens.
  EXPECT_EQ(request["launches"],
            Json::parse("[[4, 768, false, 3], [4, 768, true, 1]]"));
  const v1::MeasureRequest& measured = daemon_->measure_request;
  ASSERT_EQ(measured.rivals_size(), 1);
  EXPECT_EQ(measured.rivals(0).problem(), 0);
  EXPECT_EQ(measured.rivals(0).name(), "vllm's file");
  EXPECT_THAT(measured.rivals(0).configuration().values(),
              ::testing::ElementsAre(16, 64, 128, 1, 4, 3));
  EXPECT_THAT(err_.str(), HasSubstr("at 1 problems an engine's file has what "
                                    "the kernel cannot launch"));
}

TEST_F(EngineConfigsTest, AnInterpreterThatCannotReadThemIsSaid) {
  for (const char* script : {"exit 1", "echo no JSON", "echo '[]'"}) {
    Bench(script);
    EXPECT_EQ(daemon_->measure_request.problems_size(), 2) << script;
    EXPECT_THAT(err_.str(), HasSubstr("the files that engines ship are not "
                                      "measured"))
        << script;
    daemon_->measure_request.Clear();
    EXPECT_EQ(Bench(script, {"--engine-configs", "/here"}), kExitFailed);
    EXPECT_EQ(daemon_->measure_request.problems_size(), 0) << script;
    EXPECT_THAT(err_.str(), HasSubstr("--python"));
  }
  // A folder without files, which the module has said.
  EXPECT_EQ(Bench("exit 2", {"--engine-configs", "/here"}), kExitUsage);
  EXPECT_THAT(err_.str(), Not(HasSubstr("--python")));
}

TEST_F(EngineConfigsTest, AKernelThatNoEngineLaunchesHasNone) {
  std::ofstream(shapes_) << "m,n,k\n1,2,3\n";
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_, "--engine-configs",
                 "/here"}),
            kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("gemm_f32 is none"));
}

}  // namespace
}  // namespace wavetune::cli
