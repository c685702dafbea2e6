#include "server/catalog/defaults_in_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "server/catalog/catalog_fixture.h"
#include "server/test_folder.h"

namespace wavetune {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Kernel "copy" in a folder, and a CPU that was seen.
class DefaultsInUseTest : public CatalogFixture {
 protected:
  void SetUp() override {
    folder_.WriteKernel("copy");
    kernels_.Reload();
    See(device_);
    key_ = {"copy", *kernels_.Fingerprint("copy", device_), SiliconKey(device_),
            EnvironmentKey(device_)};
    default_ = (*kernels_.Spec("copy"))->default_configuration;
  }

  // A profile under `key` finds that the default cannot be used.
  void Exclude(const ProfileKey& key) {
    CandidateRecord record;
    record.candidate.configuration = default_;
    record.candidate.excluded_reason = "does not compile";
    ASSERT_TRUE(
        samples_.Append(key, 1, {}, std::vector<CandidateRecord>{record}).ok());
  }

  const DeviceFacts device_ = {.uuid = "CPU-1", .backend = "opencl"};
  const TestFolder folder_;
  DiskKernelCatalog kernels_{{folder_ / "kernels"}};
  // Has nothing read that is only asked for.
  DefaultFaults faults_{&samples_, [](const std::function<void()>&) {}};
  DefaultsInUse defaults_{{.tables = &tables_,
                           .devices = &devices_,
                           .kernels = &kernels_,
                           .faults = &faults_}};
  ProfileKey key_;
  Configuration default_;
};

TEST_F(DefaultsInUseTest, ReadsWhatIsKnownOnEachDeviceAtTheStart) {
  Exclude(key_);
  EXPECT_THAT(faults_.Of(key_, default_), IsEmpty());
  defaults_.Load();
  EXPECT_THAT(faults_.Of(key_, default_), SizeIs(1));
}

TEST_F(DefaultsInUseTest, ReadsWhatIsKnownOfTablesOfOtherDevices) {
  ProfileKey other = key_;
  other.environment_key = "driver=of before";
  Exclude(other);
  defaults_.Load();
  EXPECT_THAT(faults_.Of(other, default_), IsEmpty()) << "nothing serves there";
  Promote(**kernels_.Spec("copy"), other, 10);
  defaults_.Load();
  EXPECT_THAT(faults_.Of(other, default_), SizeIs(1));
}

TEST_F(DefaultsInUseTest, ALookAsksForAttachedDevicesAlone) {
  Exclude(key_);
  DefaultFaults at_once(&samples_);
  DefaultsInUse defaults({.tables = &tables_,
                          .devices = &devices_,
                          .kernels = &kernels_,
                          .faults = &at_once});
  const uint64_t before = at_once.revision();
  defaults.Look();
  EXPECT_EQ(at_once.revision(), before);
  // A job has changed what nobody asked for yet.
  defaults.Reload(key_);
  EXPECT_GT(at_once.revision(), before);
  EXPECT_THAT(at_once.Of(key_, default_), SizeIs(1));
}

}  // namespace
}  // namespace wavetune
