// DecisionHandler: what DecisionService does. Knows no gRPC.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_RPC_DECISION_HANDLER_H_
#define WAVETUNE_SERVER_RPC_DECISION_HANDLER_H_

#include "absl/status/status.h"
#include "proto/wavetune/v1/decision_service.pb.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/kernel_catalog.h"
#include "server/catalog/table_catalog.h"
#include "server/catalog/table_lookup.h"

namespace wavetune {

class DecisionHandler {
 public:
  // Most problems of one batch.
  static constexpr int kMaxProblems = 4096;

  // All outlive the handler; `default_faults` as of TableLookup.
  DecisionHandler(TableCatalog* tables, AgentDirectory* devices,
                  KernelCatalog* kernels,
                  DefaultFaults* default_faults = nullptr)
      : lookup_(tables, devices, kernels, default_faults), kernels_(kernels) {}

  // Decides for a batch of problems. The answer is the default configuration on
  // the device, with the reason, where
  // - the kernel has no table, or its table was withdrawn;
  // - the problem's dimensions are not the kernel's;
  // - the default is known not to work.
  // Errors: INVALID_ARGUMENT for a batch that is too large; as
  // DefaultForDevices (model/kernel/device_space.h) where there is no table;
  // else as TableLookup::Find.
  absl::Status Resolve(const v1::ResolveRequest& request,
                       v1::ResolveResponse* response) const;
  // Errors: as Resolve; INVALID_ARGUMENT for a problem whose dimensions are not
  // the kernel's.
  absl::Status Explain(const v1::ExplainRequest& request,
                       v1::ExplainResponse* response) const;

 private:
  const TableLookup lookup_;
  KernelCatalog* const kernels_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_DECISION_HANDLER_H_
