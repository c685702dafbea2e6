// The commands on a fake daemon; help texts; exit codes.
#include "client/cli/command_line.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/exit_code.h"
#include "client/cli/fake_daemon.h"
#include "client/cli/json.h"
#include "client/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/convert/kernel_folder.h"
#include "proto/convert/trace_folder.h"
#include "proto/convert/types.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::JobInfo Job(uint64_t id, v1::JobState state) {
  v1::JobInfo job;
  job.set_id(id);
  job.set_kind("reprofile");
  job.set_kernel("gemm_f32");
  job.set_device_uuid("GPU-1");
  job.set_state(state);
  job.set_phase(v1::SAMPLING);
  job.set_done(3);
  job.set_total(10);
  job.set_message("because");
  return job;
}

class CommandLineTest : public ::testing::Test {
 protected:
  int Run(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    CommandContext context;
    context.out = &out_;
    context.err = &err_;
    context.connect = [this](const std::string& endpoint) {
      endpoint_ = endpoint;
      return absl::StatusOr<DaemonConnection>(DaemonConnection{
          .status = daemon_, .tables = daemon_, .jobs = daemon_});
    };
    return RunCommandLine(arguments, context);
  }

  Json Output() { return Json::parse(out_.str()); }

  // The kernel that comes with the project, as the daemon would list it.
  void AddGemm() {
    const KernelFolder folder =
        LoadKernelFolder(WAVETUNE_SOURCE_DIR "/kernels/gemm_f32").value();
    *daemon_->kernels.add_kernels()->mutable_spec() = folder.proto;
    parameters_ = static_cast<int>(folder.spec.parameters.size());
  }

  v1::MeasuredConfiguration Measured(int64_t value, double latency_us) const {
    v1::MeasuredConfiguration measured;
    for (int i = 0; i < parameters_; ++i)
      measured.mutable_configuration()->add_values(value);
    measured.set_latency_us(latency_us);
    return measured;
  }

  std::shared_ptr<FakeDaemon> daemon_ = std::make_shared<FakeDaemon>();
  std::string endpoint_;
  std::ostringstream out_;
  std::ostringstream err_;
  int parameters_ = 0;
};

// Splits as a shell does, as far as examples need it: words, single quotes.
std::vector<std::string> ShellWords(const std::string& line) {
  std::vector<std::string> words;
  bool quoted = false;
  bool in_word = false;
  for (char c : line) {
    if (c == ' ' && !quoted) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '\'') {
      quoted = !quoted;
    } else {
      words.back() += c;
    }
  }
  return words;
}

TEST_F(CommandLineTest, EveryExampleParses) {
  const std::vector<std::string> examples = CommandLineExamples();
  EXPECT_GT(examples.size(), 15u);
  for (const std::string& example : examples) {
    std::vector<std::string> words = ShellWords(example);
    ASSERT_EQ(words[0], "wavetune") << example;
    words.erase(words.begin());
    CommandContext context;
    context.out = &out_;
    context.err = &err_;
    EXPECT_EQ(ParseCommandLine(words, context), kExitOk) << example << "\n"
                                                         << err_.str();
  }
}

TEST_F(CommandLineTest, EveryCommandExplainsItselfWithAnExample) {
  const std::vector<std::vector<std::string>> commands = {
      {"status"},
      {"devices"},
      {"kernels", "list"},
      {"kernels", "check"},
      {"kernels", "compile"},
      {"reprofile"},
      {"jobs", "list"},
      {"jobs", "show"},
      {"jobs", "cancel"},
      {"tables", "list"},
      {"tables", "show"},
      {"resolve"},
      {"explain"},
      {"bench"},
      {"evaluate"}};
  for (std::vector<std::string> command : commands) {
    command.push_back("--help");
    EXPECT_EQ(Run(command), kExitOk);
    EXPECT_THAT(out_.str(), HasSubstr("Example")) << command[0];
    EXPECT_THAT(out_.str(), HasSubstr("--json")) << command[0];
    EXPECT_THAT(out_.str(), HasSubstr("wavetune " + command[0]));
  }
}

TEST_F(CommandLineTest, TheCommandsOfTheReadmeParse) {
  std::ifstream readme(WAVETUNE_SOURCE_DIR "/README.md");
  int found = 0;
  for (std::string line; std::getline(readme, line);) {
    if (!absl::StartsWith(line, "wavetune ")) continue;
    line = line.substr(0, line.find(" #"));
    std::vector<std::string> words = ShellWords(line);
    words.erase(words.begin());
    CommandContext context;
    context.out = &out_;
    context.err = &err_;
    EXPECT_EQ(ParseCommandLine(words, context), kExitOk) << line << "\n"
                                                         << err_.str();
    ++found;
  }
  EXPECT_GT(found, 0);
}

// README.md and docs/*.md.
std::vector<std::string> Documents() {
  std::vector<std::string> paths = {WAVETUNE_SOURCE_DIR "/README.md"};
  for (const auto& entry :
       std::filesystem::directory_iterator(WAVETUNE_SOURCE_DIR "/docs")) {
    if (entry.path().extension() == ".md")
      paths.push_back(entry.path().string());
  }
  return paths;
}

// What stands between backticks, outside of code blocks.
std::vector<std::string> InlineCode(const std::string& path) {
  std::vector<std::string> result;
  std::ifstream file(path);
  bool block = false;
  for (std::string line; std::getline(file, line);) {
    if (absl::StrContains(line, "```")) block = !block;
    if (block || absl::StrContains(line, "```")) continue;
    const std::vector<std::string> parts = absl::StrSplit(line, '`');
    for (size_t i = 1; i + 1 < parts.size(); i += 2) result.push_back(parts[i]);
  }
  return result;
}

// A mention need not be complete, but its command and options must be there.
TEST_F(CommandLineTest, TheCommandsThatDocumentsMentionExist) {
  int found = 0;
  for (const std::string& document : Documents()) {
    for (const std::string& code : InlineCode(document)) {
      if (!absl::StartsWith(code, "wavetune ")) continue;
      std::vector<std::string> command;
      std::vector<std::string> flags;
      for (const std::string& word : ShellWords(code)) {
        if (absl::StartsWith(word, "--")) flags.push_back(word);
        if (flags.empty()) command.push_back(word);
      }
      command.erase(command.begin());
      command.push_back("--help");
      EXPECT_EQ(Run(command), kExitOk) << document << ": " << code;
      for (const std::string& flag : flags) {
        EXPECT_TRUE(absl::StrContains(out_.str(), flag + " ") ||
                    absl::StrContains(out_.str(), flag + "\n"))
            << document << ": " << code;
      }
      ++found;
    }
  }
  EXPECT_GT(found, 0);
}

TEST_F(CommandLineTest, TheFilesThatDocumentsNameExist) {
  const std::vector<std::string> folders = {
      "client/", "cmake/",  "deploy/", "docs/",    "kernels/",       "model/",
      "proto/",  "server/", "tests/",  "scripts/", "profiler_agent/"};
  int found = 0;
  for (const std::string& document : Documents()) {
    for (const std::string& code : InlineCode(document)) {
      // Patterns and commands are not paths.
      if (code.find_first_of(" *<{") != std::string::npos) continue;
      if (std::none_of(folders.begin(), folders.end(),
                       [&code](const std::string& folder) {
                         return absl::StartsWith(code, folder);
                       }))
        continue;
      EXPECT_TRUE(
          std::filesystem::exists(absl::StrCat(WAVETUNE_SOURCE_DIR, "/", code)))
          << document << ": " << code;
      ++found;
    }
  }
  EXPECT_GT(found, 10);
}

TEST_F(CommandLineTest, WrongUsageIsExitCodeTwo) {
  EXPECT_EQ(Run({}), kExitUsage);
  EXPECT_EQ(Run({"nonsense"}), kExitUsage);
  EXPECT_EQ(Run({"jobs"}), kExitUsage);
  EXPECT_EQ(Run({"jobs", "show"}), kExitUsage);
  EXPECT_EQ(Run({"jobs", "show", "x"}), kExitUsage);
  EXPECT_EQ(Run({"reprofile", "--budget", "-1"}), kExitUsage);
  EXPECT_EQ(Run({"reprofile", "--fresh", "--refit-only"}), kExitUsage);
  EXPECT_EQ(Run({"status", "--jsn"}), kExitUsage);
  // Only a daemon that bench starts takes these.
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", "x", "--budget", "9"}),
            kExitUsage);
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", "x", "--kernels-dir", "y"}),
            kExitUsage);
}

TEST_F(CommandLineTest, AnUnreachableDaemonIsExitCodeThree) {
  daemon_->error = absl::UnavailableError("cannot reach wavetuned at unix:/x");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"status"},
                                             {"devices"},
                                             {"kernels", "list"},
                                             {"jobs", "list"},
                                             {"tables", "list"},
                                             {"reprofile"}}) {
    EXPECT_EQ(Run(command), kExitUnreachable) << command[0];
    EXPECT_THAT(err_.str(), HasSubstr("cannot reach wavetuned"));
    EXPECT_EQ(out_.str(), "");
  }
}

TEST_F(CommandLineTest, OtherErrorsAreExitCodeOne) {
  EXPECT_EQ(Run({"jobs", "show", "7"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("no job 7"));
}

TEST_F(CommandLineTest, TakesTheEndpointBeforeOrAfterTheCommand) {
  Run({"status", "--endpoint", "/a/reader.sock"});
  EXPECT_EQ(endpoint_, "unix:/a/reader.sock");
  Run({"--endpoint", "/b/reader.sock", "status"});
  EXPECT_EQ(endpoint_, "unix:/b/reader.sock");
  setenv("WAVETUNE_ENDPOINT", "/c/reader.sock", 1);
  Run({"status"});
  unsetenv("WAVETUNE_ENDPOINT");
  EXPECT_EQ(endpoint_, "unix:/c/reader.sock");
}

TEST_F(CommandLineTest, StatusShowsDaemonDevicesTablesAndJobs) {
  daemon_->status.set_version("1.2.3");
  daemon_->status.set_samples(42);
  v1::DeviceStatus& device = *daemon_->devices.add_devices();
  device.mutable_facts()->set_uuid("GPU-1");
  device.set_attached(true);
  daemon_->tables.add_tables()->set_kernel("gemm_f32");
  daemon_->jobs = {Job(5, v1::RUNNING)};
  EXPECT_EQ(Run({"status"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("wavetuned 1.2.3"));
  EXPECT_THAT(out_.str(), HasSubstr("GPU-1"));
  EXPECT_THAT(out_.str(), HasSubstr("attached"));
  EXPECT_THAT(out_.str(), HasSubstr("sampling 3/10"));
  EXPECT_EQ(Run({"status", "--json"}), kExitOk);
  EXPECT_EQ(Output()["samples"], 42);
  EXPECT_EQ(Output()["job_list"][0]["id"], 5);
  EXPECT_EQ(Output()["device_list"][0]["attached"], true);
}

TEST_F(CommandLineTest, StatusShowsHowGoodDecisionsWereForWhatWasAskedFor) {
  EXPECT_EQ(Run({"status"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("no use reported yet"));
  v1::KernelUsage& usage = *daemon_->usage.add_kernels();
  usage.set_kernel("attention");
  usage.set_silicon_key("sm_90/132");
  usage.set_device_label("a GPU");
  usage.mutable_counts()->set_fitted(900);
  usage.mutable_counts()->set_extrapolated(75);
  usage.mutable_counts()->set_wide_bound(25);
  usage.set_uncertain_share(0.1);
  usage.set_decisions_with_table(1000);
  for (const char* name : {"causal", "full"}) {
    v1::SpecialisationUsage& one = *usage.add_specialisations();
    one.set_specialisation(name);
    one.mutable_counts()->set_fitted(450);
  }
  v1::UsedProblem& used = *usage.add_problems();
  used.set_decisions(250);
  used.mutable_problem()->set_specialisation("causal");
  v1::Problem::Extents& extents = *used.mutable_problem()->add_extents();
  extents.set_dimension("seq");
  extents.add_values(128);
  EXPECT_EQ(Run({"status"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("attention  a GPU"));
  EXPECT_THAT(out_.str(), HasSubstr("90.0%"));
  EXPECT_THAT(out_.str(), HasSubstr("7.5%"));
  EXPECT_THAT(out_.str(), HasSubstr("  causal"));
  EXPECT_THAT(out_.str(), HasSubstr("seq=128 specialisation=causal"));
  EXPECT_THAT(out_.str(), HasSubstr("25.0%"));
  EXPECT_EQ(Run({"status", "--json"}), kExitOk);
  const auto kernel = Output()["usage"]["kernels"][0];
  EXPECT_EQ(kernel["counts"]["extrapolated"], 75);
  EXPECT_EQ(kernel["problems"][0]["decisions"], 250);
}

TEST_F(CommandLineTest, StatusOfAnOlderDaemonShowsNoUse) {
  daemon_->usage_error = absl::UnimplementedError("unknown service");
  EXPECT_EQ(Run({"status"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("no use reported yet"));
  daemon_->usage_error = absl::UnavailableError("gone");
  EXPECT_NE(Run({"status"}), kExitOk);
}

TEST_F(CommandLineTest, JobsShowNamesExcludedCandidatesAndTheirReasons) {
  AddGemm();
  v1::JobInfo job = Job(5, v1::SUCCEEDED);
  v1::ExcludedCandidate& excluded = *job.add_excluded();
  *excluded.mutable_configuration() = Measured(64, 1).configuration();
  excluded.set_reason("wrong result");
  daemon_->jobs = {job};
  EXPECT_EQ(Run({"jobs", "show", "5"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("BLOCK_M=64"));
  EXPECT_THAT(out_.str(), HasSubstr("wrong result"));
}

TEST_F(CommandLineTest, JobsShowSaysWhatWasNotMeantForTheDevice) {
  v1::JobInfo job = Job(5, v1::SUCCEEDED);
  daemon_->jobs = {job};
  EXPECT_EQ(Run({"jobs", "show", "5"}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("device_predicates")));
  job.set_not_meant_for_device(209);
  daemon_->jobs = {job};
  EXPECT_EQ(Run({"jobs", "show", "5"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("209 configurations"));
  EXPECT_THAT(out_.str(), HasSubstr("device_predicates"));
}

TEST_F(CommandLineTest, DevicesShowsWhatTheyDo) {
  v1::DeviceStatus& gpu = *daemon_->devices.add_devices();
  gpu.mutable_facts()->set_uuid("GPU-1");
  gpu.mutable_facts()->set_partition("1g.10gb");
  gpu.set_attached(true);
  v1::DeviceState& state = *gpu.mutable_state();
  state.set_sm_clock_mhz(1980);
  state.set_throttle_reasons(0x40);
  state.set_utilisation_percent(93);
  state.set_other_processes(2);
  state.set_busy("GPU-1 is used by 2 other processes");
  daemon_->devices.add_devices()->mutable_facts()->set_uuid("CPU-1");
  EXPECT_EQ(Run({"devices"}), kExitOk);
  for (const char* text :
       {"1g.10gb", "1980 MHz", "93%", "throttled (hardware thermal slowdown)",
        "busy", "not attached"}) {
    EXPECT_THAT(out_.str(), HasSubstr(text));
  }
  EXPECT_EQ(Run({"devices", "--json"}), kExitOk);
  const Json json = Output();
  EXPECT_EQ(json["devices"][0]["state"]["other_processes"], 2);
  EXPECT_EQ(json["devices"][0]["state"]["utilisation_percent"], 93);
}

TEST_F(CommandLineTest, WaitingSaysOnceWhatFor) {
  v1::JobInfo waiting = Job(5, v1::RUNNING);
  waiting.set_phase(v1::WAITING);
  waiting.set_message("waiting: GPU-1 is used by 2 other processes");
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->watched = {waiting, waiting, Job(5, v1::SUCCEEDED)};
  EXPECT_EQ(Run({"reprofile", "--wait"}), kExitOk);
  const std::string text = err_.str();
  const size_t first = text.find("job 5: waiting: GPU-1 is used by 2 other");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("GPU-1 is used", first + 40), std::string::npos) << text;
}

TEST_F(CommandLineTest, EvenIfBusyIsPassedOn) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  EXPECT_EQ(Run({"reprofile", "--even-if-busy"}), kExitOk);
  EXPECT_TRUE(daemon_->reprofile_request.even_if_busy());
  EXPECT_EQ(Run({"reprofile"}), kExitOk);
  EXPECT_FALSE(daemon_->reprofile_request.even_if_busy());
}

TEST_F(CommandLineTest, JobsShowSaysHowManySamplesWereThrottled) {
  v1::JobInfo job = Job(5, v1::SUCCEEDED);
  job.set_samples(40);
  daemon_->jobs = {job};
  EXPECT_EQ(Run({"jobs", "show", "5"}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("throttled")));
  job.set_throttled_samples(7);
  daemon_->jobs = {job};
  EXPECT_EQ(Run({"jobs", "show", "5"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("40, 7 of a throttled device"));
}

TEST_F(CommandLineTest, JobsCancelNamesTheJob) {
  daemon_->jobs = {Job(5, v1::RUNNING)};
  EXPECT_EQ(Run({"jobs", "cancel", "5"}), kExitOk);
  EXPECT_EQ(daemon_->cancelled, std::vector<uint64_t>{5});
}

TEST_F(CommandLineTest, ReprofilePassesItsOptionsOn) {
  EXPECT_EQ(
      Run({"reprofile", "--kernel", "gemm_f32", "--device", "GPU-1", "--budget",
           "60", "--reason", "new driver", "--portfolio", "8"}),
      kExitOk);
  EXPECT_EQ(daemon_->reprofile_request.kernel(), "gemm_f32");
  EXPECT_EQ(daemon_->reprofile_request.device_uuid(), "GPU-1");
  EXPECT_EQ(daemon_->reprofile_request.budget_s(), 60);
  EXPECT_EQ(daemon_->reprofile_request.reason(), "new driver");
  EXPECT_EQ(daemon_->reprofile_request.portfolio_size(), 8);
}

TEST_F(CommandLineTest, ReprofileSaysWhichJobsWereThereBefore) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->jobs[0].set_created_at_us(1);
  EXPECT_EQ(Run({"reprofile"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("queued (already there"));
  daemon_->jobs[0].set_created_at_us(INT64_MAX);
  EXPECT_EQ(Run({"reprofile"}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("already there")));
}

TEST_F(CommandLineTest, ReprofileWaitFollowsTheJobToItsEnd) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->watched = {Job(5, v1::RUNNING), Job(5, v1::SUCCEEDED)};
  EXPECT_EQ(Run({"reprofile", "--wait"}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("job 5 gemm_f32 sampling"));
  EXPECT_THAT(out_.str(), HasSubstr("succeeded"));
  EXPECT_EQ(Run({"reprofile", "--wait", "--json"}), kExitOk);
  EXPECT_EQ(Output()["jobs"][0]["state"], "SUCCEEDED");
}

TEST_F(CommandLineTest, ReprofileWaitFailsWithTheJob) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->watched = {Job(5, v1::FAILED)};
  EXPECT_EQ(Run({"reprofile", "--wait"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("because"));
}

TEST_F(CommandLineTest, AnInterruptDetachesAndSaysHowToCancel) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->watched = {Job(5, v1::RUNNING)};
  daemon_->watch_end = absl::CancelledError("");
  EXPECT_EQ(Run({"reprofile", "--wait"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("goes on"));
  EXPECT_THAT(err_.str(), HasSubstr("wavetune jobs cancel 5"));
  EXPECT_TRUE(daemon_->cancelled.empty());
}

TEST_F(CommandLineTest, AStreamThatEndsEarlyIsNotSuccess) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->watched = {Job(5, v1::RUNNING)};
  EXPECT_EQ(Run({"reprofile", "--wait"}), kExitFailed);
}

TEST_F(CommandLineTest, TablesShowPrintsRowsAndPortfolio) {
  const FetchedTable served =
      wavetune::testing::Serve(wavetune::testing::TwoRowTable());
  v1::GetTableResponse& response = daemon_->payloads.emplace_back();
  *response.mutable_info() = served.info;
  response.set_payload(served.payload);
  *daemon_->tables.add_tables() = served.info;
  for (const std::string& name : {std::string("gemm"), served.info.digest(),
                                  served.info.digest().substr(0, 10)}) {
    EXPECT_EQ(Run({"tables", "show", name}), kExitOk) << err_.str();
    EXPECT_THAT(out_.str(), HasSubstr(served.info.digest()));
    EXPECT_THAT(out_.str(), HasSubstr("portfolio (3 candidates)"));
  }
  EXPECT_EQ(Run({"tables", "show", "gemm", "--json"}), kExitOk);
  EXPECT_EQ(Output()["sub_tables"][0]["portfolio"].size(), 3u);
  EXPECT_EQ(Output()["sub_tables"][0]["rows"][0]["coefficients"]["delta"], 10);
}

TEST_F(CommandLineTest, TablesShowRefusesADamagedPayload) {
  v1::GetTableResponse& response = daemon_->payloads.emplace_back();
  response.mutable_info()->set_kernel("gemm");
  response.mutable_info()->set_digest(std::string(64, 'a'));
  response.set_payload("nonsense");
  EXPECT_EQ(Run({"tables", "show", "gemm"}), kExitFailed);
}

// bench

class BenchCommandTest : public CommandLineTest {
 protected:
  BenchCommandTest() {
    AddGemm();
    shapes_ = folder_.path() + "/shapes.csv";
    std::ofstream(shapes_) << "model,m,n,k\nllama,1,2,3\nqwen,4,5,6\n";
    AddResult({1, 2, 3}, 10, 20, 10);
    AddResult({4, 5, 6}, 10, 10, 8);
    *daemon_->measured.emplace_back().mutable_job() = Job(9, v1::SUCCEEDED);
  }

  void AddResult(const std::vector<int64_t>& extents, double chosen_us,
                 double default_us, double best_us) {
    v1::MeasuredProblem& result =
        *daemon_->measured.emplace_back().mutable_result();
    const std::vector<std::string> names = {"m", "n", "k"};
    for (size_t i = 0; i < names.size(); ++i) {
      v1::Problem::Extents& extent = *result.mutable_problem()->add_extents();
      extent.set_dimension(names[i]);
      extent.add_values(extents[i]);
    }
    *result.mutable_chosen() = Measured(1, chosen_us);
    *result.mutable_default_configuration() = Measured(2, default_us);
    if (best_us > 0) *result.mutable_best() = Measured(3, best_us);
    result.set_predicted_us(10.5);
    result.set_relative_bound(0.1);
    result.set_source(v1::FITTED);
  }

  wavetune::testing::TemporaryFolder folder_;
  std::string shapes_;
};

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

TEST_F(BenchCommandTest, ComparesWithVendorLibraries) {
  v1::MeasuredPeer& fast = *daemon_->measured[0].mutable_result()->add_peers();
  fast.set_library("cublaslt");
  fast.set_latency_us(20);
  v1::MeasuredPeer& failed =
      *daemon_->measured[1].mutable_result()->add_peers();
  failed.set_library("cublaslt");
  failed.set_failure("no algorithm");
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", shapes_, "--peers"}), kExitOk)
      << err_.str();
  EXPECT_TRUE(daemon_->measure_request.peers());
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

// Streams what a daemon would record: one candidate, one that is excluded.
class RecordCommandTest : public BenchCommandTest {
 protected:
  RecordCommandTest() : trace_(folder_.path() + "/trace") {
    const v1::JobInfo done = daemon_->measured.back().job();
    daemon_->measured.pop_back();
    usable_ = LoadKernelFolder(WAVETUNE_SOURCE_DIR "/kernels/gemm_f32")
                  .value()
                  .spec.default_configuration;
    AddSample(v1::ANCHORS, {64, 64, 64}, 5);
    AddSample(v1::REPRESENTATIVE, {1, 576, 576}, 6);
    AddSample(v1::JUDGED, {1, 2, 3}, 10);
    AddSample(v1::JUDGED, {4, 5, 6}, 20);
    // Again, interleaved with the leaders: this one counts.
    AddSample(v1::JUDGED, {4, 5, 6}, 21);
    v1::Recording& recording =
        *daemon_->measured.emplace_back().mutable_recording();
    *recording.mutable_device() = DeviceFactsToProto(
        {.uuid = "GPU-1", .label = "a GPU", .backend = "opencl"});
    recording.set_fingerprint("abc123");
    v1::RecordedCandidate& candidate = *recording.add_candidates();
    *candidate.mutable_configuration() = ConfigurationToProto(usable_);
    candidate.mutable_facts()->set_capacity(7);
    candidate.mutable_facts()->set_blocks_per_multiprocessor(1);
    *daemon_->measured.emplace_back().mutable_job() = done;
  }

  v1::RecordedSamples& AddSample(v1::RecordedSet set,
                                 const std::vector<int64_t>& extents,
                                 double latency_us) {
    const KernelSpec spec =
        LoadKernelFolder(WAVETUNE_SOURCE_DIR "/kernels/gemm_f32").value().spec;
    v1::RecordedSamples& recorded =
        *daemon_->measured.emplace_back().mutable_recorded();
    recorded.set_set(set);
    Sample sample{.configuration = usable_, .problem = {.extents = extents}};
    sample.latency_us = latency_us;
    sample.min_us = latency_us;
    *recorded.add_samples() = SampleToProto(spec.dimensions, sample);
    return recorded;
  }

  int Record(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"bench", "gemm_f32", "--shapes",
                                          shapes_, "--record", trace_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }

  const std::string trace_;
  Configuration usable_;
};

TEST_F(RecordCommandTest, WritesWhatTheDaemonRecorded) {
  ASSERT_EQ(Record({"--anchors", "64"}), kExitOk) << err_.str();
  const v1::MeasureRequest& request = daemon_->measure_request;
  EXPECT_TRUE(request.record());
  EXPECT_FALSE(request.fresh());
  EXPECT_EQ(request.anchors_per_candidate(), 64);
  const absl::StatusOr<TraceFolder> trace = LoadTraceFolder(trace_);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(trace->manifest, HasSubstr("abc123"));
  EXPECT_EQ(trace->device.label, "a GPU");
  ASSERT_EQ(trace->candidates.size(), 1u);
  EXPECT_EQ(trace->candidates[0].candidate.capacity, 7);
  EXPECT_EQ(trace->anchors.size(), 1u);
  EXPECT_EQ(trace->representative.size(), 1u);
  ASSERT_EQ(trace->exhaustive.size(), 2u);
  EXPECT_EQ(trace->exhaustive[1].latency_us, 21);
  EXPECT_THAT(out_.str(), HasSubstr("recorded " + trace_ + ": 1 candidates"));
  EXPECT_THAT(out_.str(), HasSubstr("of the exhaustive best"));
}

TEST_F(RecordCommandTest, PrintsTheSameAsJson) {
  ASSERT_EQ(Record({"--json", "--fresh"}), kExitOk) << err_.str();
  EXPECT_TRUE(daemon_->measure_request.fresh());
  EXPECT_EQ(daemon_->measure_request.anchors_per_candidate(), 120);
  const Json json = Output();
  EXPECT_EQ(json["trace"]["folder"], trace_);
  EXPECT_EQ(json["trace"]["judged"], 2);
  EXPECT_EQ(json["shapes"].size(), 2u);
}

TEST_F(RecordCommandTest, MeasuresNothingWhereNothingCanBeWritten) {
  ASSERT_EQ(Record(), kExitOk) << err_.str();
  daemon_->measure_request.Clear();
  EXPECT_EQ(Record(), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("--replace"));
  std::ofstream(trace_ + "/thesis.tex") << "years of work\n";
  EXPECT_EQ(Record({"--replace"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("thesis.tex"));
  EXPECT_FALSE(daemon_->measure_request.record());
}

TEST_F(RecordCommandTest, AFailedOrInterruptedRecordingWritesNothing) {
  *daemon_->measured.back().mutable_job() = Job(9, v1::FAILED);
  EXPECT_EQ(Record(), kExitFailed);
  EXPECT_FALSE(std::filesystem::exists(trace_));
  daemon_->measure_end = absl::CancelledError("interrupted");
  EXPECT_EQ(Record(), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("the same command goes on from there"));
  EXPECT_FALSE(std::filesystem::exists(trace_));
}

TEST_F(RecordCommandTest, PairsThatAreMissingAreNamed) {
  v1::RecordedFailure& failure =
      *AddSample(v1::ANCHORS, {32, 32, 32}, 5).add_failures();
  *failure.mutable_configuration() = ConfigurationToProto(usable_);
  *failure.mutable_problem() =
      daemon_->measured.back().recorded().samples(0).problem();
  failure.set_reason("out of memory");
  std::swap(daemon_->measured.front(), daemon_->measured.back());
  EXPECT_EQ(Record(), kExitFailed);
  EXPECT_THAT(err_.str(),
              HasSubstr("lacks 1 pairs that could not be measured"));
  EXPECT_THAT(err_.str(), HasSubstr("m=32 n=32 k=32: out of memory"));
  EXPECT_TRUE(std::filesystem::exists(trace_));
}

TEST_F(RecordCommandTest, ADaemonThatDoesNotRecordIsTooOld) {
  std::erase_if(daemon_->measured, [](const v1::MeasureResponse& event) {
    return event.has_recorded() || event.has_recording();
  });
  EXPECT_EQ(Record(), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("older than this command; upgrade it"));
  EXPECT_FALSE(std::filesystem::exists(trace_));
}

TEST_F(RecordCommandTest, ItsOptionsNeedIt) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--replace"},
        {"--fresh"},
        {"--anchors", "50"}}) {
    std::vector<std::string> arguments = {"bench", "gemm_f32", "--shapes",
                                          shapes_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(Run(arguments), kExitUsage) << more[0];
  }
  EXPECT_EQ(Record({"--anchors", "5"}), kExitUsage);
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

// kernels check

TEST_F(CommandLineTest, KernelsCheckDescribesAValidKernel) {
  EXPECT_EQ(Run({"kernels", "check", WAVETUNE_SOURCE_DIR "/kernels"}), kExitOk)
      << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("gemm_f32: valid"));
  EXPECT_EQ(Run({"kernels", "check", WAVETUNE_SOURCE_DIR "/kernels/gemm_f32",
                 "--json"}),
            kExitOk);
  EXPECT_EQ(Output()["kernels"][0]["name"], "gemm_f32");
  EXPECT_GT(Output()["kernels"][0]["configurations"], 0);
}

TEST_F(CommandLineTest, KernelsCheckPrintsEveryFault) {
  wavetune::testing::TemporaryFolder folder;
  std::ofstream(folder.path() + "/manifest.textproto") << "name: 3\n";
  EXPECT_EQ(Run({"kernels", "check", folder.path()}), kExitFailed);
  EXPECT_THAT(out_.str(), HasSubstr("REFUSED"));
  EXPECT_THAT(out_.str(), HasSubstr("line 1"));
  EXPECT_EQ(Run({"kernels", "check", "/no/such/folder"}), kExitFailed);
}

// resolve, explain: through the client library

class ResolveCommandTest : public CommandLineTest {
 protected:
  ResolveCommandTest() {
    setenv("WAVETUNE_CACHE_DIR", node_.cache_dir().c_str(), 1);
    node_.AddTable(wavetune::testing::Serve(wavetune::testing::TwoRowTable()));
  }
  ~ResolveCommandTest() override { unsetenv("WAVETUNE_CACHE_DIR"); }

  int Ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--endpoint", node_.endpoint()});
    return Run(arguments);
  }

  wavetune::testing::FakeNode node_;
};

TEST_F(ResolveCommandTest, PrintsTheDecisionOnOneLine) {
  EXPECT_EQ(Ask({"resolve", "gemm", "m=64", "n=64", "k=64"}), kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("10.00 us +- 12.5%  FITTED"));
  const std::string text = out_.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(Ask({"resolve", "gemm", "m=64", "n=64", "k=64", "--json"}),
            kExitOk);
  EXPECT_EQ(Output()["source"], "FITTED");
  EXPECT_EQ(Output()["problem"]["m"], 64);
}

TEST_F(ResolveCommandTest, AnIllegalProblemGetsTheDefaultAndExitCodeTwo) {
  EXPECT_EQ(Ask({"resolve", "gemm", "m=0", "k=64", "q=1"}), kExitUsage);
  EXPECT_THAT(out_.str(), HasSubstr("DEFAULT"));
  EXPECT_THAT(err_.str(), HasSubstr("\"m\": \"0\" is zero"));
  EXPECT_THAT(err_.str(), HasSubstr("\"n\" is missing"));
  EXPECT_THAT(err_.str(), HasSubstr("unknown dimension \"q\""));
  EXPECT_EQ(Ask({"resolve", "gemm", "m=1", "n=1", "k=-1", "--json"}),
            kExitUsage);
  EXPECT_EQ(Output()["source"], "DEFAULT");
  EXPECT_EQ(Output()["reason"], "EXTENT_OUT_OF_RANGE");
  EXPECT_EQ(Output()["faults"].size(), 1u);
  EXPECT_EQ(Ask({"resolve", "gemm", "m=1", "n=1", "--json"}), kExitUsage);
  EXPECT_EQ(Output()["reason"], "WRONG_DIMENSION_COUNT");
}

TEST_F(ResolveCommandTest, AnUnreachableDaemonIsExitCodeThreeUnlessCached) {
  ASSERT_EQ(Ask({"resolve", "gemm", "m=64", "n=64", "k=64"}), kExitOk);
  node_.Stop();
  EXPECT_EQ(Ask({"resolve", "gemm", "m=64", "n=64", "k=64"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("from the local cache"));
  EXPECT_EQ(Ask({"resolve", "other", "m=64", "n=64", "k=64"}),
            kExitUnreachable);
}

TEST_F(ResolveCommandTest, ExplainShowsEveryRowAndWhyTheWinnerWon) {
  EXPECT_EQ(Ask({"explain", "gemm", "m=64", "n=128", "k=64"}), kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("why"));
  EXPECT_THAT(out_.str(), HasSubstr("->"));
  EXPECT_EQ(Ask({"explain", "gemm", "m=64", "n=128", "k=64", "--json"}),
            kExitOk);
  const Json json = Output();
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["rows"][0]["chosen"], true);
  EXPECT_EQ(json["rows"][0]["tiles"], 2);
  EXPECT_EQ(Ask({"explain", "gemm", "m=64"}), kExitUsage);
}

}  // namespace
}  // namespace wavetune::cli
