// CatalogFixture: tables, samples and devices of a daemon over fake stores, for
// tests of what looks at all of them.
#ifndef WAVETUNE_SERVER_CATALOG_CATALOG_FIXTURE_H_
#define WAVETUNE_SERVER_CATALOG_CATALOG_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/table_catalog.h"
#include "server/jobs/fake_profiling.h"
#include "server/store/fake_stores.h"
#include "server/store/faulty_stores.h"

namespace wavetune {

class CatalogFixture : public ::testing::Test {
 protected:
  // The device was attached just now.
  void See(const DeviceFacts& device) {
    ASSERT_TRUE(
        device_store_.Put({.facts = device, .last_seen_us = clock_.NowUs()})
            .ok());
    ASSERT_TRUE(devices_.Load().ok());
  }

  // A job here profiled a table that always chooses the default.
  TableRecord Promote(const KernelSpec& spec, const ProfileKey& key,
                      double latency_us) {
    TableRecord record{.key = key};
    record.how = PromotionKind::kProfiled;
    record.by = "1000";
    record.promoted_at_us = clock_.NowUs();
    const auto promoted = tables_.Promote(
        record, *EncodeTable(FixedTable(spec, key, spec.default_configuration,
                                        latency_us)));
    EXPECT_TRUE(promoted.ok()) << promoted.status();
    return promoted.ok() ? *promoted : TableRecord();
  }

  std::vector<TableRecord> Serving() const {
    std::vector<TableRecord> records;
    for (const auto current = tables_.snapshot();
         const ServingTable& table : current->tables)
      records.push_back(table.record);
    return records;
  }

  FakeClock clock_;
  FakeTableStore fake_tables_;
  FaultyTableStore store_{&fake_tables_};
  FakeSampleStore samples_;
  FakeDeviceStore device_store_;
  TableCatalog tables_{&store_, [](const std::string&) {}};
  AgentDirectory devices_{&device_store_, &clock_};
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_CATALOG_FIXTURE_H_
