// Nodes of one class and the profiles that they share; jobs are made up.
#include "server/fleet/fleet_profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/fake_clock.h"
#include "server/catalog/disk_kernel_catalog.h"
#include "server/fleet/fake_fleet_registry.h"
#include "server/fleet/fleet_node.h"
#include "server/fleet/fleet_test_support.h"
#include "server/fleet/signed_content.h"
#include "server/jobs/fake_profiling.h"
#include "server/store/fake_stores.h"
#include "server/test_folder.h"

namespace wavetune::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What a daemon has of it.
class ProfilingNode {
 public:
  ProfilingNode(FakeFleet* fleet, const std::string& kernels,
                const std::string& name, char key = 1)
      : registry_(std::make_unique<FakeFleetRegistry>(fleet)),
        kernels_({kernels}),
        name_(name) {
    kernels_.Reload();
    profiles_ = std::make_unique<FleetProfiles>(FleetProfiles::Options{
        .registry = registry_.get(),
        .kernels = &kernels_,
        .clock = &clock_,
        .fleet = "/wavetune/",
        .node = name,
        .trust =
            FleetTrust::Parse(TestSigningKey(1).public_key() + " *\n").value(),
        .key = key == 0 ? nullptr
                        : std::make_shared<SigningKey>(TestSigningKey(key)),
        .devices =
            [this] {
              return std::vector<AgentDirectory::Known>{
                  {.record = {.facts = TestFleetDevice(name_)},
                   .attached = attached_}};
            },
        .reprofile =
            [this](const ReprofileRequest& request) {
              const std::lock_guard lock(mutex_);
              asked_.push_back(request);
              return absl::OkStatus();
            },
        .is_profiling =
            [this](const std::string&, const std::string&) {
              const std::lock_guard lock(mutex_);
              return !asked_.empty();
            },
        .head_of = [this](const ProfileKey&) { return Head(); },
        .table_of = [this](const ProfileKey&) { return Head(); },
        .pinned = [](const ProfileKey&) { return false; },
        .serves = [this](
                      const ProfileKey&,
                      const std::string& digest) { return *Head() == digest; },
        .jitter = std::chrono::milliseconds(1),
        .look_interval = std::chrono::milliseconds(20),
        .holder_interval = std::chrono::milliseconds(50),
        .patience = std::chrono::milliseconds(300),
        .log =
            [this](bool, const std::string& text) {
              const std::lock_guard lock(mutex_);
              log_ += text + "\n";
            }});
    profiles_->Start();
  }
  ~ProfilingNode() { End(); }

  // As a process that is killed, whose session then ends.
  void End() {
    if (registry_ == nullptr) return;
    profiles_.reset();
    registry_.reset();
  }

  ProfileKey Key() {
    const DeviceFacts device = TestFleetDevice(name_);
    return {"copy", *kernels_.Fingerprint("copy", device), SiliconKey(device),
            EnvironmentKey(device)};
  }
  std::shared_ptr<JobControl> Job(uint64_t id, bool drift_probe = false) {
    JobRecord record{.id = id, .kernel = "copy", .reason = "a new driver"};
    record.key = Key();
    record.generation = 1;
    record.options.drift_probe = drift_probe;
    return std::make_shared<JobControl>(record, &jobs_,
                                        [](const std::string&) {});
  }
  absl::StatusOr<ProfileTurn> Turn(JobControl* job) {
    return profiles_->Await(job, others_wait_);
  }
  // How the job's turn comes out, later.
  std::future<absl::StatusOr<ProfileTurn>> Await(
      const std::shared_ptr<JobControl>& job) {
    return std::async(std::launch::async,
                      [this, job] { return Turn(job.get()); });
  }
  void EndJob(const JobControl& job, JobState state,
              const std::string& message = "", const std::string& digest = "") {
    JobRecord record = job.record();
    record.state = state;
    record.message = message;
    record.digest = digest;
    profiles_->OnJob(record);
  }
  absl::StatusOr<std::string> Head() {
    const std::lock_guard lock(mutex_);
    return head_;
  }
  void SetHead(const std::string& digest) {
    const std::lock_guard lock(mutex_);
    head_ = digest;
  }
  std::string log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  std::vector<ReprofileRequest> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  std::mutex mutex_;
  std::vector<ReprofileRequest> asked_;
  std::string log_;
  std::atomic<bool> attached_ = true;
  std::atomic<bool> busy_ = false;  // Other jobs want its device.
  const JobServices::OthersWait others_wait_ = [this] { return busy_.load(); };
  std::string head_;
  FakeClock clock_;
  FakeJobStore jobs_;
  std::unique_ptr<FakeFleetRegistry> registry_;
  DiskKernelCatalog kernels_;
  const std::string name_;
  std::unique_ptr<FleetProfiles> profiles_;
};

class KernelFolder : public TestFolder {
 public:
  KernelFolder() { WriteKernel("copy"); }
};

class FleetProfilesTest : public ::testing::Test {
 protected:
  FleetProfilesTest() {
    for (const std::string node : {"node-1", "node-2"}) {
      EXPECT_TRUE(watcher_
                      .Commit({{.key = NodePlace(node),
                                .value = EncodeFleetNode({.node = node})}})
                      .ok());
    }
  }
  bool Holds(const std::string& node) {
    const auto entry = watcher_.Get(HolderPlace(one_.Key()));
    return entry.ok() && DecodeFleetHolder(entry->value)->node == node;
  }
  std::optional<FleetProfile> Profile() {
    const std::string place = ProfilePlace(one_.Key());
    const auto entry = watcher_.Get(place);
    if (!entry.ok()) return std::nullopt;
    return *DecodeFleetProfile(place, entry->value);
  }

  const KernelFolder folder_;
  FakeFleet fleet_;
  FakeFleetRegistry watcher_{&fleet_};
  const FleetTrust trust_ =
      FleetTrust::Parse(TestSigningKey(1).public_key() + " *\n").value();
  ProfilingNode one_{&fleet_, folder_ / "kernels", "node-1"};
  ProfilingNode two_{&fleet_, folder_ / "kernels", "node-2"};
};

TEST_F(FleetProfilesTest, OneProfilesAndTheOtherTakesItsTable) {
  const auto first = one_.Job(7);
  const auto turn = one_.Turn(first.get());
  ASSERT_TRUE(turn.ok()) << turn.status();
  EXPECT_THAT(turn->done_elsewhere, IsEmpty());
  EXPECT_TRUE(turn->for_fleet);
  EXPECT_TRUE(Holds("node-1"));

  const auto second = two_.Job(3);
  auto other = two_.Await(second);
  EXPECT_TRUE(Eventually([&] { return !second->record().waits_for.empty(); }));
  EXPECT_THAT(second->record().waits_for, HasSubstr("node-1"));
  // Not before the table is the fleet's.
  one_.EndJob(*first, JobState::kSucceeded, "promoted", "d1");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(Profile()->done);
  one_.SetHead("d1");
  two_.SetHead("d1");
  const auto outcome = other.get();
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_THAT(outcome->done_elsewhere, HasSubstr("node-1"));
  EXPECT_THAT(outcome->done_elsewhere, HasSubstr("serves here"));
  EXPECT_EQ(outcome->digest, "d1");
  EXPECT_FALSE(outcome->for_fleet);
  EXPECT_FALSE(Holds("node-1"));
  EXPECT_EQ(Profile()->digest, "d1");
  EXPECT_THAT(two_.asked(), IsEmpty());
}

TEST_F(FleetProfilesTest, AnotherNodeProfilesWhereTheHolderEnds) {
  const auto first = one_.Job(7);
  ASSERT_TRUE(one_.Turn(first.get()).ok());
  const ProfileKey key = one_.Key();
  const std::string id = Profile()->id;
  one_.End();
  EXPECT_TRUE(Eventually([&] { return two_.asked().size() == 1; }));
  const ReprofileRequest request = two_.asked()[0];
  EXPECT_EQ(request.kernel, "copy");
  EXPECT_EQ(request.fingerprint, key.fingerprint);
  EXPECT_THAT(request.reason, HasSubstr("in place of node node-1"));

  const auto second = two_.Job(3);
  const auto turn = two_.Turn(second.get());
  ASSERT_TRUE(turn.ok()) << turn.status();
  EXPECT_THAT(turn->done_elsewhere, IsEmpty());
  EXPECT_EQ(Profile()->id, id);
  EXPECT_EQ(Profile()->begun_by, "node-2");
  two_.EndJob(*second, JobState::kSucceeded, "no better");
  EXPECT_TRUE(Eventually([&] { return Profile()->done; }));
}

TEST_F(FleetProfilesTest, AnotherNodeTriesWhatFailed) {
  const auto first = one_.Job(7);
  ASSERT_TRUE(one_.Turn(first.get()).ok());
  one_.EndJob(*first, JobState::kFailed, "the GPU fell off the bus");
  EXPECT_TRUE(Eventually([&] { return two_.asked().size() == 1; }));
  EXPECT_TRUE(Profile()->FailedOn("node-1"));
  EXPECT_FALSE(Profile()->done);
  EXPECT_THAT(one_.asked(), IsEmpty());
}

TEST_F(FleetProfilesTest, WhatIsCancelledIsNobodysTask) {
  const auto first = one_.Job(7);
  ASSERT_TRUE(one_.Turn(first.get()).ok());
  one_.EndJob(*first, JobState::kCancelled);
  EXPECT_TRUE(Eventually([&] { return !Profile(); }));
  EXPECT_FALSE(Holds("node-1"));
  EXPECT_THAT(two_.asked(), IsEmpty());
}

TEST_F(FleetProfilesTest, NoDriftProbeWhereTheFleetHasATable) {
  two_.SetHead("d9");
  const auto job = two_.Job(3, /*drift_probe=*/true);
  const auto turn = two_.Turn(job.get());
  ASSERT_TRUE(turn.ok()) << turn.status();
  EXPECT_THAT(turn->done_elsewhere, HasSubstr("serves here"));
  EXPECT_FALSE(Profile());
}

TEST_F(FleetProfilesTest,
       ADriftProbeThatWasAskedForEndsWhereTheFleetHasATable) {
  two_.attached_ = false;
  FleetProfile wanted{.key = one_.Key(), .by = "1000"};
  wanted.drift_probe = true;
  ASSERT_TRUE(one_.profiles_->Ask(wanted).ok());
  EXPECT_TRUE(Eventually([&] { return one_.asked().size() == 1; }));
  one_.SetHead("d9");
  const auto turn = one_.Turn(one_.Job(3, /*drift_probe=*/true).get());
  ASSERT_TRUE(turn.ok()) << turn.status();
  EXPECT_THAT(turn->done_elsewhere, HasSubstr("serves here"));
  EXPECT_TRUE(Profile()->done);
}

TEST_F(FleetProfilesTest, WhoseAnswerWasLostHoldsItAllTheSame) {
  one_.registry_->LoseNextAnswer();
  auto turn = one_.Await(one_.Job(7));
  ASSERT_TRUE(turn.get().ok());
  EXPECT_TRUE(Holds("node-1"));
}

TEST_F(FleetProfilesTest, WhatFailedEverywhereCanBeAskedForAgain) {
  two_.attached_ = false;
  const auto first = one_.Job(7);
  ASSERT_TRUE(one_.Turn(first.get()).ok());
  one_.EndJob(*first, JobState::kFailed, "no space left on the device");
  EXPECT_TRUE(Eventually([&] { return !Profile()->failures.empty(); }));
  const std::string id = Profile()->id;
  ASSERT_TRUE(two_.profiles_->Ask({.key = one_.Key(), .by = "1000"}).ok());
  EXPECT_NE(Profile()->id, id);
  EXPECT_TRUE(Eventually([&] { return one_.asked().size() == 1; }));
}

TEST_F(FleetProfilesTest, ProfilesAloneWithoutRegistryOrKey) {
  one_.registry_->Disconnect();
  const auto turn = one_.Turn(one_.Job(7).get());
  ASSERT_TRUE(turn.ok()) << turn.status();
  EXPECT_THAT(turn->done_elsewhere, IsEmpty());
  ProfilingNode keyless(&fleet_, folder_ / "kernels", "node-3", 0);
  ASSERT_TRUE(keyless.Turn(keyless.Job(1).get()).ok());
  EXPECT_FALSE(Holds("node-3"));
}

TEST_F(FleetProfilesTest, TakesItsPlaceAgainAfterItsSessionEnded) {
  const auto first = one_.Job(7);
  ASSERT_TRUE(one_.Turn(first.get()).ok());
  two_.attached_ = false;  // Nobody else can.
  one_.registry_->EndSession();
  EXPECT_TRUE(Eventually([&] { return Holds("node-1"); }));
  EXPECT_THAT(two_.asked(), IsEmpty());
}

TEST_F(FleetProfilesTest, ARegistryThatTakesNothingOfAProfileIsSaid) {
  const auto job = one_.Job(7);
  ASSERT_TRUE(one_.Turn(job.get()).ok());
  one_.registry_->Refuse(absl::ResourceExhaustedError("its space is exceeded"));
  one_.EndJob(*job, JobState::kSucceeded, "promoted");
  EXPECT_TRUE(Eventually([&] {
    return one_.log().find(
               "profile of kernel copy from this node, which tries "
               "again: its space is exceeded") != std::string::npos;
  }));
}

TEST_F(FleetProfilesTest, DoesWhatSomebodyAskedFor) {
  two_.attached_ = false;
  FleetProfile wanted{.key = two_.Key(), .by = "1000", .why = "new kernels"};
  wanted.budget_s = 20;
  const auto asked = two_.profiles_->Ask(wanted);
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_TRUE(Eventually([&] { return one_.asked().size() == 1; }));
  const ReprofileRequest request = one_.asked()[0];
  EXPECT_EQ(request.options.budget_s, 20);
  EXPECT_EQ(request.by, "1000");
  EXPECT_FALSE(request.fresh);
  EXPECT_THAT(request.reason, HasSubstr("new kernels"));
  // Who asks while it is done is told of that one.
  auto job = one_.Job(5);
  job->Update([](JobRecord& record) { record.options.budget_s = 20; });
  ASSERT_TRUE(one_.Turn(job.get()).ok());
  EXPECT_EQ(two_.profiles_->Ask(wanted)->id, asked->id);
}

TEST_F(FleetProfilesTest, AHolderThatIsOfNoSessionHoldsNothing) {
  ASSERT_TRUE(watcher_
                  .Commit({{.key = HolderPlace(one_.Key()),
                            .value = EncodeFleetHolder({"ghost", "f"})}})
                  .ok());
  EXPECT_TRUE(one_.Turn(one_.Job(7).get())->for_fleet);
  EXPECT_TRUE(Holds("node-1"));
  EXPECT_THAT(one_.log(), HasSubstr("no node's session"));
}

TEST_F(FleetProfilesTest, AHolderWhoseNodeIsNotThereHoldsNothing) {
  two_.attached_ = false;
  ASSERT_TRUE(watcher_
                  .Commit({{.key = HolderPlace(one_.Key()),
                            .value = EncodeFleetHolder({"ghost", "f"}),
                            .of_session = true}})
                  .ok());
  const auto job = one_.Job(7);
  auto turn = one_.Await(job);
  EXPECT_TRUE(Eventually([&] { return !job->record().waits_for.empty(); }));
  EXPECT_TRUE(turn.get()->for_fleet);
  EXPECT_TRUE(Holds("node-1"));
  EXPECT_THAT(one_.log(), HasSubstr("ghost"));
}

TEST_F(FleetProfilesTest, AJobThatWaitsForAnotherNodeLetsOthersGoFirst) {
  const auto first = one_.Job(7);
  ASSERT_TRUE(one_.Turn(first.get()).ok());
  two_.busy_ = true;
  const auto second = two_.Job(3);
  EXPECT_THAT(two_.Turn(second.get())->later, HasSubstr("node-1"));
  EXPECT_THAT(two_.log(), HasSubstr("job 3 (kernel copy) waits for node"));
  // It ends meanwhile: the job has not forgotten for what it waited.
  one_.SetHead("d1");
  two_.SetHead("d1");
  one_.EndJob(*first, JobState::kSucceeded, "promoted", "d1");
  EXPECT_TRUE(Eventually([&] { return Profile()->done; }));
  EXPECT_THAT(two_.Turn(second.get())->done_elsewhere, HasSubstr("node-1"));
}

TEST_F(FleetProfilesTest, WhatIsTooLargeForAProfileIsNone) {
  const std::string place = ProfilePlace(one_.Key());
  std::string value = EncodeFleetProfile({.id = "1", .key = one_.Key()});
  for (int i = 0; i < 5000; ++i) value += std::string("\x82\x01\0", 3);
  EXPECT_FALSE(DecodeFleetProfile(place, value).ok());
  ASSERT_TRUE(watcher_.Commit({{.key = place, .value = value}}).ok());
  EXPECT_TRUE(one_.Turn(one_.Job(7).get())->for_fleet);
  EXPECT_EQ(Profile()->node, "node-1");
}

TEST_F(FleetProfilesTest, EndsWithTheJobThatWaits) {
  ASSERT_TRUE(one_.Turn(one_.Job(7).get()).ok());
  const auto second = two_.Job(3);
  auto turn = two_.Await(second);
  EXPECT_TRUE(Eventually([&] { return !second->record().waits_for.empty(); }));
  second->Cancel(1);
  EXPECT_TRUE(absl::IsCancelled(turn.get().status()));
}

}  // namespace
}  // namespace wavetune::testing
