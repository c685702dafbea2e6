// wavetune status, devices, jobs and tables on a fake daemon.
#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/daemon_command_fixture.h"
#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class StatusCommandsTest : public DaemonCommandFixture {
 protected:
  // The daemon serves `table`.
  FetchedTable Serve(const Table& table) {
    FetchedTable served = wavetune::testing::Serve(table);
    v1::GetTableResponse& response = daemon_->payloads.emplace_back();
    *response.mutable_info() = served.info;
    response.set_payload(served.payload);
    *daemon_->tables.add_tables() = served.info;
    return served;
  }
};

TEST_F(StatusCommandsTest, StatusShowsDaemonDevicesTablesAndJobs) {
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

TEST_F(StatusCommandsTest, WhereverATableIsShownItSaysWhatMakesItStale) {
  const std::string why = "driver \"580\", now \"590\"";
  Serve(wavetune::testing::TinyTable());
  for (v1::TableInfo* info :
       {daemon_->tables.mutable_tables(0), daemon_->payloads[0].mutable_info(),
        daemon_->kernels.add_kernels()->add_tables()}) {
    info->set_stale(true);
    info->set_stale_reason(why);
  }
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"status"},
        {"tables", "list"},
        {"kernels", "list"},
        {"tables", "show", "add"}}) {
    EXPECT_EQ(Run(command), kExitOk);
    EXPECT_THAT(out_.str(), HasSubstr("STALE: " + why)) << command[0];
  }
  EXPECT_EQ(Run({"tables", "list", "--json"}), kExitOk);
  EXPECT_EQ(Output()["tables"][0]["stale_reason"], why);
  EXPECT_EQ(Run({"kernels", "list", "--json"}), kExitOk);
  EXPECT_EQ(Output()["kernels"][0]["tables"][0]["stale_reason"], why);
  EXPECT_EQ(Run({"tables", "list", "--fail-stale"}), kExitStale);
  EXPECT_THAT(err_.str(), HasSubstr(why));
  EXPECT_EQ(Run({"status", "--fail-stale"}), kExitStale);
}

TEST_F(StatusCommandsTest, AKernelsFolderThatCannotBeReadIsNoEmptyOne) {
  daemon_->kernels.add_problems("kernels folder /k cannot be read: denied");
  EXPECT_EQ(Run({"kernels", "list"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("/k cannot be read"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("no kernels")));
}

TEST_F(StatusCommandsTest, StatusShowsHowGoodDecisionsWereForWhatWasAskedFor) {
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

TEST_F(StatusCommandsTest, StatusOfAnOlderDaemonShowsNoUse) {
  daemon_->usage_error = absl::UnimplementedError("unknown service");
  EXPECT_EQ(Run({"status"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("no use reported yet"));
  daemon_->usage_error = absl::UnavailableError("gone");
  EXPECT_NE(Run({"status"}), kExitOk);
}

TEST_F(StatusCommandsTest, JobsShowNamesExcludedCandidatesAndTheirReasons) {
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

TEST_F(StatusCommandsTest, JobsShowCountsWrongCandidatesAndHasTheFitsNotes) {
  v1::JobInfo job = Job(5, v1::FAILED);
  job.add_excluded()->set_reason("wrong result: 3 of 100");
  job.set_wrong_candidates(1);
  job.add_notes("bounds are wide");
  daemon_->jobs = {job};
  EXPECT_EQ(Run({"jobs", "show", "5"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("excluded     1 candidates, 1 of them"));
  EXPECT_THAT(out_.str(), HasSubstr("note         bounds are wide"));
}

TEST_F(StatusCommandsTest, AWithdrawnTableIsShownWithTheReason) {
  v1::TableInfo& info = *daemon_->tables.add_withdrawn();
  info.set_kernel("gemm_f32");
  info.set_digest(std::string(64, 'a'));
  info.set_withdrawn("it chooses BM=64, which computes wrong results");
  daemon_->status.set_tables_withdrawn(1);
  for (const char* const group : {"status", "tables"}) {
    if (std::string(group) == "status") {
      EXPECT_EQ(Run({"status"}), kExitOk);
      EXPECT_THAT(out_.str(), HasSubstr("1 WITHDRAWN"));
    } else {
      EXPECT_EQ(Run({"tables", "list"}), kExitOk);
    }
    EXPECT_THAT(out_.str(),
                HasSubstr("of gemm_f32 was withdrawn: it chooses BM=64"));
  }
  EXPECT_EQ(Run({"status", "--json"}), kExitOk);
  EXPECT_EQ(Output()["withdrawn_list"].size(), 1u);
}

// As after an upgrade.
TEST_F(StatusCommandsTest, WhatToDoWithTablesThatCannotBeReadIsShown) {
  const std::string left_out =
      "table 4926f59f984e4dad of kernel gemm_bf16 left out: a table of a "
      "release before 1.0: profile the kernel again, or refit its stored "
      "samples (wavetune reprofile --kernel NAME --refit-only)";
  daemon_->tables.add_left_out(left_out);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"status"}, {"tables", "list"}}) {
    EXPECT_EQ(Run(command), kExitOk);
    EXPECT_THAT(out_.str(),
                HasSubstr("no tables that can be read\n" + left_out + "\n"));
    EXPECT_THAT(out_.str(), Not(HasSubstr("--wait")));
  }
  EXPECT_EQ(Run({"status", "--json"}), kExitOk);
  EXPECT_EQ(Output()["left_out_list"][0], left_out);
  EXPECT_EQ(Run({"tables", "list", "--json"}), kExitOk);
  EXPECT_EQ(Output()["left_out"][0], left_out);
  EXPECT_EQ(Run({"status", "--fail-stale"}), kExitStale);
  EXPECT_THAT(err_.str(), HasSubstr(left_out));
}

TEST_F(StatusCommandsTest, TablesShowSaysWhyItWasWithdrawnAndTheFitsNotes) {
  Serve(wavetune::testing::TinyTable());
  v1::TableInfo& info = *daemon_->payloads.back().mutable_info();
  info.set_withdrawn("it is wrong");
  info.add_notes("the kernel's latency does not follow waves");
  EXPECT_EQ(Run({"tables", "show", info.digest()}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("WITHDRAWN      it is wrong"));
  EXPECT_THAT(out_.str(),
              HasSubstr("state          WITHDRAWN, serves no longer"));
  EXPECT_THAT(out_.str(), HasSubstr("note           the kernel's latency"));
}

TEST_F(StatusCommandsTest, ADefaultThatDoesNotWorkIsShown) {
  AddGemm();
  v1::DefaultFault& fault =
      *daemon_->kernels.mutable_kernels(0)->add_default_faults();
  fault.set_device_uuid("GPU-1");
  fault.set_reason("does not compile: line 3");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"status"}, {"kernels", "list"}}) {
    EXPECT_EQ(Run(command), kExitOk);
    EXPECT_THAT(out_.str(),
                HasSubstr("cannot be used on GPU-1: does not compile: line 3"));
  }
}

TEST_F(StatusCommandsTest, JobsShowSaysWhatWasNotMeantForTheDevice) {
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

TEST_F(StatusCommandsTest, JobsShowSaysWhoseProblemsAProfileIsWeighedBy) {
  v1::JobInfo job = Job(5, v1::SUCCEEDED);
  job.set_used_problems(7);
  job.set_workload_problems(60);
  daemon_->jobs = {job};
  EXPECT_EQ(Run({"jobs", "show", "5"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("7 problems that clients ask for"));
  EXPECT_THAT(out_.str(), HasSubstr("60 problems of declared workloads"));
  job.mutable_fleet_demand()->set_nodes(12);
  job.mutable_fleet_demand()->set_workloads(3);
  daemon_->jobs = {job};
  EXPECT_EQ(Run({"jobs", "show", "5"}), kExitOk);
  EXPECT_THAT(out_.str(),
              HasSubstr("7 problems that clients of 12 nodes ask for"));
  EXPECT_THAT(out_.str(), HasSubstr("60 problems of the fleet's 3 workloads"));
}

TEST_F(StatusCommandsTest, DevicesShowsWhatTheyDo) {
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
  v1::DeviceStatus& silent = *daemon_->devices.add_devices();
  silent.mutable_facts()->set_uuid("CPU-2");
  silent.set_attached(true);
  silent.set_silent_s(34.5);
  EXPECT_EQ(Run({"devices"}), kExitOk);
  for (const char* text :
       {"1g.10gb", "1980 MHz", "93%", "throttled (hardware thermal slowdown)",
        "busy", "not attached", "silent for 34 s"}) {
    EXPECT_THAT(out_.str(), HasSubstr(text));
  }
  EXPECT_EQ(Run({"devices", "--json"}), kExitOk);
  const Json json = Output();
  EXPECT_EQ(json["devices"][0]["state"]["other_processes"], 2);
  EXPECT_EQ(json["devices"][0]["state"]["utilisation_percent"], 93);
}

TEST_F(StatusCommandsTest, JobsShowSaysHowManySamplesWereThrottled) {
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

TEST_F(StatusCommandsTest, JobsCancelNamesTheJob) {
  daemon_->jobs = {Job(5, v1::RUNNING)};
  EXPECT_EQ(Run({"jobs", "cancel", "5"}), kExitOk);
  EXPECT_EQ(daemon_->cancelled, std::vector<uint64_t>{5});
}

TEST_F(StatusCommandsTest, TablesShowPrintsRowsAndPortfolio) {
  const FetchedTable served = Serve(wavetune::testing::TwoGroupTable());
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

TEST_F(StatusCommandsTest, TablesShowSaysWhetherTheTableServes) {
  const FetchedTable served = Serve(wavetune::testing::TwoGroupTable());
  const std::string digest = served.info.digest();
  EXPECT_EQ(Run({"tables", "show", digest}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("state          serving"));
  EXPECT_EQ(Run({"tables", "show", digest, "--json"}), kExitOk);
  EXPECT_EQ(Output()["serving"], true);
  daemon_->tables.clear_tables();
  EXPECT_EQ(Run({"tables", "show", digest}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("state          was never promoted"));
  // Another was promoted.
  daemon_->payloads[0].mutable_info()->set_epoch(3);
  EXPECT_EQ(Run({"tables", "show", digest}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(),
              HasSubstr("state          replaced, serves no longer"));
  EXPECT_EQ(Run({"tables", "show", digest, "--json"}), kExitOk);
  EXPECT_EQ(Output()["serving"], false);
}

TEST_F(StatusCommandsTest, TablesShowPrintsLayersAndSustainedLoad) {
  Table table = wavetune::testing::TwoGroupTable();
  SubTable& sub = table.sub_tables[0];
  sub.power_limit = {.from_us = 250, .slowdown = 0.1875};
  sub.layers = {
      {.extents = {0, 640, 512},
       .first = 1,
       .spans = {{.last = 16, .group = 1}, {.last = 900, .group = 0}}}};
  Serve(table);
  EXPECT_EQ(Run({"tables", "show", "gemm"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("of a launch what is beyond 250 us of T "
                                    "takes 1.188 times as long"));
  EXPECT_THAT(out_.str(), HasSubstr("ROW BY m"));
  EXPECT_THAT(out_.str(), HasSubstr("n=640 k=512"));
  EXPECT_THAT(out_.str(), HasSubstr("1-16: 1, 17-900: 0"));
  EXPECT_EQ(Run({"tables", "show", "gemm", "--json"}), kExitOk);
  const Json json = Output()["sub_tables"][0];
  EXPECT_EQ(json["sustained"]["from_us"], 250);
  EXPECT_EQ(json["layers"].size(), 1u);
  EXPECT_EQ(json["wary"], false);
}

TEST_F(StatusCommandsTest, TablesShowSaysThatATableIsWary) {
  Table table = wavetune::testing::TwoGroupTable();
  table.default_configuration = {128, 2};
  table.sub_tables[0].wary = true;
  Serve(table);
  EXPECT_EQ(Run({"tables", "show", "gemm"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(),
              HasSubstr("beyond what was measured the default answers"));
  EXPECT_EQ(Run({"tables", "show", "gemm", "--json"}), kExitOk);
  EXPECT_EQ(Output()["sub_tables"][0]["wary"], true);
}

TEST_F(StatusCommandsTest, TablesShowNamesWhatIsReadColdWhereItCounts) {
  Table table = wavetune::testing::TwoGroupTable();
  Serve(table);
  EXPECT_EQ(Run({"tables", "show", "gemm"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("alpha G L, in us"));
  EXPECT_THAT(out_.str(), HasSubstr("beta in us/tile"));
  EXPECT_THAT(out_.str(), HasSubstr("ALPHA_ROW  BOUND"));
  table.dimensions.push_back({.name = "experts", .repeated = true});
  table.sub_tables[0].mapping.cold_bytes =
      Expression::SumOver(3, Expression::Constant(4096));
  table.sub_tables[0].groups[0].models[0].segments[0].coefficients.cold = 7.25;
  daemon_->tables.clear_tables();
  const FetchedTable served = Serve(table);
  EXPECT_EQ(Run({"tables", "show", served.info.digest()}), kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("alpha G L + cold B, in us"));
  EXPECT_THAT(out_.str(), HasSubstr("cold in us/MiB"));
  EXPECT_THAT(out_.str(), HasSubstr("ALPHA_ROW  COLD  BOUND"));
  EXPECT_EQ(Run({"tables", "show", served.info.digest(), "--json"}), kExitOk);
  EXPECT_EQ(Output()["sub_tables"][0]["rows"][0]["coefficients"]["cold"], 7.25);
}

TEST_F(StatusCommandsTest, TablesShowRefusesADamagedPayload) {
  v1::GetTableResponse& response = daemon_->payloads.emplace_back();
  response.mutable_info()->set_kernel("gemm");
  response.mutable_info()->set_digest(std::string(64, 'a'));
  response.set_payload("nonsense");
  EXPECT_EQ(Run({"tables", "show", "gemm"}), kExitFailed);
}

}  // namespace
}  // namespace wavetune::cli
