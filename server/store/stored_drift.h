// DriftReport <-> StoredDrift (proto/wavetune/v1/store.proto).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_STORE_STORED_DRIFT_H_
#define WAVETUNE_SERVER_STORE_STORED_DRIFT_H_

#include "fit/plan/drift_report.h"
#include "proto/wavetune/v1/store.pb.h"

namespace wavetune {

v1::StoredDrift DriftToStored(const DriftReport& report);
// An action of a later daemon is kUndecided.
DriftReport DriftFromStored(const v1::StoredDrift& stored);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_STORED_DRIFT_H_
