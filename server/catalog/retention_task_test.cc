#include "server/catalog/retention_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/testing/kernels.h"
#include "server/catalog/catalog_fixture.h"
#include "server/jobs/fake_measurement_executor.h"

namespace wavetune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kDayS = 86400;

class RetentionTaskTest : public CatalogFixture {
 protected:
  TableRecord Promote(const DeviceFacts& device, double latency_us) {
    const ProfileKey key{spec_.name,
                         kernels_.Fingerprint(spec_.name, device).value(),
                         SiliconKey(device), EnvironmentKey(device)};
    return CatalogFixture::Promote(spec_, key, latency_us);
  }

  RetentionTaskTest() { kernels_.Add(spec_); }

  const KernelSpec spec_ = testing::GemmSpec();
  FakeKernelCatalog kernels_;
  FakeJobStore jobs_;
  std::vector<std::string> logged_;
  RetentionTask task_{
      {.tables = &tables_,
       .table_store = &store_,
       .jobs = &jobs_,
       .samples = &samples_,
       .devices = &devices_,
       .kernels = &kernels_,
       .clock = &clock_,
       .limits = {},
       .log = [this](const std::string& text) { logged_.push_back(text); }}};
};

TEST_F(RetentionTaskTest, RetiresForgetsAndSaysSo) {
  DeviceFacts old = testing::H200();
  old.driver = "580";
  old.uuid = "GPU-old";
  const DeviceFacts now = testing::H200();
  See(old);
  Promote(old, 10);
  Promote(now, 11);
  JobRecord job;
  job.state = JobState::kSucceeded;
  job.finished_at_us = clock_.NowUs();
  ASSERT_TRUE(jobs_.Create(job).ok());
  task_.RunDaily();
  EXPECT_THAT(logged_, IsEmpty());
  clock_.Advance(400 * kDayS);
  See(now);
  EXPECT_THAT(task_.Lines(), SizeIs(3));
  EXPECT_THAT(tables_.snapshot()->tables, SizeIs(2));
  task_.RunDaily();
  ASSERT_THAT(tables_.snapshot()->tables, SizeIs(1));
  EXPECT_EQ(tables_.snapshot()->tables[0].record.key.environment_key,
            EnvironmentKey(now));
  EXPECT_THAT(devices_.List(), SizeIs(1));
  EXPECT_THAT(device_store_.List().value(), SizeIs(1));
  EXPECT_THAT(jobs_.List(10).value(), IsEmpty());
  EXPECT_THAT(logged_, SizeIs(3));
  EXPECT_THAT(logged_, Contains(HasSubstr("forgets device GPU-old")));
  EXPECT_THAT(task_.Lines(), IsEmpty());
}

TEST_F(RetentionTaskTest, ForgetsSamplesWithTheLastTableThatIsOfThem) {
  See(testing::H200());
  const TableRecord old = Promote(testing::H200(), 10);
  SampleRecord sample;
  sample.measured_at_us = clock_.NowUs();
  const std::vector<SampleRecord> samples = {sample};
  ASSERT_TRUE(samples_.Append(old.key, 1, samples, {}).ok());
  kernels_.Add(spec_, "2");
  // As many others as a rollback may want; then the old one is forgotten.
  for (int i = 0; i < 8; ++i) Promote(testing::H200(), 11 + i);
  clock_.Advance(100 * kDayS);
  See(testing::H200());
  task_.RunDaily();
  EXPECT_THAT(samples_.Keys().value(), SizeIs(1)) << "retired alone";
  EXPECT_THAT(tables_.snapshot()->tables, SizeIs(1));
  clock_.Advance(100 * kDayS);
  See(testing::H200());
  task_.RunDaily();
  EXPECT_THAT(samples_.Keys().value(), IsEmpty());
  EXPECT_THAT(logged_, Contains(HasSubstr("forgets 1 samples of kernel")));
}

TEST_F(RetentionTaskTest, RetiresTheTableOfTheBuildBefore) {
  See(testing::H200());
  Promote(testing::H200(), 10);
  kernels_.Add(spec_, "2");
  clock_.Advance(400 * kDayS);
  See(testing::H200());
  EXPECT_THAT(task_.Lines(), IsEmpty());
  const TableRecord now = Promote(testing::H200(), 11);
  clock_.Advance(31 * kDayS);
  See(testing::H200());
  task_.RunDaily();
  ASSERT_THAT(tables_.snapshot()->tables, SizeIs(1));
  EXPECT_EQ(tables_.snapshot()->tables[0].record.digest, now.digest);
}

TEST_F(RetentionTaskTest, LooksOnceADay) {
  store_.reads().Fail(absl::InternalError("no disk"));
  task_.RunDaily();
  EXPECT_THAT(logged_, SizeIs(1));
  EXPECT_THAT(task_.Lines(), Contains(HasSubstr("no disk")));
  clock_.Advance(kDayS / 2);
  task_.RunDaily();
  EXPECT_THAT(logged_, SizeIs(1));
  clock_.Advance(kDayS);
  task_.RunDaily();
  EXPECT_THAT(logged_, SizeIs(2));
}

}  // namespace
}  // namespace wavetune
