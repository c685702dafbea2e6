// DriftFixture: a queue whose device comes back with another driver.
#ifndef WAVETUNE_SERVER_JOBS_DRIFT_FIXTURE_H_
#define WAVETUNE_SERVER_JOBS_DRIFT_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "server/jobs/job_queue_fixture.h"

namespace wavetune {

// The device of the fixture, with another driver.
inline DeviceFacts Upgraded() {
  DeviceFacts facts = testing::H200();
  facts.driver = "999.1";
  return facts;
}

class DriftFixture : public JobQueueFixture {
 protected:
  // The device comes back with another driver, under which a configuration
  // takes `slower` times as long.
  void Upgrade(const std::function<double(const Configuration&)>& slower) {
    const LatencyFunction before = SyntheticLatency(&spec_, 64);
    upgraded_ = std::make_unique<FakeMeasurementExecutor>(
        FakeMeasurementExecutor::Options{
            .facts = Upgraded(),
            .latency_us = [=](const Configuration& c, const Problem& p) {
              return slower(c) * before(c, p);
            }});
    directory_.Attach(upgraded_.get());
    ASSERT_TRUE(devices_.Put({.facts = Upgraded()}).ok());
  }

  void UpgradeAsFast() {
    Upgrade([](const Configuration&) { return 1; });
  }

  JobRecord RunDriftProbe() {
    return Run(StartQueue(), {.options = {.drift_probe = true}});
  }

  // The only table's.
  TableRecord Serving() const {
    const auto snapshot = tables_.snapshot();
    EXPECT_THAT(snapshot->tables, ::testing::SizeIs(1));
    return snapshot->tables.empty() ? TableRecord()
                                    : snapshot->tables.front().record;
  }

  std::vector<TableRecord> ServingAll() const {
    std::vector<TableRecord> records;
    for (const auto current = tables_.snapshot();
         const ServingTable& table : current->tables) {
      records.push_back(table.record);
    }
    return records;
  }

  Configuration BestConfiguration() const {
    return tables_.snapshot()
        ->tables.front()
        .table->table()
        .sub_tables[0]
        .portfolio[0]
        .configuration;
  }

  std::unique_ptr<FakeMeasurementExecutor> upgraded_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_DRIFT_FIXTURE_H_
