// WorkloadHandler: what WorkloadService does, and the admin socket's
// RemoveWorkload. Knows no gRPC.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_RPC_WORKLOAD_HANDLER_H_
#define WAVETUNE_SERVER_RPC_WORKLOAD_HANDLER_H_

#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "proto/wavetune/v1/admin_service.pb.h"
#include "proto/wavetune/v1/workload_service.pb.h"
#include "server/catalog/kernel_catalog.h"
#include "server/catalog/workload_catalog.h"
#include "server/usage/token_buckets.h"

namespace wavetune {

class WorkloadHandler {
 public:
  // Requests of a user, and of all: serving processes declare a workload when
  // they start.
  static constexpr double kAddsPerSecond = 2;
  static constexpr double kAddsAtOnce = 64;
  static constexpr double kUsersAtOnce = 8;

  // All outlive the handler.
  WorkloadHandler(WorkloadCatalog* workloads, KernelCatalog* kernels,
                  Clock* clock);

  // Takes the turn of an addition before its content is read. Errors:
  // RESOURCE_EXHAUSTED where they come too fast, of the user or of all.
  absl::Status TakeTurn(const std::string& user);
  // Waits for the disk. Errors: as WorkloadCatalog::Add.
  absl::Status AddWorkload(const v1::AddWorkloadRequest& request,
                           const std::string& user,
                           v1::AddWorkloadResponse* response);
  absl::Status ListWorkloads(v1::ListWorkloadsResponse* response) const;
  // Waits for the disk. Errors: NOT_FOUND.
  absl::Status GetWorkload(const v1::GetWorkloadRequest& request,
                           v1::GetWorkloadResponse* response) const;
  // Waits for the disk. Errors: NOT_FOUND.
  absl::Status RemoveWorkload(const v1::RemoveWorkloadRequest& request);

 private:
  v1::WorkloadInfo ToProto(const WorkloadCatalog::Entry& entry) const;

  WorkloadCatalog* const workloads_;
  KernelCatalog* const kernels_;
  TokenBuckets adds_of_user_;
  TokenBuckets adds_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_WORKLOAD_HANDLER_H_
