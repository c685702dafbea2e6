// wavetune report on a fake daemon.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "cli/command_line_fixture.h"
#include "formats/kernel_folder.h"
#include "formats/types.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/table/table_codec.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ReportCommandTest : public CommandLineFixture {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    v1::GetTableResponse& table = daemon_->payloads.emplace_back();
    table.set_payload(EncodeTable(table_).value());
    table.mutable_info()->set_kernel("gemm");
    table.mutable_info()->set_digest(Sha256Hex(table.payload()));
    table.mutable_info()->set_device_label("a GPU");
    table.mutable_info()->set_device_uuid("GPU-1");
  }
  void TearDown() override { fs::remove_all(folder_); }

  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "report");
    return CommandLineFixture::Run(arguments);
  }

  void AddSample(bool measured, int64_t m, double latency_us,
                 const Configuration& configuration = {64, 2}) {
    if (daemon_->samples.empty()) daemon_->samples.emplace_back();
    v1::ListSamplesResponse& message = daemon_->samples.back();
    *(measured ? message.add_measured() : message.add_profiled()) =
        SampleToProto(table_.dimensions, {.configuration = configuration,
                                          .problem = {.extents = {m, 512, 512}},
                                          .latency_us = latency_us});
  }
  void AddCandidate(const Configuration& configuration) {
    v1::RecordedCandidate* const candidate =
        daemon_->samples.emplace_back().add_candidates();
    *candidate->mutable_configuration() = ConfigurationToProto(configuration);
    candidate->mutable_facts()->set_tiles_per_wave(100);
  }

  std::string Page() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // What the page's scripts read.
  Json Data() const {
    const std::string page = Page();
    const std::string begin = "<script id=\"data\" type=\"application/json\">";
    const size_t from = page.find(begin) + begin.size();
    return Json::parse(page.substr(from, page.find("</", from) - from));
  }

  const Table table_ = wavetune::testing::TwoGroupTable();
  const std::string folder_ =
      absl::StrCat(::testing::TempDir(), "report_command_test.", getpid());
  const std::string path_ = folder_ + "/report.html";
};

TEST_F(ReportCommandTest, WritesAPageFromTheDaemonsTableAndSamples) {
  AddCandidate({64, 2});
  for (int64_t m = 64; m < 640; m += 64) AddSample(false, m, 10);
  AddSample(true, 700, 12);
  ASSERT_EQ(Run({"gemm", "--out", path_}), kExitOk) << err_.str();
  EXPECT_EQ(daemon_->samples_request.digest(),
            daemon_->payloads[0].info().digest());
  EXPECT_THAT(out_.str(), HasSubstr("9 samples fitted"));
  EXPECT_THAT(out_.str(), HasSubstr("gemm on a GPU GPU-1"));
  EXPECT_THAT(Page(), HasSubstr("<title>gemm on a GPU GPU-1"));
}

TEST_F(ReportCommandTest, OfRepeatedMeasurementsTheMedianCounts) {
  AddCandidate({64, 2});
  AddSample(false, 64, 10);
  AddSample(true, 700, 12);
  AddSample(true, 700, 19);
  AddSample(true, 700, 15);
  ASSERT_EQ(Run({"gemm", "--out", path_}), kExitOk) << err_.str();
  const Json samples = Data()["specialisations"][0]["samples"];
  EXPECT_EQ(samples["us"], Json({10, 15}));
  EXPECT_EQ(samples["use"], Json({0, 3}));
}

TEST_F(ReportCommandTest, ProblemsThatAreAlsoFittedAreCounted) {
  AddCandidate({64, 2});
  AddSample(false, 64, 10);
  AddSample(true, 64, 11);
  AddSample(true, 700, 12);
  ASSERT_EQ(Run({"gemm", "--out", path_}), kExitOk) << err_.str();
  EXPECT_THAT(Page(), HasSubstr("1 problems are not judged: they were fitted, "
                                "or are representative."));
}

// The daemon's kernel, of which o_proj of the workload is 512 x 512.
constexpr char kServing[] = R"manifest(
name: "gemm"
dimensions: "m, n, k"
parameters: "BLOCK in {64, 128} default 64, STAGES in {2, 3} default 2"
mapping {
  tiles: "ceil_div(m, BLOCK) * ceil_div(n, BLOCK)"
  iterations_per_tile: "ceil_div(k, 32)"
}
serves { linear {} }
implementations { backend: "replay" }
arguments: "m int32"
representative_problems: "m = 9, n = 512, k = 512"
)manifest";
constexpr char kModel[] =
    R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 512,
        "intermediate_size": 1024, "num_hidden_layers": 2,
        "num_attention_heads": 4, "vocab_size": 256})";

TEST_F(ReportCommandTest, OfAWorkloadOnlyWhatBenchMeasuresForItIsJudged) {
  *daemon_->kernels.add_kernels()->mutable_spec() =
      ParseManifest(kServing).value();
  v1::GetWorkloadResponse& workload = daemon_->workloads.emplace_back();
  workload.set_config(kModel);
  workload.mutable_workload()->set_name("llama");
  workload.mutable_workload()->set_tensor_parallel(1);
  workload.mutable_workload()->set_expert_parallel(1);
  workload.mutable_workload()->set_max_tokens(64);
  AddCandidate({64, 2});
  AddCandidate({128, 2});
  AddSample(false, 64, 10);
  // Profiled for the workload, the author's own, one of the judged, another's.
  for (const int64_t m : {8, 9, 14, 700}) {
    AddSample(true, m, 12);
    AddSample(true, m, 6, {128, 2});
  }
  ASSERT_EQ(Run({"gemm", "--workload", "llama", "--out", path_}), kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("1 problems judged"));
  EXPECT_THAT(Page(), HasSubstr("Judged are the problems of workload llama"));
  ASSERT_EQ(Run({"gemm", "--out", path_}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("3 problems judged"));
}

TEST_F(ReportCommandTest, AWorkloadNeedsItsKernelAndADaemonThatKnowsIt) {
  EXPECT_EQ(Run({"gemm", "--workload", "llama", "--out", path_}), kExitFailed);
  EXPECT_THAT(err_.str(),
              HasSubstr("--workload needs the kernel as it was profiled"));
  *daemon_->kernels.add_kernels()->mutable_spec() =
      ParseManifest(kServing).value();
  EXPECT_EQ(Run({"gemm", "--workload", "llama", "--out", path_}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("there is no workload llama"));
  EXPECT_EQ(Run({"--trace", folder_, "--workload", "llama", "--out", path_}),
            kExitUsage);
}

TEST_F(ReportCommandTest, ShowsTheBaselinesGiven) {
  AddCandidate({64, 2});
  AddCandidate({128, 2});
  AddSample(true, 700, 12);
  AddSample(true, 700, 6, {128, 2});
  const std::string tree = folder_ + "/tree.csv";
  const auto report = [&](const std::string& line) {
    std::ofstream(tree) << "m,n,k," << table_.parameters[0] << ","
                        << table_.parameters[1] << "\n"
                        << line << "\n";
    return Run({"gemm", "--baseline", "a tree=" + tree, "--out", path_});
  };
  ASSERT_EQ(report("700,512,512,128,2"), kExitOk) << err_.str();
  const Json methods = Data()["specialisations"][0]["judged"]["methods"];
  bool found = false;
  for (const Json& method : methods) {
    if (method["name"] != "a tree") continue;
    found = true;
    EXPECT_EQ(method["geomean"], 1);
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(report("700,512,512,96,2"), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr(tree + ":\n    line 2: "));
  EXPECT_EQ(report("701,512,512,128,2"), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("line 2: m=701 n=512 k=512 is not judged"));
  EXPECT_THAT(err_.str(), HasSubstr("no decision at m=700 n=512 k=512"));
}

TEST_F(ReportCommandTest, SaysAsJsonWhatItWrote) {
  ASSERT_EQ(Run({"--digest", daemon_->payloads[0].info().digest(), "--out",
                 path_, "--json"}),
            kExitOk)
      << err_.str();
  const Json json = Json::parse(out_.str());
  EXPECT_EQ(json["out"], path_);
  EXPECT_EQ(json["size_bytes"], Page().size());
  EXPECT_EQ(json["samples_fitted"], 0);
  EXPECT_EQ(json["notes"].size(), 1u);
}

TEST_F(ReportCommandTest, ThePageHasWhatSpeaksAgainstTheTable) {
  v1::TableInfo& info = *daemon_->payloads[0].mutable_info();
  info.set_withdrawn("it chooses a wrong one");
  info.add_notes("the kernel's latency does not follow waves");
  ASSERT_EQ(Run({"gemm", "--out", path_}), kExitOk) << err_.str();
  EXPECT_THAT(Data()["notes"].dump(),
              HasSubstr("withdrawn: it chooses a wrong one"));
  EXPECT_THAT(Data()["notes"].dump(), HasSubstr("does not follow waves"));
}

TEST_F(ReportCommandTest, AnOldReportIsReplaced) {
  std::ofstream(path_) << "old";
  ASSERT_EQ(Run({"gemm", "--out", path_}), kExitOk) << err_.str();
  EXPECT_THAT(Page(), HasSubstr("<!DOCTYPE html>"));
}

TEST_F(ReportCommandTest, AFailureLeavesTheOldReport) {
  std::ofstream(path_) << "old";
  daemon_->error = absl::NotFoundError("no table of kernel \"gemm\"");
  EXPECT_EQ(Run({"gemm", "--out", path_}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("no table of kernel"));
  EXPECT_EQ(Page(), "old");
  EXPECT_EQ(
      std::distance(fs::directory_iterator(folder_), fs::directory_iterator()),
      1);
}

TEST_F(ReportCommandTest, AnUnknownKernelIsSaidWithThoseThereAre) {
  daemon_->kernels.add_kernels()->mutable_spec()->set_name("gemm");
  EXPECT_EQ(Run({"gem", "--out", path_}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("no kernel \"gem\"; it has: gemm"));
}

TEST_F(ReportCommandTest, AnOlderDaemonIsToBeUpgraded) {
  daemon_->samples_end = absl::UnimplementedError("");
  EXPECT_EQ(Run({"gemm", "--out", path_}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("upgrade wavetuned"));
}

TEST_F(ReportCommandTest, ADamagedTableIsRefused) {
  daemon_->payloads[0].mutable_info()->set_digest(std::string(64, 'a'));
  EXPECT_EQ(Run({"gemm", "--out", path_}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("does not have its digest"));
}

TEST_F(ReportCommandTest, SamplesThatDoNotFitTheTableAreRefused) {
  AddSample(false, 64, 10);
  daemon_->samples.back()
      .mutable_profiled(0)
      ->mutable_problem()
      ->mutable_extents(0)
      ->set_dimension("q");
  EXPECT_EQ(Run({"gemm", "--out", path_}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("\"q\""));
}

TEST_F(ReportCommandTest, WrongUsageWritesNothing) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{
           {"--out", path_},
           {"gemm"},
           {"gemm", "--trace", folder_, "--out", path_},
           {"gemm", "--digest", "abc", "--out", path_},
           {"gemm", "--portfolio", "8", "--out", path_},
           {"gemm", "--all-anchors", "--out", path_},
           {"gemm", "--fix", "k", "--out", path_},
           {"gemm", "--fix", "specialisation=causal", "--out", path_},
           {"gemm", "--baseline", "tree", "--out", path_},
           {"gemm", "--baseline", "a=x", "--baseline", "a=y", "--out", path_},
           {"gemm", "--out", folder_},
       })
    EXPECT_EQ(Run(arguments), kExitUsage) << err_.str();
  AddSample(false, 64, 10);
  EXPECT_EQ(Run({"gemm", "--map-x", "q", "--out", path_}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("it has: m, n, k"));
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(ReportCommandTest, APathThatCannotBeWrittenIsSaidBeforeTheWork) {
  EXPECT_EQ(Run({"gemm", "--out", folder_ + "/no/report.html"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("cannot write"));
  EXPECT_EQ(daemon_->samples_request.digest(), "");
}

TEST_F(ReportCommandTest, AFolderThatIsNoTraceIsSaid) {
  EXPECT_NE(Run({"--trace", folder_, "--out", path_}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr(folder_));
  EXPECT_FALSE(fs::exists(path_));
}

}  // namespace
}  // namespace wavetune::cli
