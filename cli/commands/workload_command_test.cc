// wavetune workload ..., and --workload of other commands.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/commands/bench_command_fixture.h"
#include "formats/config_text.h"
#include "formats/kernel_folder.h"
#include "formats/workload/expert_histogram.h"
#include "formats/workload/workload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kConfig[] =
    R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64,
        "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256})";

constexpr char kExperts[] =
    R"({"architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 64,
        "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256,
        "num_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 32})";

class WorkloadCommandTest : public BenchCommandFixture {
 protected:
  WorkloadCommandTest() { config_ = Write("config.json", kConfig); }

  std::string Write(const std::string& name, const std::string& text) {
    std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  // Lets the daemon know the workload "llama", and its kernel serve layers.
  void Declare() {
    v1::GetWorkloadResponse& one = daemon_->workloads.emplace_back();
    one.set_config(kConfig);
    v1::WorkloadInfo& info = *one.mutable_workload();
    info.set_name("llama");
    info.set_architecture("LlamaForCausalLM");
    info.set_tensor_parallel(2);
    info.set_expert_parallel(1);
    info.set_max_tokens(64);
    info.set_user("1000");
    daemon_->kernels.mutable_kernels(0)
        ->mutable_spec()
        ->mutable_serves()
        ->mutable_linear();
  }

  std::string config_;
};

TEST_F(WorkloadCommandTest, AddsAModelAndSaysWhatItIsForKernels) {
  EXPECT_EQ(Run({"workload", "add", "llama", "--config", config_, "--tp", "2",
                 "--ep", "1", "--max-tokens", "4096"}),
            kExitOk)
      << err_.str();
  EXPECT_EQ(daemon_->workload_request.name(), "llama");
  EXPECT_EQ(daemon_->workload_request.config(), CompactConfig(kConfig));
  EXPECT_EQ(daemon_->workload_request.tensor_parallel(), 2);
  EXPECT_EQ(daemon_->workload_request.max_tokens(), 4096);
  EXPECT_EQ(out_.str(),
            "workload llama (LlamaForCausalLM) is added: gemm 60\n"
            "profile what serves it: wavetune reprofile --workload llama\n");
}

TEST_F(WorkloadCommandTest, ARoutingIsAWordOrAFile) {
  const auto add = [&](const std::string& routing) {
    EXPECT_EQ(Run({"workload", "add", "qwen", "--config",
                   Write("moe.json", kExperts), "--routing", routing}),
              kExitOk)
        << err_.str();
    return daemon_->workload_request.routing();
  };
  EXPECT_EQ(add("drawn").popularity(), v1::ExpertRouting::DRAWN);
  EXPECT_THAT(out_.str(), Not(HasSubstr("older than routings")));
  EXPECT_EQ(add("even").popularity(), v1::ExpertRouting::EVEN);
  EXPECT_THAT(out_.str(), HasSubstr("note: this daemon is older than routings, "
                                    "and did not keep the one"));
  EXPECT_THAT(add(Write("counts.csv", "5,0,1,2\n0,5,2,1\n")).counts(),
              ElementsAre(10, 4, 2, 0));
}

// With a program in place of the interpreter that reads engines' files.
class WorkloadFilesTest : public WorkloadCommandTest {
 protected:
  int Add(const std::string& script, const std::vector<std::string>& more,
          const std::string& config = kExperts) {
    const std::string program =
        Write("python", "#!/bin/sh\ncp \"$3\" " + folder_.path() + "/asked\n" +
                            script + "\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    std::vector<std::string> arguments = {
        "workload",     "add", "qwen",     "--config", Write("c.json", config),
        "--max-tokens", "2",   "--python", program};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
  void Attach(const std::string& label) {
    v1::DeviceStatus& device = *daemon_->devices.add_devices();
    device.mutable_facts()->set_label(label);
    device.set_attached(true);
  }

  const std::vector<std::string> named_ = {"--engine-configs", "/here"};
};

TEST_F(WorkloadFilesTest, WhatEnginesHaveForTheExpertsIsDeclared) {
  Attach("NVIDIA H200");
  const std::string answer =
      R"({"NVIDIA H200": {"vllm E=4,N=32 M=2": {"BLOCK_SIZE_M": 16}}})";
  EXPECT_EQ(Add("printf '" + answer + "'", named_), kExitOk) << err_.str();
  std::ifstream file(folder_.path() + "/asked");
  const Json asked = Json::parse(file);
  EXPECT_THAT(asked["folders"], ElementsAre("/here"));
  EXPECT_THAT(asked["devices"], ::testing::Contains("NVIDIA H200"));
  EXPECT_EQ(asked["engines"], Json::array({"vllm", "sglang"}));
  EXPECT_EQ(asked["launches"],
            Json::parse("[[4, 32, false, 1], [4, 32, true, 1], "
                        "[4, 32, false, 2], [4, 32, true, 2]]"));
  std::string expected = CompactConfig(kExperts);
  expected.pop_back();
  EXPECT_EQ(daemon_->workload_request.config(),
            expected + ",\"wavetune_engine_files\":" + answer + "}");
  // None has a file for it: what is declared is the model alone.
  EXPECT_EQ(Add("printf '{}'", {}), kExitOk) << err_.str();
  EXPECT_EQ(daemon_->workload_request.config(), CompactConfig(kExperts));
}

TEST_F(WorkloadFilesTest, SaysWhyThereAreNone) {
  EXPECT_EQ(Add("exit 1", {}, kConfig), kExitOk) << err_.str();
  EXPECT_THAT(err_.str(), Not(HasSubstr("--python")));
  EXPECT_EQ(Add("exit 1", named_, kConfig), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("this one has none of: leave it out"));
  daemon_->devices.Clear();
  EXPECT_EQ(Add("exit 1", {}), kExitOk) << err_.str();
  EXPECT_EQ(Add("exit 1", named_), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("no device is attached"));
  Attach("NVIDIA H200");
  EXPECT_EQ(Add("exit 1", {}), kExitOk) << err_.str();
  EXPECT_THAT(err_.str(), HasSubstr("that engines ship are not measured"));
  daemon_->workload_request.Clear();
  EXPECT_EQ(Add("exit 1", named_), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("--python"));
  // A folder without files, which the module has said.
  EXPECT_EQ(Add("exit 2", named_), kExitUsage);
  EXPECT_TRUE(daemon_->workload_request.name().empty());
}

TEST_F(WorkloadFilesTest, ShowSaysAtHowManyProblemsTheyAreRivals) {
  Declare();
  *daemon_->kernels.add_kernels()->mutable_spec() =
      LoadKernelFolder(WAVETUNE_SOURCE_DIR "/kernels/triton_fused_moe")
          .value()
          .proto;
  std::string config = CompactConfig(kExperts);
  config.pop_back();
  daemon_->workloads[0].set_config(
      config +
      R"(,"wavetune_engine_files":{"NVIDIA H200":{"vllm E=4,N=32 M=1":{},)"
      R"("vllm E=4,N=32 M=2":{},"vllm E=4,N=32 M=3":{"SPLIT_K":2}}}})");
  daemon_->workloads[0].mutable_workload()->set_tensor_parallel(1);
  EXPECT_EQ(Run({"workload", "show", "llama"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("IN ENGINES' FILES"),
                                HasSubstr("2; 1 that the kernel cannot "
                                          "launch\n")));
  Run({"workload", "show", "llama", "--json"});
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("\"in_engine_files\": 2"),
                                HasSubstr("\"engine_files_left_out\": 1")));
}

TEST_F(WorkloadCommandTest, SaysWhatIsWrongWithARouting) {
  const auto refused = [&](const std::string& config,
                           const std::string& routing) {
    EXPECT_NE(Run({"workload", "add", "qwen", "--config",
                   Write("moe.json", config), "--routing", routing}),
              kExitOk)
        << out_.str();
    return err_.str();
  };
  EXPECT_THAT(refused(kExperts, "/nowhere.json"),
              AllOf(HasSubstr("--routing: "), HasSubstr("/nowhere.json"),
                    HasSubstr("give drawn, even, or the file")));
  EXPECT_THAT(refused(kExperts, folder_.path()), HasSubstr("--routing: "));
  const std::string file = Write("counts.json", "[1, 2, 3]");
  EXPECT_THAT(refused(kExperts, file),
              HasSubstr("counts of 3 experts, the layer has 4"));
  EXPECT_THAT(refused(kConfig, file), HasSubstr("leave --routing out"));
  Write("counts.json", "[0, 0, 0, 0]");
  EXPECT_THAT(refused(kExperts, file), HasSubstr("zeros alone"));
  Write("counts.json", "[1, 2, 3, -4]");
  EXPECT_THAT(refused(kExperts, file),
              AllOf(HasSubstr(file), HasSubstr("has a count of -4")));
  Write("counts.json", "PK\x03\x04");
  EXPECT_THAT(refused(kExperts, file), HasSubstr("wavetune.recorded_routing"));
  Write("counts.json", std::string(kMaxHistogramBytes + 1, ' '));
  EXPECT_THAT(refused(kExperts, file), HasSubstr("16777216"));
}

TEST_F(WorkloadCommandTest, ShowsTheRouting) {
  Declare();
  Run({"workload", "show", "llama"});
  EXPECT_THAT(out_.str(), HasSubstr("routing       drawn\n"));
  v1::GetWorkloadResponse& one = daemon_->workloads[0];
  one.set_config(kExperts);
  v1::ExpertRouting& routing = *one.mutable_workload()->mutable_routing();
  routing.set_popularity(v1::ExpertRouting::RECORDED);
  for (const int64_t count : {6, 2, 1, 1}) routing.add_counts(count);
  EXPECT_EQ(Run({"workload", "show", "llama"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(),
              HasSubstr("routing       recorded, an expert has up to 2.4 times "
                        "the mean\n"));
  EXPECT_EQ(Run({"workload", "list"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("recorded, an expert"));
  EXPECT_EQ(Run({"workload", "show", "llama", "--json"}), kExitOk);
  EXPECT_EQ(Output()["workload"]["routing"]["popularity"], "RECORDED");
  EXPECT_EQ(Output()["workload"]["routing"]["counts"][0], 6);
}

// Recorded with another model, or by a later version.
TEST_F(WorkloadCommandTest, ARoutingThatIsNotTheModelsIsSaid) {
  Declare();
  v1::ExpertRouting& routing =
      *daemon_->workloads[0].mutable_workload()->mutable_routing();
  routing.set_popularity(v1::ExpertRouting::RECORDED);
  EXPECT_EQ(Run({"workload", "show", "llama"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("workload llama: a recorded routing has no "
                                    "counts"));
}

TEST_F(WorkloadCommandTest, TakesTheFolderThatHoldsTheModel) {
  EXPECT_EQ(Run({"workload", "add", "llama", "--config", folder_.path()}),
            kExitOk);
  EXPECT_EQ(daemon_->workload_request.config(), CompactConfig(kConfig));
}

TEST_F(WorkloadCommandTest, TakesTheSnapshotOfACache) {
  const std::string cache = folder_.path() + "/models--A--B";
  std::filesystem::create_directories(cache + "/refs");
  std::filesystem::create_directories(cache + "/snapshots/abc");
  Write("models--A--B/refs/main", "abc\n");
  Write("models--A--B/snapshots/abc/config.json", kConfig);
  EXPECT_EQ(Run({"workload", "add", "A/B", "--config", cache}), kExitOk)
      << err_.str();
  Write("models--A--B/refs/main", "gone");
  EXPECT_NE(Run({"workload", "add", "A/B", "--config", cache}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("snapshots/gone/config.json"));
}

TEST_F(WorkloadCommandTest, SaysWhatIsWrongBeforeAnyDaemonIsAsked) {
  daemon_->error = absl::UnavailableError("no daemon");
  const auto refused = [&](const std::vector<std::string>& more) {
    std::vector<std::string> line = {"workload", "add", "llama", "--config",
                                     config_};
    line.insert(line.end(), more.begin(), more.end());
    EXPECT_EQ(Run(line), kExitUsage) << out_.str();
    return err_.str();
  };
  EXPECT_THAT(refused({"--tp", "3"}),
              HasSubstr("num_attention_heads is 4, which --tp 3 does not "
                        "divide: give one that does (1, 2, 4)"));
  EXPECT_THAT(refused({"--tp", "0"}), HasSubstr("--tp is 0: give 1 to 1024"));
  EXPECT_THAT(refused({"--ep", "-4"}), HasSubstr("--ep is -4"));
  EXPECT_THAT(refused({"--max-tokens", "0"}),
              HasSubstr("--max-tokens is 0: give 1 to 1048576"));
  EXPECT_THAT(refused({"--tp", "99999999999999999999"}), HasSubstr("--tp"));
  Write("config.json", std::string(kConfig).substr(0, 60));
  EXPECT_THAT(refused({}), HasSubstr("is no JSON, or cut off"));
  Write("config.json", "{\"architectures\": [\"MambaForCausalLM\"]}");
  EXPECT_THAT(refused({}), HasSubstr("MambaForCausalLM: it lacks hidden_size"));
}

TEST_F(WorkloadCommandTest, RefusesNamesAndFilesThatAreNone) {
  EXPECT_EQ(Run({"workload", "add", "a//b", "--config", config_}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("'a//b' is no name of a workload"));
  EXPECT_NE(Run({"workload", "add", "a", "--config", "/nowhere.json"}),
            kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("/nowhere.json"));
  Write("config.json", std::string(kMaxConfigFileBytes + 1, ' '));
  EXPECT_NE(Run({"workload", "add", "a", "--config", config_}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("16777216"));
}

// As ModelOpt's lists of all experts are.
TEST_F(WorkloadCommandTest, AFileOfMegabytesIsSentWithoutWhatSaysNothing) {
  std::string large(kConfig);
  large.pop_back();
  large +=
      ", \"quantization_config\": {\"quant_method\": \"modelopt\", "
      "\"quant_algo\": \"MIXED_PRECISION\", \"quantized_layers\": {";
  for (int i = 0; i < 40000; ++i) {
    large +=
        (i > 0 ? ", " : "") +
        ("\"model.layers.0.mlp.experts." + std::to_string(i) + ".up_proj\"") +
        ": {\"quant_algo\": \"NVFP4\", \"group_size\": 16}";
  }
  large += "}}}";
  ASSERT_GT(large.size(), size_t{3} << 20);
  Write("config.json", large);
  EXPECT_EQ(Run({"workload", "add", "a", "--config", config_}), kExitOk)
      << err_.str();
  EXPECT_LT(daemon_->workload_request.config().size(), 1000u);
  std::string names = "{\"hidden_size\": 64, \"x\": [\"\"";
  for (int i = 0; i < 200000; ++i) names += ", \"a name\"";
  Write("config.json", names + "]}");
  EXPECT_NE(Run({"workload", "add", "a", "--config", config_}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("bytes without blanks and labels, of which "
                                    "at most 1048576 are read"));
}

TEST_F(WorkloadCommandTest, ModelOptsFileBesideTheConfigIsRead) {
  Write("hf_quant_config.json",
        R"({"quantization": {"quant_algo": "FP8",
                             "exclude_modules": ["lm_head"]}})");
  EXPECT_EQ(Run({"workload", "show", "--config", folder_.path(), "--json"}),
            kExitOk)
      << err_.str();
  EXPECT_EQ(Output()[0]["layers"][0]["type"], "fp8");
  Write("hf_quant_config.json", "{");
  EXPECT_NE(Run({"workload", "show", "--config", folder_.path()}), kExitOk);
}

TEST_F(WorkloadCommandTest, ShowsLayersOfFilesWithoutADaemon) {
  daemon_->error = absl::UnavailableError("no daemon");
  EXPECT_EQ(Run({"workload", "show", "--config", config_, "--tp", "2"}),
            kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("qkv_proj          2   64  64"));
  const std::string other = Write("other.json", "{\"hidden_size\": 64}");
  EXPECT_EQ(Run({"workload", "show", "--config", config_, other}), kExitOk);
  EXPECT_THAT(out_.str(),
              HasSubstr("LlamaForCausalLM  5 linear, 1 of attention"));
  EXPECT_THAT(out_.str(), HasSubstr("refused: config.json of an architecture"));
  EXPECT_EQ(Run({"workload", "show", "--config", config_, other, "--json"}),
            kExitOk);
  EXPECT_EQ(Output()[0]["layers"][0]["n"], 128);
  EXPECT_THAT(Output()[1]["problem"], HasSubstr("it lacks vocab_size"));
  EXPECT_EQ(Run({"workload", "show"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("or files with --config"));
  EXPECT_EQ(Run({"workload", "show", "a", "--config", config_}), kExitUsage);
  EXPECT_NE(Run({"workload", "show", "--config", other}), kExitOk);
}

TEST_F(WorkloadCommandTest, ListsWorkloads) {
  EXPECT_EQ(Run({"workload", "list"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("no workloads: add one"));
  Declare();
  EXPECT_EQ(Run({"workload", "list"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("llama"));
  EXPECT_THAT(out_.str(), HasSubstr("no kernel serves it"));
  EXPECT_EQ(Run({"workload", "list", "--json"}), kExitOk);
  EXPECT_EQ(Output()["workloads"][0]["tensor_parallel"], 2);
}

TEST_F(WorkloadCommandTest, ShowsLayersAndWhatTheyAreForEachKernel) {
  Declare();
  EXPECT_EQ(Run({"workload", "show", "llama"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("qkv_proj          2   64  64"));
  EXPECT_THAT(out_.str(),
              HasSubstr("gemm_f32  qkv_proj and down_proj, n = 64, k = 64"));
  EXPECT_EQ(Run({"workload", "show", "llama", "--json"}), kExitOk);
  EXPECT_EQ(Output()["layers"][0]["n"], 64);
  EXPECT_EQ(Output()["problems"][0]["kernel"], "gemm_f32");
  EXPECT_EQ(Run({"workload", "show", "nobody"}), kExitFailed);
}

TEST_F(WorkloadCommandTest, Removes) {
  EXPECT_EQ(Run({"workload", "remove", "llama"}), kExitOk);
  EXPECT_THAT(daemon_->removed_workloads, ElementsAre("llama"));
  EXPECT_THAT(out_.str(), HasSubstr("the next profile does without"));
}

TEST_F(WorkloadCommandTest, BenchMeasuresItAtCountsThatProfilesNeverMeasure) {
  Declare();
  daemon_->measured.clear();
  Run({"bench", "gemm_f32", "--workload", "llama"});
  const v1::MeasureRequest& request = daemon_->measure_request;
  ASSERT_GT(request.problems_size(), 0);
  std::vector<int64_t> tokens;
  for (const v1::Problem& problem : request.problems()) {
    if (problem.extents(1).values(0) == 64 &&
        problem.extents(2).values(0) == 64) {
      tokens.push_back(problem.extents(0).values(0));
    }
  }
  EXPECT_THAT(tokens, ElementsAre(5, 7, 10, 14, 20, 28, 40, 56));
}

TEST_F(WorkloadCommandTest, BenchTakesShapesOrAWorkload) {
  EXPECT_EQ(Run({"bench", "gemm_f32"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--shapes FILE, or --workload NAME"));
  EXPECT_EQ(
      Run({"bench", "gemm_f32", "--shapes", shapes_, "--workload", "llama"}),
      kExitUsage);
  EXPECT_EQ(Run({"bench", "gemm_f32", "--workload", "nobody"}), kExitFailed);
}

TEST_F(WorkloadCommandTest, BenchSaysThatAKernelServesNothing) {
  Declare();
  daemon_->kernels.mutable_kernels(0)->mutable_spec()->clear_serves();
  EXPECT_NE(Run({"bench", "gemm_f32", "--workload", "llama"}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("does not say which layers of models it "
                                    "computes: add serves to its manifest"));
}

TEST_F(WorkloadCommandTest, BenchSaysThatNothingIsLeftToJudge) {
  Declare();
  // 1, 2 and 3 tokens are profiled.
  daemon_->workloads[0].mutable_workload()->set_max_tokens(3);
  EXPECT_NE(Run({"bench", "gemm_f32", "--workload", "llama"}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("no problem of workload llama judges "
                                    "kernel gemm_f32: all token counts up to "
                                    "its --max-tokens (3) are profiled"));
}

TEST_F(WorkloadCommandTest, ReprofilesTheKernelsThatServeIt) {
  Declare();
  v1::KernelStatus& other = *daemon_->kernels.add_kernels();
  other = daemon_->kernels.kernels(0);
  other.mutable_spec()->set_name("other");
  other.mutable_spec()->clear_serves();
  EXPECT_EQ(Run({"reprofile", "--workload", "llama"}), kExitOk) << err_.str();
  ASSERT_EQ(daemon_->reprofile_requests.size(), 1u);
  EXPECT_EQ(daemon_->reprofile_requests[0].kernel(), "gemm_f32");
  EXPECT_NE(Run({"reprofile", "--workload", "llama", "--kernel", "other"}),
            kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("kernel other computes no layer of "
                                    "workload llama; these do: gemm_f32"));
}

TEST_F(WorkloadCommandTest, ReprofileSaysThatNoKernelServesIt) {
  Declare();
  daemon_->kernels.mutable_kernels(0)->mutable_spec()->clear_serves();
  EXPECT_NE(Run({"reprofile", "--workload", "llama"}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("no kernel of the daemon computes"));
}

}  // namespace
}  // namespace wavetune::cli
