// UsageHandler: what UsageService does. Knows no gRPC.
//
// Everybody may report, so nothing that a report says is believed: sizes and
// numbers are limited, kernels, devices and specialisations must be known,
// problems legal, and so many reports a second are read. The worst that a
// malicious local client can do is to shift the weights of problems within
// limits, and to have a refinement queued once in a while (usage_refiner.h);
// both can be turned off.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_USAGE_HANDLER_H_
#define WAVETUNE_SERVER_USAGE_HANDLER_H_

#include <cstdint>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/wavetune/v1/usage_service.pb.h"
#include "server/agent_directory.h"
#include "server/registry/clock.h"
#include "server/registry/kernel_catalog.h"
#include "server/registry/table_catalog.h"
#include "server/registry/usage_ledger.h"
#include "server/registry/usage_refiner.h"

namespace wavetune {

class UsageHandler {
 public:
  // Limits of a request.
  static constexpr int kMaxKernels = 64;
  static constexpr int kMaxProblems = 64;
  static constexpr int kMaxDimensions = 16;
  static constexpr int kMaxValues = 1024;
  static constexpr size_t kMaxNameBytes = 256;
  static constexpr size_t kMaxKeyBytes = 1024;
  static constexpr double kMaxDecisions = 1e12;
  static constexpr double kMaxIntervalS = 1e6;
  // Of the daemon: a thousand clients make 33 a second.
  static constexpr double kReportsPerSecond = 100;
  static constexpr double kReportsAtOnce = 1000;
  // Of the answer to GetUsage.
  static constexpr int kDefaultProblems = 10;

  // All outlive the handler.
  struct Services {
    UsageLedger* ledger = nullptr;
    UsageRefiner* refiner = nullptr;
    TableCatalog* tables = nullptr;
    AgentDirectory* devices = nullptr;
    KernelCatalog* kernels = nullptr;
    Clock* clock = nullptr;
  };
  explicit UsageHandler(const Services& services);

  // Counts what is sound. Errors: INVALID_ARGUMENT naming what is above its
  // limit or no number, RESOURCE_EXHAUSTED where reports come too fast; then
  // nothing was counted.
  absl::Status ReportUsage(const v1::ReportUsageRequest& request,
                           v1::ReportUsageResponse* response);
  // Errors: INVALID_ARGUMENT for a number of problems that is out of range.
  absl::Status GetUsage(const v1::GetUsageRequest& request,
                        v1::GetUsageResponse* response) const;

 private:
  absl::Status TakeTurn();
  // Returns the report as the ledger takes it. Errors say why the kernel is
  // left out.
  absl::StatusOr<UsageReport> Translate(const v1::ReportedUsage& usage,
                                        v1::ReportUsageResponse* response);
  absl::StatusOr<std::string> SiliconKeyOf(
      const v1::ReportedUsage& usage) const;

  const Services services_;
  std::mutex mutex_;
  // Guarded by mutex_: a token bucket.
  double turns_ = kReportsAtOnce;
  int64_t turns_at_us_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_USAGE_HANDLER_H_
