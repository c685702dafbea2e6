// PlanRetention: what the store may forget.
//
// Tables, payloads, samples, devices and jobs would otherwise stay for ever:
// each driver upgrade leaves a class behind, each profile a payload.
//
//   const RetentionPlan plan = PlanRetention(view, RetentionLimits(), now_us);
//
// Never chosen: what serves as the current one, what is pinned, what is among
// the newest promotions of a history, as a rollback may want it, what was
// shipped with a kernel, and samples of what stays: they say which choices were
// found wrong.
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
  double jobs_days = 365;    // Since they ended.
  double devices_days = 90;  // Since they were attached.
  double payloads_days =
      180;                    // Of tables that serve no longer: since promoted.
  double classes_days = 30;   // Of tables of environments that no device has,
                              // or of builds of the kernel before the one that
                              // is there: since another first took their
                              // place.
  double samples_days = 180;  // Of tables that are all gone, with what is known
                              // of candidates: since the last was measured, or
                              // the last job of theirs ended.
  // Newest promotions of a kernel on one silicon whose payloads stay.
  size_t history_kept = 8;
};

// What there is.
struct RetentionView {
  std::vector<TableRecord> serving;
  std::vector<TableRecord> withdrawn;
  std::vector<TableRecord> history;   // Of all kernels; any order.
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
