// UsageHandler: what UsageService does. Knows no gRPC.
//
// Everybody may report, so nothing that a report says is believed. Sizes and
// numbers are limited, kernels, devices and specialisations must be known,
// problems legal, and so many reports a second are read of each user. A report
// counts for as many decisions at most as a process can have made since its
// last one, or since it connected. All of a user's together count for no more
// than that, so that nobody gains by connecting anew. The worst that a
// malicious local client can do is to shift the weights of problems as a busy
// server would. It can also have a top-up queued once in a while
// (usage_top_ups.h). Both can be turned off.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_RPC_USAGE_HANDLER_H_
#define WAVETUNE_SERVER_RPC_USAGE_HANDLER_H_

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "proto/wavetune/v1/usage_service.pb.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/kernel_catalog.h"
#include "server/catalog/table_catalog.h"
#include "server/usage/token_buckets.h"
#include "server/usage/usage_ledger.h"
#include "server/usage/usage_top_ups.h"

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
  // Reports of a user, and of all: a thousand clients make 33 a second.
  static constexpr double kReportsPerSecond = 100;
  static constexpr double kReportsAtOnce = 1000;
  static constexpr double kUsersAtOnce = 8;
  // Decisions that a process makes in a second, and all of a user's on a node.
  // Each is made for a launch, which takes its thread a microsecond at least
  // (docs/usage.md).
  static constexpr double kDecisionsPerSecond = 1e6;
  // The longest time that a report covers: clients report every 30 s, give or
  // take a tenth.
  static constexpr double kLongestIntervalS = 33;
  // The time before it connected for which a process may report, in seconds: it
  // decides while the daemon is started anew.
  static constexpr double kBeforeConnectingS = 1;
  // Problems in the answer to GetUsage.
  static constexpr int kDefaultProblems = 10;

  // All outlive the handler.
  struct Services {
    UsageLedger* ledger = nullptr;
    UsageTopUps* top_ups = nullptr;
    TableCatalog* tables = nullptr;
    AgentDirectory* devices = nullptr;
    KernelCatalog* kernels = nullptr;
    Clock* clock = nullptr;
  };
  // Who reports, as the kernel knows it: equal strings for equal ones.
  struct Peer {
    std::string user;
    std::string process;  // Its connection.
    // How long ago it connected; infinite: not known.
    double connected_s = std::numeric_limits<double>::infinity();
  };
  explicit UsageHandler(const Services& services);

  // Takes the turn of a report before its content is read. Errors:
  // RESOURCE_EXHAUSTED where reports come too fast, of the user or of all.
  absl::Status TakeTurn(const Peer& peer);
  // Counts the sound part of a report that has had its turn. A report of more
  // decisions than its process can have made counts for as many as it can have
  // made, and the response says so. Errors, which leave everything uncounted:
  // INVALID_ARGUMENT naming the field that is above its limit or no number.
  absl::Status ReportUsage(const v1::ReportUsageRequest& request,
                           const Peer& peer, v1::ReportUsageResponse* response);
  // Errors: INVALID_ARGUMENT for a number of problems that is out of range.
  absl::Status GetUsage(const v1::GetUsageRequest& request,
                        v1::GetUsageResponse* response) const;

 private:
  // Returns the factor for the report's numbers: 1, or less where it claims too
  // many decisions.
  double Believable(const v1::ReportUsageRequest& request, const Peer& peer,
                    v1::ReportUsageResponse* response);
  // Returns the report as the ledger takes it. Errors say why the kernel is
  // left out.
  absl::StatusOr<UsageReport> Translate(const v1::ReportedUsage& usage,
                                        double factor,
                                        v1::ReportUsageResponse* response);
  absl::StatusOr<std::string> SiliconKeyOf(
      const v1::ReportedUsage& usage) const;

  const Services services_;
  // Reports, by user and of all; decisions, by process and by user.
  TokenBuckets reports_of_user_;
  TokenBuckets reports_;
  TokenBuckets decisions_of_process_;
  TokenBuckets decisions_of_user_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_USAGE_HANDLER_H_
