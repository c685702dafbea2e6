// RunLentBatch: runs on a board of this node what another node of the fleet
// wants of it (fleet_lender.h).
//
// Thread safety: as MeasurementExecutor.
#ifndef WAVETUNE_SERVER_FLEET_LENT_BATCH_H_
#define WAVETUNE_SERVER_FLEET_LENT_BATCH_H_

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "proto/wavetune/v1/fleet.pb.h"
#include "server/catalog/kernel_catalog.h"
#include "server/jobs/measurement_executor.h"

namespace wavetune {

// What was compiled on the board, by specialisation and configuration.
using CompiledCandidates = std::set<std::pair<std::string, Configuration>>;

// Runs a batch of `kernel`, but for its end: gives `report` what comes of each
// item; false ends the batch. Candidates that other boards compiled are
// compiled first, all at once, and added to `compiled`. Yields to others.
// Errors: as MeasurementExecutor; INVALID_ARGUMENT where the batch does not fit
// the kernel; FAILED_PRECONDITION where it is of another fingerprint.
absl::Status RunLentBatch(MeasurementExecutor& executor,
                          const TunableKernel& kernel,
                          const v1::FleetBatchContent& batch,
                          CompiledCandidates& compiled,
                          const std::function<bool(v1::AttachRequest)>& report);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_LENT_BATCH_H_
