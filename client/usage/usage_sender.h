// UsageSender: where reports of use go. client/usage/grpc_usage_sender.h talks
// to the daemon; tests use FakeUsageSender.
#ifndef WAVETUNE_CLIENT_USAGE_USAGE_SENDER_H_
#define WAVETUNE_CLIENT_USAGE_USAGE_SENDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/usage/usage_recorder.h"
#include "usage/heavy_hitters.h"
#include "wavetune/dimension.h"

namespace wavetune {

// Whose decisions are counted: one table (or none yet) of one kernel.
struct UsageIdentity {
  std::string kernel;
  std::string device_uuid;     // As the application named it; may be empty.
  std::string silicon_key;     // The table's; empty without one.
  std::string digest;          // Hex; empty: no table, decisions are defaults.
  std::string specialisation;  // Empty where the kernel has none.
  std::vector<Dimension> dimensions;

  friend bool operator==(const UsageIdentity&, const UsageIdentity&) = default;
};

struct KernelUsage {
  UsageIdentity identity;
  UsageCounts counts;
  // Most asked for first. Weights are decisions, estimated from samples; what
  // is missing to counts.total() is not attributed.
  std::vector<HeavyHitters::Entry> problems;
};

// A report of use, as plain values.
struct UsageBatch {
  std::vector<KernelUsage> kernels;
  double interval_s = 0;  // In which it was collected.
};

class UsageSender {
 public:
  virtual ~UsageSender() = default;

  // Sends a batch; blocks for at most `timeout_s`. Errors: UNIMPLEMENTED where
  // the daemon knows no reports (an older one); what else went wrong: the
  // batch did not arrive.
  virtual absl::Status Send(const UsageBatch& batch, double timeout_s) = 0;

  // Ends a Send that is in progress on another thread, as CANCELLED. Later ones
  // are sent. Cannot fail.
  virtual void CutOff() = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_USAGE_USAGE_SENDER_H_
