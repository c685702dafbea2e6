// PlanRetention: what the store may forget.
//
// Tables, payloads, samples, devices and jobs would otherwise stay for ever:
// each driver upgrade leaves a class behind, each profile a payload.
//
//   const RetentionPlan plan = PlanRetention(view, RetentionLimits(), now_us);
//
// Never chosen: current and pinned tables, shipped ones, the
// newest promotions of a history, as a rollback may want them, and
// samples of tables that stay. These say which choices were found
// wrong.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_STORE_RETENTION_H_
#define WAVETUNE_SERVER_STORE_RETENTION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/store/records.h"
#include "server/store/sample_store.h"

namespace wavetune {

// How long things stay after they were last of use; 0: for ever.
struct RetentionLimits {
  double jobs_days = 365;      // Since they ended.
  double devices_days = 90;    // Since they were attached.
  double payloads_days = 180;  // Tables that serve no more: since promoted.
  double classes_days = 30;    // Tables of environments that no device
                               // has, or of earlier builds of the
                               // kernel: since another first took their
                               // place.
  double samples_days = 180;  // Samples of tables that are all gone, with their
                              // candidates' records: since the last sample, or
                              // the end of their last job.
  // Newest promotions of a kernel on one silicon whose payloads stay.
  size_t history_kept = 8;
};

// What there is.
struct RetentionView {
  std::vector<TableRecord> serving;
  std::vector<TableRecord> withdrawn;
  std::vector<TableRecord> history;   // All kernels'; any order.
  std::vector<TableRecord> payloads;  // Every stored one.
  std::set<std::string> rejected;     // Digests of rejected tables.
  std::vector<PinRecord> pins;
  std::vector<DeviceRecord> devices;
  std::set<std::string> attached;  // UUIDs.
  // Which fingerprint a kernel has now on a device, by their names; absent
  // where the kernel is not there, or cannot be used.
  std::map<std::pair<std::string, std::string>, std::string> fingerprints;
  std::vector<JobRecord> jobs;
  std::vector<StoredKey> samples;
};

// What may go, and why, for people: one line each.
struct RetentionPlan {
  struct OldTable {
    TableRecord table;
    std::string why;  // "the kernel has another build now".
  };
  std::vector<OldTable> classes;      // To be retired.
  std::vector<std::string> payloads;  // Digests.
  std::vector<std::string> devices;   // UUIDs.
  std::vector<uint64_t> jobs;         // Ids.
  std::vector<ProfileKey> samples;
  std::vector<std::string> lines;

  bool empty() const { return lines.empty(); }
};

// Cannot fail. What this plan retires keeps its payload until a later one.
RetentionPlan PlanRetention(const RetentionView& view,
                            const RetentionLimits& limits, int64_t now_us);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_RETENTION_H_
