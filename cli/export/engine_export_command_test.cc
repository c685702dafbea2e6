// wavetune export on a fake daemon, read by readers that do what the engines'
// do: docs/engines.md has their rules.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/command_line_fixture.h"
#include "client/src/fake_node.h"
#include "formats/kernel_folder.h"
#include "formats/workload/token_counts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/decide/compiled_table.h"
#include "model/table/table_codec.h"
#include "tests/lib/expert_table.h"
#include "tests/lib/source_paths.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::ExpertTable;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kMostTokens = 16384;
// Qwen3-30B-A3B.
constexpr int64_t kExperts = 128;
constexpr int64_t kTopK = 8;
constexpr int64_t kHidden = 2048;
constexpr int64_t kIntermediate = 768;

// The kernel of ExpertTable.
constexpr char kManifest[] = R"manifest(
name: "triton_fused_moe"
dimensions { name: "tokens" repeated: true }
dimensions { name: "n" }
dimensions { name: "k" }
dimensions { name: "top_k" max: 64 }
specialisations { name: "gate_up" }
specialisations { name: "down" }
parameters: "BLOCK_SIZE_M in {16, 32, 64, 128} default 64"
parameters: "BLOCK_SIZE_N in {32, 64, 128, 256} default 64"
parameters: "BLOCK_SIZE_K in {32, 64, 128} default 32"
parameters: "GROUP_SIZE_M in {1, 8, 16} default 8"
parameters: "num_warps in {4, 8} default 4"
parameters: "num_stages in {2, 3, 4} default 3"
mapping {
  tiles: "sum_over(tokens, ceil_div(tokens, BLOCK_SIZE_M)) * ceil_div(n, BLOCK_SIZE_N)"
  iterations_per_tile: "ceil_div(k, BLOCK_SIZE_K)"
  rows: "ceil_div(tokens, BLOCK_SIZE_M)"
}
serves { moe { engines: "vllm" engines: "sglang" } }
implementations { backend: "replay" }
arguments: "top_k int32"
representative_problems: "tokens = [16, 16], n = 1024, k = 1024, top_k = 2"
)manifest";

using EngineConfig = std::map<std::string, int64_t>;

// A file as an engine reads it: every key goes through int(), and the entry
// whose count is nearest is taken, of two the one that stands first.
class EngineReader {
 public:
  explicit EngineReader(const std::string& path) {
    std::ifstream file(path);
    EXPECT_TRUE(file.is_open()) << path;
    const Json json = Json::parse(file);  // Keeps the order.
    for (const auto& [key, value] : json.items()) {
      int64_t tokens = 0;
      EXPECT_TRUE(absl::SimpleAtoi(key, &tokens)) << key;
      keys_.push_back(tokens);
      configs_.push_back(value.get<EngineConfig>());
    }
  }

  const EngineConfig& At(int64_t tokens) const {
    size_t nearest = 0;
    for (size_t i = 1; i < keys_.size(); ++i) {
      if (std::abs(keys_[i] - tokens) < std::abs(keys_[nearest] - tokens))
        nearest = i;
    }
    return configs_[nearest];
  }
  const std::vector<int64_t>& keys() const { return keys_; }

 private:
  std::vector<int64_t> keys_;
  std::vector<EngineConfig> configs_;
};

class EngineExportTest : public CommandLineFixture {
 protected:
  void SetUp() override { Serve(ExpertTable(/*seed=*/1)); }

  // The daemon has the kernel, and this table of it.
  void Serve(const Table& table, const std::string& manifest = kManifest,
             const std::string& device = "NVIDIA H200") {
    table_ = CompiledTable::Create(EncodeTable(table).value()).value();
    daemon_->kernels.Clear();
    const auto spec = ParseManifest(manifest);
    ASSERT_TRUE(spec.ok()) << spec.status();
    *daemon_->kernels.add_kernels()->mutable_spec() = *spec;
    v1::GetTableResponse response;
    response.mutable_info()->set_kernel(table.kernel);
    response.mutable_info()->set_digest(table_->digest());
    response.mutable_info()->set_device_label(device);
    response.set_payload(table_->payload());
    daemon_->payloads = {response};
  }

  std::vector<std::string> Layer(const std::string& format) const {
    std::vector<std::string> arguments = {"export",         "triton_fused_moe",
                                          "--format",       format,
                                          "--experts",      "128",
                                          "--top-k",        "8",
                                          "--hidden",       "2048",
                                          "--intermediate", "768",
                                          "--out",          folder_.path()};
    if (format == "sglang-moe")
      arguments.insert(arguments.end(), {"--triton-version", "3.6.0"});
    return arguments;
  }
  int Export(const std::string& format,
             const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = Layer(format);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }

  // What the table decides, as the engine's file would write it.
  std::vector<EngineConfig> Decided(int64_t tokens, uint32_t shared) const {
    const std::vector<int64_t> slots =
        BalancedSlots(tokens, kTopK, kExperts, kExperts);
    const std::vector<int64_t> gate_up = {0, 2 * kIntermediate, kHidden, kTopK};
    const std::vector<int64_t> down = {0, kHidden, kIntermediate, kTopK};
    const TableProblem problems[] = {
        {table_->SubTableIndex("gate_up"), {gate_up, slots}},
        {table_->SubTableIndex("down"), {down, slots}}};
    Decision decisions[2];
    table_->ResolveTogether(problems, shared, absl::MakeSpan(decisions));
    std::vector<EngineConfig> configs(2);
    for (size_t i = 0; i < 2; ++i) {
      for (int p = 0; p < decisions[i].configuration.size(); ++p) {
        configs[i][table_->table().parameters[static_cast<size_t>(p)]] =
            decisions[i].configuration[p];
      }
    }
    return configs;
  }

  std::string Path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  std::string Text(const std::string& name) const {
    std::ifstream file(Path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string WriteTable(const Table& table) const {
    std::ofstream(Path("moe.table"), std::ios::binary)
        << EncodeTable(table).value();
    return Path("moe.table");
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<const CompiledTable> table_;
};

constexpr char kVllmName[] = "E=128,N=768,device_name=NVIDIA_H200.json";

TEST_F(EngineExportTest, VllmDecidesAsTheTableAtEveryNumberOfTokens) {
  for (const uint64_t seed : {1, 2, 3}) {
    Serve(ExpertTable(seed));
    ASSERT_EQ(Export("vllm-moe", {"--force"}), kExitOk) << err_.str();
    const EngineReader reader(Path(kVllmName));
    std::set<EngineConfig> different;
    for (int64_t tokens = 1; tokens <= kMostTokens;
         tokens += seed == 1 ? 1 : 7) {
      const EngineConfig decided = Decided(tokens, ~uint32_t{0})[0];
      ASSERT_EQ(reader.At(tokens), decided) << tokens << ", seed " << seed;
      different.insert(decided);
    }
    EXPECT_GT(different.size(), 3u) << "too few for the test to show much";
    EXPECT_EQ(reader.At(3 * kMostTokens), reader.At(kMostTokens));
    EXPECT_TRUE(std::is_sorted(reader.keys().begin(), reader.keys().end()));
    EXPECT_EQ(reader.keys()[63], 64);
  }
}

TEST_F(EngineExportTest, SglangDecidesBothProductsAsTheTable) {
  ASSERT_EQ(Export("sglang-moe", {"--down-file"}), kExitOk) << err_.str();
  const std::string folder = "configs/triton_3_6_0/";
  const EngineReader up(Path(folder + kVllmName));
  const EngineReader down(
      Path(folder + "E=128,N=768,device_name=NVIDIA_H200_down.json"));
  int unlike = 0;
  for (int64_t tokens = 1; tokens <= kMostTokens; ++tokens) {
    const std::vector<EngineConfig> decided = Decided(tokens, /*shared=*/1);
    ASSERT_EQ(up.At(tokens), decided[0]) << tokens;
    EngineConfig second = down.At(tokens);
    // SGLang overwrites it; older versions stop where it differs.
    ASSERT_EQ(second["BLOCK_SIZE_M"], decided[0].at("BLOCK_SIZE_M")) << tokens;
    ASSERT_EQ(second, decided[1]) << tokens;
    unlike += decided[0] != decided[1] ? 1 : 0;
  }
  EXPECT_GT(unlike, 1000);
}

TEST_F(EngineExportTest, WithoutADownFileSglangHasOneConfigurationForBoth) {
  ASSERT_EQ(Export("sglang-moe"), kExitOk) << err_.str();
  const EngineReader reader(
      Path(std::string("configs/triton_3_6_0/") + kVllmName));
  for (int64_t tokens = 1; tokens <= kMostTokens; tokens += 7)
    ASSERT_EQ(reader.At(tokens), Decided(tokens, ~uint32_t{0})[0]) << tokens;
}

TEST_F(EngineExportTest, EntriesHaveWhatTheEnginesTakeAndNothingElse) {
  ASSERT_EQ(Export("vllm-moe"), kExitOk) << err_.str();
  const EngineReader reader(Path(kVllmName));
  std::vector<std::string> names;
  for (const auto& [name, value] : reader.At(1)) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("BLOCK_SIZE_K", "BLOCK_SIZE_M", "BLOCK_SIZE_N",
                                 "GROUP_SIZE_M", "num_stages", "num_warps"));
}

TEST_F(EngineExportTest, ReadsTheLayersOfAModel) {
  const std::string model =
      WAVETUNE_SOURCE_DIR "/tests/data/models/qwen3-30b-a3b.json";
  ASSERT_EQ(
      Run({"export", "triton_fused_moe", "--format", "vllm-moe", "--config",
           model, "--tp", "2", "--out", folder_.path(), "--json"}),
      kExitOk)
      << err_.str();
  EXPECT_EQ(Output()["digest"], table_->digest());
  ASSERT_THAT(Output()["files"], SizeIs(1));
  EXPECT_EQ(Output()["files"][0]["path"],
            Path("E=128,N=384,device_name=NVIDIA_H200.json"));
  EXPECT_GE(Output()["files"][0]["entries"], 65);
}

TEST_F(EngineExportTest, ExpertsThatAreSpreadHaveTheirShareOfTheSlots) {
  ASSERT_EQ(Export("vllm-moe", {"--ep", "4"}), kExitOk) << err_.str();
  const EngineReader spread(Path("E=32,N=768,device_name=NVIDIA_H200.json"));
  // The 32 experts here have what 32 of 128 have.
  const std::vector<int64_t> slots = BalancedSlots(4096, kTopK, 128, 32);
  EXPECT_EQ(slots, std::vector<int64_t>(32, 256));
  EXPECT_EQ(spread.keys().back(), kMostTokens);
}

TEST_F(EngineExportTest,
       AKernelThatTheEngineDoesNotLaunchIsRefusedWithReasons) {
  std::string manifest = kManifest;
  const auto replace = [&manifest](const std::string& from,
                                   const std::string& to) {
    manifest.replace(manifest.find(from), from.size(), to);
  };
  replace("engines: \"vllm\" engines: \"sglang\"", "engines: \"sglang\"");
  replace("GROUP_SIZE_M", "SPLIT_K");
  Table table = ExpertTable(1);
  table.parameters[3] = "SPLIT_K";
  Serve(table, manifest);
  EXPECT_EQ(Export("vllm-moe"), kExitFailed);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("engines: \"vllm\""),
                    HasSubstr("no parameter GROUP_SIZE_M"),
                    HasSubstr("the parameter SPLIT_K, which vllm's kernel does "
                              "not take"),
                    HasSubstr("--format json")));
  EXPECT_FALSE(fs::exists(Path(kVllmName)));
}

TEST_F(EngineExportTest, AKernelThatComputesNoExpertsIsRefused) {
  std::string manifest = kManifest;
  const std::string serves =
      "serves { moe { engines: \"vllm\" engines: \"sglang\" } }";
  manifest.replace(manifest.find(serves), serves.size(), "");
  Serve(ExpertTable(1), manifest);
  EXPECT_EQ(Export("sglang-moe"), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("serves { moe { ... } }"));
}

TEST_F(EngineExportTest, ATableOfAnotherVersionOfTheKernelIsRefused) {
  Table table = ExpertTable(1);
  table.dimensions[1].max = 512;
  table.sub_tables.pop_back();
  Serve(table);
  EXPECT_EQ(Export("vllm-moe"), kExitFailed);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("another version"),
                                HasSubstr("nothing for specialisation")));
}

TEST_F(EngineExportTest, ATableOfAnotherDeviceIsRefused) {
  const std::vector<std::string> h100 = {"--device-name",
                                         "NVIDIA H100 80GB HBM3"};
  EXPECT_EQ(Export("vllm-moe", h100), kExitFailed);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("measured on \"NVIDIA H200\""),
                                HasSubstr("--other-device")));
  EXPECT_EQ(Export("vllm-moe", {h100[0], h100[1], "--other-device"}), kExitOk)
      << err_.str();
  EXPECT_TRUE(
      fs::exists(Path("E=128,N=768,device_name=NVIDIA_H100_80GB_HBM3.json")));
  // Of one family to vLLM.
  EXPECT_EQ(Export("vllm-moe", {"--device-name", "NVIDIA H200 NVL"}), kExitOk)
      << err_.str();
}

TEST_F(EngineExportTest,
       ATableInAFileNeedsTheDevicesNameAndIsComparedByMemory) {
  const std::string path = WriteTable(ExpertTable(1));
  EXPECT_EQ(Export("vllm-moe", {"--table", path}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--device-name is missing"));
  EXPECT_EQ(Export("vllm-moe",
                   {"--table", path, "--device-name", "NVIDIA H100 80GB HBM3"}),
            kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("memory_mib=143771"));
  // Whatever a name says, it is compared or left.
  EXPECT_EQ(Export("vllm-moe", {"--table", path, "--device-name",
                                "X 9223372036854775807GB"}),
            kExitOk)
      << err_.str();
  EXPECT_EQ(
      Export("vllm-moe", {"--table", path, "--device-name", "NVIDIA H200"}),
      kExitOk)
      << err_.str();
}

TEST_F(EngineExportTest, OddDeviceNamesSayWhatOtherVersionsLookFor) {
  Serve(ExpertTable(1), kManifest, "Quadro RTX 6000/8000");
  EXPECT_EQ(Export("vllm-moe"), kExitOk) << err_.str();
  EXPECT_TRUE(
      fs::exists(Path("E=128,N=768,device_name=Quadro_RTX_6000_8000.json")));
  EXPECT_THAT(err_.str(), HasSubstr("device_name=Quadro_RTX_6000/8000.json"));
  EXPECT_EQ(Export("sglang-moe"), kExitOk) << err_.str();
  EXPECT_TRUE(
      fs::exists(Path("configs/triton_3_6_0/"
                      "E=128,N=768,device_name=Quadro_RTX_6000/"
                      "8000.json")));
}

TEST_F(EngineExportTest, WhatIsThereIsReplacedOnlyWithForce) {
  ASSERT_EQ(Export("vllm-moe"), kExitOk) << err_.str();
  const std::string before = Text(kVllmName);
  Serve(ExpertTable(2));
  EXPECT_EQ(Export("vllm-moe"), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("--force"));
  EXPECT_EQ(Text(kVllmName), before);
  EXPECT_EQ(Export("vllm-moe", {"--force"}), kExitOk) << err_.str();
  EXPECT_NE(Text(kVllmName), before);
}

TEST_F(EngineExportTest, OptionsThatDoNotGoTogetherAreRefused) {
  EXPECT_EQ(Export("vllm-moe", {"--down-file"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("SGLang's"));
  EXPECT_EQ(Export("vllm-moe", {"--block-shape", "128"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("128,128"));
  EXPECT_EQ(Export("vllm-moe", {"--config", "x.json"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("not both"));
  EXPECT_EQ(Export("vllm-moe", {"--tp", "5"}), kExitUsage);
  EXPECT_EQ(Export("vllm-moe", {"--max-tokens", "0"}), kExitUsage);
  EXPECT_EQ(Run({"export", "triton_fused_moe", "--format", "vllm-moe", "--out",
                 folder_.path(), "--experts", "128"}),
            kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--top-k is missing"));
  EXPECT_EQ(Run({"export", "triton_fused_moe", "--format", "sglang-moe",
                 "--out", folder_.path()}),
            kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--triton-version is missing"));
}

TEST_F(EngineExportTest, ALayerThatTheTableCannotDecideIsRefused) {
  // One of the experts gets more slots than top_k's range allows.
  std::vector<std::string> arguments = Layer("vllm-moe");
  arguments[7] = "65";  // --top-k
  EXPECT_EQ(Run(arguments), kExitFailed);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("no answer for this layer"),
                                HasSubstr("EXTENT_OUT_OF_RANGE")));
}

TEST_F(EngineExportTest, TokenCountsBeyondTheKernelsRangeHaveTheDefault) {
  Table table = ExpertTable(1);
  table.dimensions[0].max = 100;
  std::string manifest = kManifest;
  const std::string tokens = "repeated: true";
  manifest.replace(manifest.find(tokens), tokens.size(),
                   "repeated: true max: 100");
  Serve(table, manifest);
  ASSERT_EQ(Export("vllm-moe"), kExitOk) << err_.str();
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("no answer at 14784 of 16384"),
                    HasSubstr("the kernel's default stands there")));
  EXPECT_EQ(EngineReader(Path(kVllmName)).At(16384).at("GROUP_SIZE_M"), 8);
}

TEST_F(EngineExportTest, AStaleTableIsExportedWithAWarningAWithdrawnOneIsNot) {
  daemon_->payloads[0].mutable_info()->set_stale(true);
  daemon_->payloads[0].mutable_info()->set_stale_reason("driver 580, now 590");
  EXPECT_EQ(Export("vllm-moe"), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("stale (driver 580, now 590)"));
  daemon_->payloads[0].mutable_info()->set_withdrawn("wrong at m = 3");
  EXPECT_EQ(Export("vllm-moe", {"--force"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("withdrawn: wrong at m = 3"));
}

TEST_F(EngineExportTest, AFolderOfAnotherTritonThanTheTablesIsWarnedOf) {
  v1::TableInfo& info = *daemon_->payloads[0].mutable_info();
  info.set_compiler("Triton 3.6.0, ptxas 12.8.93");
  EXPECT_EQ(Export("sglang-moe"), kExitOk);
  EXPECT_THAT(err_.str(), ::testing::Not(HasSubstr("not with Triton")));
  info.set_compiler("Triton 3.6.1, ptxas 12.8.93");
  EXPECT_EQ(Export("sglang-moe", {"--force"}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("measured with Triton 3.6.1, ptxas "
                                    "12.8.93, not with Triton 3.6.0"));
}

TEST_F(EngineExportTest, FilesForATypeThatTheKernelHasNotAreWarnedOf) {
  Serve(ExpertTable(1),
        absl::StrCat(kManifest, "arguments: \"in a[n, k] bfloat16\"\n"));
  EXPECT_EQ(Export("vllm-moe", {"--dtype", "fp8_w8a8"}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("measured with bfloat16, and the engine "
                                    "reads these files for fp8_w8a8"));
  EXPECT_EQ(Export("vllm-moe"), kExitOk);
  EXPECT_THAT(err_.str(), ::testing::Not(HasSubstr("bfloat16")));
}

TEST_F(EngineExportTest, TritonGetsTheDefaultAndThePortfolio) {
  ASSERT_EQ(Run({"export", "triton_fused_moe", "--format", "triton-autotune"}),
            kExitOk)
      << err_.str();
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr("import triton\n"),
            HasSubstr("DIGEST = \"" + table_->digest() + "\""),
            HasSubstr("DEFAULT = triton.Config({\"BLOCK_SIZE_M\": 64, "
                      "\"BLOCK_SIZE_N\": 64, \"BLOCK_SIZE_K\": 32, "
                      "\"GROUP_SIZE_M\": 8}, num_warps=4, "
                      "num_stages=3)\n"),
            HasSubstr("CONFIGS = [\n    DEFAULT,\n    triton.Config(")));
  // 32 different candidates, of which each product has 28, and the default.
  const std::vector<std::string> lines = absl::StrSplit(out_.str(), '\n');
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) {
                            return line.rfind("    triton.Config(", 0) == 0;
                          }),
            32);
  ASSERT_EQ(Run({"export", "triton_fused_moe", "--format", "triton-autotune",
                 "--specialisation", "sideways"}),
            kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("it has: down, gate_up"));
}

TEST_F(EngineExportTest, NoLimitOfRegistersIsNoOptionOfTriton) {
  Table table = ExpertTable(1);
  table.parameters[3] = "maxnreg";
  table.default_configuration = Configuration({64, 64, 32, 0, 4, 3});
  Serve(table);
  ASSERT_EQ(Run({"export", "triton_fused_moe", "--format", "triton-autotune"}),
            kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("\"BLOCK_SIZE_K\": 32}, num_warps=4"),
                                HasSubstr("}, maxnreg=16, num_warps=")));
}

TEST_F(EngineExportTest, AKernelWithoutTritonsOptionsIsNoListForTriton) {
  const std::string path = WriteTable(testing::TwoGroupTable());
  EXPECT_EQ(
      Run({"export", "gemm", "--format", "triton-autotune", "--table", path}),
      kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("neither num_warps nor num_stages"));
}

TEST_F(EngineExportTest, JsonHasTheDecisionsOfAGridAndTheirTable) {
  const std::string path = WriteTable(testing::TwoGroupTable());
  ASSERT_EQ(Run({"export", "gemm", "--format", "json", "--table", path,
                 "m=1,64,4096", "n=512", "k=0,512"}),
            kExitUsage)
      << out_.str();
  ASSERT_EQ(Run({"export", "gemm", "--format", "json", "--table", path,
                 "m=1,64,4096", "n=512", "k=512,2048"}),
            kExitOk)
      << err_.str();
  const Json json = Output();
  EXPECT_EQ(json["format"], "wavetune-decisions-1");
  EXPECT_EQ(json["parameters"], (Json{"BLOCK", "STAGES"}));
  ASSERT_THAT(json["decisions"], SizeIs(6));
  const Json& first = json["decisions"][0];
  EXPECT_EQ(first["problem"], (Json{{"m", 1}, {"n", 512}, {"k", 512}}));
  const auto compiled =
      CompiledTable::Create(EncodeTable(testing::TwoGroupTable()).value())
          .value();
  EXPECT_EQ(first["latency_us"],
            compiled->Resolve(0, {1, 512, 512}).latency_us);
  EXPECT_EQ(json["digest"], compiled->digest());
  EXPECT_EQ(json["decisions"][5]["problem"]["k"], 2048);
}

TEST_F(EngineExportTest, JsonOfALayerHasBothProducts) {
  std::vector<std::string> arguments = Layer("json");
  arguments.resize(arguments.size() - 2);  // --out: print.
  ASSERT_EQ(Run(arguments), kExitOk) << err_.str();
  const Json layer = Output()["layers"][0];
  EXPECT_EQ(layer["local_experts"], kExperts);
  const Json& last = layer["decisions"].back();
  EXPECT_EQ(last["tokens"], kMostTokens);
  EXPECT_EQ(last["gate_up"]["configuration"], last["down"]["configuration"]);
  EXPECT_EQ(Run({"export", "triton_fused_moe", "--format", "json"}),
            kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("name the problems"));
}

TEST_F(EngineExportTest, JsonOfALayerNeedsATableOfThisVersionOfTheKernel) {
  std::vector<std::string> arguments = Layer("json");
  Table table = testing::TwoGroupTable();  // Three dimensions, not four.
  table.kernel = "triton_fused_moe";
  Serve(table);
  EXPECT_EQ(Run(arguments), kExitFailed);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("decides for no expert layer"),
                                HasSubstr("another version"),
                                HasSubstr("nothing for specialisation")));
  Serve(
      ExpertTable(1),
      absl::StrReplaceAll(
          kManifest,
          {{"serves { moe { engines: \"vllm\" engines: \"sglang\" } }", ""}}));
  EXPECT_EQ(Run(arguments), kExitFailed);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("serves { moe { ... } }"),
                                HasSubstr("name problems instead")));
}

TEST_F(EngineExportTest, BytesOfATableThatAreNoTextAreReplacedInJson) {
  Serve(ExpertTable(1), kManifest, "GPU \xff");
  ASSERT_EQ(Run({"export", "triton_fused_moe", "--format", "json",
                 "tokens=16,16", "n=1024", "k=1024", "top_k=2"}),
            kExitOk)
      << err_.str();
  EXPECT_EQ(Output()["device"], "GPU \xEF\xBF\xBD");
}

TEST_F(EngineExportTest, SaysWhatToDoWhereThereIsNoTableOrNoKernel) {
  daemon_->payloads.clear();
  EXPECT_EQ(Export("vllm-moe"), kExitFailed);
  EXPECT_THAT(err_.str(),
              HasSubstr("wavetune reprofile --kernel triton_fused_moe"));
  daemon_->kernels.Clear();
  EXPECT_EQ(Export("vllm-moe"), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("give the kernel's folder"));
}

TEST_F(EngineExportTest, TheKernelsFolderAndATableInAFileNeedNoDaemon) {
  fs::create_directory(Path("kernel"));
  std::ofstream(Path("kernel/manifest.textproto")) << kManifest;
  daemon_->error = absl::UnavailableError("no daemon");
  std::vector<std::string> arguments = Layer("vllm-moe");
  arguments[1] = Path("kernel");
  arguments.insert(arguments.end(), {"--table", WriteTable(ExpertTable(1)),
                                     "--device-name", "NVIDIA H200"});
  EXPECT_EQ(Run(arguments), kExitOk) << err_.str();
}

TEST_F(EngineExportTest, BytesThatAreNoTableAreRefused) {
  std::ofstream(Path("bad.table")) << "not a table";
  EXPECT_EQ(Export("vllm-moe", {"--table", Path("bad.table"), "--device-name",
                                "NVIDIA H200"}),
            kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("is no table"));
}

}  // namespace
}  // namespace wavetune::cli
