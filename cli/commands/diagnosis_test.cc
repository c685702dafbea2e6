#include "cli/commands/diagnosis.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/commands/daemon_command_fixture.h"
#include "client/src/fake_node.h"
#include "client/src/table_cache.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/throttling.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

auto Finds(const std::string& what, const std::string& why,
           const std::string& run) {
  return AllOf(Field(&Finding::what, HasSubstr(what)),
               Field(&Finding::why, HasSubstr(why)),
               Field(&Finding::run, HasSubstr(run)));
}

class DiagnosisTest : public ::testing::Test {
 protected:
  DiagnosisTest() {
    seen_.endpoint = "unix:/run/wavetune/reader.sock";
    seen_.own_version = "1.0.0";
    seen_.status.set_version("1.0.0");
    seen_.status.set_store_path("/var/lib/wavetune");
    seen_.free_bytes = int64_t{100} << 30;
    v1::DeviceStatus& device = *seen_.devices.add_devices();
    device.mutable_facts()->set_uuid("GPU-1");
    device.mutable_facts()->set_label("NVIDIA H100");
    device.set_attached(true);
    v1::KernelStatus& kernel = *seen_.kernels.add_kernels();
    kernel.mutable_spec()->set_name("gemm");
    kernel.add_tables()->set_kernel("gemm");
    seen_.tables.add_tables()->set_kernel("gemm");
    seen_.admin_socket = SocketDiagnosis{SocketDiagnosis::Kind::kSilent, ""};
  }

  v1::DeviceStatus& device() { return *seen_.devices.mutable_devices(0); }

  Observations seen_;
};

TEST_F(DiagnosisTest, FindsNothingWhereNothingIsWrong) {
  EXPECT_THAT(Diagnose(seen_), IsEmpty());
}

TEST_F(DiagnosisTest, ASilentDaemonIsAllThatCanBeSaid) {
  seen_.answer = absl::UnavailableError("its process has ended");
  device().set_problem("nobody knows");
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("does not answer at unix:/run/wavetune",
                                "its process has ended",
                                "systemctl status wavetuned")));
}

TEST_F(DiagnosisTest, AnotherSocketOfTheDaemonIsNoDaemonThatHasEnded) {
  seen_.answer = absl::InvalidArgumentError("is the admin socket");
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("does not answer", "is the admin socket",
                                "WAVETUNE_ENDPOINT")));
}

TEST_F(DiagnosisTest, SaysWhereTheNodeStandsBadlyToItsFleet) {
  v1::GetFleetResponse& fleet = seen_.fleet.emplace();
  fleet.set_node("node-1");
  EXPECT_THAT(Diagnose(seen_), IsEmpty());
  // Of a class that no device is of any more.
  v1::FleetHeadStatus& before = *fleet.add_heads();
  before.set_kernel("gemm");
  before.set_followed_only(true);
  EXPECT_THAT(Diagnose(seen_), IsEmpty());
  fleet.set_outage("etcd does not answer");
  fleet.set_absent("another node calls itself node-1");
  fleet.set_refused_signature(2);
  for (const char* kernel : {"gemm", "norm"}) {
    v1::FleetHeadStatus& head = *fleet.add_heads();
    head.set_kernel(kernel);
    head.set_digest(std::string(64, 'd'));
    head.set_behind("its key is revoked");
  }
  fleet.add_heads()->set_kernel("gemm");  // Of another class: nobody's.
  v1::FleetRolloutStatus& rollout = *fleet.add_rollouts();
  rollout.set_kernel("gemm");
  rollout.set_digest(std::string(64, 'e'));
  rollout.set_halted("2 nodes disagree");
  v1::FleetProfileStatus& profile = *fleet.add_profiles();
  profile.set_kernel("norm");
  v1::FleetNodeBehind& failure = *profile.add_failures();
  failure.set_node("node-3");
  failure.set_why("the GPU is hot");
  EXPECT_THAT(
      Diagnose(seen_),
      ElementsAre(
          Finds("registry is out of reach", "etcd does not answer",
                "wavetune fleet status"),
          Finds("do not see this one", "calls itself node-1", "fleet nodes"),
          Finds("BEHIND its fleet: it does not serve its table of gemm, norm",
                "its key is revoked", "wavetune fleet status"),
          Finds("the fleet has no table of kernel gemm", "nobody published",
                "wavetune fleet publish gemm"),
          Finds("rollout of table eeeeeeeeeeeeeeee of kernel gemm was HALTED",
                "2 nodes disagree", "wavetune fleet status"),
          Finds("registry are refused", "2 by signature", "journalctl"),
          Finds("given up by 1 node", "node-3: the GPU is hot",
                "wavetune fleet status")));
  fleet.set_never_reached(true);
  EXPECT_THAT(Diagnose(seen_),
              Contains(Finds("registry was never reached",
                             "etcd does not answer", "fleet status")));
}

TEST_F(DiagnosisTest, WhatAJobIsAtAlreadyIsNoAdvice) {
  seen_.tables.mutable_tables(0)->set_stale(true);
  seen_.kernels.add_kernels()->mutable_spec()->set_name("norm");
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("STALE", "", "wavetune reprofile"),
                          Finds("no table", "norm", "wavetune reprofile")));
  for (const char* kernel : {"gemm", "norm"}) {
    v1::JobInfo& job = *seen_.jobs.add_jobs();
    job.set_id(7);
    job.set_kernel(kernel);
    job.set_state(v1::QUEUED);
  }
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("STALE", "", "jobs show 7"),
                          Finds("no table", "norm", "jobs show 7")));
}

TEST_F(DiagnosisTest, ACompactionIsNoAdviceWhereItHasNoRoom) {
  seen_.status.set_samples_bytes(int64_t{100} << 20);
  seen_.free_bytes = int64_t{400} << 20;
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("nearly full", "400.0 MiB", "store compact")));
  seen_.free_bytes = 0;
  EXPECT_THAT(
      Diagnose(seen_),
      ElementsAre(AllOf(Finds("nearly full", "0 B", "make room"),
                        Field(&Finding::run, Not(HasSubstr("compact"))))));
}

TEST_F(DiagnosisTest, NamesBothVersionsWhereTheyDiffer) {
  seen_.status.set_version("0.9.0");
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("version 0.9.0, this command 1.0.0",
                                "not restarted", "systemctl restart")));
}

TEST_F(DiagnosisTest, SaysWhoMayNotAdminister) {
  seen_.admin_socket = SocketDiagnosis{SocketDiagnosis::Kind::kNoPermission,
                                       "it is of group wavetune-admin"};
  EXPECT_THAT(Diagnose(seen_), ElementsAre(Finds("may read, but not administer",
                                                 "wavetune-admin", "ls -l")));
  seen_.admin_socket =
      SocketDiagnosis{SocketDiagnosis::Kind::kNoSocket, "nothing is there"};
  EXPECT_THAT(Diagnose(seen_), ElementsAre(Finds("nobody can administer",
                                                 "nothing is there", "")));
}

TEST_F(DiagnosisTest, AStoreThatCannotBeWrittenComesBeforeAFullDisk) {
  seen_.free_bytes = 1000;
  EXPECT_THAT(Diagnose(seen_), ElementsAre(Finds("nearly full", "1000",
                                                 "df -h /var/lib/wavetune")));
  seen_.status.set_store_problem("the disk is full");
  seen_.status.set_corrupt_entries(2);
  EXPECT_THAT(
      Diagnose(seen_),
      ElementsAre(Finds("nothing can be stored", "the disk is full",
                        "df -h /var/lib/wavetune"),
                  Finds("damaged", "2 were met", "wavetune store check")));
}

TEST_F(DiagnosisTest, SaysThatNoDriverIsLoaded) {
  device().set_attached(false);
  seen_.nvidia_driver = false;
  seen_.opencl_driver = false;
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("no device is attached", "no driver is loaded",
                                "journalctl -u wavetune-agent")));
  seen_.opencl_driver = true;
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("no device is attached",
                                "wavetune-agent does not run", "systemctl")));
  seen_.devices.clear_devices();
  EXPECT_THAT(Diagnose(seen_), ElementsAre(Finds("was ever attached", "", "")));
}

TEST_F(DiagnosisTest, NamesWhatADeviceSuffersFrom) {
  device().mutable_state()->set_throttle_reasons(0x40);
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("GPU-1 (NVIDIA H100) is throttled",
                                ThrottleText(0x40), "nvidia-smi")));
  device().set_unrated("the last profile could not compare it");
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("GPU-1 (NVIDIA H100) is not yet rated",
                                "the next one tries again", "reprofile")));
  device().set_left_out("it is hot: 86 C");
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("left out of profiles", "86 C", "nvidia-smi")));
  device().set_silent_s(40);
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("says nothing", "40", "uptime")));
  device().set_problem("NVRTC is missing");
  EXPECT_THAT(
      Diagnose(seen_),
      ElementsAre(Finds("cannot be used", "NVRTC is missing", "journalctl")));
}

TEST_F(DiagnosisTest, SaysWhatWentWrongWhenTheAgentLookedForDevices) {
  seen_.devices.add_agent_problems("cuda: failed with 802; fabric manager?");
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("may lack a device", "failed with 802",
                                "journalctl -u wavetune-agent")));
}

TEST_F(DiagnosisTest, NamesTablesThatAreNotWhatTheyShouldBe) {
  v1::TableInfo& stale = *seen_.tables.mutable_tables(0);
  stale.set_stale(true);
  stale.set_stale_reason("driver 580, now 590");
  v1::TableInfo shipped = stale;
  shipped.set_kernel("silu");
  shipped.set_unverified(true);
  *seen_.tables.add_tables() = shipped;
  v1::TableInfo& withdrawn = *seen_.tables.add_withdrawn();
  withdrawn.set_kernel("gelu");
  withdrawn.set_withdrawn("BM=64 is wrong");
  seen_.tables.add_left_out("table abc of kernel conv left out");
  EXPECT_THAT(
      Diagnose(seen_),
      ElementsAre(Finds("kernel gemm", "driver 580, now 590",
                        "wavetune reprofile --kernel gemm"),
                  Finds("kernel silu", "driver", "wavetune tables verify silu"),
                  Finds("kernel gelu", "BM=64 is wrong", "correct the kernel"),
                  Finds("cannot be read", "table abc", "store check")));
}

TEST_F(DiagnosisTest, NamesKernelsThatAreRefusedOrHaveNoTable) {
  v1::KernelStatus& broken = *seen_.kernels.add_kernels();
  broken.set_path("/kernels/broken");
  broken.set_problem("line 3: no such field");
  for (const std::string name : {"a", "b"})
    seen_.kernels.add_kernels()->mutable_spec()->set_name(name);
  v1::DefaultFault& fault =
      *seen_.kernels.mutable_kernels(0)->add_default_faults();
  fault.set_device_uuid("GPU-1");
  fault.set_reason("does not compile");
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("default of kernel gemm", "does not compile",
                                "default_configuration"),
                          Finds("/kernels/broken", "no such field",
                                "wavetune kernels check /kernels/broken"),
                          Finds("2 kernels have no table", "a, b",
                                "wavetune reprofile")));
}

TEST_F(DiagnosisTest, ATableThatWasRefusedIsNotToBeProfiledAgain) {
  seen_.kernels.add_kernels()->mutable_spec()->set_name("a");
  v1::JobInfo& job = *seen_.jobs.add_jobs();
  job.set_kind("reprofile");
  job.set_kernel("a");
  job.set_state(v1::SUCCEEDED);
  job.set_message("not promoted: slower than the default");
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds(
                  "kernel a has no table, as the last one was refused",
                  "slower than the default", "wavetune tables rejected a")));
}

TEST_F(DiagnosisTest, OnlyTheLastJobOfAKernelCounts) {
  const auto add = [this](uint64_t id, const std::string& kernel,
                          v1::JobState state) {
    v1::JobInfo& job = *seen_.jobs.add_jobs();
    job.set_id(id);
    job.set_kernel(kernel);
    job.set_device_uuid("GPU-1");
    job.set_state(state);
    job.set_message("no device time was left");
  };
  add(5, "gemm", v1::RUNNING);
  add(4, "gemm", v1::SUCCEEDED);
  add(3, "gemm", v1::FAILED);
  EXPECT_THAT(Diagnose(seen_), IsEmpty());
  add(2, "gelu", v1::FAILED);
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("kernel gelu on GPU-1 failed", "no device time",
                                "wavetune jobs show 2")));
}

TEST_F(DiagnosisTest, SaysWhatAJobHasWaitedForForLong) {
  v1::JobInfo& job = *seen_.jobs.add_jobs();
  job.set_id(7);
  job.set_kernel("gemm");
  job.set_state(v1::RUNNING);
  job.set_waits_for("GPU-2: used by 2 other processes; GPU-3: it is hot");
  job.set_waits_since_us(1'000'000);
  seen_.now_us = 60'000'000;
  EXPECT_THAT(Diagnose(seen_), IsEmpty());
  seen_.now_us = 121'000'000;
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("job 7 of kernel gemm has waited",
                                "GPU-3: it is hot", "wavetune jobs show 7")));
}

TEST_F(DiagnosisTest, SaysWhatIsWrongWithTheCacheOfTables) {
  CacheObservation& cache = seen_.cache.emplace();
  cache.folder = "/home/u/.cache/wavetune";
  EXPECT_THAT(Diagnose(seen_), IsEmpty()) << "an empty one is no fault";
  cache.tables = {{.kernel = "gemm", .digest = "aaa"},
                  {.kernel = "gelu", .digest = "bbb", .damage = "it is short"},
                  {.kernel = "conv", .digest = "ccc"},
                  {.kernel = "conv", .digest = "ddd", .withdrawn = true}};
  const auto damaged = Finds("table bbb of kernel gelu is damaged",
                             "it is short", "rm /home/u/.cache/wavetune/bbb.*");
  EXPECT_THAT(Diagnose(seen_), ElementsAre(damaged));
  for (const std::string digest : {"ccc", "ddd"}) {
    seen_.tables.add_withdrawn()->set_digest(digest);
  }
  EXPECT_THAT(Diagnose(seen_),
              Contains(Finds("table ccc of kernel conv was WITHDRAWN",
                             "without the daemon", "/ccc.*")));
  EXPECT_THAT(Diagnose(seen_), Not(Contains(Finds("table ddd", "", ""))));
  cache.problem = "others can write it";
  EXPECT_THAT(Diagnose(seen_),
              Contains(Finds("do not keep tables", "others can write",
                             "ls -ld /home/u/.cache/wavetune")));
}

TEST_F(DiagnosisTest, SaysThatClientsHaveNothingWithoutTheDaemon) {
  seen_.answer = absl::UnavailableError("its process has ended");
  seen_.cache.emplace().folder = "/home/u/.cache/wavetune";
  EXPECT_THAT(Diagnose(seen_),
              ElementsAre(Finds("does not answer", "", ""),
                          Finds("have no table", "/home/u/.cache/wavetune",
                                "systemctl start wavetuned")));
}

// With a cache of its own.
class DoctorCommandTest : public DaemonCommandFixture {
 protected:
  DoctorCommandTest() { setenv("XDG_CACHE_HOME", home_.path().c_str(), 1); }
  ~DoctorCommandTest() override { unsetenv("XDG_CACHE_HOME"); }

  const testing::TemporaryFolder home_;
};

TEST_F(DoctorCommandTest, ExitsWith1WhereSomethingIsFound) {
  daemon_->status.set_store_problem("the disk is full");
  EXPECT_EQ(Run({"doctor"}), kExitFailed);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("nothing can be stored\n  why  the disk is full"),
                    HasSubstr("  run  df -h")));
  EXPECT_EQ(Run({"doctor", "--json"}), kExitFailed);
  EXPECT_THAT(Output()["findings"], Not(SizeIs(0)));
  daemon_->error = absl::UnavailableError("nobody is there");
  EXPECT_EQ(Run({"doctor"}), kExitFailed);
  EXPECT_THAT(out_.str(), HasSubstr("wavetuned does not answer"));
}

TEST_F(DoctorCommandTest, FindsADamagedTableInTheCacheAndLeavesItThere) {
  const FetchedTable table = testing::Serve(testing::TinyTable());
  const std::string folder = home_.path() + "/wavetune";
  ASSERT_TRUE(TableCache(folder).Put(table).ok());
  Run({"doctor"});
  EXPECT_THAT(out_.str(), Not(HasSubstr("cached table")));
  const std::string path = folder + "/" + table.info.digest() + ".table";
  std::ofstream(path) << "nonsense";
  EXPECT_EQ(Run({"doctor"}), kExitFailed);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("is damaged"), HasSubstr(path)));
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(DoctorCommandTest, ExitsWith0WhereNothingIs) {
  EXPECT_EQ(Run({"--version"}), kExitOk);
  const std::string version = out_.str();  // "wavetune 1.0.0"
  daemon_->status.set_version(
      version.substr(9, version.find_last_not_of('\n') - 8));
  v1::DeviceStatus& device = *daemon_->devices.add_devices();
  device.set_attached(true);
  // Over TCP nothing of this machine counts.
  CommandContext context = Context();
  context.endpoint = "node7:9477";
  EXPECT_EQ(RunCommandLine({"doctor"}, context), kExitOk) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("nothing is wrong"));
}

}  // namespace
}  // namespace wavetune::cli
